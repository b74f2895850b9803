"""Lists whose items moved: what came and what went, where places alone would say little.

diff/1 compares lists by place, so that one line taken out of the middle of a text shows as
a change of every line behind it. For people such a run of changes is read again here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from cleandesk.checkers.rows import kept_places
from cleandesk.state import ABSENT, Change, encode
from cleandesk.state.reference import spelled

_FEW = 3


@dataclass(frozen=True, slots=True)
class Moved:
    """A list of which items came and went.

    Attributes:
        field: The list, as people write it.
        went: Place before and item, in order.
        came: Place after and item, in order.
        by_place: How many changes this stands for.
    """

    field: str
    went: tuple[tuple[int, Any], ...]
    came: tuple[tuple[int, Any], ...]
    by_place: int


def regrouped(changes: Iterable[Change]) -> Iterator[Change | Moved]:
    """Yield ``changes``, those of one list as what came and went where that says it shorter."""
    for (surface, above), group in groupby(changes, key=_list_of):
        held = list(group)
        if above is not None and len(held) > _FEW:
            moved = _moved(spelled((surface, *above)), held)
            if moved is not None and len(moved.went) + len(moved.came) < len(held):
                yield moved
                continue
        yield from held


def _list_of(change: Change) -> tuple[str, tuple[Any, ...] | None]:
    is_item = len(change.path) > 1 and type(change.path[-1]) is int
    return change.surface, change.path[:-1] if is_item else None


def _moved(field: str, changes: Sequence[Change]) -> Moved | None:
    """Return what came and went, or None where an item of it is not told."""
    items = {_place(change): change for change in changes}
    old = _side(items, "before")
    new = _side(items, "after")
    stayed, remained = kept_places([item for _, item in old], [item for _, item in new])
    went = [place for at, (place, _) in enumerate(old) if at not in stayed]
    came = [place for at, (place, _) in enumerate(new) if at not in remained]
    if not items.keys() >= {*went, *came}:
        return None
    return Moved(
        field,
        tuple((place, items[place].before) for place in went),
        tuple((place, items[place].after) for place in came),
        len(changes),
    )


def _side(items: Mapping[int, Change], name: str) -> list[tuple[int, bytes]]:
    """Return the items of one side, each with its place; of a place not told, a stand-in."""
    held = []
    for place in range(1 + max(items)):
        value = getattr(items[place], name) if place in items else None
        if value is not ABSENT:
            # Of a place that is not told both sides hold the same, whatever that is.
            held.append((place, encode(value) if place in items else b"=%d" % place))
    return held


def _place(change: Change) -> int:
    return cast("int", change.path[-1])
