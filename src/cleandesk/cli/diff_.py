"""``cleandesk diff``."""

from __future__ import annotations

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, reporting


@click.command("diff", epilog=EXIT_STATUS)
@click.argument("before")
@click.argument("after")
@json_option
@reporting
def diff_command(before: str, after: str, *, as_json: bool) -> None:
    """Show what differs between two states, field by field.

    A state is RUN:EPISODE@start, RUN:EPISODE@end (the start if neither is said), or the
    file of a saved snapshot; or a database file, a folder, a postgresql:// URL, none of
    which is written. A difference is a finding: status 1.

    \b
    Examples:
        cleandesk diff runs/R:dentist/1-2 runs/R:dentist/1-3
        cleandesk diff runs/R:dentist/1-2@start runs/R:dentist/1-2@end
        cleandesk diff before.db after.db

    \b
    In Python:
        cleandesk.compare_states("runs/R:dentist/1-2", "runs/R:dentist/1-3")
    """  # noqa: D301 - click wants the control character
    from cleandesk.audit.states import compare_states
    from cleandesk.report.changes import change_rows, render_changes

    changes = compare_states(before, after)
    held = {"changes": change_rows(changes)}
    finish(render_changes(changes), held, as_json=as_json, status=1 if changes else 0)
