"""fingerprint/1: SHA-256 over a tree whose leaves are records.

Leaf and node hashes are told apart by their first byte and every part carries its
length, so that no two different states can spell the same input.

Law 1 (tests/laws/test_state_laws.py):
    diff(a, b) == ()  if and only if  fingerprint(a) == fingerprint(b)

Source: docs/spec/fingerprint-1.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from cleandesk.state.canon import encode
from cleandesk.state.over import Over
from cleandesk.state.snapshot import Snapshot
from cleandesk.state.table import Table, Tables

_LEAF, _NODE = b"\x00", b"\x01"
_GONE = hashlib.sha256(b"\x02").digest()
"""Stands where a record of the base is no more."""


def fingerprint(snapshot: Snapshot) -> str:
    """Return the fingerprint of ``snapshot``: 64 hexadecimal digits.

    Source:
        docs/spec/fingerprint-1.md, section 3.
    """
    return combined(snapshot.contract, surface_digests(snapshot))


def surface_digests(snapshot: Snapshot) -> dict[str, str]:
    """Return the node of each surface, which other processes' surfaces may stand beside."""
    plain = {
        surface: surface_digest(tables) for surface, tables in snapshot.surfaces.items() if tables
    }
    return {**plain, **{surface: _over(over).hex() for surface, over in snapshot.over.items()}}


def surface_digest(tables: Tables) -> str:
    """Return the node of one surface, from all of its tables."""
    return _node(
        b"surface", ((name.encode(), _table(table)) for name, table in tables.items())
    ).hex()


def combined(contract: str, digests: Mapping[str, str]) -> str:
    """Return the fingerprint of the state whose surfaces have these nodes."""
    world = _node(
        b"world", ((name.encode(), bytes.fromhex(held)) for name, held in digests.items())
    )
    parts = ((b"contract", _leaf(contract.encode())), (b"state", world))
    return _node(b"snapshot", parts).hex()


def _over(over: Over) -> bytes:
    """Name a state by its base and what differs: O(changes), and as exact (section 3)."""
    delta = over.delta
    names = encode([list(delta.created), list(delta.dropped)])
    edits = (
        (name.encode(), _node(b"edits", ((key, _side(now)) for key, (_, now) in rows.items())))
        for name, rows in delta.tables.items()
    )
    return _node(
        b"over",
        (
            (b"base", bytes.fromhex(over.fingerprint)),
            (b"edits", _node(b"delta", edits)),
            (b"tables", _leaf(names)),
        ),
    )


def _side(record: bytes | None) -> bytes:
    return _GONE if record is None else _leaf(record)


def _table(table: Table) -> bytes:
    sha256 = hashlib.sha256
    digests = ((key, sha256(_LEAF + record).digest()) for key, record in table.records.items())
    return _node(table.kind.encode(), digests)


def _leaf(data: bytes) -> bytes:
    return hashlib.sha256(_LEAF + data).digest()


def _node(kind: bytes, children: Iterable[tuple[bytes, bytes]]) -> bytes:
    ordered = sorted(children)
    parts = [_NODE, len(kind).to_bytes(1, "big"), kind, len(ordered).to_bytes(8, "big")]
    for key, digest in ordered:
        parts += (len(key).to_bytes(4, "big"), key, digest)
    return hashlib.sha256(b"".join(parts)).digest()
