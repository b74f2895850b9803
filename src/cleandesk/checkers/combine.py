"""Several results made one: ``and`` and ``or`` with partial credit.

    and   a zero ends it and the score is 0; else the mean, by weight
    or    a one ends it and the score is 1; else the largest

What comes after the end is not asked. A result that could not be had (``Unscored``)
leaves the whole unscored, unless the others decide it whatever it would have been.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cleandesk.checkers.score import Score, Unscored
from cleandesk.errors import CheckerError, shown


@dataclass(frozen=True, slots=True)
class Part:
    """One result among those combined.

    Attributes:
        name: Which check gave it.
        result: What it gave.
        weight: Its share in the mean of ``and``.
    """

    name: str
    result: Score | Unscored
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Ask:
    """A result that can be asked for.

    Attributes:
        name: Which check gives it.
        give: Gives it; called once at most.
        weight: Its share in the mean of ``and``, above 0.
    """

    name: str
    give: Callable[[], Score | Unscored]
    weight: float = 1.0


def combine(asks: Iterable[Ask], how: str = "and") -> tuple[Score | Unscored, list[Part]]:
    """Ask in order, as far as it is needed, and combine.

    Returns:
        The whole, and the parts that were asked for.

    Raises:
        CheckerError: CD-511, ``how`` is neither ``and`` nor ``or``, or a weight is not
            above 0.
    """
    if how not in {"and", "or"}:
        raise _malformed(f"combine is {shown(repr(how), 40)}", 'write "and" or "or"')
    parts: list[Part] = []
    decided = 0.0 if how == "and" else 1.0
    for ask in asks:
        if not (math.isfinite(ask.weight) and ask.weight > 0):
            raise _malformed(f"{ask.name} has the weight {ask.weight}", "give a weight above 0")
        result = ask.give()
        parts.append(Part(ask.name, result, ask.weight))
        if isinstance(result, Score) and result.value == decided:
            return Score(decided, _explained(ask.name, result)), parts
    return _undecided(parts, how), parts


def _undecided(parts: list[Part], how: str) -> Score | Unscored:
    if not parts:
        return Unscored("no checker")
    scores: list[tuple[float, float]] = []
    for part in parts:
        if isinstance(part.result, Unscored):
            return Unscored(f"{part.name}: {part.result.reason}")
        scores.append((part.result.value, part.weight))
    said = "; ".join(
        _explained(part.name, part.result) for part in parts if isinstance(part.result, Score)
    )
    if how == "or":
        return Score(max(value for value, _ in scores), said)
    weight = math.fsum(weight for _, weight in scores)
    mean = math.fsum(value * weight for value, weight in scores) / weight
    # Rounding may carry a mean a hair beyond its values, and a tiny one to 0.
    values = [value for value, _ in scores]
    return Score(min(max(mean, min(values)), max(values)), said)


def _explained(name: str, score: Score) -> str:
    return f"{name}: {score.explanation or f'{score.value:g}'}"


def _malformed(message: str, do: str) -> CheckerError:
    return CheckerError("CD-511", message, where="the task's check", do=do)
