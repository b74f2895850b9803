"""A line that came or went is shown as that, and not as a change of all that follow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cleandesk.report.changes import render_changes
from cleandesk.report.lists import Moved, regrouped
from cleandesk.state import Snapshot, diff

TEXT = [f"line {number}" for number in range(30)]


def changes(before, after):
    states = (
        Snapshot.of("c/1", {"home": {"files": {"a.txt": {"lines": held}}}})
        for held in (before, after)
    )
    return diff(*states)


def test_a_line_taken_out_of_the_middle_is_one_that_went():
    found = list(regrouped(changes(TEXT, TEXT[:10] + TEXT[11:])))

    assert found == [Moved("home.files[a.txt].lines", ((10, "line 10"),), (), 20)]


def test_lines_that_came_stand_with_their_places_and_at_80_columns():
    said = render_changes(changes(TEXT, ["first", *TEXT[:20], "x" * 100, *TEXT[20:]]))

    lines = said.splitlines()
    assert lines[1] == "  home.files[a.txt].lines  2 came, 0 went (32 by place)"
    assert lines[2] == "    + [0] 'first'"
    assert max(map(len, lines)) <= 80


def test_lines_that_changed_where_they_are_stay_changes():
    found = list(regrouped(changes(TEXT, ["a", "b", "c", "d", *TEXT[4:]])))

    assert [change.after for change in found] == ["a", "b", "c", "d"]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_what_came_and_went_makes_the_one_text_of_the_other(before, after):
    for entry in regrouped(changes(before, after)):
        if isinstance(entry, Moved):
            gone = {place for place, _ in entry.went}
            made = [item for place, item in enumerate(before) if place not in gone]
            for place, item in entry.came:
                made.insert(place, item)
            assert made == after
