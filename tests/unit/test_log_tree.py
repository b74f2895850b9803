from __future__ import annotations

from hashlib import sha256

import pytest
from pymerkle import InmemoryTree

from cleandesk.log.tree import inclusion, is_included, root


def leaves_of(size: int) -> list[bytes]:
    return [f"leaf {index}".encode() for index in range(size)]


def test_root_of_no_leaves_is_the_hash_of_nothing():
    assert root([]) == sha256(b"").hexdigest()


def test_leaf_and_node_are_hashed_behind_different_bytes():
    one = sha256(b"\0a").digest()
    other = sha256(b"\0b").digest()

    assert root([b"a"]) == one.hex()
    assert root([b"a", b"b"]) == sha256(b"\1" + one + other).hexdigest()


@pytest.mark.parametrize("size", [*range(1, 34), 100, 127, 128, 129])
def test_root_is_the_one_that_pymerkle_computes(size):
    tree = InmemoryTree(algorithm="sha256")
    for leaf in leaves_of(size):
        tree.append_entry(leaf)

    assert root(leaves_of(size)) == tree.get_root().hex()


@pytest.mark.parametrize("size", range(1, 20))
def test_each_leaf_and_only_it_is_shown_to_be_included(size):
    leaves = leaves_of(size)
    top = root(leaves)
    for index, leaf in enumerate(leaves):
        path = inclusion(leaves, index)

        assert is_included(leaf, index, size, path, top)
        assert not is_included(b"other", index, size, path, top)
        assert not is_included(leaf, index, size, [*path, top], top)
        assert not path or not is_included(leaf, index, size, path[:-1], top)
        assert not any(
            is_included(leaf, other, size, path, top) for other in range(size) if other != index
        )


def test_index_without_a_leaf_is_refused():
    with pytest.raises(IndexError, match="leaf 2 of 2"):
        inclusion([b"a", b"b"], 2)
    assert not is_included(b"a", 2, 2, [], root([b"a", b"b"]))
    assert not is_included(b"a", 5, 1, [], root([b"a"]))
    assert not is_included(b"a", -1, 1, [], root([b"a"]))


def test_path_that_is_not_hex_is_no_proof():
    assert not is_included(b"a", 0, 2, ["xyz"], root([b"a", b"b"]))
