"""``cleandesk watch``."""

from __future__ import annotations

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, reporting


@click.command("watch", epilog=EXIT_STATUS, context_settings={"ignore_unknown_options": True})
@click.argument("contract")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@json_option
@reporting
def watch_command(contract: str, command: tuple[str, ...], *, as_json: bool) -> None:
    """Run COMMAND over private copies and show everything that it changed.

    CONTRACT is a contract or a world (module:name, file.py:name), or simply a database
    file, an SQL script, a folder, or a postgresql:// URL; none of them is written. In
    COMMAND {db} stands for the copy of the surface db; so does $CLEANDESK_DB in its
    environment. Of a bare database the surface is called db, of a bare folder tree.

    Nothing is left out: what the contract leaves free is marked. Status 0: nothing changed;
    1: something did.

    \b
    Examples:
        cleandesk watch seed.db -- sqlite3 {db} "DELETE FROM orders WHERE id = 7"
        cleandesk watch shop/world.py:Shop -- python fill_in.py {db}
        cleandesk watch home/ -- sh -c 'cd {tree} && make clean'

    \b
    In Python:
        cleandesk.watch("seed.db", ["python", "fill_in.py", "{db}"]).changes
    """  # noqa: D301 - click wants the control character
    from cleandesk.audit.watch import watch
    from cleandesk.report.changes import change_rows, expectation_of, render_watched

    watched = watch(contract, command)
    held = {
        "changes": change_rows(watched.changes),
        "exit_status": watched.exit_status,
        "expectation": expectation_of(watched)[0] or None,
        "incidental": sorted(watched.incidental),
        "not_read": watched.not_read,
        "readings": watched.readings,
    }
    finish(render_watched(watched), held, as_json=as_json, status=1 if watched.changes else 0)
