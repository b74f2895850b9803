"""Laws of the estimates, for any scores."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cleandesk.stats import bounds, clustered_se, estimate, task_bounds, unbounded, wilson

BINARY = st.sampled_from([0.0, 1.0])
SCORES = st.one_of(BINARY, st.floats(0, 1))
LEVELS = st.floats(0.01, 0.999)
COUNTS = st.tuples(st.integers(1, 10**6), st.floats(0, 1)).map(lambda c: (round(c[0] * c[1]), c[0]))


def tasks(scores, *, most=5):
    trials = st.lists(scores, min_size=1, max_size=most)
    return st.dictionaries(st.text("abcdef", min_size=1, max_size=3), trials, min_size=1)


ANY_TASKS = st.one_of(tasks(BINARY), tasks(SCORES), tasks(BINARY, most=1), tasks(SCORES, most=1))


@st.composite
def with_families(draw):
    scores = draw(ANY_TASKS)
    names = st.sampled_from(["a", "b", "c", "x"])
    return scores, {task: draw(names) for task in scores if draw(st.booleans())}


@given(COUNTS, LEVELS)
@example((1e-13, 1), 0.9)
def test_wilson_lies_on_the_scale_and_holds_the_share(count, level):
    """Law 12: the interval beside a score is one that the score itself lies in."""
    successes, n = count

    low, high = wilson(successes, n, confidence=level)

    assert 0 <= low <= successes / n <= high <= 1


@given(COUNTS, LEVELS)
def test_wilson_ends_where_the_share_is_just_z_deviations_away(count, level):
    """Law 12: the definition, |p - end| = z * sqrt(end * (1 - end) / n), and not a formula for it."""
    from statistics import NormalDist

    successes, n = count
    z = NormalDist().inv_cdf(0.5 + level / 2)

    for end in wilson(successes, n, confidence=level):
        away = abs(successes / n - end)
        assert away == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-7)


@given(COUNTS, LEVELS)
def test_wilson_of_the_fails_mirrors_wilson_of_the_passes(count, level):
    """Law 12."""
    successes, n = count

    low, high = wilson(successes, n, confidence=level)
    fail_low, fail_high = wilson(n - successes, n, confidence=level)

    assert (1 - fail_high, 1 - fail_low) == pytest.approx((low, high), abs=1e-9)


@given(COUNTS, LEVELS, st.integers(2, 50))
def test_wilson_of_the_same_share_seen_more_often_lies_inside(count, level, times):
    """Law 12."""
    successes, n = count

    low, high = wilson(successes, n, confidence=level)
    more_low, more_high = wilson(successes * times, n * times, confidence=level)

    assert low - 1e-12 <= more_low <= more_high <= high + 1e-12


@given(COUNTS, LEVELS, LEVELS)
def test_more_confidence_never_gives_a_narrower_wilson(count, level, other):
    """Law 12."""
    successes, n = count
    less, more = sorted([level, other])

    low, high = wilson(successes, n, confidence=less)
    wide_low, wide_high = wilson(successes, n, confidence=more)

    assert wide_low <= low + 1e-12
    assert high <= wide_high + 1e-12


@given(with_families(), LEVELS)
@example(({"a": [1.0] * 3, "b": [1.0] * 2}, {}), 0.95)
@example(({"a": [5e-324], "b": [0.0]}, {}), 0.95)
def test_any_estimate_lies_on_the_scale_and_holds_its_mean(case, level):
    """Law 12: whatever the method, low <= mean <= high within [0, 1], n beside it."""
    scores, families = case

    found = estimate(scores, families=families, confidence=level)

    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert (found.tasks, found.episodes) == (len(scores), sum(map(len, scores.values())))


@given(with_families())
def test_an_se_of_0_always_comes_with_an_interval_and_a_warning(case):
    """Law 12: 0 of n is not a score known without doubt."""
    scores, families = case

    found = estimate(scores, families=families)

    if found.se == 0:
        assert found.high - found.low > 0.01
        assert any("SE of 0" in warning for warning in found.warnings)


@given(with_families(), st.randoms(use_true_random=False))
def test_the_order_of_tasks_and_trials_changes_no_bit(case, dice):
    """Law 7: the same scores give the same estimate, whichever worker was first."""
    scores, families = case
    order = list(scores)
    dice.shuffle(order)
    shuffled = {task: dice.sample(scores[task], len(scores[task])) for task in order}

    assert estimate(shuffled, families=families) == estimate(scores, families=families)


@given(with_families())
def test_names_change_nothing(case):
    """Law 12: a task's or family's name carries no information."""
    scores, families = case
    assume(len(set(families.values())) != 1)  # the only family's name is in a warning
    renamed = {f"{task[::-1]}-{index}": scores[task] for index, task in enumerate(scores)}
    names = dict(zip(scores, renamed, strict=True))
    moved = {names[task]: f"family {family}" for task, family in families.items()}

    assert estimate(renamed, families=moved) == estimate(scores, families=families)


@given(with_families())
def test_passes_and_fails_mirror_each_other(case):
    """Law 12: scoring the opposite question gives the opposite interval."""
    scores, families = case
    # Scores such as 5e-324 are lost in 1 - score; eighths are not.
    scores = {task: [round(v * 8) / 8 for v in trials] for task, trials in scores.items()}
    opposite = {task: [1 - value for value in trials] for task, trials in scores.items()}

    found, mirrored = (estimate(s, families=families) for s in (scores, opposite))

    assert mirrored.mean == pytest.approx(1 - found.mean)
    assert mirrored.se == pytest.approx(found.se, abs=1e-12)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))


@given(st.one_of(tasks(BINARY, most=1), tasks(SCORES, most=1)), st.integers(2, 6), LEVELS)
def test_trials_that_only_repeat_the_first_never_make_the_interval_narrower(scores, times, level):
    """Law 12: a deterministic agent run k times has not seen k times the tasks."""
    assume(len(scores) > 1)  # one task's trials speak of that task, and there they count
    repeated = {task: trials * times for task, trials in scores.items()}

    first = estimate(scores, confidence=level)
    again = estimate(repeated, confidence=level)

    assert again.mean == pytest.approx(first.mean, abs=1e-12)
    assert again.low <= first.low + 1e-9
    assert again.high >= first.high - 1e-9


@given(tasks(SCORES), st.integers(2, 6))
def test_copies_of_every_trial_leave_the_clustered_error_as_it_was(scores, times):
    """Law 12."""
    assume(len(scores) > 1)
    copies = [trials * times for trials in scores.values()]

    assert clustered_se(copies) == pytest.approx(clustered_se(scores.values()), abs=1e-12)


@given(tasks(SCORES), st.lists(st.integers(0, 4), min_size=20, max_size=20))
def test_bounds_hold_the_mean_and_grow_with_what_is_set_aside(scores, losses):
    """Law 12: the bounds that what was set aside leaves."""
    lost = dict(zip(scores, losses, strict=False))
    more = {task: count + 1 for task, count in lost.items()}
    mean = estimate(scores).mean

    low, high = task_bounds(scores, lost)
    wide_low, wide_high = task_bounds(scores, more)

    assert wide_low <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= wide_high


@given(st.floats(0, 1), st.integers(0, 1000), st.integers(0, 1000))
def test_bounds_lie_on_the_scale_and_are_as_wide_as_the_share_set_aside(mean, scored, unscored):
    """Law 12."""
    low, high = bounds(mean, scored, unscored)

    assert 0 <= low <= high <= 1
    if scored:
        assert low <= mean <= high
        assert high - low == pytest.approx(unscored / (scored + unscored), abs=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.floats(-1e6, 1e6))
def test_moving_a_metric_moves_its_interval_and_nothing_else(values, shift):
    """Law 12: an unbounded metric has no scale to be cut at."""
    found, moved = unbounded(values), unbounded([value + shift for value in values])

    assert moved.se == pytest.approx(found.se, abs=1e-6)
    assert (moved.low, moved.high) == pytest.approx(
        (found.low + shift, found.high + shift), abs=1e-4
    )
