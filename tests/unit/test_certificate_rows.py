"""The rows of a trace: exact spellings, the first row that differs, and both values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cleandesk.audit.certificate.rig import Outcome
from cleandesk.audit.certificate.rows import Rows, difference, first_unequal, spell, unspell

PAIRS = [
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    ([1], (1,)),
    (np.float32(1), np.float64(1)),
    (np.zeros(2), np.zeros((2, 1))),
    (np.zeros(2, "f4"), np.zeros(4, "f2")),
    ({"a": 1}, {"a": 1, "b": None}),
    ({1: "a"}, {"1": "a"}),
    (b"a", "a"),
    ([[1], 2], [[1, 2]]),
    (2**70, 2**70 + 1),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_values_that_differ_in_type_shape_or_bits_are_spelled_apart(one, other):
    assert spell(one, []) != spell(other, [])


@pytest.mark.parametrize("value", [math.nan, np.array([math.nan]), {"b": 1, "a": [None]}, "x"])
def test_a_value_is_spelled_alike_twice(value):
    assert spell(value, []) == spell(value, [])


def test_the_order_of_keys_is_no_difference():
    assert spell({"a": 1, "b": 2}, []) == spell({"b": 2, "a": 1}, [])


def test_an_array_comes_back_from_its_spelling():
    array = np.arange(6, dtype="i2").reshape(2, 3)

    assert np.array_equal(unspell(spell(array, [])), array)


def test_a_value_that_nothing_can_spell_is_named_by_its_type():
    unread: list[str] = []
    spell({"handle": lambda: 0}, unread)

    assert unread == ["builtins function"]


def test_a_container_in_itself_or_too_deep_is_named_and_the_rest_is_spelled():
    held: dict = {"a": 1}
    held["again"] = held
    deep: list = [0]
    for _ in range(5000):
        deep = [deep]
    unread: list[str] = []

    assert spell({"held": held, "deep": deep, "n": 1}, unread) != spell(
        {"held": held, "deep": deep, "n": 2}, []
    )
    assert {name.partition(" (")[0] for name in unread} == {"builtins dict", "builtins list"}


@pytest.mark.parametrize("dtype", ["g", "G", np.dtype([("a", "u1"), ("b", "f8")], align=True)])
def test_what_lies_in_memory_between_elements_is_no_part_of_them(dtype):
    arrays = [np.frombuffer(bytes([fill]) * 320, "u1").copy().view(dtype)[:9] for fill in (0, 255)]
    for array in arrays:
        if array.dtype.names:
            array["a"], array["b"] = 7, 0.5
        else:
            # Arithmetic stores the elements and leaves the gaps as they are.
            np.divide(np.ones(9, dtype), 3, out=array)

    assert spell(arrays[0], []) == spell(arrays[1], [])
    assert spell(arrays[0], []) != spell(arrays[0][:8], [])


def _rows(*observations):
    rows = Rows()
    for step, observation in enumerate(observations):
        rows.add(Outcome(observation, 0.5, info={}), step)
    return rows


@pytest.mark.parametrize("place", [0, 1, 49, 99])
def test_the_first_row_that_differs_is_found(place):
    changed = [number if number < place else -number - 1 for number in range(100)]

    assert first_unequal(bytes(_rows(*range(100)).digests), bytes(_rows(*changed).digests)) == place


def test_of_two_traces_the_shorter_ends_where_they_differ():
    assert first_unequal(bytes(_rows(1, 2).digests), bytes(_rows(1, 2, 3).digests)) == 2


def test_equal_traces_have_no_row_that_differs():
    assert first_unequal(bytes(_rows(1, 2).digests), bytes(_rows(1, 2).digests)) is None


def test_the_difference_of_two_rows_names_channel_and_element():
    one = _rows(np.array([1.0, 2.0, 3.0])).channels(0)
    other = _rows(np.array([1.0, 2.5, 3.0])).channels(0)

    assert difference(one, other) == ("observation", "[1] 2.0", "[1] 2.5")


def test_what_looks_alike_is_told_by_its_bits_and_what_is_of_another_kind_by_that():
    nans = [np.array([0x7FF8000000000000 + extra], "u8").view("f8") for extra in (0, 1)]

    one, other = (_rows(nan).channels(0) for nan in nans)
    assert difference(one, other)[1:] == (
        "[0] nan (0x7ff8000000000000)",
        "[0] nan (0x7ff8000000000001)",
    )
    one, other = (_rows(np.zeros(2, kind)).channels(0) for kind in ("f4", "f8"))
    assert difference(one, other)[1:] == ("float32(2,)", "float64(2,)")


def test_a_difference_inside_an_info_is_named_by_its_key():
    one, other = Rows(), Rows()
    one.add(Outcome(0, info={"pose": {"x": 1, "y": 2}}), 0)
    other.add(Outcome(0, info={"pose": {"x": 1}}), 0)

    assert difference(one.channels(0), other.channels(0)) == ("info", "pose.y 2", "pose.y absent")
