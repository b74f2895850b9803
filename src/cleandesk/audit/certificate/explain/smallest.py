"""The smallest part of a list that still does something, by few tries.

Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE
Transactions on Software Engineering 28 (2002), the algorithm ddmin.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")

First = Callable[[Sequence[tuple[T, ...]]], int | None]
"""Returns the place of a candidate that holds, or None: no one does, or no try is left."""


class Budget:
    """How many tries there may be, and until when.

    Attributes:
        deadline: On the monotonic clock.
        used: Tries so far.
        is_cut: Whether a try was refused.
    """

    def __init__(self, deadline: float, most: int) -> None:
        self.deadline = deadline
        self.used = 0
        self.is_cut = False
        self._most = most
        self._lock = threading.Lock()

    @property
    def left_s(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def spend(self) -> bool:
        """Take one try; False where none is left."""
        with self._lock:
            if self.used >= self._most or self.left_s <= 0.0:
                self.is_cut = True
                return False
            self.used += 1
            return True


def most_tries(count: int) -> int:
    """Return how many tries a search over ``count`` items may take: 4 n log2 n, at least 8."""
    return max(8, math.ceil(4 * count * math.log2(max(2, count))))


def smallest(items: Sequence[T], first: First[T]) -> tuple[T, ...]:
    """Return a part of ``items`` that holds, none of whose items can be left out.

    Where the tries end early it is the smallest part found by then.

    Args:
        items: They hold together, which is not tried again. Of one item nothing is tried.
        first: Tries candidates.
    """
    held, parts = tuple(items), 2
    while len(held) > 1:
        pieces = _pieces(held, parts)
        place = first(pieces)
        if place is not None:
            held, parts = pieces[place], 2
            continue
        rests = _rests(pieces) if parts > 2 else []
        place = first(rests) if rests else None
        if place is not None:
            held, parts = rests[place], max(parts - 1, 2)
        elif parts >= len(held):
            break
        else:
            parts = min(len(held), 2 * parts)
    return held


def fewest(count: int, first: Callable[[Sequence[int]], int | None]) -> int:
    """Return a small number from 0 to ``count`` that holds, ``count`` being known to.

    It is the smallest one where every number above one that holds does too. Small ones are
    tried first: they are cheap to try, and most leaks need few steps.

    Args:
        count: The largest.
        first: Returns the place of the first number that holds, or None.
    """
    if count == 0:
        return 0
    rising = [0, *_powers(count)]
    place = first(rising)
    if place is None:
        low, high = rising[-1], count
    else:
        low, high = rising[place - 1] if place else -1, rising[place]
    while high - low > 1:
        third = max(1, (high - low) // 3)
        tried = sorted({low + third, max(low + third, high - third)} - {high})
        place = first(tried)
        if place is None:
            low = tried[-1]
        else:
            low, high = (tried[place - 1] if place else low), tried[place]
    return high


def _powers(below: int) -> Iterator[int]:
    power = 1
    while power < below:
        yield power
        power *= 4


def first_of(candidates: Sequence[T], holds: Callable[[T], bool], *, lanes: int = 1) -> int | None:
    """Return the place of the first candidate that holds, or None.

    Args:
        candidates: They are tried in order.
        holds: Tries one; in threads where there is more than one lane.
        lanes: How many are tried at once.
    """
    if lanes == 1 or len(candidates) < 2:
        return next((place for place, each in enumerate(candidates) if holds(each)), None)
    with ThreadPoolExecutor(lanes) as pool:
        for start in range(0, len(candidates), lanes):
            window = candidates[start : start + lanes]
            for place, does in enumerate(pool.map(holds, window)):
                if does:
                    return start + place
    return None


def _pieces(items: tuple[T, ...], parts: int) -> list[tuple[T, ...]]:
    ends = [round(len(items) * number / parts) for number in range(parts + 1)]
    return [items[low:high] for low, high in pairwise(ends) if high > low]


def _rests(pieces: Sequence[tuple[T, ...]]) -> list[tuple[T, ...]]:
    return [
        tuple(item for other, piece in enumerate(pieces) if other != place for item in piece)
        for place in range(len(pieces))
    ]
