"""How far two states are apart, over the union of both, field by field.

What can be ordered is priced exactly; what can't is named, and never counts as 0:

* numbers against numbers of whichever types: the exact difference of each element,
  rounded away from zero; of complex ones the exact modulus;
* a NaN, an infinity, a magnitude that no float holds, another shape, or a number
  against something else: *not orderable*. What can be ordered is priced beside it, and
  the whole is unbounded;
* a number on one side only: *one-sided*, and the whole is unbounded;
* 0.0 and -0.0, or one value in two types: *in bits only*;
* texts, bytes, generators, handles, orders, times: *not measurable*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from cleandesk.audit.certificate.certificate import Deviation
from cleandesk.audit.certificate.exact import Apart, apart, is_number
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.state.canon import Named
from cleandesk.state.diff import ABSENT, diff_values
from cleandesk.state.reference import spelled


class How(Enum):
    """What can be said of a field that differs."""

    PRICED = "priced"
    NOT_ORDERABLE = "not orderable"
    ONE_SIDED = "one-sided"
    NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs.

    Attributes:
        path: The field; inside a packed container, the place in it.
        how: What can be said of it.
        largest: The largest difference of its elements that can be ordered.
        has_bits_only: Whether some element differs in bits or type, and not in value.
    """

    path: str
    how: How
    largest: float = 0.0
    has_bits_only: bool = False


Leaves = Mapping[str, Leaf | None]


def price(fresh: Leaves, judged: Leaves) -> Deviation:
    """Return how far the two states are apart.

    Args:
        fresh: Leaves of a fresh build by path; None or no entry: it has no such field.
        judged: Leaves of the judged rig. What is equal on both sides need not be given.
    """
    found: dict[How, set[str]] = {how: set() for how in How}
    bits_only: set[str] = set()
    beside: dict[str, float] = {}
    largest, worst = 0.0, ""
    for difference in differences(fresh, judged):
        found[difference.how].add(difference.path)
        if difference.has_bits_only:
            bits_only.add(difference.path)
        if difference.how is How.NOT_ORDERABLE and difference.largest:
            beside[difference.path] = difference.largest
        if difference.largest > largest:
            largest, worst = difference.largest, difference.path
    return Deviation(
        largest=largest,
        is_unbounded=bool(found[How.ONE_SIDED] or found[How.NOT_ORDERABLE]),
        worst=worst,
        one_sided=tuple(sorted(found[How.ONE_SIDED])),
        not_orderable=tuple(sorted(found[How.NOT_ORDERABLE])),
        not_measurable=tuple(sorted(found[How.NOT_MEASURABLE])),
        bits_only=tuple(sorted(bits_only)),
        beside=beside,
    )


def differences(fresh: Leaves, judged: Leaves) -> Iterator[Difference]:
    """Yield what is to be said of each field that differs, in the order of the paths."""
    for path in sorted(fresh.keys() | judged.keys()):
        yield from _leaves(path, fresh.get(path), judged.get(path))


def holds_number(value: object) -> bool:
    """Tell whether ``value`` is a number, or a container with one somewhere in it."""
    if is_number(value):
        return True
    if isinstance(value, np.ndarray) and value.dtype.names:
        return any(holds_number(value[name]) for name in value.dtype.names)
    if isinstance(value, Named):
        return any(map(holds_number, value.fields.values()))
    if isinstance(value, dict):
        return any(map(holds_number, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(holds_number, value))


def _leaves(path: str, one: Leaf | None, other: Leaf | None) -> Iterator[Difference]:
    if one is None or other is None:
        leaf = one or other
        if leaf is not None:
            yield Difference(path, How.ONE_SIDED if _is_priced(leaf) else How.NOT_MEASURABLE)
        return
    # A length is no value of the field that another reading takes for one.
    lengths = [leaf.kind is Kind.LENGTH for leaf in (one, other)]
    if one.is_priced and other.is_priced and lengths[0] is lengths[1]:
        found = [*_values(path, one.value, other.value)]
        if not found and one.about != other.about:
            found = [Difference(path, How.NOT_MEASURABLE)]
        yield from found
    elif _is_priced(one) or _is_priced(other):
        yield Difference(path, How.NOT_ORDERABLE)
    elif one.to_bytes() != other.to_bytes():
        yield Difference(path, How.NOT_MEASURABLE)


def _is_priced(leaf: Leaf) -> bool:
    return leaf.is_priced and holds_number(leaf.value)


def _values(path: str, one: Any, other: Any) -> Iterator[Difference]:
    """Yield what differs in two plain values."""
    if is_number(one) and is_number(other):
        yield from _priced(path, apart(one, other))
    elif _is_record(one) and _is_record(other) and one.dtype == other.dtype:
        yield from _records(path, one, other)
    else:
        for inner, op, before, after in diff_values(one, other):
            if op != "changed":
                # Of a list the list is named: its places have no names of their own.
                place = inner[:-1] if type(inner[-1]) is int else inner
                value = after if before is ABSENT else before
                how = How.ONE_SIDED if holds_number(value) else How.NOT_MEASURABLE
                yield Difference(_below(path, place), how)
            elif inner:
                yield from _values(_below(path, inner), before, after)
            else:
                yield _whole(path, before, after)


def _is_record(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.names is not None


def _records(path: str, one: Any, other: Any) -> Iterator[Difference]:
    if one.shape != other.shape:
        yield _whole(path, one, other)
        return
    for name in one.dtype.names:
        yield from _values(_below(path, (name,)), one[name], other[name])


def _priced(path: str, found: Apart | None) -> Iterator[Difference]:
    if found is None:
        yield Difference(path, How.NOT_ORDERABLE)
    elif not found.is_same:
        how = How.PRICED if found.is_ordered else How.NOT_ORDERABLE
        yield Difference(path, how, found.largest, found.has_bits_only)


def _whole(path: str, one: Any, other: Any) -> Difference:
    """Return what is to be said of two values of which no part can be held against a part."""
    if not (holds_number(one) or holds_number(other)):
        return Difference(path, How.NOT_MEASURABLE)
    # A number in a set has no counterpart: it is there, or it is not.
    is_set = isinstance(one, set | frozenset) and type(one) is type(other)
    return Difference(path, How.ONE_SIDED if is_set else How.NOT_ORDERABLE)


def _below(path: str, inner: tuple[object, ...]) -> str:
    # spelled() quotes a dotted second part; elsewhere in a path it does not.
    above = ("x", "x") if path.count(".") + path.count("[") else ("x",)
    return path + spelled((*above, *inner))[len(".".join(above)) :]
