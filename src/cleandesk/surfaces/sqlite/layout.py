"""What a database holds and how it is read: its tables, their columns and their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import apsw

from cleandesk.errors import shown
from cleandesk.state.pattern import Pattern

SCHEMA = "sqlite_schema"
PRAGMA = "sqlite_pragma"
SEQUENCE = "sqlite_sequence"

_OWN_CONTENT = {"fts3": "_content", "fts4": "_content", "fts5": "_content"} | dict.fromkeys(
    ("rtree", "rtree_i32", "geopoly"), "_node"
)
"""Module of a virtual table -> the shadow table without which its rows are kept elsewhere."""

_ALWAYS_UNREAD = (
    "the journal mode, the layout of pages and free pages",
    "statistics of the query planner (sqlite_stat tables)",
    "attached databases and other files that a world writes",
    "what an open transaction has not committed",
)


@dataclass(frozen=True, slots=True)
class SqlTable:
    """One table and how its rows become records.

    Attributes:
        name: As the database spells it.
        columns: The columns that are read, by code point; ignored ones are not among them.
        key: Places in ``columns`` of the primary key; empty where rows have no name.
        rowid: The expression that gives a row's number, or None where there is none.
        by_rowid: Whether that number is the key: virtual tables.
        is_paged: Whether the rows lie in a b-tree by number, so that pages name them.
        is_pruned: Whether the contract ignores more of it than whole columns.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    rowid: str | None
    by_rowid: bool = False
    is_paged: bool = False
    is_pruned: bool = False

    @property
    def expressions(self) -> list[str]:
        """What a row is read as: the number first where it is the key."""
        own = [quoted(name) for name in self.columns]
        return [str(self.rowid), *own] if self.by_rowid else own

    @property
    def names_no_row(self) -> bool:
        """Whether no row of it has a key."""
        return not self.key and not self.by_rowid


@dataclass(frozen=True, slots=True)
class Layout:
    """What is read of one database.

    Attributes:
        tables: Name -> table, without the tables of the schema and the pragmas.
        homes: Name of a b-tree -> the table whose rows it holds.
        encoding: The codec of texts where they are not UTF-8, else None.
        not_read: What is not read, in words.
        dropped_columns: The ignored patterns that were met by leaving a column out.
    """

    tables: Mapping[str, SqlTable]
    homes: Mapping[str, str]
    encoding: str | None
    not_read: tuple[str, ...]
    dropped_columns: frozenset[str]


def quoted(name: str) -> str:
    """Return ``name`` as SQL spells it."""
    return '"' + name.replace('"', '""') + '"'


def read_layout(held: apsw.Connection, ignore: Iterable[str] = ()) -> Layout:
    """Read what tables there are; ``ignore`` holds patterns below the surface."""
    return _Survey(held, ignore).layout()


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    kind: str
    place_in_key: int
    is_hidden: bool


class _Survey:
    """One look at a schema; gathers what is not read on its way."""

    def __init__(self, held: apsw.Connection, ignore: Iterable[str]) -> None:
        self._held = held
        self._ignore = [(text, Pattern.parse(text).parts) for text in ignore]
        self._not_read: list[str] = []
        self._numbered: list[str] = []
        self._met: set[str] = set()

    def layout(self) -> Layout:
        listed = self._listed()
        virtual = [name for name, (kind, _) in listed.items() if kind == "virtual"]
        modules = {name: self._module(name) for name in virtual}
        whole = {name for name in virtual if self._is_readable(name, modules[name], listed)}
        tables: dict[str, SqlTable] = {}
        homes: dict[str, str] = {}
        for name, (kind, has_no_rowid) in sorted(listed.items()):
            owner = _owner(name, virtual) if kind == "shadow" else None
            if owner in whole:
                homes[name] = str(owner)
            elif kind == "virtual":
                if name in whole:
                    tables[name] = self._virtual(name)
            else:
                tables[name] = self._ordinary(name, has_no_rowid=has_no_rowid)
                homes[name] = name
        self._tell_virtual(modules, whole)
        if self._numbered:
            names = ", ".join(shown(name) for name in self._numbered)
            self._not_read.append(f"row numbers, where they are no key: of {names}")
        return Layout(
            tables,
            homes,
            self._codec(),
            (*_ALWAYS_UNREAD, *sorted(self._not_read)),
            frozenset(self._met),
        )

    def _listed(self) -> dict[str, tuple[str, bool]]:
        """Return name -> (kind, whether it is WITHOUT ROWID), for what the schema lists."""
        own = {
            name: name
            for (name,) in self._held.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
        found = self._held.execute(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
        )
        return {
            own[name]: (kind, bool(has_no_rowid))
            for name, kind, has_no_rowid in found
            if name in own and not name.startswith("sqlite_stat")
        }

    def _codec(self) -> str | None:
        spelled = str(self._held.pragma("encoding")).lower()
        return None if spelled == "utf-8" else {"utf-16le": "utf-16-le"}.get(spelled, "utf-16-be")

    def _columns(self, name: str) -> list[_Column]:
        rows = self._held.execute(
            "SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", (name,)
        )
        return [_Column(column, kind, place, hidden == 1) for column, kind, place, hidden in rows]

    def _ordinary(self, name: str, *, has_no_rowid: bool) -> SqlTable:
        columns = self._columns(name)
        in_key = sorted((column for column in columns if column.place_in_key), key=_place)
        kept = self._kept(name, columns)
        if name == SEQUENCE:
            in_key = [column for column in columns if column.name == "name"]
        names = [column.name for column in in_key]
        # A key of which a part is never compared names nothing that can be compared.
        key = tuple(kept.index(part) for part in names) if set(names) <= set(kept) else ()
        rowid = None if has_no_rowid else _rowid(columns)
        is_alias = len(in_key) == 1 and name != SEQUENCE and self._is_alias(name, in_key[0])
        if is_alias and not has_no_rowid:
            rowid = quoted(names[0])
        elif rowid is not None and name != SEQUENCE:
            self._numbered.append(name)
        return SqlTable(
            name,
            kept,
            key,
            rowid,
            is_paged=rowid is not None and name != SEQUENCE,
            is_pruned=self._is_pruned(name),
        )

    def _is_alias(self, name: str, column: _Column) -> bool:
        """Tell whether the column is another name of the row's number."""
        if column.kind.upper() != "INTEGER":
            return False
        # An index of its own is what a key that is no alias has (INTEGER PRIMARY KEY DESC).
        made_for_key = self._held.execute(
            "SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'", (name,)
        )
        return made_for_key.fetchone() is None

    def _virtual(self, name: str) -> SqlTable:
        columns = [column for column in self._columns(name) if not column.is_hidden]
        kept = self._kept(name, columns)
        return SqlTable(name, kept, (), "rowid", by_rowid=True, is_pruned=self._is_pruned(name))

    def _kept(self, table: str, columns: list[_Column]) -> tuple[str, ...]:
        kept = []
        for column in sorted(column.name for column in columns if not column.is_hidden):
            met = [text for text, parts in self._ignore if _drops(parts, table, column)]
            self._met.update(met)
            if not met:
                kept.append(column)
        return tuple(kept)

    def _is_pruned(self, table: str) -> bool:
        return any(
            parts[0] in {None, table} and not (len(parts) == 3 and parts[1] is None)
            for _, parts in self._ignore
            if len(parts) > 1
        )

    def _module(self, name: str) -> str:
        found = self._held.execute(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)
        ).fetchone()
        after = str(found and found[0]).upper().partition(" USING ")[2].split("(")[0].strip()
        return after.strip("\"'`[]; ").lower()

    def _is_readable(self, name: str, module: str, listed: Mapping[str, object]) -> bool:
        suffix = _OWN_CONTENT.get(module)
        if suffix is None or name + suffix not in listed:
            return False
        # Asked for types, not for texts: one that is not well-formed is readable too.
        kinds = [
            f"typeof({quoted(each.name)})" for each in self._columns(name) if not each.is_hidden
        ]
        columns = ", ".join(["rowid", *kinds])
        try:
            self._held.execute(f"SELECT {columns} FROM {quoted(name)} LIMIT 1").fetchall()  # noqa: S608
        except apsw.Error:
            return False
        return True

    def _tell_virtual(self, modules: Mapping[str, str], whole: set[str]) -> None:
        for name, module in modules.items():
            kind = f"virtual table {shown(name)} ({shown(module)})"
            self._not_read.append(
                f"index and settings of {kind}: its rows are read"
                if name in whole
                else f"rows of {kind}: the tables in which it keeps them are read"
            )


def _place(column: _Column) -> int:
    return column.place_in_key


def _drops(parts: tuple[str | None, ...], table: str, column: str) -> bool:
    return (
        len(parts) == 3
        and parts[0] in {None, table}
        and parts[1] is None
        and parts[2] in {None, column}
    )


def _rowid(columns: Iterable[_Column]) -> str | None:
    taken = {column.name.lower() for column in columns}
    return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)


def _owner(shadow: str, virtual: Iterable[str]) -> str | None:
    owners = [name for name in virtual if shadow.lower().startswith(f"{name}_".lower())]
    return max(owners, key=len, default=None)
