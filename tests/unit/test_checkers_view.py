from __future__ import annotations

import copy

import numpy as np
import pytest

from cleandesk.checkers import Changes, View
from cleandesk.checkers.tree import open_tree
from cleandesk.errors import StateError
from cleandesk.state import Named, Snapshot, diff, encode

TREE = {
    "desk": {
        "events": {3: {"title": "Gym"}, "standup": {"title": "Standup", "who": ["a", "b"]}},
        "items": {"a": 1},
        "rows": [{"id": 1}, {"id": 2}],
        "tags": {"x"},
        "raw": bytearray(b"1"),
        "cart": Named("shop:Cart", {"total": 5}),
        "grid": np.arange(4),
        "empty": {},
    }
}
VIEW = View(open_tree(Snapshot.of("c", TREE)))


def test_fields_are_read_by_attribute_and_by_key():
    assert VIEW.desk.events[3].title == "Gym"
    assert VIEW["desk"]["events"]["standup"]["title"] == "Standup"
    assert VIEW.desk.rows[-1].id == 2
    assert [row.id for row in VIEW.desk.rows[:1]] == [1]
    assert VIEW.desk.cart.total == 5


def test_containers_answer_as_what_they_hold():
    assert 3 in VIEW.desk.events
    assert 4 not in VIEW.desk.events
    assert [] not in VIEW.desk.events
    assert {"id": 2} in VIEW.desk.rows
    assert "a" in VIEW.desk.events.standup.who
    assert len(VIEW.desk.rows) == 2
    assert not VIEW.desk.empty
    assert set(VIEW.desk.events) == {3, "standup"}
    assert VIEW.desk.events[3] == {"title": "Gym"}
    assert VIEW.desk.rows == [{"id": 1}, {"id": 2}]
    assert VIEW.desk.rows[0] == VIEW.desk.rows[0]
    assert VIEW.desk.cart == {"total": 5}
    assert VIEW.desk.events != {}


def test_tables_have_the_ways_of_a_dictionary():
    events = VIEW.desk.events

    assert set(events.keys()) == {3, "standup"}
    assert sorted(event.title for event in events.values()) == ["Gym", "Standup"]
    assert {key: event.title for key, event in events.items()}[3] == "Gym"
    assert events.get(3).title == "Gym"
    assert events.get(99, "none") == "none"


def test_a_table_with_the_name_of_a_method_is_the_table():
    assert VIEW.desk.items == {"a": 1}


@pytest.mark.parametrize(
    ("read", "error", "said"),
    [
        (lambda: VIEW.desk.event, AttributeError, "near it: events"),
        (lambda: VIEW.dsk, AttributeError, "near it: desk"),
        (lambda: VIEW.desk.events["stand up"], KeyError, "near it: standup"),
        (lambda: VIEW.desk.events["3"], KeyError, "it has 3, a int"),
        (lambda: VIEW.desk.events[[]], KeyError, "has no \\[\\]"),
        (lambda: VIEW.desk.empty["x"], KeyError, "it is empty"),
        (lambda: VIEW.desk.rows[5], IndexError, "a list of 2"),
        (lambda: VIEW.desk.rows["id"], IndexError, "desk.rows has no place 'id'"),
        (lambda: VIEW.desk.rows.id, AttributeError, "no place"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is_near(read, error, said):
    with pytest.raises(error, match=said):
        read()


def test_captured_state_cannot_be_written():
    with pytest.raises(AttributeError, match="can't be changed"):
        VIEW.desk.events = {}
    with pytest.raises(AttributeError, match="can't be changed"):
        del VIEW.desk.events
    with pytest.raises(TypeError):
        VIEW.desk.events[3] = {}


def test_what_is_handed_out_can_be_written_without_an_effect():
    VIEW.desk.grid[0] = 99
    VIEW.desk.rows.plain().append(1)
    VIEW.plain()["desk"]["rows"].clear()

    assert VIEW.desk.grid[0] == 0
    assert len(VIEW.desk.rows) == 2
    assert VIEW.desk.tags == frozenset({"x"})
    assert VIEW.desk.raw == b"1"


def test_a_view_survives_being_copied_and_shown():
    assert copy.deepcopy(VIEW).desk.rows[0].id == 1
    assert repr(VIEW.desk.rows) == "View(desk.rows: 2 entries)"


def test_a_view_of_arrays_inside_compares_by_their_bytes():
    table = View({"a": {"grid": np.arange(3)}})

    assert table.a == {"grid": np.arange(3)}
    assert table.a != {"grid": np.arange(3) + 1}


@pytest.mark.parametrize(
    "source",
    [
        {"desk": {"n": 1}},
        encode({"desk": {"n": 1}}),
        Snapshot.of("c", {"desk": {"n": 1}}),
        Snapshot.of("c", {"desk": {"n": 1}}).to_bytes(),
        {"contract": {"n": 1}, "desk": {"n": 1}},
        encode({"contract": {"n": 1}, "desk": {"n": 1}}),
    ],
)
def test_each_form_of_state_is_read(source):
    assert View(open_tree(source)).desk.n == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"desk":1}', b'{"contract":"c"}'])
def test_bytes_that_are_no_state_are_refused(data):
    with pytest.raises(StateError) as caught:
        open_tree(data)

    assert caught.value.code == "CD-104"


def test_changes_are_a_sequence_that_can_be_compared_as_a_whole():
    start = Snapshot.of("c", {"desk": {"n": 1, "views": 0}})
    end = Snapshot.of("c", {"desk": {"n": 2, "views": 5}})
    changes = Changes(diff(start, end), ["desk.views"], start)

    assert [change.field for change in changes] == ["desk.n", "desk.views"]
    assert (len(changes), changes[0].after) == (2, 2)
    assert changes.only(changed={"desk.n": 2}).value == 1.0
    assert changes.only(changed={"desk.n": 3}).value == 0.0
    assert changes.only().value == 0.0
