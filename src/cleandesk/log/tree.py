"""One tree over the heads of a run's episodes: its root stands for all of them.

The Merkle tree of RFC 6962, section 2.1, over SHA-256: a leaf is hashed behind
a zero byte and an inner node behind a one byte, so a node can never be passed
off as a leaf. With the root and a path of log2(n) hashes, one episode can be
shown to be part of a run without the other episodes.

Pure. Hashes are given and taken as 64 hex digits, leaves as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256


def root(leaves: Sequence[bytes]) -> str:
    """Return the root of the tree over ``leaves``; of no leaves, the hash of nothing."""
    level = [_leaf(leaf) for leaf in leaves]
    if not level:
        return sha256(b"").hexdigest()
    while len(level) > 1:
        level = _above(level)
    return level[0].hex()


def inclusion(leaves: Sequence[bytes], index: int) -> list[str]:
    """Return the hashes that lead from the leaf at ``index`` to the root, lowest first.

    Raises:
        IndexError: There is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(f"leaf {index} of {len(leaves)}")
    level = [_leaf(leaf) for leaf in leaves]
    path = []
    while len(level) > 1:
        sibling = index ^ 1
        if sibling < len(level):
            path.append(level[sibling].hex())
        level = _above(level)
        index //= 2
    return path


def is_included(leaf: bytes, index: int, size: int, path: Sequence[str], expected: str) -> bool:
    """Say whether ``path`` leads from ``leaf`` to the root ``expected``.

    Args:
        leaf: The leaf's bytes.
        index: Its place among the leaves, from 0.
        size: Number of leaves under the root.
        path: Hashes as ``inclusion`` gives them.
        expected: The root.

    Source:
        RFC 9162, section 2.1.3.2 "Verifying an Inclusion Proof".
    """
    if not 0 <= index < size:
        return False
    node, last = _leaf(leaf), size - 1
    for hashed in path:
        if not last:
            return False
        try:
            sibling = bytes.fromhex(hashed)
        except ValueError:
            return False
        if index & 1 or index == last:
            node = _node(sibling, node)
            # A node without a sibling rises unhashed; the path skips those levels.
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = _node(node, sibling)
        index, last = index >> 1, last >> 1
    return not last and node.hex() == expected


def _above(level: list[bytes]) -> list[bytes]:
    # Pairing level by level with an odd node carried up is the same tree as the
    # RFC's split at the largest power of two, without the recursion.
    pairs = zip(level[::2], level[1::2], strict=False)
    above = [_node(left, right) for left, right in pairs]
    return above if len(level) % 2 == 0 else [*above, level[-1]]


def _leaf(leaf: bytes) -> bytes:
    return sha256(b"\0" + leaf).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()
