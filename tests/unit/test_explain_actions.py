"""Actions as values and as a person would write them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleandesk.audit.certificate.explain.actions import Actions, drawn, key_of, simpler, text_of

floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


def read(text):
    return eval(text, {"np": np})


@given(st.lists(floats, min_size=1, max_size=6))
def test_an_array_written_down_reads_back_bit_for_bit(values):
    array = np.array(values, np.float32)
    assert np.array(read(text_of(array)), np.float32).tobytes() == array.tobytes()


def test_a_number_of_32_bits_is_written_with_no_more_digits_than_it_needs():
    assert text_of(np.array([0.1, -0.7], np.float32)) == "[0.1, -0.7]"


def test_a_minus_zero_stays_one():
    assert text_of(np.array([-0.0], np.float32)) == "[-0.0]"


@pytest.mark.parametrize(
    "value", [3, True, None, "up", (1,), (), [1, 2], {"a": 1, 2: (0.5, "x")}, b"q"]
)
def test_plain_actions_read_back_as_they_were(value):
    assert read(text_of(value)) == value
    assert type(read(text_of(value))) is type(value)


def test_an_action_that_has_no_plain_form_is_not_written():
    assert text_of({1, 2}) is None
    assert Actions((1, {2})).to_python() is None
    assert text_of([{"a": {1}}]) is None


def test_one_action_throughout_is_written_once():
    assert Actions((2,) * 12).to_python() == "[2] * 12"
    assert Actions((2,)).to_python() == "[2]"
    assert Actions().to_python() == "[]"
    assert Actions((1, 2)).to_python() == "[1, 2]"
    assert Actions((2,) * 12).to_wire() == [2]


def test_1_and_true_are_two_actions():
    assert not Actions((1, True)).is_held
    assert key_of(1) != key_of(True) != key_of(1.0)


def test_arrays_of_one_shape_are_sent_as_one():
    wire = Actions((np.zeros(2), np.ones(2))).to_wire()
    assert wire.tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert isinstance(Actions((np.zeros(2), np.ones(3))).to_wire(), list)


@pytest.mark.parametrize(
    "met",
    [
        (0, 1, 5, 2),
        (np.array([-1.0, 0.25], np.float32), np.array([1.0, 0.5], np.float32)),
        (np.array([1, 4]), np.array([0, 2])),
    ],
)
@pytest.mark.parametrize("count", [1, 7, 40])
def test_drawn_actions_are_what_their_text_draws(met, count):
    made = drawn(met, 3, count)
    written = read(made.to_python())
    assert len(made) == len(written) == count
    for value, text in zip(made.values, written, strict=True):
        assert np.array_equal(value, np.asarray(text, getattr(value, "dtype", None)))


@pytest.mark.parametrize(
    "met", [(0, 1, 5, 2), (np.array([-1.0, 0.25], np.float32), np.array([1.0, 0.5], np.float32))]
)
def test_the_first_of_drawn_actions_are_what_the_shorter_text_draws(met):
    cut = drawn(met, 1, 50).first(13)
    for value, text in zip(cut.values, read(cut.to_python()), strict=True):
        assert np.array_equal(value, np.asarray(text, getattr(value, "dtype", None)))


def test_simpler_actions_are_legal_ones_of_the_number_asked_for():
    met = Actions((3, 1, 3, 2))
    made = [make() for make in simpler(met, 6)]
    assert all(len(each) == 6 and set(each.values) <= {1, 2, 3} for each in made)
    assert made[0].values == (3,) * 6


def test_of_arrays_doing_nothing_is_tried_first():
    met = Actions((np.array([-1.0, 0.5]), np.array([1.0, 0.9])))
    first = next(iter(simpler(met, 2)))()
    assert first.values[0].tolist() == [0.0, 0.5]


def test_of_no_actions_nothing_simpler_is_made():
    assert list(simpler(Actions(), 4)) == []
