"""What is set aside leaves bounds on the score."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest

from cleandesk.errors import UsageError
from cleandesk.stats import bounds, estimate, task_bounds, wilson

GOLDEN = Path(__file__).parents[1] / "golden" / "stat_vectors.json"
VECTORS = {vector["id"]: vector for vector in json.loads(GOLDEN.read_text())["vectors"]}


def test_bounds_are_the_score_with_all_unscored_at_0_and_at_1():
    given = VECTORS["infra.bounds"]["inputs"]
    expected = VECTORS["infra.bounds"]["expected"]

    found = bounds(given["passes"] / given["scored"], given["scored"], given["unscored"])

    assert found == pytest.approx((expected["worst"], expected["best"]), abs=1e-9)


def test_bounds_with_their_own_sampling_error_come_from_wilson_at_each_end():
    expected = VECTORS["infra.bounds"]["expected"]
    low, high = bounds(40 / 90, 90, 10)

    found = wilson(low * 100, 100)[0], wilson(high * 100, 100)[1]

    assert found == pytest.approx(expected["bounds_ci"], abs=1e-6)


def test_bounds_of_two_agents_can_leave_the_sign_of_their_gap_open():
    vector = VECTORS["infra.pair_bounds"]
    (a_low, a_high), (b_low, b_high) = (
        bounds(passes / scored, scored, lost) for passes, scored, lost in vector["inputs"].values()
    )

    expected = vector["expected"]["diff_lo"], vector["expected"]["diff_hi"]
    assert (a_low - b_high, a_high - b_low) == pytest.approx(expected)


@pytest.mark.parametrize("mean", [0, 1 / 3, 0.7, 1])
def test_nothing_set_aside_leaves_the_mean_alone(mean):
    assert bounds(mean, 7, 0) == (mean, mean)


def test_nothing_scored_leaves_everything_open():
    assert bounds(0.0, 0, 5) == bounds(0.0, 0, 0) == (0.0, 1.0)


def test_losses_of_one_task_move_the_mean_of_task_means_further():
    scores, lost = {"flaky": [1], "steady": [0] * 10}, {"flaky": 9}

    assert task_bounds(scores, lost) == pytest.approx((0.05, 0.5))
    assert bounds(0.5, 11, 9)[0] > 0.05


def test_task_bounds_are_the_extremes_of_every_way_the_lost_trials_may_end():
    scores, lost = {"a": [1, 0], "b": [0.5], "c": []}, {"a": 1, "b": 2, "c": 1}
    means = []
    for ends in itertools.product([0, 1], repeat=4):
        filled = {"a": [1, 0, ends[0]], "b": [0.5, *ends[1:3]], "c": [ends[3]]}
        means.append(estimate(filled).mean)

    assert task_bounds(scores, lost) == pytest.approx((min(means), max(means)))


def test_task_bounds_count_a_task_that_was_never_scored():
    assert task_bounds({"a": [1]}, {"b": 3}) == (0.5, 1.0)


def test_task_bounds_without_any_trial_leave_everything_open():
    assert task_bounds({}, {}) == task_bounds({"a": []}, {"a": 0}) == (0.0, 1.0)


@pytest.mark.parametrize("mean", [-0.1, 1.1, math.nan])
def test_bounds_of_what_is_not_a_score_are_refused(mean):
    with pytest.raises(UsageError, match="is not a mean from 0 to 1") as caught:
        bounds(mean, 5, 1)

    assert caught.value.code == "CD-890"


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda: bounds(0.5, -1, 2), "scored"),
        (lambda: bounds(0.5, 1, -2), "unscored"),
        (lambda: task_bounds({"a": [1]}, {"a": -1}), "unscored of task a"),
    ],
)
def test_a_negative_count_is_refused(call, where):
    with pytest.raises(UsageError, match="is below 0") as caught:
        call()

    assert (caught.value.code, caught.value.where) == ("CD-891", where)
