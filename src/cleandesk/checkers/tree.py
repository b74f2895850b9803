"""The state at one end of an episode, read a table at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cleandesk.errors import StateError
from cleandesk.state.canon import decode
from cleandesk.state.diff import ABSENT, Change, apply
from cleandesk.state.reference import Named
from cleandesk.state.snapshot import Snapshot, Table

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


def open_tree(source: Source) -> Tree:
    """Return surface -> table -> value.

    Args:
        source: A snapshot, its stored bytes, the canonical bytes of a tree, or a tree.

    Raises:
        StateError: CD-104, bytes that are neither.
    """
    if isinstance(source, bytes):
        return _from_bytes(source)
    if isinstance(source, Snapshot):
        return {surface: _Tables(tables) for surface, tables in source.surfaces.items()}
    return source


def _from_bytes(data: bytes) -> Tree:
    # A snapshot begins with its contract's name; a tree's first value is a table.
    if data.startswith(b'{"contract":"'):
        return open_tree(Snapshot.from_bytes(data))
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
