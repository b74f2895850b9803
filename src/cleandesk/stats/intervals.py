"""The two intervals and the one standard error that every estimate is made of.

Numbers in, numbers out. Which of them fits a set of scores is decided in
``estimate.py``, and why is told in ``docs/why/intervals.md``.

Laws (tests/laws/test_stats_laws.py): Wilson's interval lies in [0, 1], holds the
share it was made from, and only shrinks when the same share is seen more often.

Sums use ``math.fsum``, which is exact before its one rounding, so the order of
tasks, trials and families can't move a single bit of a result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cleandesk.errors import UsageError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval for a share of ``successes`` in ``n``.

    Args:
        successes: How many passed, in [0, n]; a fraction when ``n`` is an effective size.
        n: How many were looked at, above 0; a fraction when it is an effective size.
        confidence: Share of such intervals that hold the true share, in (0, 1).

    Returns:
        ``(low, high)`` with 0 <= low <= successes / n <= high <= 1.

    Raises:
        UsageError: ``CD-891``, the counts do not fit together or the confidence is none.

    Source: Wilson (1927), Journal of the American Statistical Association 22, 209-212.
    """
    if not (math.isfinite(n) and n > 0 and 0 <= successes <= n):
        raise UsageError(
            "CD-891",
            f"{shown(successes)} successes in {shown(n)} is not a share",
            where="wilson",
            do="give a finite n above 0 and successes from 0 to n",
        )
    z = normal_quantile(confidence)
    share = successes / n
    centre = (successes + z * z / 2) / (n + z * z)
    half = z * math.sqrt(successes * ((n - successes) / n) + z * z / 4) / (n + z * z)
    # The exact ends of 0/n and n/n are 0 and 1; rounding would leave them a hair off, and
    # would put the lower end of a share such as 1e-13 below 0.
    low = 0.0 if successes == 0 else max(0.0, min(centre - half, share))
    high = 1.0 if successes == n else min(1.0, max(centre + half, share))
    return low, high


def clustered_se(groups: Iterable[Sequence[float]]) -> float:
    """Return the standard error of the mean of all values when a group's values hang together.

    Groups of one value each give the usual sd / sqrt(n). A group's deviations
    are added before they are squared, so values that move together count once.

    Args:
        groups: The values of each cluster, in any order; groups without values are left out.

    Returns:
        ``sqrt(C / (C - 1) * sum_c (sum_i (y_i - mean))^2) / N`` for C clusters and N values.

    Raises:
        UsageError: ``CD-892``, fewer than two clusters: their spread is unknown, not 0.

    Source: Liang and Zeger (1986) with the C / (C - 1) correction; the same
    number as an intercept-only regression with a cluster-robust covariance.
    """
    clusters = [tuple(group) for group in groups if len(group)]
    count = len(clusters)
    if count < 2:
        raise UsageError(
            "CD-892",
            f"{count} cluster(s) with a value, and a spread needs two",
            where="clustered_se",
            do="give at least two groups, or use wilson() on the trials of the only one",
        )
    n = sum(map(len, clusters))
    mean = math.fsum(value for cluster in clusters for value in cluster) / n
    squares = math.fsum(math.fsum(value - mean for value in c) ** 2 for c in clusters)
    return math.sqrt(count / (count - 1) * squares) / n


def normal_quantile(confidence: float) -> float:
    """Return z such that a normal value lies within z deviations with ``confidence``."""
    from statistics import NormalDist  # drags in decimal and random: loaded when first needed

    return NormalDist().inv_cdf(_upper(confidence))


def student_quantile(confidence: float, df: int) -> float:
    """Return t such that a Student value with ``df`` degrees of freedom lies within it."""
    from scipy.special import stdtrit  # a fraction of a second: loaded when first needed

    return float(stdtrit(df, _upper(confidence)))


def _upper(confidence: float) -> float:
    upper = 0.5 + confidence / 2
    if not 0.5 < upper < 1:
        raise UsageError(
            "CD-891",
            f"a confidence of {shown(confidence)} is not between 0 and 1",
            where="confidence",
            do="give a share such as 0.95",
        )
    return upper
