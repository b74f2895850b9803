"""Plain values as bytes: equal exactly when type, value and order of keys are equal.

A container of nothing but plain values is one leaf. Its bytes are what ``marshal``
writes in its second version: that tells 1, 1.0 and True apart, 0.0 and -0.0, a tuple
and a list, and keeps the order of keys; unlike later versions it does not depend on
which objects happen to be shared or interned. It is by far the fastest encoder that is
sound here, and the bytes never leave the machine on which they were made.
"""

from __future__ import annotations

import marshal
import math
from itertools import chain
from typing import Any

ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
"""Types that are their own bytes."""

_VERSION = 2
_CONTAINERS = frozenset({dict, list, tuple})
_DEEPEST = 150  # below the depth that canon/1 takes, so that every leaf can be spelled
_MOST = 20_000_000
_OTHER_NAN = bytes(6) + b"\xf8\xff"  # a NaN whose sign is set, as arithmetic makes it
_MANY = 64


def atom_bytes(value: Any) -> bytes:
    """Return the bytes of an atom."""
    data = marshal.dumps(value, _VERSION)
    return marshal.dumps(_with_one_nan(value), _VERSION) if _OTHER_NAN in data else data


def plain_bytes(value: Any) -> bytes | None:
    """Return the bytes of a dict, list or tuple, or None if it is not plain throughout."""
    if not is_plain(value):
        return None
    try:
        data = marshal.dumps(value, _VERSION)
    except ValueError:
        return None
    # A NaN is the same state as any other.
    return marshal.dumps(_with_one_nan(value), _VERSION) if _OTHER_NAN in data else data


def value_of(data: bytes) -> Any:
    """Return a fresh copy of the value behind bytes that this process made."""
    return marshal.loads(data)  # noqa: S302 - own bytes, from this process, never from outside


def is_plain(value: Any) -> bool:
    """Tell whether a container holds plain values only, and no list or dict twice.

    A list that is held twice is an alias, which is state: it needs paths of its own.
    """
    if ATOMS.issuperset(map(type, value.values() if type(value) is dict else value)):
        return type(value) is not dict or _are_plain_keys(value)
    if len(value) > _MANY:
        return _are_plain_levels(value)
    return 0 < _size(value, {}, _DEEPEST) <= _MOST


def _are_plain_levels(value: Any) -> bool:
    """Look at all containers of one depth at once: few calls for many rows."""
    level = [value]
    seen: set[int] = set()
    total = 0
    for _ in range(_DEEPEST):
        writable = [id(item) for item in level if type(item) is not tuple]
        seen.update(writable)
        total += len(writable)
        if len(seen) < total:
            return False
        maps = [item for item in level if type(item) is dict]
        if maps and not _are_plain_keys([*chain.from_iterable(maps)]):
            return False
        below = [*chain.from_iterable(map(dict.values, maps))]
        below += chain.from_iterable(item for item in level if type(item) is not dict)
        kinds = set(map(type, below)) - ATOMS
        if not kinds:
            return True
        if not kinds <= _CONTAINERS or len(below) > _MOST:
            return False
        level = [item for item in below if type(item) in _CONTAINERS]
    return False


def _size(value: Any, seen: dict[int, int], depth: int) -> int:
    """Return how many values a plain container spells, or 0 if it is not plain."""
    known = seen.get(id(value))
    if known is not None:
        # A tuple may be held by many: it can't be written.
        return known if type(value) is tuple else 0
    seen[id(value)] = 0
    if type(value) is dict and not _are_plain_keys(value):
        return 0
    items = value.values() if type(value) is dict else value
    kinds = set(map(type, items)) - ATOMS
    size = 1 + len(items)
    if kinds:
        if depth == 0 or not kinds <= _CONTAINERS:
            return 0
        for item in items:
            if type(item) in _CONTAINERS:
                below = _size(item, seen, depth - 1)
                if not below:
                    return 0
                size += below
    seen[id(value)] = size
    return size


def _are_plain_keys(keys: Any) -> bool:
    if ATOMS.issuperset(map(type, keys)):
        return True
    return all(type(key) in ATOMS or (type(key) is tuple and is_plain(key)) for key in keys)


def _with_one_nan(value: Any) -> Any:
    kind = type(value)
    if kind is float:
        return math.nan if value != value else value
    if kind is complex:
        return complex(_with_one_nan(value.real), _with_one_nan(value.imag))
    if kind is dict:
        return {_with_one_nan(key): _with_one_nan(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind(map(_with_one_nan, value))
    return value
