"""Taking fields out of values, and picking them."""

from __future__ import annotations

import copy

import pytest

from cleandesk.state import Named, Pattern
from cleandesk.state.prune import pick, prune


def parts(text):
    return Pattern.parse(text).parts


@pytest.mark.parametrize(
    ("value", "text", "kept"),
    [
        ({"a": 1, "b": 2}, "a", {"b": 2}),
        ({"a": {"x": 1, "y": 2}}, "a.x", {"a": {"y": 2}}),
        ({"a": {"x": 1}, "b": {"x": 1, "y": 1}}, "*.x", {"a": {}, "b": {"y": 1}}),
        ([{"x": 1, "y": 1}, {"y": 2}], "[*].x", [{"y": 1}, {"y": 2}]),
        (({"x": 1},), "[0].x", ({},)),
        ({7: "a", "7": "b", 8: "c"}, "7", {8: "c"}),
        (Named("m:C", {"x": 1, "y": 2}), "x", Named("m:C", {"y": 2})),
        ([Named("m:C", {"x": [{"z": 1}]})], "[0].x[*].z", [Named("m:C", {"x": [{}]})]),
    ],
)
def test_the_named_fields_are_left_out_and_the_rest_is_kept(value, text, kept):
    before = copy.deepcopy(value)

    assert prune(value, parts(text)) == (kept, True)
    assert value == before


def test_a_place_left_out_of_a_list_stays_as_none_so_that_the_others_keep_their_numbers():
    assert prune(["a", "b", "c"], parts("[1]")) == (["a", None, "c"], True)


@pytest.mark.parametrize(
    ("value", "text"),
    [({"a": 1}, "b"), ({"a": 1}, "a.b"), ([1], "[3]"), ([{"a": 1}], "[*].b"), (5, "a"), ("a", "a")],
)
def test_a_pattern_that_names_nothing_says_so(value, text):
    assert prune(value, parts(text)) == (value, False)


@pytest.mark.parametrize("value", [[], {}, ()])
def test_any_key_of_an_empty_container_fits(value):
    assert prune(value, parts("[*].otp")) == (value, True)


def test_pick_returns_the_values_of_every_field_named():
    tree = {"a": [{"x": 1}, {"y": 2}, Named("m:C", {"x": 3})], "b": ({"x": 4},)}

    assert pick(tree, parts("a[*].x")) == [1, 3]
    assert pick(tree, parts("*[0].x")) == [1, 4]
    assert pick(tree, parts("a[9].x")) == []
    assert pick(tree, parts("a[0].x.deep")) == []


def test_what_lies_below_a_folder_is_taken_out_and_the_folder_stays():
    held = {"logs": 1, "logs/a": 2, "logs/b/c": 3, "logsheet": 4}

    assert prune(held, ("logs/**",)) == ({"logs": 1, "logsheet": 4}, True)
    assert prune({"logs": 1}, ("logs/**",)) == ({"logs": 1}, True)
    assert prune({"log": 1}, ("logs/**",)) == ({"log": 1}, False)
