"""One table, folder or attribute of a surface: its records, as canonical bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cleandesk.state.canon import decode

Kind = Literal["map", "list", "value"]


@dataclass(frozen=True, slots=True)
class Table:
    """One table, folder or attribute of a surface.

    Attributes:
        kind: ``map`` (records by key), ``list`` (records by place) or ``value``
            (one record, under the key ``b""``).
        records: Canonical bytes of the key to canonical bytes of the record; a list's
            keys are the places 0, 1, ... in order.
    """

    kind: Kind
    records: Mapping[bytes, bytes]

    def value(self) -> Any:
        """Return the Python value that this table holds, a fresh copy."""
        if self.kind == "map":
            return {decode(key): decode(record) for key, record in self.records.items()}
        if self.kind == "list":
            return [decode(record) for record in self.records.values()]
        return decode(self.records[b""])


Tables = Mapping[str, Table]
"""Table name -> table: what one surface holds."""
