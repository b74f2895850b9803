"""How fields are named, and which fields a name covers."""

from __future__ import annotations

import pytest

from cleandesk.errors import ContractError
from cleandesk.state import Pattern


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("desk", ("desk",)),
        ("desk.events", ("desk", "events")),
        ("desk.events[3].title", ("desk", "events", "3", "title")),
        ("desk.events.3.title", ("desk", "events", "3", "title")),
        ("desk[events][3]", ("desk", "events", "3")),
        ("desk.events[*].title", ("desk", "events", None, "title")),
        ("desk.*.title", ("desk", None, "title")),
        ('desk["a.b"]', ("desk", "a.b")),
        ("desk['x]y']", ("desk", "x]y")),
        ('desk["*"]', ("desk", "*")),
        ('desk[""]', ("desk", "")),
        ("desk.a b", ("desk", "a b")),
        ("desk[(1, 2)]", ("desk", "(1, 2)")),
    ],
)
def test_dots_and_brackets_name_segments(text, parts):
    assert Pattern.parse(text).parts == parts


@pytest.mark.parametrize("text", ["", ".", "a.", "a..b", "a[", "a[1", "]", "a]b", "a.[x]"])
def test_a_text_that_names_no_field_is_an_error_that_says_where(text):
    with pytest.raises(ContractError) as caught:
        Pattern.parse(text)

    assert caught.value.code == "CD-203"
    assert caught.value.do


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("desk.events", ("events",)),
        ("desk.events", ("events", 3, "title")),
        ("desk.events[3]", ("events", 3)),
        ("desk.events[3]", ("events", "3")),
        ("desk.events[*].title", ("events", 3, "title")),
        ("desk.events[*].title", ("events", "x", "title", "sub")),
        ("desk.*", ("anything",)),
        ("*.events", ("events",)),
        ("desk[True]", (True,)),
    ],
)
def test_a_pattern_covers_the_field_and_all_below_it(pattern, path):
    assert Pattern.parse(pattern).matches("desk", path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("desk.events[3].title", ("events", 3)),
        ("desk.events", ("next_id",)),
        ("desk.events[*].title", ("events", 3, "titles")),
        ("desk.events[3]", ("events", 33)),
        ("shop.events", ("events",)),
        ('desk["*"]', ("events",)),
        ("desk.events[*].title", ("events", "title")),
    ],
)
def test_a_pattern_does_not_cover_what_lies_above_or_beside(pattern, path):
    assert not Pattern.parse(pattern).matches("desk", path)


def test_a_pattern_below_a_surface_says_so():
    pattern = Pattern.parse("events[*].otp").under("desk")

    assert pattern.parts == ("desk", "events", None, "otp")
    assert pattern.text == "desk.events[*].otp"
    assert Pattern.parse(pattern.text).parts == pattern.parts
