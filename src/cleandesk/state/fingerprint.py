"""fingerprint/1: SHA-256 over a tree whose leaves are records.

Leaf and node hashes are told apart by their first byte and every part carries its
length, so that no two different states can spell the same input.

Law 1 (tests/laws/test_state_laws.py):
    diff(a, b) == ()  if and only if  fingerprint(a) == fingerprint(b)

Source: docs/spec/fingerprint-1.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from cleandesk.state.snapshot import Snapshot, Table

_LEAF, _NODE = b"\x00", b"\x01"


def fingerprint(snapshot: Snapshot) -> str:
    """Return the fingerprint of ``snapshot``: 64 hexadecimal digits.

    Source:
        docs/spec/fingerprint-1.md, section 3.
    """
    surfaces = (
        (
            surface.encode(),
            _node(b"surface", ((name.encode(), _table(table)) for name, table in tables.items())),
        )
        for surface, tables in snapshot.surfaces.items()
        if tables
    )
    contract = (b"contract", _leaf(snapshot.contract.encode()))
    return _node(b"snapshot", (contract, (b"state", _node(b"world", surfaces)))).hex()


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
