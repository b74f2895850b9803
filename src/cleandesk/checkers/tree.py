"""The state at one end of an episode, read a table at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cleandesk.errors import StateError
from cleandesk.state.apply import apply
from cleandesk.state.canon import decode
from cleandesk.state.diff import ABSENT, Change
from cleandesk.state.over import Over
from cleandesk.state.reference import Named
from cleandesk.state.snapshot import Snapshot
from cleandesk.state.table import Table, Tables

Tree = Mapping[str, Mapping[str, Any]]
Source = bytes | Snapshot | Tree


class _Tables(Mapping[str, Any]):
    """The tables of one surface; each is decoded when it is first read."""

    __slots__ = ("_held", "_read")

    def __init__(self, held: Mapping[str, Table]) -> None:
        self._held = held
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = self._held[name].value()
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


class BaseTables:
    """The tables of a base as values; each is decoded once for all states over it."""

    def __init__(self, tables: Tables) -> None:
        """Take the tables of the base."""
        self.tables = tables
        self._values: dict[str, Any] = {}

    def value(self, name: str) -> Any:
        """Return the value of one table; it is shared, so it is not to be written."""
        if name not in self._values:
            self._values[name] = self.tables[name].value()
        return self._values[name]


class _OverTables(Mapping[str, Any]):
    """The tables of a surface that has a base: the base's, with what differs put in."""

    __slots__ = ("_base", "_over", "_read")

    def __init__(self, over: Over, base: Callable[[], BaseTables]) -> None:
        self._over = over
        self._base = base
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            if name not in self._names():
                raise KeyError(name)
            self._read[name] = self._value(name)
        return self._read[name]

    def _value(self, name: str) -> Any:
        delta = self._over.delta
        rows = {} if name in delta.created else dict(self._base().value(name))
        edits = delta.tables.get(name, {})
        # What is gone goes first: to Python, the keys 1 and 1.0 are one.
        for key in [key for key, (_, now) in edits.items() if now is None]:
            rows.pop(decode(key), None)
        rows |= {decode(key): decode(now) for key, (_, now) in edits.items() if now is not None}
        return rows

    def _names(self) -> list[str]:
        delta = self._over.delta
        return [
            *(name for name in self._base().tables if name not in delta.dropped),
            *delta.created,
        ]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


def open_tree(source: Source, base_of: Callable[[str], BaseTables] | None = None) -> Tree:
    """Return surface -> table -> value.

    Args:
        source: A snapshot, its stored bytes, the canonical bytes of a tree, or a tree.
        base_of: Finds a base by the name of its object.

    Raises:
        StateError: CD-104, bytes that are neither.
    """
    if isinstance(source, bytes):
        return _from_bytes(source, base_of)
    if isinstance(source, Snapshot):
        plain = {surface: _Tables(tables) for surface, tables in source.surfaces.items()}
        over = {surface: _over(over, base_of) for surface, over in source.over.items()}
        return {**plain, **over}
    return source


def _over(over: Over, base_of: Callable[[str], BaseTables] | None) -> _OverTables:
    def base() -> BaseTables:
        return base_of(over.object) if base_of is not None else BaseTables(over.base())

    return _OverTables(over, base)


def _from_bytes(data: bytes, base_of: Callable[[str], BaseTables] | None) -> Tree:
    # A snapshot begins with its contract's name; a tree's first value is a table.
    if data.startswith(b'{"contract":"'):
        return open_tree(Snapshot.from_bytes(data), base_of)
    try:
        tree = decode(data)
    except json.JSONDecodeError as error:
        raise StateError("CD-104", "this is not a state: it is no JSON") from error
    if not isinstance(tree, dict) or not all(isinstance(held, dict) for held in tree.values()):
        raise StateError("CD-104", "this is not a state: it is no table of surfaces")
    return tree


def value_at(tree: Any, parts: Sequence[str | None]) -> Any:
    """Return the value of the field that ``parts`` names as text, or ABSENT.

    A ``None`` (any key) names no single field: ABSENT.
    """
    value = tree
    for part in parts:
        value = ABSENT if part is None else _child(value, part)
        if value is ABSENT:
            break
    return value


def _child(value: Any, part: str) -> Any:
    if isinstance(value, Named):
        value = value.fields
    if isinstance(value, Mapping):
        if part in value:
            return value[part]
        # By far the usual case: a row by its number. 0 and 1 may also mean False and True.
        number = int(part) if part.isdecimal() and part not in {"0", "1"} else None
        if number is not None and str(number) == part and number in value:
            return value[number]
        return next((item for key, item in value.items() if str(key) == part), ABSENT)
    if isinstance(value, (list, tuple)) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return ABSENT


def table_after(tree: Tree, surface: str, table: str, changes: Sequence[Change]) -> Any:
    """Return the value of a table once ``changes`` are made to it, or ABSENT.

    Raises:
        StateError: CD-106, a change does not fit the table.
    """
    before = value_at(tree, (surface, table))
    held = {} if before is ABSENT else {table: before}
    own = [change for change in changes if (change.surface, change.path[0]) == (surface, table)]
    after = apply(Snapshot.of("", {surface: held}), own).tree()
    return value_at(after, (surface, table))
