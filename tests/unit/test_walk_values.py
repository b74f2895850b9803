"""The walk tells apart what is not the same state, and nothing else."""

import math
import random
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, auto
from fractions import Fraction
from itertools import combinations, count
from pathlib import PurePosixPath
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk import split, walk
from cleandesk.state.canon import ALL_BYTES, encode


class Box:
    def __init__(self, **held):
        self.__dict__.update(held)


class Colour(Enum):
    RED = 1
    BLUE = 2


class Mode(Flag):
    A = auto()
    B = auto()


Point = namedtuple("Point", "x y")


class Text(str):
    pass


def seen(value):
    return walk({"env": Box(it=value)})


def tokens(value):
    return dict(seen(value).tokens)


UNLIKE = {
    "none": None,
    "true": True,
    "one": 1,
    "one as float": 1.0,
    "one as complex": 1 + 0j,
    "one as text": "1",
    "one as bytes": b"1",
    "numpy one": np.int64(1),
    "numpy one of 32 bits": np.int32(1),
    "numpy float": np.float64(1.0),
    "zero": 0.0,
    "minus zero": -0.0,
    "nan": math.nan,
    "infinity": math.inf,
    "big": 10**40,
    "long text": "x" * 9000,
    "other long text": "x" * 9001,
    "bytearray": bytearray(b"1"),
    "list": [1, 2],
    "tuple": (1, 2),
    "set": {1, 2},
    "frozenset": frozenset({1, 2}),
    "deque": deque([1, 2]),
    "bounded deque": deque([1, 2], maxlen=2),
    "array of numbers": np.array([1, 2]),
    "array of floats": np.array([1.0, 2.0]),
    "column": np.array([[1], [2]]),
    "array of minus zero": np.array([-0.0]),
    "array of zero": np.array([0.0]),
    "array of objects": np.array([1, None], dtype=object),
    "records": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "other records": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
    "dict": {"a": 1},
    "dict by number": {1: "a"},
    "dict by text": {"1": "a"},
    "ordered": OrderedDict(a=1),
    "counter": Counter("a"),
    "default": defaultdict(int, a=1),
    "other default": defaultdict(list, a=1),
    "named": Point(1, 2),
    "enum": Colour.RED,
    "other enum": Colour.BLUE,
    "flags": Mode.A | Mode.B,
    "text of its own": Text("1"),
    "decimal": Decimal("1.0"),
    "other decimal": Decimal("1.00"),
    "fraction": Fraction(1, 3),
    "path": PurePosixPath("a"),
    "uuid": UUID(int=1),
    "day": date(2026, 1, 1),
    "time": datetime(2026, 1, 1),  # noqa: DTZ001
    "time with zone": datetime(2026, 1, 1, tzinfo=timezone.utc),  # noqa: UP017
    "span": timedelta(seconds=1),
    "range": range(3),
    "dtype": np.dtype("int8"),
    "class": Box,
    "function": tokens,
    "counting": count(3),
    "generator": np.random.default_rng(1),
    "same generator, later": np.random.default_rng(2),
    "legacy generator": np.random.RandomState(1),
    "python generator": random.Random(1),
    "other python generator": random.Random(2),
    "object": Box(),
    "object with a field": Box(a=1),
    "nested": [{"a": (1, 2)}],
    "nested list": [{"a": [1, 2]}],
}


def test_no_two_unlike_values_have_equal_tokens():
    found = {name: tokens(value) for name, value in UNLIKE.items()}

    alike = [pair for pair in combinations(found, 2) if found[pair[0]] == found[pair[1]]]

    assert alike == []


@pytest.mark.parametrize("name", UNLIKE)
def test_every_value_keeps_its_fingerprint_and_can_be_spelled(name):
    value = UNLIKE[name]
    first, second = seen(value), seen(value)

    assert first.fingerprint() == second.fingerprint()
    for path in first.tokens:
        leaf = first.leaf(path)

        assert Leaf.from_bytes(leaf.to_bytes()).to_bytes() == leaf.to_bytes()


def test_every_nan_is_the_same_state():
    negative = -math.nan

    assert tokens(negative) == tokens(math.nan)
    assert tokens([1.0, negative]) == tokens([1.0, math.nan])
    assert tokens({"a": (negative,)}) == tokens({"a": (math.nan,)})


# certificate: C-10
def test_order_of_keys_is_state_and_is_named_apart_from_values():
    one, other = seen({"a": 1, "b": 2}), seen({"b": 2, "a": 1})

    parts = split(one.leaf("env.it"), other.leaf("env.it"), "env.it")

    assert one.tokens != other.tokens
    assert [(path, fresh.kind) for path, fresh, _ in parts] == [("env.it[order()]", Kind.ORDER)]


def test_order_survives_the_way_through_canonical_bytes():
    leaves = [seen(value).leaf("env.it") for value in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    there = [Leaf.from_bytes(leaf.to_bytes()) for leaf in leaves]

    assert there[0].to_bytes() != there[1].to_bytes()
    assert len(split(*there, "env.it")) == 1


def test_order_of_dicts_with_objects_is_a_leaf_of_its_own():
    a, b = Box(n=1), Box(n=2)
    one, other = seen({"x": a, "y": b}), seen({"y": b, "x": a})

    unlike = {path for path in one.tokens if one.tokens[path] != other.tokens.get(path)}

    assert unlike == {"env.it[order()]"}


def test_split_names_the_value_that_differs():
    fresh = seen({"rows": [{"id": 1, "x": 1.0}, {"id": 2, "x": 2.0}]}).leaf("env.it")
    dirty = seen({"rows": [{"id": 1, "x": 1.0}, {"id": 2, "x": 2}, {}]}).leaf("env.it")

    parts = split(fresh, dirty, "env.it")

    assert [(path, one and one.value, other and other.value) for path, one, other in parts] == [
        ("env.it.rows[1].x", 2.0, 2),
        ("env.it.rows[2]", None, {}),
    ]


def test_split_leaves_other_leaves_whole():
    fresh, dirty = Leaf(Kind.VALUE, 1), Leaf(Kind.VALUE, 2)

    assert split(fresh, dirty, "env.n") == [("env.n", fresh, dirty)]
    assert split(fresh, fresh, "env.n") == []


def test_leaves_have_the_memory_of_the_walk_and_not_of_the_rig():
    held = np.arange(4.0)
    rows = [1, 2]
    rig = Box(held=held, rows=rows)
    before = walk({"env": rig})
    held[0], rows[0] = 9.0, 9

    assert before.leaf("env.held").value.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert before.leaf("env.rows").value == [1, 2]


# certificate: C-11
def test_arrays_that_hold_the_same_in_another_layout_are_equal():
    table = np.arange(6).reshape(2, 3)

    assert tokens(table) == tokens(np.asfortranarray(table))
    assert tokens(np.arange(3, dtype=">i4")) == tokens(np.arange(3, dtype="<i4"))


def test_digests_made_at_the_last_walk_are_not_taken_for_other_data():
    rig = Box(big=np.zeros(1000), text="a" * 500)
    first = walk({"env": rig}).tokens
    rig.big[7] = 1.0
    rig.text = "a" * 499 + "b"
    second = walk({"env": rig}).tokens
    rig.big[7] = 0.0
    rig.text = "a" * 500

    assert first["env.big"] != second["env.big"]
    assert first["env.text"] != second["env.text"]
    assert walk({"env": rig}).tokens == first


atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=60),
    st.binary(max_size=60),
    st.complex_numbers(),
)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(0, 3)), inner, max_size=4),
    ),
    max_leaves=12,
)


def ordered_bytes(value):
    """Spell a value as canon/1 does, with the order of keys: an oracle of another make."""
    if type(value) is dict:
        pairs = [[ordered_bytes(key), ordered_bytes(item)] for key, item in value.items()]
        return encode(["dict", pairs])
    if type(value) in {list, tuple}:
        return encode([type(value).__name__, [*map(ordered_bytes, value)]])
    return encode(value, inline_bytes=ALL_BYTES)


def respelled(value):
    """Return the same state as other objects."""
    if type(value) is dict:
        return {respelled(key): respelled(item) for key, item in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(map(respelled, value))
    return "".join([*value]) if type(value) is str else value


@given(values, values)
@settings(max_examples=100, deadline=None)
def test_tokens_are_equal_exactly_when_the_values_are_the_same_state(one, other):
    is_same = ordered_bytes(one) == ordered_bytes(other)

    assert (tokens(one) == tokens(other)) is is_same
    assert tokens(one) == tokens(respelled(one))


@given(values, values)
@settings(max_examples=60, deadline=None)
def test_split_is_empty_exactly_when_leaves_are_equal(one, other):
    fresh, dirty = seen(one).leaf("env.it"), seen(other).leaf("env.it")

    parts = split(fresh, dirty, "env.it")

    assert (parts == []) is (fresh.to_bytes() == dirty.to_bytes())
    assert (parts == []) is (ordered_bytes(one) == ordered_bytes(other))


def test_what_lies_behind_the_bytes_of_a_long_double_is_no_state():
    sides = []
    for fill in (0, 255):
        array = np.frombuffer(bytes([fill]) * 64, "u1").copy().view("g")
        # Arithmetic stores the elements and leaves the gaps as they are.
        np.divide(np.ones(4, "g"), 3, out=array)
        sides.append(walk({"env": Box(many=array, one=array[0])}).tokens)

    assert sides[0] == sides[1]
