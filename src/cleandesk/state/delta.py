"""Everything that was written since a base: what differs, record by record.

A surface with a base is never read as a whole to know its state. Its base is known
(fingerprint, records), and a delta names each record that is not as it was. Two states
over one base are equal exactly when their deltas are, because a delta holds no record
that is equal to the base's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cleandesk.state.canon import decode
from cleandesk.state.table import Table, Tables

Edit = tuple[bytes | None, bytes | None]
"""A record's canonical bytes at the base and now; None where there is no such record."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What differs from a base.

    Attributes:
        tables: Table -> canonical bytes of the key -> edit; no edit has two equal sides
            and no table is empty. Every table is a ``map``.
        created: Tables that the base does not have, sorted.
        dropped: Tables that the base has and that are gone, sorted; each of their records
            is in ``tables`` with nothing as its second side.
    """

    tables: Mapping[str, Mapping[bytes, Edit]] = field(default_factory=dict)
    created: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Mapping[bytes, Edit]],
        created: Iterable[str] = (),
        dropped: Iterable[str] = (),
    ) -> Delta:
        """Make a delta of ``tables``, leaving out what is no edit."""
        kept = {
            name: {key: edit for key, edit in edits.items() if edit[0] != edit[1]}
            for name, edits in tables.items()
        }
        return cls(
            {name: edits for name, edits in sorted(kept.items()) if edits},
            tuple(sorted(created)),
            tuple(sorted(dropped)),
        )

    @classmethod
    def between(cls, base: Tables, now: Tables) -> Delta:
        """Compare two full readings: O(size), the auditor of every faster way."""
        tables: dict[str, dict[bytes, Edit]] = {}
        for name in base.keys() | now.keys():
            old = base[name].records if name in base else {}
            new = now[name].records if name in now else {}
            if old == new:
                continue
            tables[name] = {
                key: (old.get(key), new.get(key))
                for key in old.keys() | new.keys()
                if old.get(key) != new.get(key)
            }
        return cls.of(tables, now.keys() - base.keys(), base.keys() - now.keys())

    def __bool__(self) -> bool:
        """Tell whether anything differs from the base."""
        return bool(self.tables or self.created or self.dropped)

    def applied(self, base: Tables) -> dict[str, Table]:
        """Return the tables that this delta makes of ``base``; O(size)."""
        kept = {name: table for name, table in base.items() if name not in self.dropped}
        for name in self.created:
            kept[name] = Table("map", {})
        for name, edits in self.tables.items():
            if name in self.dropped:
                continue
            records = dict(kept[name].records)
            for key, (_, now) in edits.items():
                if now is None:
                    records.pop(key, None)
                else:
                    records[key] = now
            kept[name] = Table("map", records)
        return kept

    def since(self, earlier: Delta) -> Iterator[tuple[str, bytes, Edit]]:
        """Yield (table, key, edit) from the state of ``earlier`` to this one, sorted.

        Both are over one base; it is not needed.
        """
        for name in sorted(self.tables.keys() | earlier.tables.keys()):
            old, new = earlier.tables.get(name, {}), self.tables.get(name, {})
            for key in sorted(old.keys() | new.keys()):
                before = old[key][1] if key in old else new[key][0]
                after = new[key][1] if key in new else old[key][0]
                if before != after:
                    yield name, key, (before, after)

    def side(self, number: int) -> dict[str, dict[Any, Any]]:
        """Return the records that differ as they are at the base (0) or now (1), decoded."""
        return {
            name: {
                decode(key): decode(held) for key, edit in rows.items() if (held := edit[number])
            }
            for name, rows in self.tables.items()
        }

    def to_plain(self) -> dict[str, Any]:
        """Return plain values that canon/1 spells; records stay canonical texts."""
        return {
            "created": list(self.created),
            "dropped": list(self.dropped),
            "tables": {
                name: [
                    [key.decode(), *(None if side is None else side.decode() for side in edit)]
                    for key, edit in sorted(edits.items())
                ]
                for name, edits in self.tables.items()
            },
        }

    @classmethod
    def from_plain(cls, held: Mapping[str, Any]) -> Delta:
        """Read what ``to_plain`` returned."""
        tables = {
            name: {
                key.encode(): (
                    None if before is None else before.encode(),
                    None if after is None else after.encode(),
                )
                for key, before, after in rows
            }
            for name, rows in held["tables"].items()
        }
        return cls.of(tables, held["created"], held["dropped"])


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The answer of a fast path that would have to guess; the full path answers instead.

    Attributes:
        why: The reason, as a person would say it.
    """

    why: str
