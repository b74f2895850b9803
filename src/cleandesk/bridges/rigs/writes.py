"""Writes to a private copy, drawn at random: what stands in for a world over a bare surface.

An action is plain: which surface, what to do, and a number from which table, row and value
follow, given what the copy holds at that moment.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cleandesk.errors import WorldError

WAYS = ("insert", "update", "delete")
KINDS = frozenset({"sqlite", "files", "postgres"})


class Writes:
    """A part that draws one write."""

    def __init__(self, surfaces: Sequence[str]) -> None:
        self._surfaces = surfaces

    def uniform(self, rng: Any) -> dict[str, Any]:
        """Draw from all that is allowed."""
        surface = self._surfaces[int(rng.integers(len(self._surfaces)))]
        way = WAYS[int(rng.integers(len(WAYS)))]
        return {"do": way, "number": int(rng.integers(2**31)), "surface": surface}

    def extreme(self, rng: Any) -> dict[str, Any]:
        """Draw from the ends."""
        return self.uniform(rng)

    def null(self) -> dict[str, Any]:
        """Return what is nearest to nothing."""
        return {"do": "nothing", "number": 0, "surface": self._surfaces[0]}

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return name


def writer_of(kind: str, place: str) -> Callable[[str, int], str]:
    """Return a function that carries out (what to do, number) and says what it did.

    Raises:
        WorldError: CD-295, nothing is known of such a surface.
    """
    if kind == "sqlite":
        return lambda do, number: _write_sqlite(place, do, number)
    if kind == "files":
        return lambda do, number: _write_files(Path(place), do, number)
    if kind == "postgres":
        return lambda do, number: _write_postgres(place, do, number)
    raise WorldError(
        "CD-295",
        f"a surface of kind {kind!r} can't be written without its world",
        where="a contract alone",
        do=f"name the world's class instead; alone go: {', '.join(sorted(KINDS))}",
    )


def _write_sqlite(place: str, do: str, number: int) -> str:
    with contextlib.closing(sqlite3.connect(place)) as db:
        listed = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%'"
            " ESCAPE '!' ORDER BY name"
        )
        tables = [name for (name,) in listed]
        try:
            return _write_rows(_Rows(db, tables, "?"), do, number)
        except sqlite3.Error as error:
            db.rollback()
            return f"refused: {type(error).__name__}"


def _write_postgres(place: str, do: str, number: int) -> str:
    import psycopg

    with psycopg.connect(place) as db:
        listed = db.execute(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
        )
        tables = [name for (name,) in listed.fetchall()]
        try:
            return _write_rows(_Rows(db, tables, "%s", is_quoted=True), do, number)
        except psycopg.Error as error:
            db.rollback()
            return f"refused: {type(error).__name__}"


class _Rows:
    """A connection of either kind, and how its dialect spells."""

    def __init__(
        self, db: Any, tables: Sequence[str], mark: str, *, is_quoted: bool = False
    ) -> None:
        self.db = db
        self.tables = tables
        self.mark = mark
        self._is_quoted = is_quoted

    def table(self, name: str) -> str:
        return name if self._is_quoted else _quoted(name)

    def read(self, name: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the columns and the first rows of a table, in an order of their own."""
        cursor = self.db.execute(f"SELECT * FROM {self.table(name)}")  # noqa: S608 - a quoted name
        columns = [column[0] for column in cursor.description]
        return columns, sorted(map(tuple, cursor.fetchall()), key=repr)


def _write_rows(rows: _Rows, do: str, number: int) -> str:
    rng = np.random.default_rng(number)
    if do not in WAYS or not rows.tables:
        return "nothing"
    name = rows.tables[int(rng.integers(len(rows.tables)))]
    columns, held = rows.read(name)
    if not held:
        return f"{name} is empty"
    row = held[int(rng.integers(len(held)))]
    where, values = _condition(columns, row, rows.mark)
    at = int(rng.integers(len(columns)))
    table = rows.table(name)
    if do == "delete":
        rows.db.execute(f"DELETE FROM {table} WHERE {where}", values)  # noqa: S608 - quoted names
    elif do == "update":
        text = f"UPDATE {table} SET {_quoted(columns[at])} = {rows.mark} WHERE {where}"  # noqa: S608 - the same
        rows.db.execute(text, (_other(row[at], rng), *values))
    else:
        new = [_other(row[0], rng), *row[1:]]
        marks = ", ".join([rows.mark] * len(new))
        rows.db.execute(f"INSERT INTO {table} VALUES ({marks})", new)  # noqa: S608 - the same
    rows.db.commit()
    return f"{do} in {name}"


def _condition(columns: Sequence[str], row: Sequence[Any], mark: str) -> tuple[str, list[Any]]:
    parts, values = [], []
    for column, value in zip(columns, row, strict=True):
        if value is None:
            parts.append(f"{_quoted(column)} IS NULL")
        elif isinstance(value, int | str):
            parts.append(f"{_quoted(column)} = {mark}")
            values.append(value)
    return " AND ".join(parts) or "1 = 1", values


def _other(value: Any, rng: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value + 1 + int(rng.integers(1000))
    if isinstance(value, float):
        return value + float(rng.normal())
    return f"{value}-{int(rng.integers(1000))}" if isinstance(value, str) else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _write_files(place: Path, do: str, number: int) -> str:
    rng = np.random.default_rng(number)
    held = sorted(_below(place), key=str)
    files = [path for path in held if path.is_file() and not path.is_symlink()]
    if do == "insert":
        folders = [place, *(path for path in held if path.is_dir() and not path.is_symlink())]
        made = folders[int(rng.integers(len(folders)))] / f"new-{int(rng.integers(100))}"
        if made.is_dir():
            return "nothing"
        made.write_bytes(rng.bytes(16))
        return f"wrote {made.relative_to(place)}"
    if do == "update" and files:
        changed = files[int(rng.integers(len(files)))]
        with changed.open("ab") as file:
            file.write(rng.bytes(8))
        return f"appended to {changed.relative_to(place)}"
    if do == "delete" and held:
        gone = held[int(rng.integers(len(held)))]
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone)
        else:
            gone.unlink()
        return f"deleted {gone.relative_to(place)}"
    return "nothing"


def _below(place: Path) -> Iterator[Path]:
    return place.rglob("*")
