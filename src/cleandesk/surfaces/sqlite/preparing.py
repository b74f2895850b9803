"""Making a base: the source copied, all of it in one file, read once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import apsw

from cleandesk.errors import WorldError, shown, text_of
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.protocol import Base
from cleandesk.surfaces.sqlite.places import write_places
from cleandesk.surfaces.sqlite.reading import Side, connect, copy_whole, read_side, readable


def prepare(surface: str, terms: SurfaceTerms, folder: Path, locate: Callable[[str], Path]) -> Base:
    """Make the base in ``folder`` and read it; see ``Sqlite.prepare``."""
    source = locate(terms.source["from"])
    if not source.is_file():
        raise WorldError(
            "CD-243",
            f"there is no database {shown(terms.source['from'])}",
            where=f"surface {surface}; looked at {shown(source)}",
            do="correct the name in the contract: a SQLite file, or a .sql script",
        )
    is_script = source.suffix == ".sql"
    database = folder / "base.db"
    if is_script:
        _run_script(source, database)
    else:
        copy_whole(source, database)
    has_log = bool(terms.source.get("wal", True))
    with readable(source):
        _settle(database, has_log=has_log)
        with contextlib.closing(connect(database, immutable=True)) as held:
            side = Side.of(held, terms)
            leaving = Leaving(surface, terms)
            tables = read_side(side, leaving)
            write_places(side, leaving, folder / "places.db")
    database.chmod(0o444)
    return Base(
        {
            "database": str(database),
            "name": f"{source.stem}.db" if is_script else source.name,
            "places": str(folder / "places.db"),
            "wal": has_log,
        },
        tables,
        frozenset(leaving.matched | {f"{surface}.{text}" for text in side.layout.dropped_columns}),
        side.layout.not_read,
    )


def _run_script(source: Path, database: Path) -> None:
    with contextlib.closing(apsw.Connection(str(database))) as held:
        try:
            held.execute("PRAGMA synchronous = OFF")
            held.execute(source.read_text(encoding="utf-8")).fetchall()
        except (apsw.Error, OSError, UnicodeDecodeError) as error:
            raise WorldError(
                "CD-243",
                f"the script fails: {shown(text_of(error))}",
                where=shown(source),
                do="run it with the sqlite3 program on an empty file, and correct it",
            ) from error
        if held.in_transaction:
            raise WorldError(
                "CD-243",
                "the script ends inside a transaction",
                where=shown(source),
                do="end it with COMMIT",
            )


def _settle(database: Path, *, has_log: bool) -> None:
    """Bring everything into the one file, and set how its copies are to be written."""
    with contextlib.closing(apsw.Connection(str(database))) as held:
        held.execute("PRAGMA synchronous = OFF")
        # A source left in the middle of a write is first made whole by opening it.
        for mode in ("DELETE", "WAL") if has_log else ("DELETE",):
            found = held.pragma("journal_mode", mode)
            if str(found).upper() != mode:
                raise WorldError(
                    "CD-244",
                    f"the database can't be put into journal mode {mode}: it stays {shown(found)}",
                    where=shown(database),
                    do="declare the surface with wal=False",
                )
        held.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
