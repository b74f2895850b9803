"""How bases and deltas go from one process to another: as they are, also where they are wrong.

``Delta.to_plain`` reads back a delta in order; a rule is there to see what is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.table import Table, Tables


def plain_tables(tables: Tables) -> dict[str, Any]:
    """Return the tables of a base as plain values."""
    return {
        name: [table.kind, [[_text(key), _text(record)] for key, record in table.records.items()]]
        for name, table in tables.items()
    }


def tables_of(held: Mapping[str, Any]) -> dict[str, Table]:
    """Read what ``plain_tables`` returned."""
    return {
        name: Table(kind, {_bytes(key): _bytes(record) for key, record in rows})
        for name, (kind, rows) in held.items()
    }


def plain_delta(told: Delta | CannotTell) -> dict[str, Any]:
    """Return what a copy said as plain values.

    Raises:
        TypeError: It is neither ``Delta`` nor ``CannotTell``.
    """
    if isinstance(told, CannotTell):
        return {"why": told.why}
    if not isinstance(told, Delta):
        raise TypeError(f"it answered with {type(told).__name__}, not with a Delta")
    return {
        "created": list(told.created),
        "dropped": list(told.dropped),
        "tables": {
            name: [
                [_text(key), *(None if side is None else _text(side) for side in edit)]
                for key, edit in edits.items()
            ]
            for name, edits in told.tables.items()
        },
    }


def delta_of(held: Mapping[str, Any]) -> Delta | CannotTell:
    """Read what ``plain_delta`` returned."""
    if "why" in held:
        return CannotTell(held["why"])
    tables = {
        name: {
            _bytes(key): (
                None if before is None else _bytes(before),
                None if after is None else _bytes(after),
            )
            for key, before, after in rows
        }
        for name, rows in held["tables"].items()
    }
    return Delta(tables, tuple(held["created"]), tuple(held["dropped"]))


def _text(data: bytes) -> str:
    # One character for each byte, whatever they spell.
    return data.decode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")
