"""Laws 1 and 2: what "the same state" means, and that looking changes nothing."""

from __future__ import annotations

import math
import random
import struct
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import combinations
from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cleandesk.state import Named, Snapshot, apply, decode, diff, encode, fingerprint
from cleandesk.state.canon import is_plain
from cleandesk.state.contract import contract
from cleandesk.state.diff import ABSENT, from_json, to_json
from cleandesk.state.reference import encode_reference
from cleandesk.surfaces import objects
from cleandesk.worlds.at import At
from cleandesk.worlds.capture import Inside, capture

NAN = math.nan

HARD_KEYS = [
    None,
    False,
    True,
    0,
    1,
    -1,
    2**63,
    2**64,
    0.0,
    -0.0,
    1.0,
    NAN,
    math.inf,
    -math.inf,
    "",
    "1",
    "true",
    "$b",
    "a.b",
    "a/b",
    "\udcff",
    "\x00",
    b"",
    b"1",
    (),
    (1,),
    (1.0,),
    (True,),
    ((1,),),
    (NAN,),
    frozenset(),
    frozenset({1}),
    frozenset({1.0}),
    Decimal("1"),
    Decimal("1.0"),
    1 + 0j,
    complex(0.0, -0.0),
    date(2024, 1, 1),
    datetime.fromisoformat("2024-01-01T00:00:00"),
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    time(0, 0),
    timedelta(0),
    timedelta(microseconds=1),
    UUID(int=1),
]

# Apart: numpy can't compare its integers with a Decimal, so no dict holds both.
NUMPY_KEYS = [np.int64(1), np.int32(1), np.float64(1.0), np.float32(1.0), np.bool_(True)]

HARD_LEAVES = [
    *HARD_KEYS,
    *NUMPY_KEYS,
    [],
    {},
    set(),
    {1},
    {1.0},
    bytearray(b""),
    bytearray(b"1"),
    [1],
    [True],
    [[]],
    [None],
    {"a": 1},
    {"a": None},
    {"$b": "MQ=="},
    {"$t": [1]},
    {1: 1},
    {"1": 1},
    {True: 1},
    Named("m:C", {}),
    Named("m:D", {}),
    Named("m:C", {"a": 1}),
    np.array([], dtype=np.float64),
    np.array([[]], dtype=np.float64),
    np.array([1, 0], dtype=np.int64),
    np.array([1], dtype=np.int32),
    np.array([0.0]),
    np.array([-0.0]),
    np.zeros(200),
    np.ones(200),
    np.zeros((100, 2)),
]


def snap(tree):
    return Snapshot.of("contract/1", tree)


def name_of(value):
    return encode(value).decode()[:60]


def one_of_pool(pool):
    # Drawn by place: hypothesis takes 1, 1.0 and True for one value.
    return st.integers(0, len(pool) - 1).map(lambda place: pool[place])


keys = one_of_pool(HARD_KEYS)
leaves = (
    one_of_pool(HARD_LEAVES)
    | st.floats()
    | st.integers()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.decimals()
    | st.datetimes()
    | st.timedeltas()
)


def containers(inner):
    fields = st.dictionaries(st.text(max_size=2), inner, max_size=3)
    pairs = st.lists(st.tuples(keys, inner), max_size=3)
    numpy_pairs = st.lists(st.tuples(one_of_pool(NUMPY_KEYS), inner), max_size=2)
    return (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | fields
        | pairs.map(dict)
        | numpy_pairs.map(dict)
        | st.lists(keys, max_size=3).map(set)
        | st.builds(Named, st.sampled_from(["m:C", "m:D"]), fields)
    )


values = st.recursive(leaves, containers, max_leaves=8)
names = st.sampled_from(["a", "b", "c"])
trees = st.dictionaries(names, st.dictionaries(names, values, max_size=3), max_size=2)
snapshots = trees.map(snap)


@st.composite
def edits(draw, value):
    """The same value with little changed: random pairs differ nearly everywhere."""
    if not isinstance(value, dict | list | tuple | Named) or draw(st.integers(0, 3)) == 0:
        return draw(values) if draw(st.booleans()) else value
    if isinstance(value, Named):
        fields = draw(edits(dict(value.fields)))
        return Named(value.name, fields) if isinstance(fields, dict) else value
    if isinstance(value, dict):
        items = list(value.items())
        kept = [(key, draw(edits(item))) for key, item in items if draw(st.integers(0, 4))]
        is_numpy = any(isinstance(key, np.generic) for key in value)
        new = st.tuples(one_of_pool(NUMPY_KEYS) if is_numpy else keys, values)
        return dict(kept + draw(st.lists(new, max_size=1)))
    kept = [draw(edits(item)) for item in value if draw(st.integers(0, 4))]
    return type(value)(kept + draw(st.lists(values, max_size=1)))


@st.composite
def near_tables(draw):
    """Near pairs of one table, whose surface and name stay."""
    value = draw(values)
    return snap({"a": {"t": value}}), snap({"a": {"t": draw(edits(value))}})


pairs = st.tuples(snapshots, snapshots) | near_tables()


@given(pairs)
@example((snap({"a": {"t": 1}}), snap({"a": {"t": True}})))
@example((snap({"a": {"t": {1: "x"}}}), snap({"a": {"t": {True: "x"}}})))
@example((snap({"a": {"t": {"n": {1: "x"}}}}), snap({"a": {"t": {"n": {1.0: "x"}}}})))
@example((snap({"a": {}}), snap({})))
@example((snap({"a": {"t": []}}), snap({"a": {"t": {}}})))
@example((snap({"a": {"bc": 1}}), snap({"ab": {"c": 1}})))
@example((snap({"a": {"t": {float("nan"): 1, float("nan"): 2}}}), snap({"a": {"t": {NAN: 2}}})))
@example((snap({"a": {"t": [{float("nan"): 1}]}}), snap({"a": {"t": [{float("nan"): 1}]}})))
def test_diff_is_empty_exactly_when_fingerprints_agree(pair):
    """Law 1."""
    before, after = pair

    assert (diff(before, after) == ()) == (fingerprint(before) == fingerprint(after))


PLACES = {
    "table": lambda value: value,
    "record of a list": lambda value: [value],
    "record of a map": lambda value: {"k": value},
    "deep": lambda value: {"k": [({"x": value},)]},
    "field of an object": lambda value: [Named("m:C", {"f": value})],
    "place among many": lambda value: {"k": [value, *range(70)]},
    "key among many": lambda value: {"k": {"x": value} | {str(n): n for n in range(70)}},
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_leaves_that_differ_in_type_or_value_are_never_the_same_state(place):
    """Law 1: 1, 1.0 and True differ, 0.0 and -0.0 differ."""
    held = [snap({"a": {"t": place(leaf)}}) for leaf in HARD_LEAVES]

    assert len({fingerprint(one) for one in held}) == len(held)
    assert all(diff(one, other) for one, other in combinations(held, 2))


@pytest.mark.parametrize("place", ["table", "deep", "set"])
def test_keys_that_differ_in_type_or_value_are_never_the_same_state(place):
    """Law 1, for keys and members."""
    shapes = {
        "table": lambda key: {key: 1},
        "deep": lambda key: [{"x": {key: 1}}],
        "set": lambda key: [{key}],
    }
    held = [snap({"a": {"t": shapes[place](key)}}) for key in HARD_KEYS + NUMPY_KEYS]

    assert len({fingerprint(one) for one in held}) == len(held)
    assert all(diff(one, other) for one, other in combinations(held, 2))


@pytest.mark.parametrize("leaf", HARD_LEAVES, ids=name_of)
def test_a_value_is_the_same_state_as_itself(leaf):
    """Law 1: a NaN equals itself."""
    one, other = snap({"a": {"t": [leaf, {"k": leaf}]}}), snap({"a": {"t": [leaf, {"k": leaf}]}})

    assert diff(one, other) == ()
    assert fingerprint(one) == fingerprint(other)


@given(pairs)
@example((snap({"a": {"t": ((1,),)}}), snap({"a": {"t": ((2,),)}})))
@example((snap({"a": {"t": {"r": {True: 1}}}}), snap({"a": {"t": {"r": {0: 5, 1: 1}}}})))
@example((snap({"a": {"t": [1, 2, 3]}}), snap({"a": {"t": [1]}})))
@example((snap({"a": {"t": {NAN: {"x": 1}}}}), snap({"a": {"t": {NAN: {"x": 2}}}})))
@example((snap({"a": {"t": {"k": np.zeros(200)}}}), snap({"a": {"t": {"k": np.ones(200)}}})))
def test_applying_the_difference_gives_the_later_state(pair):
    """Law 1's other half: a diff keeps both values, so it can be replayed and undone."""
    before, after = pair

    assert fingerprint(apply(before, diff(before, after))) == fingerprint(after)
    assert fingerprint(apply(after, diff(after, before))) == fingerprint(before)


@given(pairs)
def test_a_difference_survives_being_written_down(pair):
    """Law 7: what a log holds is what was compared."""
    before, after = pair
    changes = from_json(decode(encode(to_json(diff(before, after)))))

    assert fingerprint(apply(before, changes)) == fingerprint(after)


MIRROR = {"added": "removed", "removed": "added", "changed": "changed"}


@given(pairs)
def test_the_way_back_is_the_mirror_of_the_way_there(pair):
    """Law 1: diff/1 is invertible."""
    before, after = pair

    def row(surface, path, op, old, new):
        absent = b"absent"
        sides = [absent if side is ABSENT else encode(side) for side in (old, new)]
        return (surface, encode(path), op, *sides)

    there = {row(c.surface, c.path, c.op, c.before, c.after) for c in diff(before, after)}
    back = {row(c.surface, c.path, MIRROR[c.op], c.after, c.before) for c in diff(after, before)}

    assert there == back


@given(snapshots)
def test_a_stored_snapshot_reads_back_as_the_same_state(snapshot):
    """Law 1: the stored form loses nothing and has one spelling."""
    again = Snapshot.from_bytes(snapshot.to_bytes())

    assert fingerprint(again) == fingerprint(snapshot)
    assert again.to_bytes() == snapshot.to_bytes()


@given(snapshots)
def test_a_decoded_tree_is_the_same_state(snapshot):
    """Law 1."""
    assert fingerprint(snap(snapshot.tree())) == fingerprint(snapshot)


@given(values)
@example(np.zeros(200))
@example(np.zeros(2, dtype=[("x", "<i4"), ("y", "<f8")]))
@example(np.array([{"a": 1}, None], dtype=object))
@example({np.int64(3): {np.str_("x")}})
def test_decoding_gives_back_what_was_encoded(value):
    """Law 1: decode is the inverse of encode."""
    assert encode(decode(encode(value))) == encode(value)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.sampled_from(["$", "$b", '"$b"', "\\", "\x7f", "\u2028", "\U0001f600", "\ue000"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("$t"), inner),
    max_leaves=20,
)


@given(plain)
def test_the_fast_path_spells_as_the_reference_does(value):
    """Law 1: orjson only speeds canon/1 up."""
    assert encode(value) == encode_reference(value)


@given(plain)
def test_plain_values_come_back_equal_with_their_types(value):
    """Law 1."""
    again = decode(encode(value))

    assert repr(again) == repr(value) or encode_reference(again) == encode_reference(value)


@pytest.mark.parametrize("seed", range(4))
def test_random_doubles_are_spelled_as_the_reference_does(seed):
    """Law 1: 100,000 doubles in all, half of them by bit pattern, half short decimals."""
    source = random.Random(seed)
    bits = [struct.unpack(">d", source.randbytes(8))[0] for _ in range(12_500)]
    short = [round(source.uniform(-1, 1), 5) * 10.0 ** source.randint(-25, 25) for _ in bits]
    finite = [number for number in bits + short if math.isfinite(number)]
    texts = [encode(number).decode() for number in finite]

    assert len(finite) > 24_000
    assert all(map(is_plain, finite))
    assert texts == [encode_reference(number).decode() for number in finite]
    assert [float(text) for text in texts] == finite
    assert all("." in text or "e" in text for text in texts)


@given(st.lists(st.tuples(keys, values), max_size=5), st.randoms(use_true_random=False))
def test_the_order_in_which_a_mapping_was_filled_is_no_state(items, source):
    """Law 1."""
    # One key to Python may be two spellings (1 and True): the dict decides.
    items = list(dict(items).items())
    shuffled = source.sample(items, len(items))

    assert encode(dict(items)) == encode(dict(shuffled))
    assert (
        snap({"a": {"t": dict(items)}}).to_bytes() == snap({"a": {"t": dict(shuffled)}}).to_bytes()
    )


class Shelf:
    contract = contract("shelf", "1", shelf=objects("held"), clock="2024-01-01T00:00:00Z")

    def __init__(self, held):
        self.held = held


@given(values)
@example({UUID(int=1)})
def test_capturing_twice_gives_the_same_fingerprint(value):
    """Law 2: looking changes nothing."""
    world, at = Shelf([value]), At()
    at.pin(world.contract.clock)
    before = encode(world.held)
    first = capture(world, Inside(at), world.contract).snapshot
    second = capture(world, Inside(at), world.contract).snapshot

    assert fingerprint(first) == fingerprint(second)
    assert first == second
    assert encode(world.held) == before


def test_a_snapshot_does_not_change_with_the_world_that_it_was_read_from():
    """Law 2: what was read is kept as bytes."""
    row = {"title": "Gym", "tags": ["a"], "grid": np.zeros(3)}
    world, at = Shelf([row]), At()
    at.pin(world.contract.clock)
    snapshot = capture(world, Inside(at), world.contract).snapshot
    before = fingerprint(snapshot)
    row["tags"].append("b")
    row["grid"][0] = 1.0
    world.held.clear()

    assert fingerprint(snapshot) == before


def test_changing_a_decoded_tree_leaves_the_snapshot_alone():
    """Law 2."""
    snapshot = snap({"a": {"t": [{"x": [1]}]}})
    snapshot.tree()["a"]["t"][0]["x"].append(2)

    assert snapshot.tree() == {"a": {"t": [{"x": [1]}]}}


@given(pairs)
def test_changes_are_sorted_and_name_each_field_once(pair):
    """Law 7: the same two states give the same difference in the same order."""
    before, after = pair
    changes = diff(before, after)
    fields = [(change.surface, encode(change.path)) for change in changes]

    assert len(set(fields)) == len(fields)
    assert [surface for surface, _ in fields] == sorted(surface for surface, _ in fields)
    assert encode(to_json(changes)) == encode(to_json(diff(before, after)))
