"""The seeds of a suite or a run: a list, or ranges as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cleandesk.errors import SuiteError, shown

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")
_MOST = 1_000_000
_HIGHEST = 2**63 - 1


def parse_seeds(given: str | int | Sequence[int], *, where: str = "seeds") -> tuple[int, ...]:
    """Return the seeds that ``given`` names, in its order.

    Args:
        given: ``"1-10"``, ``"1-3,8"``, one number, or a list of numbers; each in
            [0, 2**63 - 1].
        where: Named in the error.

    Raises:
        SuiteError: CD-409, no seed, a seed twice, out of range, or not of these forms.
    """
    seeds: list[Any]
    if isinstance(given, str):
        seeds = list(_from_text(given, where))
    else:
        seeds = [given] if isinstance(given, int) else list(given)
    if not seeds:
        raise _malformed("no seed is named", where)
    for seed in seeds:
        if type(seed) is not int or not 0 <= seed <= _HIGHEST:
            raise _malformed(f"{shown(repr(seed), 40)} is not a seed", where)
    if len(set(seeds)) != len(seeds):
        twice = next(seed for seed, times in Counter(seeds).items() if times > 1)
        raise _malformed(f"seed {twice} is named twice", where)
    return tuple(seeds)


def _from_text(text: str, where: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        # 19 digits hold every allowed seed; longer texts are not worth reading.
        if match is None or len(match[1]) > 19 or len(match[2] or "") > 19:
            raise _malformed(f"{shown(repr(text), 60)} does not name seeds", where)
        low = int(match[1])
        high = int(match[2]) if match[2] else low
        if high < low:
            raise _malformed(f"the range {low}-{high} runs backwards", where)
        if len(seeds) + high - low >= _MOST:
            raise _malformed(f"the range {low}-{high} holds more than {_MOST:,} seeds", where)
        seeds.extend(range(low, high + 1))
    return seeds


def _malformed(message: str, where: str) -> SuiteError:
    return SuiteError(
        "CD-409",
        message,
        where=where,
        do='write "1-10", "1-3,8" or a list such as [1, 2, 3]; seeds are 0 or more',
    )
