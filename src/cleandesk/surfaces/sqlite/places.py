"""Where the rows of a base lie: which table owns a page, where alike rows without a key are.

Made once, kept beside the base as a small database, and asked for the pages that changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.sqlite.layout import SqlTable, quoted
from cleandesk.surfaces.sqlite.reading import Side, connect
from cleandesk.surfaces.sqlite.rows import RowReader, Stem, quoted_source, spell

_TABLES = """
CREATE TABLE trees(id INTEGER PRIMARY KEY, name TEXT UNIQUE, root INT, leaves INT, whole INT);
CREATE TABLE pages(number INTEGER PRIMARY KEY, tree INT, role TEXT, leaf INT);
CREATE TABLE loose(home TEXT, part BLOB, digits TEXT, row INT);
"""
_TOUCHED = (
    "SELECT name, root, leaves, whole, number, role, leaf FROM pages JOIN trees ON trees.id = tree"
)
_AT_ONCE = 500
_MOST_ALIKE = 2000


@dataclass(frozen=True, slots=True)
class Touched:
    """What of one tree was touched.

    Attributes:
        name: The b-tree's name: a table's or an index's.
        root: Its first page.
        leaves: How many leaves it has at the base.
        is_whole: Whether its pages can't be told apart well enough to read it by pages.
        pages: Changed page -> (role, the leaf that it continues where it is ``overflow``).
    """

    name: str
    root: int
    leaves: int
    is_whole: bool
    pages: dict[int, tuple[str, int | None]]


def write_places(side: Side, leaving: Leaving, path: Path) -> None:
    """Write down where the rows of a base lie.

    Args:
        side: The base, open.
        leaving: What the contract ignores.
        path: The file to make.
    """
    held = apsw.Connection(str(path))
    try:
        held.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        with held:
            held.execute(_TABLES)
            _write_pages(side.held, held)
            for table in side.layout.tables.values():
                if table.is_paged:
                    held.executemany(
                        "INSERT INTO loose VALUES(?, ?, ?, ?)", _loose(side, table, leaving)
                    )
            held.execute("CREATE INDEX by_stem ON loose(home, digits)")
    finally:
        held.close()


def _write_pages(base: apsw.Connection, held: apsw.Connection) -> None:
    trees: dict[str, list[Any]] = {}
    held.executemany("INSERT INTO pages VALUES(?, ?, ?, ?)", _pages(base, trees))
    rows = [(place, name, *rest) for place, (name, rest) in enumerate(trees.items())]
    held.executemany("INSERT INTO trees VALUES(?, ?, ?, ?, ?)", rows)


def _pages(base: apsw.Connection, trees: dict[str, list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the pages of all trees; an overflow page comes after the leaf that it continues."""
    leaf, above = None, "?"
    numbers: dict[str, int] = {}
    for name, path, number, role in base.execute("SELECT name, path, pageno, pagetype FROM dbstat"):
        tree = trees.setdefault(name, [number, 0, False])
        place = numbers.setdefault(name, len(numbers))
        if role == "overflow":
            # What continues no leaf continues an interior page of an index: not asked for.
            is_of_leaf = path.startswith(above)
            tree[2] = tree[2] or not is_of_leaf
            yield number, place, role, leaf if is_of_leaf else None
            continue
        if role == "leaf":
            leaf, above = number, path
            tree[1] += 1
        yield number, place, role, None


def _loose(side: Side, table: SqlTable, leaving: Leaving) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table that no key names: (table, part of the key, digits, number)."""
    keys = [quoted(table.columns[place]) for place in table.key]
    where = "WHERE " + " OR ".join(f"{key} IS NULL" for key in keys) if keys else ""
    tail = f"{where} ORDER BY {table.rowid}"
    reader = side.rows(table, tail)
    lying = side.held.execute(f"SELECT {table.rowid} FROM {quoted_source(table)} {tail}")  # noqa: S608
    for rows in reader.batches():
        numbers = [number for (number,) in islice(lying, len(rows))]
        for row, number in zip(rows, numbers, strict=True):
            for (part, digits), _ in spell(table, [row], leaving)[1]:
                yield table.name, part, digits, number


class Places:
    """The places of one base, to ask."""

    def __init__(self, path: Path) -> None:
        """Open what ``write_places`` made."""
        self._held = connect(path, immutable=True)

    def close(self) -> None:
        """Release it."""
        self._held.close()

    def touched(self, numbers: Iterable[int]) -> list[Touched]:
        """Return the trees to which pages belonged at the base, with these pages."""
        found: dict[str, Touched] = {}
        for some in _chunks(numbers):
            statement = f"{_TOUCHED} WHERE number IN ({_marks(some)})"
            for name, root, leaves, whole, number, role, leaf in self._held.execute(
                statement, some
            ):
                tree = found.setdefault(name, Touched(name, root, leaves, bool(whole), {}))
                tree.pages[number] = (role, leaf)
        return [*found.values()]

    def alike(
        self, side: Side, table: SqlTable, leaving: Leaving, stems: set[Stem]
    ) -> Mapping[Stem, list[bytes]] | None:
        """Return the base's records that share each stem, or None where they are too many."""
        found: dict[Stem, list[bytes]] = {}
        for part, digits in stems:
            numbers = [
                row
                for (row,) in self._held.execute(
                    "SELECT row FROM loose WHERE home = ? AND digits = ? AND part = ?",
                    (table.name, digits, part),
                )
            ]
            if len(numbers) > _MOST_ALIKE:
                return None
            records = spell(table, rows_at(side, table, numbers), leaving)[1]
            found[part, digits] = [record for _, record in records]
        return found


def rows_at(side: Side, table: SqlTable, numbers: Collection[int]) -> list[tuple[Any, ...]]:
    """Read the rows with these numbers, as far as there are such."""
    rows: list[tuple[Any, ...]] = []
    for some in _chunks(numbers):
        reader: RowReader = side.rows(table, f"WHERE {table.rowid} IN ({_marks(some)})", some)
        rows += reader.take(len(some))
    return rows


def _chunks(numbers: Iterable[int]) -> Iterator[tuple[int, ...]]:
    waiting = iter(numbers)
    while some := tuple(islice(waiting, _AT_ONCE)):
        yield some


def _marks(some: tuple[int, ...]) -> str:
    return ", ".join("?" * len(some))
