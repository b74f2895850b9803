"""A metric that is not a score: no scale, so no cut and no fallback."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.weightstats import DescrStatsW

from cleandesk.errors import UsageError
from cleandesk.stats import Estimate, unbounded


def test_an_unbounded_metric_gets_student_without_a_cut():
    values = [-120.0, -35.5, 210.25, 18.0, 4.0, -260.0]

    found = unbounded(values, confidence=0.9)

    oracle = DescrStatsW(values)
    assert (found.low, found.high) == pytest.approx(oracle.tconfint_mean(alpha=0.1))
    assert (found.mean, found.se) == pytest.approx((oracle.mean, oracle.std_mean))
    assert (found.method, found.tasks, found.episodes) == ("t, unbounded metric", 6, 6)
    assert "fewer than 10 tasks (6): the interval is rough" in found.warnings


def test_one_value_of_a_metric_claims_nothing():
    found = unbounded([21.5])

    assert found == Estimate(
        mean=21.5,
        se=math.inf,
        low=-math.inf,
        high=math.inf,
        method="t, unbounded metric",
        tasks=1,
        episodes=1,
        warnings=("one value has no spread: nothing is known about the uncertainty",),
    )


def test_equal_values_of_a_metric_are_warned_of():
    assert unbounded([200.0] * 12).warnings == (
        "every value is the same: an SE of 0 is not the uncertainty",
    )


def test_ten_values_of_a_metric_are_not_few():
    assert unbounded([float(index) for index in range(10)]).warnings == ()


def test_no_value_of_a_metric_is_none():
    assert unbounded([]) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_metric_that_is_not_finite_is_refused(value):
    with pytest.raises(UsageError, match="is not a finite number") as caught:
        unbounded([1.0, value])

    assert caught.value.code == "CD-890"
