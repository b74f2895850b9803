"""Reading a database as a whole, without a trace beside it: records, one digest, a question."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from cleandesk.errors import SuiteError, WorldError, shown, text_of
from cleandesk.state.canon import encode
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.leaving import LEFT_OUT, Leaving
from cleandesk.state.table import Table
from cleandesk.surfaces.sqlite.layout import PRAGMA, SCHEMA, Layout, SqlTable, quoted, read_layout
from cleandesk.surfaces.sqlite.rows import (
    RowReader,
    Stem,
    add_by_key,
    encode_list,
    encode_rows,
    numbered,
    spell,
)

NO_TERMS = SurfaceTerms("sqlite", {})
SUFFIXES = ("", "-wal", "-journal")
"""A database is these files as one; the shared memory beside them is made of the second."""

_PRAGMAS = ("application_id", "auto_vacuum", "encoding", "page_size", "user_version")
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Side:
    """An open database, and how it is read.

    Attributes:
        held: The connection.
        layout: Its tables.
    """

    held: apsw.Connection
    layout: Layout

    @classmethod
    def of(cls, held: apsw.Connection, terms: SurfaceTerms) -> Side:
        """Look at the schema of ``held``."""
        return cls(held, read_layout(held, terms.ignore))

    def rows(self, table: SqlTable, tail: str = "", values: tuple[Any, ...] = ()) -> RowReader:
        """Read the rows of a table."""
        return RowReader(self.held, table, self.layout.encoding, tail, values)


def connect(path: Path, *, immutable: bool = False) -> apsw.Connection:
    """Open a database that nothing is to be written to.

    Args:
        path: The file.
        immutable: Nobody writes it: no locks are taken, and no file is made beside it.
    """
    name = _uri(path) + "?immutable=1" if immutable else str(path)
    flags = apsw.SQLITE_OPEN_READONLY if immutable else apsw.SQLITE_OPEN_READWRITE
    held = apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_URI if immutable else flags)
    held.set_busy_timeout(2000)
    # Looking copies nothing back from a log.
    held.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    held.execute("PRAGMA query_only = 1")
    # It is never written, so an order that only the world's program knows is not needed:
    # SQLite refuses to open an index whose order has no name.
    held.collation_needed(_stand_in)
    return held


def _uri(path: Path) -> str:
    return path.resolve().as_uri()


def _stand_in(held: apsw.Connection, name: str) -> None:
    held.create_collation(name, lambda one, other: (one > other) - (one < other))


@contextlib.contextmanager
def opened(path: Path, terms: SurfaceTerms = NO_TERMS, *, is_apart: bool = False) -> Iterator[Side]:
    """Open any database file to read it, writing nothing beside it.

    Where it has a journal, it is copied with it and the copy is read.

    Args:
        path: The file.
        terms: What a contract says of it.
        is_apart: Read a copy in any case: whoever writes it now does not stop.

    Raises:
        WorldError: CD-243, there is no such file; CD-242, it can't be read, or somebody
            wrote it meanwhile.
    """
    if not path.is_file():
        raise WorldError("CD-243", f"there is no database {shown(path)}", do="correct the path")
    with contextlib.ExitStack() as stack:
        seen, target = signature(path), path
        if is_apart or any(found[1] for found in seen[1:] if found):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cleandesk-"))
            target = Path(folder) / "read.db"
            seen = copy_whole(path, target)
        with readable(path):
            held = stack.enter_context(
                contextlib.closing(connect(target, immutable=target == path))
            )
            held.execute("BEGIN")
            yield Side.of(held, terms)
        if target == path and signature(path) != seen:
            raise _written(path)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a file into CD-242."""
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise WorldError(
            "CD-242",
            f"the database can't be read: {shown(text_of(error))}",
            where=shown(path),
            do="give a SQLite database that is whole; PRAGMA integrity_check looks at one",
        ) from error


Seen = tuple[tuple[int, int, int, int] | None, ...]


def signature(path: Path) -> Seen:
    """Return (inode, size, times) of each file of a database, None where there is none."""
    return tuple(_stat(Path(f"{path}{suffix}")) for suffix in SUFFIXES)


def _stat(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def copy_whole(source: Path, target: Path) -> Seen:
    """Copy a database's files as one.

    Returns:
        What the files were, unchanged from before the copy to after it.

    Raises:
        WorldError: CD-242, somebody writes it all the time; CD-243, it can't be opened.
    """
    for _ in range(_TRIES):
        seen = signature(source)
        for suffix in SUFFIXES:
            Path(f"{target}{suffix}").unlink(missing_ok=True)
        try:
            for suffix, found in zip(SUFFIXES, seen, strict=True):
                if found is not None:
                    shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise WorldError(
                "CD-243", f"the database can't be copied: {shown(error)}", where=shown(source)
            ) from error
        if signature(source) == seen:
            return seen
    raise _written(source)


def _written(path: Path) -> WorldError:
    return WorldError(
        "CD-242",
        "somebody was writing the database while it was read",
        where=shown(path),
        do="wait until whoever writes it is done, or stop it",
    )


def read_database(
    path: str | Path, surface: str = "db", terms: SurfaceTerms | None = None
) -> tuple[dict[str, Table], tuple[str, ...]]:
    """Read any database file as records; nothing is written to it or beside it.

    Args:
        path: The file.
        surface: The surface's name, for ignored patterns.
        terms: What a contract says of it, if one does.

    Returns:
        The tables, and what was not read.

    Raises:
        WorldError: CD-242 or CD-243, as ``opened``.
    """
    terms = terms or NO_TERMS
    with opened(Path(path), terms) as side:
        return read_side(side, Leaving(surface, terms)), side.layout.not_read


def read_side(side: Side, leaving: Leaving) -> dict[str, Table]:
    """Read all tables of an open database, without what is ignored."""
    tables: dict[str, Table] = {}
    for name, table in side.layout.tables.items():
        if not leaving.table(name):
            tables[name] = Table("map", read_table(side, table, leaving))
            if not tables[name].records:
                leaving.empty(name)
    return tables | special_tables(side, leaving)


def read_table(side: Side, table: SqlTable, leaving: Leaving) -> dict[bytes, bytes]:
    """Read one table as records by key."""
    records: dict[bytes, bytes] = {}
    loose: list[tuple[Stem, bytes]] = []
    for rows in side.rows(table).batches():
        keyed, others = spell(table, rows, leaving)
        add_by_key(table, records, keyed)
        loose += others
    records.update(numbered(loose))
    return records


def special_tables(side: Side, leaving: Leaving) -> dict[str, Table]:
    """Read the schema and the settings that a database file carries."""
    found = {SCHEMA: read_schema(side.held), PRAGMA: _pragmas(side.held)}
    tables: dict[str, Table] = {}
    for name, records in found.items():
        if leaving.table(name):
            continue
        kept = {key: leaving.record(name, key, value) for key, value in records.items()}
        tables[name] = Table(
            "map",
            {encode(key): encode(value) for key, value in kept.items() if value is not LEFT_OUT},
        )
    return tables


def read_schema(held: apsw.Connection) -> dict[Any, dict[str, Any]]:
    """Return what the schema defines by name; where its pages lie is not read."""
    statement = (
        "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type = 'trigger', rowid"
    )
    found: dict[Any, dict[str, Any]] = {}
    for kind, name, owner, sql in held.execute(statement):
        if not str(name).startswith("sqlite_"):
            # Only a trigger may have the name of a table.
            key = name if name not in found else (kind, name)
            found[key] = {"sql": sql, "tbl_name": owner, "type": kind}
    return found


def _pragmas(held: apsw.Connection) -> dict[Any, Any]:
    return {name: held.pragma(name) for name in _PRAGMAS}


def query(held: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
    """Ask a base one question in SQL; see ``Sqlite.query``."""
    with contextlib.closing(connect(Path(held["database"]), immutable=True)) as base:
        base.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        try:
            return [*_answers(base, text)]
        except (apsw.Error, UnicodeDecodeError, ValueError) as error:
            raise SuiteError(
                "CD-419",
                f"the database does not answer: {shown(text_of(error))}",
                where=shown(text),
                do="correct the SQL; it is asked of the base, which can't be written",
            ) from error


def _answers(base: apsw.Connection, text: str) -> Iterator[dict[str, Any]]:
    cursor = base.execute(text)
    for row in cursor:
        names = [name for name, *_ in cursor.get_description()]
        if len(set(names)) < len(names):
            raise ValueError(f"two columns have one name: {names}")
        yield dict(zip(names, row, strict=True))


def memory(held: Mapping[str, Any]) -> bytes:
    """Return a base as bytes for ``Connection.deserialize`` of apsw or of sqlite3.

    A world whose database is in memory starts from these. The file's mode is set to that
    of a rollback journal, since a database in memory has no write-ahead log.
    """
    data = bytearray(Path(held["database"]).read_bytes())
    data[18:20] = b"\x01\x01"
    return bytes(data)


def proof(path: str | Path) -> str:
    """Return one SHA-256 over all that is read of a database, in half the time of its records.

    Two databases have the same proof exactly when they have the same tables of records.
    It is made of canon/1: per table its name, columns and key, then its rows as lists in
    the order of their keys, then the sorted digests of the rows that have none.

    Raises:
        WorldError: CD-242 or CD-243, as ``opened``.
    """
    digest = hashlib.sha256()
    with opened(Path(path)) as side:
        leaving = Leaving("", NO_TERMS)
        for name, table in special_tables(side, leaving).items():
            digest.update(encode([name, sorted(map(list, table.records.items()))]))
        for name, found in side.layout.tables.items():
            digest.update(encode([name, list(found.columns), list(found.key), found.by_rowid]))
            _prove(side, found, digest)
    return digest.hexdigest()


def _prove(side: Side, table: SqlTable, digest: Any) -> None:
    keys = [quoted(table.columns[place]) for place in table.key]
    if table.by_rowid:
        keys = [str(table.rowid)]
    named = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    if keys:
        order = ", ".join(f"{key} COLLATE BINARY" for key in keys)
        for rows in side.rows(table, f"WHERE {named} ORDER BY {order}").batches():
            # Without the brackets: how many rows were read at once is no state.
            digest.update(encode_list(rows)[1:-1] + b",")
    rest = f"WHERE NOT ({named})" if keys else ""
    others = [
        hashlib.sha256(record).digest()
        for rows in side.rows(table, rest).batches()
        for record in encode_rows(table.columns, rows)
    ]
    digest.update(b"".join([b"%d:" % len(others), *sorted(others)]))
