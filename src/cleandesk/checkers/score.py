"""What a checker answers: a score in [0, 1], an unbounded metric, or no score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

from cleandesk.errors import CheckerError, shown


@dataclass(frozen=True, slots=True)
class Score:
    """How well the task was done.

    Attributes:
        value: In [0, 1]; 1 is done, 0 is not.
        explanation: Why, in a sentence.
    """

    value: float
    explanation: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no score.

        Raises:
            CheckerError: CD-503, the value is not a number in [0, 1].
        """
        value = _number(self.value)
        if value is None or not 0.0 <= value <= 1.0:
            raise CheckerError(
                "CD-503",
                f"{shown(repr(self.value), 60)} is not a score",
                do="give a number in [0, 1]; a return without bounds is a Metric",
            )
        object.__setattr__(self, "value", value)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a Score has no truth value, since 0.5 is neither: compare score.value == 1"
        )


@dataclass(frozen=True, slots=True)
class Unscored:
    """No score, and why: what was needed to judge was not there.

    Attributes:
        reason: In a sentence. The episode is set aside, never scored 0.
    """

    reason: str

    def __bool__(self) -> NoReturn:
        raise TypeError("Unscored has no truth value: ask isinstance(result, Unscored)")


@dataclass(frozen=True, slots=True)
class Metric:
    """A finite number without declared bounds; reported as such, never as a score.

    Attributes:
        value: Any finite number.
        name: What it measures.
    """

    value: float
    name: str = "return"

    def __post_init__(self) -> None:
        """Refuse what is no finite number.

        Raises:
            CheckerError: CD-503.
        """
        value = _number(self.value)
        if value is None or not math.isfinite(value):
            raise CheckerError(
                "CD-503",
                f"{shown(repr(self.value), 60)} is not a finite number",
                where=f"metric {shown(repr(self.name), 60)}",
                do="give a finite number, or Unscored(reason) where there is none",
            )
        object.__setattr__(self, "value", value)


def passed(explanation: str = "") -> Score:
    """Return the score 1."""
    return Score(1.0, explanation)


def fail(reason: str = "") -> Score:
    """Return the score 0, with the reason."""
    return Score(0.0, reason)


def as_score(result: Any, *, where: str) -> Score | Unscored | Metric:
    """Take what a checker returned: one of ours, a bool, or a number in [0, 1].

    Raises:
        CheckerError: CD-503, a number outside [0, 1] or NaN; CD-502, anything else,
            such as the None of a function that forgot its ``return``.
    """
    if isinstance(result, (Score, Unscored, Metric)):
        return result
    if _number(result) is None:
        what = "nothing" if result is None else f"a {type(result).__name__}"
        raise CheckerError(
            "CD-502",
            f"the checker returned {what}, not a score",
            where=where,
            do="return cleandesk.passed(), cleandesk.fail(reason), a number in [0, 1], True or "
            "False, or Unscored(reason), on every path through the function",
        )
    try:
        return Score(result)
    except CheckerError as error:
        raise CheckerError(error.code, error.message, where=where, do=error.do) from None


def _number(value: Any) -> float | None:
    # numpy's scalars are numbers too; asked by shape, so that numpy is not imported.
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return None
