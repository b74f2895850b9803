"""What each field is over a whole sequence: a leak, inert, fused, accumulating."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cleandesk.audit.certificate import sentences
from cleandesk.audit.certificate.certificate import Boundary, Inert, Leak
from cleandesk.audit.certificate.declaring import Declaring, Sides
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.texts import text_of_leaf

if TYPE_CHECKING:
    from cleandesk.audit.certificate.judge import Evidence

_FEW_TO_GROW, _MANY_TO_GROW = 3, 5
_MOST = 2**60
_ACCUMULATES = "accumulates"


def fold(
    boundaries: Sequence[Boundary], evidences: Sequence[Evidence], declaring: Declaring
) -> tuple[tuple[Leak, ...], tuple[Inert, ...]]:
    """Return the leaks and the inert fields of a sequence.

    A field that leaks at one boundary is a leak; before that it may have been inert, which
    is noted, since an inert field is judged anew at each boundary.
    """
    leaking: dict[str, list[int]] = {}
    unread: dict[str, list[int]] = {}
    outside: dict[str, str] = {}
    for boundary, evidence in zip(boundaries, evidences, strict=True):
        found = declaring.outside(evidence.apart)
        outside.update({path: why for path, why in found.items() if path not in outside})
        for path in boundary.differing:
            is_unread = evidence.are_unread and path not in found
            (unread if is_unread else leaking).setdefault(path, []).append(boundary.number)
    growing = _growing(evidences)
    apart = {each.number: each.apart for each in evidences}

    def texts(path: str, number: int) -> tuple[str, str]:
        fresh, judged = apart[number][path]
        return text_of_leaf(fresh), text_of_leaf(judged)

    leaks: list[Leak] = []
    for path, numbers in sorted(leaking.items()):
        is_fused = min(unread.get(path, numbers)) < numbers[0]
        notes = [
            sentences.FUSED(boundary=numbers[0]) if is_fused else "",
            _ACCUMULATES if path in growing else "",
            outside.get(path, ""),
        ]
        note = "; ".join(filter(None, notes))
        leaks.append(Leak(path, "leak", *texts(path, numbers[0]), tuple(numbers), note=note))
    rows = min((each.steps + 1 for each in evidences), default=0)
    inert = [
        Inert(
            path,
            *texts(path, numbers[0]),
            tuple(numbers),
            sentences.INERT_EVIDENCE(rows=rows),
            _ACCUMULATES if path in growing else "",
        )
        for path, numbers in sorted(unread.items())
        if path not in leaking
    ]
    return tuple(leaks), tuple(inert)


def do_nodes_grow(boundaries: Sequence[Boundary]) -> bool:
    """Tell whether the walk met more objects at each boundary than at the one before."""
    return _is_growing([each.nodes for each in boundaries])


def _growing(evidences: Sequence[Evidence]) -> frozenset[str]:
    """Return the fields that lie farther from a fresh build's at each boundary than before."""
    if not evidences:
        return frozenset()
    everywhere = set.intersection(*(set(each.apart) for each in evidences))
    found: set[str] = set()
    for path in everywhere:
        excess = [_excess(each.apart[path]) for each in evidences]
        known = [value for value in excess if value is not None]
        sign = 1 if known and known[0] > 0 else -1
        if len(known) == len(excess) and _is_growing([sign * value for value in known]):
            found.add(path)
    return frozenset(found)


def _excess(sides: Sides) -> int | float | None:
    """Return by how much a plain number exceeds that of the fresh build."""
    fresh, judged = (0 if side is None else _number(side) for side in sides)
    return None if fresh is None or judged is None else judged - fresh


def _number(leaf: Leaf) -> int | float | None:
    if leaf.kind is Kind.VALUE and type(leaf.value) in {list, tuple, dict}:
        return len(leaf.value)
    is_plain = leaf.kind in {Kind.VALUE, Kind.LENGTH} and type(leaf.value) in {int, float}
    # What is neither finite nor small tells no growth.
    return leaf.value if is_plain and abs(leaf.value) < _MOST else None


def _is_growing(values: Sequence[int | float]) -> bool:
    # Five values at random are in order once in 120 times; three are far too often.
    least = _FEW_TO_GROW if all(type(value) is int for value in values) else _MANY_TO_GROW
    return (
        len(values) >= least
        and values[0] > 0
        and all(one < other for one, other in itertools.pairwise(values))
    )
