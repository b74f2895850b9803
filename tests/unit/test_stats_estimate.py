"""Which interval a set of scores gets, and what its reader is warned of."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.api import OLS
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from cleandesk.errors import UsageError
from cleandesk.stats import clustered_se, estimate, wilson

GOLDEN = Path(__file__).parents[1] / "golden" / "stat_vectors.json"
VECTORS = {vector["id"]: vector for vector in json.loads(GOLDEN.read_text())["vectors"]}
NO_SE = "an SE of 0 is not the uncertainty"


def once(*values):
    """Each value as the only trial of a task of its own."""
    return {f"task-{index}": [value] for index, value in enumerate(values)}


def said(found, text):
    return [warning for warning in found.warnings if text in warning]


# --- each task once -----------------------------------------------------------------------


def test_tasks_run_once_get_wilson_on_the_tasks():
    found = estimate(once(*[1] * 8, *[0] * 12))

    expected = VECTORS["wilson.8_20"]["expected"]["wilson"]
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-6)
    assert (found.mean, found.method, found.tasks, found.episodes) == (0.4, "wilson", 20, 20)
    assert found.warnings == ()


def test_the_standard_error_of_tasks_run_once_is_the_binomial_one():
    found = estimate(once(*[1] * 29, *[0] * 71))

    assert found.se == pytest.approx(math.sqrt(0.29 * 0.71 / 100))


def test_no_score_at_all_is_none_not_0():
    assert estimate({}) is None
    assert estimate({"a": [], "b": ()}) is None


def test_a_task_without_scores_is_not_counted():
    found = estimate({**once(1, 0, 1), "lost": []})

    assert found == estimate(once(1, 0, 1))
    assert found.tasks == 3


@pytest.mark.parametrize("score", [0, 1])
def test_no_spread_never_leaves_an_se_of_0_as_the_whole_uncertainty(score):
    found = estimate(once(*[score] * 20))

    assert (found.low, found.high) == pytest.approx(wilson(20 * score, 20))
    assert (found.se, found.method) == (0.0, "wilson")
    assert said(found, NO_SE)


# --- several trials a task ----------------------------------------------------------------


def test_repeated_tasks_get_wilson_at_the_effective_number_of_episodes():
    vector = VECTORS["cluster.balanced"]

    found = estimate(vector["inputs"]["trials"])

    expected = vector["expected"]
    assert found.mean == pytest.approx(expected["mean"], abs=1e-6)
    assert found.se == pytest.approx(expected["clustered_se"], abs=1e-6)
    assert (found.low, found.high) == pytest.approx(expected["wilson_neff_t"], abs=1e-6)
    assert (found.method, found.tasks, found.episodes) == ("clustered wilson", 6, 24)


def test_the_clustered_interval_agrees_with_one_built_from_statsmodels():
    trials = VECTORS["cluster.balanced"]["inputs"]["trials"]
    values = np.array([value for task in trials.values() for value in task], float)
    fitted = OLS(values, np.ones(24)).fit(
        cov_type="cluster", cov_kwds={"groups": np.repeat(np.arange(6), 4)}
    )
    shrink = (scipy_stats.norm.ppf(0.95) / scipy_stats.t.ppf(0.95, 5)) ** 2
    effective = min(24, values.mean() * (1 - values.mean()) / fitted.bse[0] ** 2) * shrink

    found = estimate(trials, confidence=0.9)

    expected = proportion_confint(values.mean() * effective, effective, alpha=0.1, method="wilson")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_unbalanced_trials_weigh_each_task_the_same():
    vector = VECTORS["cluster.unbalanced"]

    found = estimate(vector["inputs"]["trials"])

    assert found.mean == pytest.approx(vector["expected"]["macro_mean"], abs=1e-9)
    assert found.se == pytest.approx(vector["expected"]["macro_se"], abs=1e-6)
    assert found.episodes == 10


def test_the_effective_number_of_episodes_is_at_most_the_episodes():
    """Task means that happen to lie close together may not buy more than was run."""
    even = {f"task-{index}": [1, 0, 1, 0, index % 2] for index in range(20)}
    shrink = (1.95996398454 / scipy_stats.t.ppf(0.975, 19)) ** 2

    found = estimate(even)

    assert 0.25 / found.se**2 > 100
    assert (found.low, found.high) == pytest.approx(wilson(50 * shrink, 100 * shrink))


@pytest.mark.parametrize("trials", [[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [1, 0]])
def test_repeated_tasks_without_spread_fall_back_to_wilson_on_the_tasks(trials):
    found = estimate({f"task-{index}": trials for index in range(20)})

    share = sum(trials) / len(trials)
    assert (found.low, found.high) == pytest.approx(wilson(20 * share, 20))
    assert (found.se, found.method) == (0.0, "wilson (no spread)")
    assert said(found, "Wilson's on 20 tasks")


def test_spread_that_is_only_rounding_counts_as_none():
    scores = {f"task-{index}": [1] + [0] * 9 for index in range(12)}

    found = estimate(scores)

    assert 0 < clustered_se([[sum(trials) / 10] for trials in scores.values()]) < 1e-15
    assert (found.se, found.method) == (0.0, "wilson (no spread)")


def test_reruns_that_all_agree_are_named_as_adding_nothing():
    agreeing = {f"task-{index}": [index % 2] * 5 for index in range(20)}
    differing = agreeing | {"task-3": [1, 0, 1, 1, 1]}

    assert said(estimate(agreeing), "repeating them added nothing")
    assert not said(estimate(differing), "repeating them added nothing")
    assert not said(estimate(once(0, 1, 1)), "repeating them added nothing")


def test_reruns_counted_as_tasks_cover_too_little_and_the_clustered_interval_does_not():
    """20 tasks of 5 trials whose pass rates differ, 1000 times: the aim is 0.95."""
    dice, true = random.Random(20), 0.4
    clustered = naive = 0
    for _ in range(1000):
        rates = [dice.betavariate(0.8, 1.2) for _ in range(20)]
        scores = {
            str(i): [int(dice.random() < rate) for _ in range(5)] for i, rate in enumerate(rates)
        }
        found = estimate(scores)
        low, high = wilson(sum(map(sum, scores.values())), 100)
        clustered += found.low <= true <= found.high
        naive += low <= true <= high

    assert naive < 850
    assert 930 <= clustered <= 980


# --- fractional scores --------------------------------------------------------------------


def test_fractional_scores_get_student_on_the_task_means():
    vector = VECTORS["fraction.mean"]

    found = estimate(once(*vector["inputs"]["task_scores"]))

    expected = vector["expected"]
    assert (found.mean, found.se) == pytest.approx((expected["mean"], expected["se"]), abs=1e-6)
    assert (found.low, found.high) == pytest.approx(expected["t_ci_clipped"], abs=1e-6)
    assert found.method == "t on task means"
    assert found.warnings == ()


def test_fractional_scores_agree_with_statsmodels_after_averaging_trials():
    scores = {f"task-{i}": [i / 20, 0.5, (i % 3) / 4] for i in range(12)}
    means = [sum(trials) / 3 for trials in scores.values()]

    found = estimate(scores, confidence=0.9)

    expected = DescrStatsW(means).tconfint_mean(alpha=0.1)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_an_interval_past_the_scale_is_cut_and_says_so():
    above, below = estimate(once(0.9, 1, 1, 0.4, 1)), estimate(once(0.1, 0, 0, 0.6, 0))

    assert 0 < above.low < above.high == 1.0
    assert 0.0 == below.low < below.high < 1
    assert said(above, "was cut")
    assert said(below, "was cut")


def test_fractional_scores_without_spread_are_not_certain():
    found = estimate(once(*[0.5] * 12))

    assert (found.low, found.high) == pytest.approx(wilson(6, 12))
    assert found.method == "wilson (no spread)"


# --- one task -----------------------------------------------------------------------------


def test_trials_of_one_task_speak_of_this_task_only():
    found = estimate({"only": [1] * 8 + [0] * 12})

    assert (found.low, found.high) == pytest.approx(wilson(8, 20))
    assert found.se == pytest.approx(math.sqrt(0.4 * 0.6 / 20))
    assert (found.method, found.tasks, found.episodes) == (
        "wilson (one task, its trials)",
        1,
        20,
    )
    assert said(found, "this task only")


def test_fractional_trials_of_one_task_get_student_on_the_trials():
    trials = [0.2, 0.4, 0.3, 0.6, 0.5]

    found = estimate({"only": trials})

    assert (found.low, found.high) == pytest.approx(DescrStatsW(trials).tconfint_mean(), abs=1e-12)
    assert found.method == "t (one task, its trials)"
    assert said(found, "this task only")


@pytest.mark.parametrize("score", [0, 0.5, 1])
def test_equal_trials_of_one_task_keep_an_interval(score):
    found = estimate({"only": [score] * 10})

    assert (found.low, found.high) == pytest.approx(wilson(10 * score, 10))
    assert found.method == "wilson (one task, its trials)"
    assert not said(found, "added nothing")


@pytest.mark.parametrize("score", [0, 0.25, 1])
def test_a_single_score_still_has_a_wide_interval(score):
    found = estimate({"only": [score]})

    assert (found.low, found.high) == pytest.approx(wilson(score, 1))
    assert found.high - found.low > 0.75
    assert found.method == "wilson"
    assert not said(found, "this task only")
    assert bool(said(found, NO_SE)) == (found.se == 0)


# --- families -----------------------------------------------------------------------------


def test_tasks_of_fewer_families_are_clustered_by_family():
    vector = VECTORS["cluster.family"]
    trials = vector["inputs"]["trials"]
    families = {t: name for name, tasks in vector["inputs"]["families"].items() for t in tasks}

    found = estimate(trials, families=families)

    expected, p = vector["expected"], found.mean
    assert found.se == pytest.approx(expected["clustered_se"], abs=1e-6)
    shrink = (1.95996398454 / expected["t_975"]) ** 2
    effective = min(24, p * (1 - p) / expected["clustered_se"] ** 2) * shrink
    assert (found.low, found.high) == pytest.approx(wilson(p * effective, effective), abs=1e-6)
    assert (found.method, found.tasks) == ("clustered wilson (by family)", 6)
    assert said(found, "fewer than 10 families (3)")


def test_families_that_move_together_widen_the_interval_of_tasks_run_once():
    scores = once(*[1] * 10, *[0] * 10)
    families = {task: f"family-{index // 5}" for index, task in enumerate(scores)}

    found, alone = estimate(scores, families=families), estimate(scores)

    assert found.method == "clustered wilson (by family)"
    assert found.low < alone.low
    assert found.high > alone.high


def test_fractional_scores_are_clustered_by_family_too():
    scores = once(0.5, 0.25, 0.75, 1, 0.5, 0.25)
    families = dict(zip(scores, "aabbcc", strict=True))
    sums = np.array([0.5 + 0.25, 0.75 + 1, 0.5 + 0.25])
    mean = sums.sum() / 6
    se = math.sqrt(3 / 2 * ((sums - 2 * mean) ** 2).sum()) / 6

    found = estimate(scores, families=families, confidence=0.5)

    half = scipy_stats.t.ppf(0.75, 2) * se
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half))
    assert found.method == "t on task means (by family)"


def test_families_without_spread_fall_back_to_wilson_on_the_families():
    """Each family holds a pass and a fail: tasks differ, families do not."""
    scores = once(*[1, 0] * 12)
    families = {task: f"family-{index // 2}" for index, task in enumerate(scores)}

    found = estimate(scores, families=families)

    assert (found.low, found.high) == pytest.approx(wilson(6, 12))
    assert found.method == "wilson (no spread) (by family)"
    assert said(found, "Wilson's on 12 families")


def test_one_family_is_told_to_speak_of_itself_only():
    scores = once(*[1] * 8, *[0] * 12)

    found = estimate(scores, families=dict.fromkeys(scores, "invoices"))

    assert (found.low, found.high) == pytest.approx(wilson(8, 20))
    assert found.method == "wilson"
    assert said(found, "one family (invoices)")


def test_a_task_without_a_family_is_its_own_even_if_named_like_one():
    scores = {"a": [1], "b": [0], "c": [1]}

    found = estimate(scores, families={"b": "a", "c": "a"})

    assert found == estimate(scores, families={"a": "x", "b": "y", "c": "y"})


def test_families_of_one_task_each_change_nothing():
    scores = VECTORS["cluster.balanced"]["inputs"]["trials"]

    assert estimate(scores, families={task: task for task in scores}) == estimate(scores)


# --- few, and bad -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "text"),
    [(4, "give counts, not a percentage"), (5, "fewer than 10 tasks (5)"), (9, "is rough")],
)
def test_few_tasks_are_warned_of(tasks, text):
    assert said(estimate(once(*[index % 2 for index in range(tasks)])), text)


def test_ten_tasks_are_not_few():
    assert estimate(once(*[1, 0] * 5)).warnings == ()


@pytest.mark.parametrize("score", [-0.1, 1.5, math.nan, math.inf, None, "1"])
def test_a_score_outside_0_to_1_is_refused_with_its_task(score):
    """Law 14: bad input never becomes a wrong score."""
    with pytest.raises(UsageError, match=r"is not a score from 0 to 1\n.*task two") as caught:
        estimate({"one": [1], "two": [1, score]})

    assert caught.value.code == "CD-890"


@pytest.mark.parametrize("scores", [once(1, 0), once(0.5, 1), {"a": [1, 0], "b": [1, 1]}])
def test_a_confidence_in_percent_is_refused_on_every_path(scores):
    with pytest.raises(UsageError, match="95 is not between 0 and 1"):
        estimate(scores, confidence=95)


def test_truth_values_and_numpy_numbers_are_scores():
    found = estimate({"a": [True], "b": np.array([0.0]), "c": [np.int64(1)]})

    assert found == estimate({"a": [1], "b": [0], "c": [1]})
    assert type(found.mean) is float
