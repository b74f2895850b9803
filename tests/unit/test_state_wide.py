"""Wide containers are compared and checked many values at a time; nothing may hide there."""

from __future__ import annotations

import math
from uuid import UUID

import numpy as np
import pytest

from cleandesk.errors import StateError
from cleandesk.state import Snapshot, diff, encode, fingerprint
from cleandesk.state.canon import encode_each, is_plain
from cleandesk.state.diff import diff_values
from cleandesk.state.reference import encode_reference

FILLER = [*range(200)]
LOOKALIKES = [
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    (None, math.nan),
    (math.inf, -math.inf),
    ([1], (1,)),
    ([], ()),
    (b"1", bytearray(b"1")),
    (UUID(int=1), str(UUID(int=1))),
    (1.0, np.float64(1.0)),
    (1, np.int64(1)),
    (np.array([1]), np.array([1.0])),
    ({1}, frozenset({1})),
    ({"a": 1}, {"a": True}),
    ({"a": [0.0]}, {"a": [-0.0]}),
]


@pytest.mark.parametrize(("one", "other"), LOOKALIKES)
@pytest.mark.parametrize("place", [0, 63, 64, 200])
def test_values_that_look_alike_differ_in_a_wide_container(one, other, place):
    """Law 1."""
    before, after = ([*FILLER[:place], value, *FILLER[place:]] for value in (one, other))
    named = [dict(zip(map(str, range(201)), items, strict=True)) for items in (before, after)]

    assert [found[0] for found in diff_values(before, after)] in [[(place,)], [(place, 0)]] or (
        [found[0][0] for found in diff_values(before, after)] == [place]
    )
    assert [found[0][0] for found in diff_values(*named)] == [str(place)]
    assert [*diff_values(before, before)] == [*diff_values(named[1], named[1])] == []


@pytest.mark.parametrize("odd", [math.nan, (1,), "\udcff", 2**70, "$b", {"$b": 1}, {1: 1}, b"1"])
def test_a_table_with_one_odd_record_is_spelled_as_the_reference_does(odd):
    """Law 1."""
    records = [{"id": number, "tags": [number]} for number in range(100)]
    records[50] = {"id": 50, "tags": [odd]}

    assert encode_each(records) == [encode_reference(record) for record in records]


def test_the_same_rows_one_by_one_and_all_at_once_have_one_fingerprint():
    """Law 1."""
    rows = {f"k{number}": {"id": number, "share": number / 3} for number in range(100)}
    snapshot = Snapshot.of("c/1", {"desk": {"rows": rows}})

    assert list(snapshot.surfaces["desk"]["rows"].records.values()) == [*map(encode, rows.values())]
    again = Snapshot.from_bytes(snapshot.to_bytes())
    assert fingerprint(again) == fingerprint(snapshot)
    assert diff(again, snapshot) == ()


def test_a_wide_value_that_contains_itself_is_refused_at_once():
    inside: list[object] = []
    inside += [inside] * 100
    rings: list[dict[str, object]] = [{"next": None} for _ in range(100)]
    for place, ring in enumerate(rings):
        ring["next"] = rings[place - 1]

    for value in (inside, rings, {"a": inside}):
        assert not is_plain(value)
        with pytest.raises(StateError, match="CD-102"):
            encode(value)


def test_a_nesting_of_200_is_plain_and_one_more_is_not():
    value: object = [[number] for number in range(100)]
    for _ in range(198):
        value = [value]

    assert encode(value) == encode_reference(value)
    assert is_plain(value)
    assert not is_plain([value])
