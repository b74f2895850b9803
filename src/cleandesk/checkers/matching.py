"""Which wanted thing is which found thing: a matching, each used once."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def match_up(options: Sequence[Sequence[int]]) -> list[int | None]:
    """Return a largest matching: for each wanted thing the found one, or None.

    Taking the first that fits would be wrong: with wants [any row, this row] the first
    could take the only row that fits the second.

    Args:
        options: For each wanted thing the numbers of the found things that would do.
    """
    taken_by: dict[int, int] = {}
    chosen: list[int | None] = [None] * len(options)
    for wanted in range(len(options)):
        _augment(wanted, options, taken_by, chosen)
    return chosen


def _augment(
    start: int,
    options: Sequence[Sequence[int]],
    taken_by: dict[int, int],
    chosen: list[int | None],
) -> None:
    """Find a place for ``start``, moving others along a path where that is needed."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        wanted = queue.popleft()
        for found in options[wanted]:
            if found in came_from:
                continue
            came_from[found] = wanted
            if found in taken_by:
                queue.append(taken_by[found])
                continue
            _shift(found, came_from, taken_by, chosen)
            return


def _shift(
    free: int, came_from: dict[int, int], taken_by: dict[int, int], chosen: list[int | None]
) -> None:
    found: int | None = free
    while found is not None:
        wanted = came_from[found]
        found_before = chosen[wanted]
        taken_by[found], chosen[wanted] = wanted, found
        found = found_before
