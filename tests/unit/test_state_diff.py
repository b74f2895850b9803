"""diff/1: what a change looks like, and what ``apply`` refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cleandesk.errors import StateError
from cleandesk.state import ABSENT, Change, Named, Snapshot, apply, diff, encode, fingerprint
from cleandesk.state.diff import from_json, to_json


def snap(contract="shop/1", **tables):
    return Snapshot.of(contract, {"desk": tables})


def rows_of(before, after):
    found = diff(snap(t=before), snap(t=after))
    return [(change.field, change.op, change.before, change.after) for change in found]


def test_a_nested_field_that_changes_is_one_change_at_its_path():
    before = [{"id": 1, "guest": {"name": "Ada", "tags": ["a", "b"]}}]
    after = [{"id": 1, "guest": {"name": "Ada", "tags": ["a", "c"]}}]

    assert rows_of(before, after) == [("desk.t[0].guest.tags[1]", "changed", "b", "c")]


def test_a_record_that_appears_or_goes_is_one_change_with_the_whole_record():
    row = {"id": 2, "tags": []}

    assert rows_of({}, {"r": row}) == [("desk.t.r", "added", ABSENT, row)]
    assert rows_of({"r": row}, {}) == [("desk.t.r", "removed", row, ABSENT)]
    assert rows_of([], [row]) == [("desk.t[0]", "added", ABSENT, row)]
    assert rows_of([row], []) == [("desk.t[0]", "removed", row, ABSENT)]


def test_a_table_that_appears_or_goes_is_one_change():
    (come,) = diff(snap(), snap(t=[1]))
    (gone,) = diff(snap(t=[1]), snap())

    assert (come.path, come.op, come.before, come.after) == (("t",), "added", ABSENT, [1])
    assert (gone.path, gone.op, gone.before, gone.after) == (("t",), "removed", [1], ABSENT)


def test_a_table_whose_kind_changes_is_changed_as_a_whole():
    assert rows_of([], {}) == [("desk.t", "changed", [], {})]
    assert rows_of(None, []) == [("desk.t", "changed", None, [])]


def test_a_field_of_an_object_that_changes_is_one_change_at_its_path():
    before = [Named("shop:Order", {"no": 7, "paid": False, "lines": [1]})]
    after = [Named("shop:Order", {"no": 7, "paid": True, "lines": [1, 2], "due": 3})]

    assert rows_of(before, after) == [
        ("desk.t[0].due", "added", ABSENT, 3),
        ("desk.t[0].lines[1]", "added", ABSENT, 2),
        ("desk.t[0].paid", "changed", False, True),
    ]


def test_an_object_of_another_class_is_changed_as_a_whole():
    before, after = Named("shop:Order", {"no": 7}), Named("shop:Refund", {"no": 7})

    assert rows_of([before], [after]) == [("desk.t[0]", "changed", before, after)]


def test_the_state_of_a_generator_is_one_change():
    before = Named("random:Random", {"state": (3, (1, 2, 3), None)})
    after = Named("random:Random", {"state": (3, (4, 5, 6), None)})

    assert rows_of([before], [after]) == [("desk.t[0]", "changed", before, after)]


def test_a_tuple_of_one_length_is_compared_by_place_and_of_another_as_a_whole():
    assert rows_of([(1, 2)], [(1, 3)]) == [("desk.t[0][1]", "changed", 2, 3)]
    assert rows_of([(1, 2)], [(2, 3, 4)]) == [("desk.t[0]", "changed", (1, 2), (2, 3, 4))]


def test_a_set_is_compared_as_a_whole():
    assert rows_of([{1, 2}], [{1, 3}]) == [("desk.t[0]", "changed", {1, 2}, {1, 3})]


def test_an_array_is_compared_as_a_whole():
    ((field, op, before, after),) = rows_of([np.zeros(3)], [np.ones(3)])

    assert (field, op) == ("desk.t[0]", "changed")
    assert (before.tolist(), after.tolist()) == ([0.0] * 3, [1.0] * 3)


@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (1, 1.0), (0.0, -0.0), ("1", 1), ((), []), (None, False)]
)
def test_a_change_of_type_alone_is_a_change(before, after):
    assert len(rows_of([before], [after])) == 1
    assert len(rows_of({"r": {"x": [before]}}, {"r": {"x": [after]}})) == 1


def test_a_nan_that_stays_is_no_change():
    assert rows_of([{"x": math.nan}], [{"x": float("nan")}]) == []


def test_keys_of_two_types_are_two_keys():
    assert rows_of({"r": {1: "x"}}, {"r": {True: "x"}}) == [
        ("desk.t.r[1]", "removed", "x", ABSENT),
        ("desk.t.r[True]", "added", ABSENT, "x"),
    ]


def test_changes_are_sorted_by_surface_table_and_path_with_numbers_by_size():
    before = Snapshot.of("c", {"b": {"t": list(range(12))}, "a": {"z": {}, "y": {}}})
    after = Snapshot.of("c", {"b": {"t": [-1] * 12}, "a": {"z": {"k": 1, 2: 1}, "y": {"k": 1}}})

    assert [change.field for change in diff(before, after)] == [
        "a.y.k",
        "a.z[2]",
        "a.z.k",
        *(f"b.t[{place}]" for place in range(12)),
    ]


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        (("events", 3, "title"), "/events/3/title"),
        (("t", "a/b", "c~d"), "/t/a~1b/c~0d"),
        (("t", "", " "), "/t// "),
        (("t", True, None, 1.0), "/t/true/null/1.0"),
        (("t", (1, "a")), '/t/{"$t":[1,"a"]}'),
    ],
)
def test_the_pointer_is_a_json_pointer_below_the_surface(path, pointer):
    assert Change("desk", path, "changed", 1, 2).pointer == pointer


def test_states_of_two_contracts_are_refused():
    """Law 1: snapshots of two contracts are refused."""
    with pytest.raises(StateError) as caught:
        diff(snap("shop/1", t=1), snap("shop/2", t=1))

    assert caught.value.code == "CD-105"
    assert "shop/1" in caught.value.message
    assert "shop/2" in caught.value.message


def test_a_change_as_json_has_no_key_for_the_side_that_does_not_exist():
    changes = diff(snap(t={"a": 1, "b": 1}), snap(t={"b": 2, "c": 3}))

    assert to_json(changes) == [
        {"op": "removed", "path": ["t", "a"], "pointer": "/t/a", "surface": "desk", "before": 1},
        {
            "op": "changed",
            "path": ["t", "b"],
            "pointer": "/t/b",
            "surface": "desk",
            "before": 1,
            "after": 2,
        },
        {"op": "added", "path": ["t", "c"], "pointer": "/t/c", "surface": "desk", "after": 3},
    ]
    assert from_json(to_json(changes)) == changes


def test_a_none_is_not_an_absent_field():
    changes = diff(snap(t={"a": None}), snap(t={}))

    assert from_json(to_json(changes)) == changes
    assert changes[0].before is None
    assert changes[0].after is ABSENT


MISFITS = {
    "a list that is too short": ([1], [1, 2, 3], [5]),
    "a list that has grown": ([1], [1, 2], [1, 7]),
    "a key that is not there": ({"a": {"x": 1}}, {"a": {"x": 2}}, {}),
    "a field that is not there": ({"a": {"x": 1}}, {"a": {"x": 2}}, {"a": {}}),
    "a record to remove that is not there": ({"a": 1}, {}, {"b": 1}),
    "a scalar where a record was": ({"a": {"x": 1}}, {"a": {"x": 2}}, {"a": 5}),
    "a place beyond the end": ([1, 2], [1, 3], [1]),
}


@pytest.mark.parametrize(("before", "after", "other"), MISFITS.values(), ids=MISFITS)
def test_a_change_that_does_not_fit_is_an_error_that_names_the_field(before, after, other):
    changes = diff(snap(t=before), snap(t=after))
    if other == [5]:
        changes = changes[1:]

    with pytest.raises(StateError) as caught:
        apply(snap(t=other), changes)

    assert caught.value.code == "CD-106"
    assert caught.value.where.startswith("field desk.t")


CASES = {
    "tuples in tuples": ([((1, 2), 3)], [((1, 9), 3)]),
    "objects in tuples": ([(Named("m:C", {"a": 1}),)], [(Named("m:C", {"b": 1}),)]),
    "many places at the end": (list(range(30)), list(range(3))),
    "true becomes one": ({"r": {True: 1}}, {"r": {0: 5, 1: 1}}),
    "below a nan": ({"r": {math.nan: {"x": 1}}}, {"r": {math.nan: {"x": 2}}}),
    "arrays by digest": ({"r": np.zeros(200), "s": 1}, {"r": np.ones(200), "s": 2}),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_applying_the_difference_gives_the_later_state_in(before, after):
    one, other = snap(t=before), snap(t=after)

    assert fingerprint(apply(one, diff(one, other))) == fingerprint(other)
    assert fingerprint(apply(other, diff(other, one))) == fingerprint(one)


def test_applying_leaves_the_earlier_state_alone():
    one, other = snap(t=[{"x": [1]}]), snap(t=[{"x": [2]}])
    before = encode(one.tree())

    apply(one, diff(one, other))

    assert encode(one.tree()) == before
