"""``cleandesk init``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, reporting


@click.command("init", epilog=EXIT_STATUS)
@click.argument("name", type=click.Path(path_type=Path))
@json_option
@reporting
def init_command(name: Path, *, as_json: bool) -> None:
    """Make the folder NAME with a suite, a world and an agent that run at once.

    Nothing is overwritten: NAME must not exist yet.

    \b
    Example:
        cleandesk init mybench
        cd mybench && cleandesk run suite.toml --agent agent.py:Clerk

    \b
    In Python:
        cleandesk.begin("mybench")
    """  # noqa: D301 - click wants the control character
    from cleandesk.suites.starter import FILES, begin

    folder = begin(name)
    text = (
        f"made {folder}: {', '.join(FILES)}\n"
        f"next: cd {shlex.quote(str(folder))} && cleandesk run suite.toml --agent agent.py:Clerk\n"
    )
    finish(text, {"files": list(FILES), "folder": str(folder)}, as_json=as_json, status=0)
