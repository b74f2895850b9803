"""``cleandesk list``."""

from __future__ import annotations

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, reporting


@click.command("list", epilog=EXIT_STATUS)
@json_option
@reporting
def list_command(*, as_json: bool) -> None:
    """List the worlds, bridges, agents, checkers and suites that have a name.

    Packages add their own through the entry-point group `cleandesk`.

    \b
    Example:
        cleandesk list --json

    \b
    In Python:
        cleandesk.catalogue()
    """  # noqa: D301 - click wants the control character
    from cleandesk.report.text import render_catalogue
    from cleandesk.suites.catalogue import catalogue

    found = catalogue()
    finish(render_catalogue(found), found, as_json=as_json, status=0)
