"""Answers in words or numbers, compared with those that are accepted.

Never by looking for one text inside another: "10" would then be found in "100".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from cleandesk.checkers.rows import same, spelt
from cleandesk.checkers.score import Score, fail, passed

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)
_LONGEST_NUMBER = 400


def judge_answer(answer: Any, accepted: Sequence[Any]) -> Score:
    """Score 1 if ``answer`` is one of ``accepted``, else 0.

    A text is accepted if it is the same text once the case, the spaces around it and
    the kind and number of spaces within it are put aside. An accepted number is met by
    that number, or by a text that is that number and nothing else; an accepted truth
    value by itself or its name; anything else by the same value.

    Args:
        answer: What the agent answered, or None.
        accepted: The right answers.
    """
    if answer is None:
        return fail("there was no answer")
    if any(_is_accepted(answer, right) for right in accepted):
        return passed(f"the answer {spelt(answer)} is accepted")
    listed = ", ".join(spelt(right) for right in accepted[:3])
    return fail(f"the answer is {spelt(answer)}; accepted: {listed}{', …' * (len(accepted) > 3)}")


def _is_accepted(answer: Any, right: Any) -> bool:
    if isinstance(right, bool) or isinstance(answer, bool):
        return _truth(answer) is not None and _truth(answer) == _truth(right)
    if isinstance(right, (int, float)):
        return _exact(answer) is not None and _exact(answer) == _exact(right)
    if isinstance(right, str):
        if isinstance(answer, (int, float)):
            answer = str(answer)
        return isinstance(answer, str) and plain_text(answer) == plain_text(right)
    return same(right, answer)


def plain_text(text: str) -> str:
    """Return ``text`` with case and spaces put aside, composed letters as one."""
    return unicodedata.normalize("NFC", " ".join(text.split()).casefold())


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(plain_text(value)) if isinstance(value, str) else None


def _exact(value: Any) -> Decimal | None:
    # Decimal of the shortest text: 0.1 is met by "0.1", which no binary float equals.
    text = value.strip() if isinstance(value, str) else str(value)
    if len(text) > _LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    return Decimal(text)
