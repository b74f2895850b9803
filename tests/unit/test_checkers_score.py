from __future__ import annotations

import math

import numpy as np
import pytest

from cleandesk.checkers import Metric, Score, Unscored, fail, passed
from cleandesk.checkers.returns import reached, returns
from cleandesk.checkers.score import as_score
from cleandesk.errors import CheckerError


@pytest.mark.parametrize(
    ("result", "value"),
    [(True, 1.0), (False, 0.0), (1, 1.0), (0.25, 0.25), (np.float32(0.5), 0.5), (np.True_, 1.0)],
)
def test_plain_results_become_scores(result, value):
    score = as_score(result, where="checker x")

    assert score == Score(value)
    assert type(score.value) is float


@pytest.mark.parametrize("result", [passed("ok"), fail("no"), Unscored("lost"), Metric(-3.5)])
def test_our_own_results_stay_as_they_are(result):
    assert as_score(result, where="checker x") is result


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (None, "CD-502"),
        ("1", "CD-502"),
        ([1], "CD-502"),
        (1j, "CD-502"),
        (np.array([1.0]), "CD-502"),
        (1.5, "CD-503"),
        (-0.1, "CD-503"),
        (2, "CD-503"),
        (10**400, "CD-503"),
        (math.nan, "CD-503"),
        (math.inf, "CD-503"),
    ],
)
def test_what_is_no_score_is_refused_by_the_checker_s_name(result, code):
    with pytest.raises(CheckerError) as caught:
        as_score(result, where="checker shop:why")

    assert (caught.value.code, caught.value.where) == (code, "checker shop:why")


@pytest.mark.parametrize("value", [1.0001, math.nan, "1", None])
def test_a_score_out_of_range_cannot_be_made(value):
    with pytest.raises(CheckerError):
        Score(value)


@pytest.mark.parametrize("result", [passed(), Unscored("x")])
def test_a_result_has_no_truth_value(result):
    with pytest.raises(TypeError, match="no truth value"):
        bool(result)


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_a_metric_is_finite(value):
    with pytest.raises(CheckerError):
        Metric(value)


def test_returns_are_mapped_from_their_declared_range():
    assert returns([100.0, 150.0], low=0, high=500).value == 0.5
    assert returns([], low=-10, high=0).value == 1.0
    assert returns([-1.0] * 200, low=-200, high=0).value == 0.0


def test_returns_without_a_range_are_a_metric():
    assert returns([0.1] * 10) == Metric(1.0, "return")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0, 1, "does not hold 2.5"),
        (3, 9, "does not hold 2.5"),
        (5, 0, "no range"),
        (0, None, "no two ends"),
        (0, math.inf, "no two ends"),
    ],
)
def test_a_range_that_does_not_fit_is_the_checkers_error(low, high, said):
    with pytest.raises(CheckerError, match=said) as caught:
        returns([2.5], low=low, high=high)

    assert caught.value.code == "CD-507"


@pytest.mark.parametrize("reward", [math.nan, math.inf, None])
@pytest.mark.parametrize("checker", [returns, lambda rewards: reached(rewards, 1)])
def test_a_reward_that_is_no_number_is_named_with_its_step(checker, reward):
    with pytest.raises(CheckerError, match="step 2"):
        checker([1.0, reward])


def test_reached_compares_the_sum():
    assert reached([0.1] * 10, at_least=1).value == 1.0
    assert reached([0.5], at_least=1).value == 0.0
