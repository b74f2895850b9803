from __future__ import annotations

import pytest

from cleandesk.checkers import premises
from cleandesk.state import Snapshot

TREE = {
    "desk": {
        "events": {3: {"title": "Gym", "hour": 18}, 4: {"title": "Gym", "hour": 19}},
        "rows": [{"id": 1}, {"id": 2}],
        "inbox": ["hello"],
        "tags": {"a"},
        "none": None,
    }
}
START = Snapshot.of("c", TREE)


def faults(**expect):
    return premises({"expect": expect}, START)


@pytest.mark.parametrize(
    "expect",
    [
        {},
        {"removed": {"desk.events": [3, {"title": "Gym"}]}},
        {"removed": {"desk.events": [{"title": "Gym"}, {"title": "Gym"}]}},
        {"removed": {"desk.rows": [0, {"id": 2}]}},
        {"removed": {"desk.inbox": ["hello"], "desk.tags": ["a"]}},
        {"removed": {"desk.*": [3]}},
        {"changed": {"desk.events[3].hour": 16}},
        {"changed": {"desk.events[3].hour": 18.0}},
        {"changed": {"desk.events[3].hour": {"from": 18, "to": 16}}},
        {"changed": {"desk.events[*].hour": 16}},
        {"changed": {"desk.none": 1}},
        {"added": {"desk.events": [{"title": "Gym"}], "desk.new": 1}},
    ],
)
def test_premises_that_hold_are_no_fault(expect):
    assert faults(**expect) == []


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"removed": {"desk.events": [99]}}, "desk.events should lose 99, and does not have it"),
        ({"removed": {"desk.events": [{"title": "Yoga"}]}}, '{"title":"Yoga"}'),
        (
            {"removed": {"desk.events": [3, {"title": "Gym"}, {"title": "Gym"}]}},
            "has it once only",
        ),
        ({"removed": {"desk.nowhere": [1]}}, "desk.nowhere is of no table at the start"),
        ({"removed": {"desk.rows": [5]}}, "should lose 5"),
        ({"removed": {"desk.events": ["3"]}}, 'should lose "3"'),
        ({"changed": {"desk.events[9].hour": 16}}, "is not there at the start"),
        ({"changed": {"desk.events[3].hour": 18}}, "should become 18 and is that at the start"),
        ({"changed": {"desk.events[3].hour": {"from": 17, "to": 16}}}, "is 18 at the start"),
        ({"added": {"desk.none": 1}}, "is there at the start: null"),
    ],
)
def test_a_premise_that_fails_is_named_with_what_is_there(expect, said):
    (line,) = faults(**expect)

    assert said in line


def test_one_right_answer_that_can_be_given_is_enough():
    gone, there = {"removed": {"desk.events": [99]}}, {"removed": {"desk.events": [3]}}

    assert premises({"expect": [gone, there]}, START) == []
    assert len(premises({"expect": [gone, {"removed": {"desk.events": [98]}}]}, START)) == 1


@pytest.mark.parametrize("start", [START, START.to_bytes(), TREE], ids=["shot", "bytes", "tree"])
def test_each_form_of_the_start_is_read(start):
    assert premises({"expect": {"removed": {"desk.events": [3]}}}, start) == []


def test_a_check_without_an_expected_change_takes_nothing_for_granted():
    assert premises({"expect": None, "accept_answers": ["x"]}, START) == []


SHOP = {
    "db": {
        "orders": {1: {"id": 1, "status": "paid"}, 2: {"id": 2, "status": "late"}},
        "parts": {
            (1, "a"): {"kit": 1, "name": "a", "n": 5},
            (1, "b"): {"kit": 1, "name": "b", "n": 5},
        },
        "empty": {},
        "one": {1: {"id": 1}},
    },
    "tree": {"files": {"a.txt": {"lines": ["a"]}, "b.txt": {"lines": []}}},
    "desk": {"rows": [{"id": 0}, {"id": 1}]},
}


def shop_faults(**expect):
    return premises({"expect": expect}, Snapshot.of("c", SHOP))


@pytest.mark.parametrize(
    "added",
    [
        {"db.orders": [{"id": 3, "status": "paid"}, {"status": "paid"}]},
        {"db.orders": [{"id": 1, "status": "new"}]},
        {"db.parts": [{"kit": 2, "name": "a", "n": 5}]},
        {"db.empty": [{"anything": 1}]},
        {"db.one": [{"id": 1}]},
        {"tree.files": [{"json": 1}], "tree.files[c.json]": {"json": 1}},
        {"desk.rows": [{"id": 1}]},
    ],
)
def test_a_row_that_may_come_is_no_fault(added):
    assert shop_faults(added=added) == []


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (
            {"db.orders": [{"id": 3, "statsu": "paid"}]},
            "'statsu', which no row has at the start; there is: status",
        ),
        (
            {"db.orders[3]": {"id": 3, "sum": 1}},
            "'sum', which no row has at the start; there is: id, status",
        ),
        ({"desk.rows": [{"name": "x"}]}, "'name', which no row has"),
        ({"db.orders": [{"id": 1, "status": "paid"}]}, "has that very row at the start"),
        ({"db.parts": [{"kit": 1, "name": "b", "n": 5}]}, "has that very row at the start"),
    ],
)
def test_a_row_that_can_never_come_is_the_tasks_fault(added, said):
    (line,) = shop_faults(added=added)

    assert said in line


def test_what_a_column_may_be_called_is_escaped():
    (line,) = shop_faults(added={"db.orders": [{"\x1b[31m": 1}]})

    assert "\x1b" not in line
