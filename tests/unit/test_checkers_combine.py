from __future__ import annotations

import itertools

import pytest

from cleandesk.checkers.combine import Ask, combine
from cleandesk.checkers.score import Score, Unscored
from cleandesk.errors import CheckerError


def asks(*values, weights=()):
    results = [Unscored("lost") if value is None else Score(value) for value in values]
    return [
        Ask(f"check {place}", lambda result=result: result, weight)
        for place, (result, weight) in enumerate(
            itertools.zip_longest(results, weights, fillvalue=1.0)
        )
    ]


@pytest.mark.parametrize(
    ("how", "values", "score"),
    [
        ("and", (1, 0.5, 1), 2.5 / 3),
        ("and", (1, 0.5), 0.75),
        ("and", (1, 0, 1), 0),
        ("and", (0, 1), 0),
        ("and", (1, 1, 1), 1),
        ("and", (0.1,) * 10, 0.1),
        ("or", (0, 1), 1),
        ("or", (1, 0), 1),
        ("or", (0.2, 0.6), 0.6),
        ("or", (0, 0.5), 0.5),
        ("or", (0, 0), 0),
    ],
)
def test_worked_examples_of_and_and_or(how, values, score):
    """Seed 001's examples of the two rules among them."""
    whole, _ = combine(asks(*values), how)

    assert isinstance(whole, Score)
    assert whole.value == pytest.approx(score, abs=1e-15)


def test_weights_shape_the_mean_of_and():
    whole, _ = combine(asks(1, 0.5, weights=(3, 1)), "and")

    assert whole.value == 0.875


@pytest.mark.parametrize(
    ("how", "values", "asked"),
    [("and", (1, 0, 1), 2), ("or", (0.5, 1, 0.2), 2), ("and", (0.5, 1), 2), ("or", (0, 0.1), 2)],
)
def test_what_follows_the_end_is_not_asked(how, values, asked):
    _, parts = combine(asks(*values), how)

    assert len(parts) == asked


@pytest.mark.parametrize(
    ("how", "values", "score"),
    [
        ("and", (None, 0), 0.0),
        ("and", (None, 1), None),
        ("or", (None, 1), 1.0),
        ("or", (None, 0.9), None),
        ("and", (0.5, None), None),
    ],
)
def test_a_result_that_could_not_be_had_leaves_it_unscored_unless_others_decide(how, values, score):
    whole, _ = combine(asks(*values), how)

    if score is None:
        assert isinstance(whole, Unscored)
        assert "lost" in whole.reason
    else:
        assert whole.value == score


def test_nothing_to_ask_is_no_score():
    assert combine([], "and") == (Unscored("no checker"), [])


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_a_weight_that_is_not_above_zero_is_refused(weight):
    with pytest.raises(CheckerError, match="weight"):
        combine(asks(1, weights=(weight,)), "and")


def test_a_third_way_to_combine_is_refused():
    with pytest.raises(CheckerError, match="'xor'"):
        combine(asks(1), "xor")
