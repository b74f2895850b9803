"""Checkers for worlds that pay rewards: the return, and whether a return was reached."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cleandesk.checkers.score import Metric, Score, fail, passed
from cleandesk.errors import CheckerError

_WORLD_ENDED = frozenset({"terminated", "truncated"})


def returns(
    rewards: Sequence[float | None],
    reason: str = "",
    low: float | None = None,
    high: float | None = None,
    *,
    ended: bool = False,
) -> Score | Metric:
    """Score the sum of the rewards, mapped from its declared range to [0, 1].

    Args:
        rewards: One reward for each step.
        reason: Why the episode ended.
        low: The return that scores 0.
        high: The return that scores 1, above ``low``.
        ended: Score 0 unless the world itself ended the episode. Where rewards are
            below 0, an agent that stops at once would otherwise have the best return.

    Returns:
        A score, or without a range the return itself: a metric without bounds, which
        is reported and never averaged with scores.

    Raises:
        CheckerError: CD-507, the range does not hold the return, or is no range;
            CD-503, a reward is not a finite number.
    """
    if ended and reason not in _WORLD_ENDED:
        return fail(f"the world did not end the episode ({reason or 'no reason'})")
    total = _sum(rewards)
    if low is None and high is None:
        return Metric(total, "return")
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise _no_range(f"[{low}, {high}] has no two ends")
    if not low < high:
        raise _no_range(f"[{low}, {high}] is no range: the first must be below the second")
    if not low <= total <= high:
        raise _no_range(f"the declared range [{low:g}, {high:g}] does not hold {total:g}")
    return Score((total - low) / (high - low), f"return {total:g} in [{low:g}, {high:g}]")


def reached(rewards: Sequence[float | None], at_least: float) -> Score:
    """Score 1 if the sum of the rewards is ``at_least`` this, else 0.

    Args:
        rewards: One reward for each step.
        at_least: The return to reach.

    Raises:
        CheckerError: CD-503, a reward is not a finite number.
    """
    total = _sum(rewards)
    said = f"return {total:g}, {at_least:g} asked for"
    return passed(said) if total >= at_least else fail(said)


def _sum(rewards: Sequence[float | None]) -> float:
    for step, reward in enumerate(rewards, 1):
        if reward is None or not math.isfinite(reward):
            raise CheckerError(
                "CD-503",
                f"the reward of step {step} is {reward}",
                where="rewards",
                do="let the world's step() return a finite number",
            )
    return math.fsum(reward for reward in rewards if reward is not None)


def _no_range(message: str) -> CheckerError:
    return CheckerError(
        "CD-507",
        message,
        where="checker returns",
        do="declare the lowest and the highest possible return: with = {low = 0, high = 500}",
    )
