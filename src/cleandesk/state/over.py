"""The state of a surface that has a base: which base, and what was written since.

It stands for all of the surface's tables without holding them. Only who asks for the
tables themselves has the base loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from cleandesk.errors import StateError
from cleandesk.state.canon import decode
from cleandesk.state.delta import Delta
from cleandesk.state.pattern import fits
from cleandesk.state.prune import Parts, pick
from cleandesk.state.table import Table, Tables

BaseOf = Callable[[str], Tables]
"""The SHA-256 of a stored base -> its tables."""


@dataclass(frozen=True, slots=True)
class Over:
    """A base, named by digests, and the delta over it.

    Attributes:
        fingerprint: Of the surface at base: its node of fingerprint/1, hexadecimal.
        object: SHA-256 of the base's snapshot as it is stored.
        fields: Leaves at base.
        delta: What differs from it.
        base: Loads the base's tables.
    """

    fingerprint: str
    object: str
    fields: int
    delta: Delta
    base: Callable[[], Tables] = field(repr=False, compare=False)

    def tables(self) -> dict[str, Table]:
        """Return every table as it is now; O(size of the base)."""
        return self.delta.applied(self.base())

    def with_delta(self, delta: Delta) -> Over:
        """Return another state over the same base."""
        return replace(self, delta=delta)

    def record(self, table: str, key: bytes) -> bytes | None:
        """Return one record as it is now, from the delta if it can be."""
        edits = self.delta.tables.get(table, {})
        return edits[key][1] if key in edits else self.base_record(table, key)

    def base_record(self, table: str, key: bytes) -> bytes | None:
        """Return one record as it is at the base."""
        edits = self.delta.tables.get(table, {})
        if key in edits:
            return edits[key][0]
        held = self.base().get(table)
        return None if held is None else held.records.get(key)

    def pick(self, parts: Parts) -> list[Any]:
        """Return the values of the fields that ``parts`` name, the table first; loads the base."""
        tables = self.tables()
        if not parts:
            return [{name: table.value() for name, table in tables.items()}]
        held = [table for name, table in tables.items() if parts[0] in {None, name}]
        return [value for table in held for value in _picked(table, parts[1:])]

    def to_plain(self) -> dict[str, Any]:
        """Return plain values that canon/1 spells."""
        return {
            "base": self.object,
            "delta": self.delta.to_plain(),
            "fields": self.fields,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_plain(cls, held: Mapping[str, Any], base_of: BaseOf | None = None) -> Over:
        """Read what ``to_plain`` returned; ``base_of`` finds the base when it is asked for."""
        name = str(held["base"])

        def base() -> Tables:
            return base_of(name) if base_of is not None else _no_base(name)

        return cls(held["fingerprint"], name, held["fields"], Delta.from_plain(held["delta"]), base)


def _picked(table: Table, parts: Parts) -> list[Any]:
    if not parts:
        return [table.value()]
    # Only the records that are named are decoded.
    named = [record for key, record in table.records.items() if fits(parts[0], decode(key))]
    return [value for record in named for value in pick(decode(record), parts[1:])]


def _no_base(name: str) -> NoReturn:
    raise StateError(
        "CD-108",
        "this state is kept as what differs from a base, and the base is not at hand",
        where=f"object {name[:16]}",
        do="read it from its run folder, which holds the base under objects/",
    )
