"""The public names: ``public_names.txt`` is the list; adding one needs a decision record."""

from __future__ import annotations

from pathlib import Path

import pytest

import cleandesk

LIST = Path(__file__).with_name("public_names.txt")
NAMES = [line for line in LIST.read_text("utf-8").split("\n") if line and line[0] != "#"]


def test_the_list_is_what_cleandesk_offers():
    assert sorted(cleandesk.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_can_be_used_and_says_what_it_is(name):
    assert getattr(getattr(cleandesk, name), "__doc__", None)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = cleandesk.no_such_name
