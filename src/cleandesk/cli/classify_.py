"""``cleandesk classify``."""

from __future__ import annotations

from pathlib import Path

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, reporting


@click.command("classify", epilog=EXIT_STATUS)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("episode")
@click.argument("blame")
@click.option("--why", required=True, help="The reason, in a sentence.")
@json_option
@reporting
def classify_command(run: Path, episode: str, blame: str, *, why: str, as_json: bool) -> None:
    """Say whose failure an EPISODE of RUN was.

    BLAME is agent, provider, world, checker, task or harness. The sealed verdict stays; what you say is appended to a chain of its own.

    \b
    Example:
        cleandesk classify runs/R dentist/1-4 world --why "mail server down"

    \b
    In Python:
        cleandesk.classify("runs/R", "dentist/1-4", "world", why="...")
    """  # noqa: D301 - click wants the control character
    from cleandesk.audit.record import classify
    from cleandesk.report.text import render_classified

    said = classify(run, episode, blame, why=why)
    finish(render_classified(episode, blame, said), said, as_json=as_json, status=0)
