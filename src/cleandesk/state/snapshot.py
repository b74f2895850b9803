"""What a capture read: surfaces, their tables, and in these the records as bytes.

A record (a row, a file, a top-level object) is kept as its canonical bytes. So a
snapshot can't change with the world that it was read from, two records are the same
exactly when their bytes are, and only records that differ are ever decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from cleandesk.errors import StateError
from cleandesk.state.canon import Named, decode, encode, encode_each, is_plain
from cleandesk.state.over import BaseOf, Over
from cleandesk.state.table import Kind, Table, Tables

_SCALARS = frozenset({str, int, float, bool, type(None)})
Tree = Mapping[str, Mapping[str, Any]]
"""Surface name -> table name -> value."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state that one capture read under one contract.

    Attributes:
        contract: Name, version and digest of the contract, as ``Contract.identity``.
        surfaces: Surface name -> table name -> table.
        over: The surfaces that have a base, as what differs from it.
    """

    contract: str
    surfaces: Mapping[str, Tables]
    over: Mapping[str, Over] = field(default_factory=dict)

    @classmethod
    def of(cls, contract: str, tree: Tree) -> Snapshot:
        """Take ``tree``, a surface -> table -> value mapping, as a snapshot.

        Raises:
            StateError: CD-101, a value of a type that canon/1 does not know.
        """
        return cls(
            contract,
            {
                surface: {name: _table(surface, name, value) for name, value in tables.items()}
                for surface, tables in tree.items()
            },
        )

    def tree(self) -> dict[str, dict[str, Any]]:
        """Return the values, decoded: surface -> table -> value, a fresh copy."""
        return {
            surface: {name: table.value() for name, table in tables.items()}
            for surface, tables in self.flat().surfaces.items()
        }

    def flat(self) -> Snapshot:
        """Return the same state with every table in it; loads the bases."""
        if not self.over:
            return self
        whole = {name: over.tables() for name, over in self.over.items()}
        return Snapshot(self.contract, {**self.surfaces, **whole})

    def fields_read(self) -> int:
        """Count the leaves of this snapshot: its scalars, and empty containers as one."""
        tables = [table for tables in self.surfaces.values() for table in tables.values()]
        # All records of a table are decoded as one list: one call, not one for each.
        own = sum(leaves(decode(b"[%b]" % b",".join(table.records.values()))) for table in tables)
        return own + sum(over.fields + _grown(over) for over in self.over.values())

    def to_bytes(self) -> bytes:
        """Return the stored form: canonical bytes that ``from_bytes`` reads."""
        surfaces = {
            surface: {
                name: [
                    table.kind,
                    [[key.decode(), record.decode()] for key, record in _ordered(table)],
                ]
                for name, table in tables.items()
            }
            for surface, tables in self.surfaces.items()
        }
        held = {"contract": self.contract, "format": "snapshot/1", "surfaces": surfaces}
        if self.over:
            held["over"] = {name: over.to_plain() for name, over in self.over.items()}
        return encode(held)

    @classmethod
    def from_bytes(cls, data: bytes, base_of: BaseOf | None = None) -> Snapshot:
        """Read the stored form.

        Args:
            data: What ``to_bytes`` returned.
            base_of: Finds the base of a surface that is kept as what differs from one.

        Raises:
            StateError: CD-104, ``data`` is not a snapshot/1.
        """
        try:
            held = decode(data)
            if held["format"] != "snapshot/1":
                raise ValueError(held["format"])
            surfaces = {
                surface: {name: _read_table(*stored) for name, stored in tables.items()}
                for surface, tables in held["surfaces"].items()
            }
            over = {
                name: Over.from_plain(stored, base_of)
                for name, stored in held.get("over", {}).items()
            }
            return cls(held["contract"], surfaces, over)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StateError(
                "CD-104",
                f"this is not a saved snapshot: {type(error).__name__}",
                do="give a file that cleandesk saved, or two episodes as RUN:EPISODE",
            ) from error


def tables_of(data: bytes) -> Tables:
    """Return the tables of the one surface that the stored snapshot of a base holds.

    Raises:
        StateError: CD-104, ``data`` is not a snapshot/1.
    """
    (tables,) = Snapshot.from_bytes(data).surfaces.values()
    return tables


def _ordered(table: Table) -> list[tuple[bytes, bytes]]:
    # The order in which a map was filled is no state; the places of a list are.
    rows = list(table.records.items())
    return sorted(rows) if table.kind == "map" else rows


def _read_table(kind: Kind, records: list[list[str]]) -> Table:
    if kind not in get_args(Kind):
        raise ValueError(kind)
    return Table(kind, {key.encode(): record.encode() for key, record in records})


def _table(surface: str, name: str, value: Any) -> Table:
    try:
        if type(value) is dict:
            rows = dict(zip(map(_key, value), encode_each([*value.values()]), strict=True))
            # Two NaNs are two keys of one spelling: then the table is one record.
            return (
                Table("map", rows)
                if len(rows) == len(value)
                else Table("value", {b"": encode(value)})
            )
        if type(value) is list:
            records = encode_each(value)
            return Table("list", {b"%d" % place: text for place, text in enumerate(records)})
        return Table("value", {b"": encode(value)})
    except StateError as error:
        raise _located(error, surface, name, value) from error


def _key(key: Any) -> bytes:
    # The usual key is a short text: quoting it by hand is several times faster.
    if type(key) is str and key.isascii() and key.isalnum():
        return b'"%s"' % key.encode()
    return encode(key)


def _located(error: StateError, surface: str, table: str, value: Any) -> StateError:
    """Put the surface and the table in front of the field that the encoder named."""
    field = error.where.removeprefix("field ").replace("(the value itself)", "")
    place = ""
    if type(value) in {dict, list}:
        rows = value.items() if type(value) is dict else enumerate(value)
        place = next((f"[{key}]" for key, row in rows if not _encodes(row)), "")
    dotted = f".{field}" if field and not field.startswith("[") else field
    return StateError(
        error.code, error.message, where=f"field {surface}.{table}{place}{dotted}", do=error.do
    )


def _encodes(value: Any) -> bool:
    if is_plain(value):
        return True
    try:
        encode(value)
    except StateError:
        return False
    return True


def _grown(over: Over) -> int:
    """Count by how many leaves a state is larger than its base."""
    sides = [
        (leaves(decode(before)) if before else 0, leaves(decode(after)) if after else 0)
        for edits in over.delta.tables.values()
        for before, after in edits.values()
    ]
    return sum(after - before for before, after in sides)


def leaves(value: Any) -> int:
    """Count the scalars in ``value``; an empty container counts as one."""
    kind = type(value)
    if kind is dict:
        items = value.values()
    elif kind is list or kind is tuple:
        items = value
    elif kind is Named:
        items = value.fields.values()
    else:
        return 1
    return sum(1 if type(item) in _SCALARS else leaves(item) for item in items) or 1
