"""``cleandesk verify``."""

from __future__ import annotations

from pathlib import Path

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, reporting

_STATUS = {"PASS": 0, "FAIL": 1, "UNKNOWN": 3}


@click.command("verify", epilog=EXIT_STATUS)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--root", metavar="HEX", help="The root that was kept apart.")
@click.option("--heads", type=click.Path(path_type=Path), help="Heads that were kept apart.")
@json_option
@reporting
def verify_command(run: Path, root: str | None, heads: Path | None, *, as_json: bool) -> None:
    """Check that the record in the folder RUN is the one that was sealed.

    It shows that nothing changed since, not that it was true when it was written.

    \b
    Example:
        cleandesk verify runs/20260101T120000-shop-1a2b3c4d --root 9f86d081...

    \b
    In Python:
        cleandesk.verify("runs/...", root="9f86d081...")
    """  # noqa: D301 - click wants the control character
    from cleandesk.audit.record import verify
    from cleandesk.report.text import render_verdict

    verdict = verify(run, root=root, heads=heads)
    facts = verdict.facts or {}
    value = {
        **facts,
        "not_checked": list(verdict.not_checked),
        "status": verdict.status.value,
        "witness": verdict.witness,
    }
    finish(render_verdict(verdict), value, as_json=as_json, status=_STATUS[verdict.status.value])
