"""canon/1: the one spelling of a value that is hashed.

Two values are the same state exactly when their canonical bytes are equal. That is
stricter than ``==``: 1, 1.0 and True differ, 0.0 and -0.0 differ, and a NaN is the
same state as itself (law 1). The pure reference encoder is in ``state/reference.py``;
orjson only speeds it up where both spell the same, which ``_FAST`` checks at import.

Source: docs/spec/canon-1.md.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from math import isfinite
from typing import Any

import orjson

from cleandesk.state.reference import (
    INLINE_BYTES,
    MAX_DEPTH,
    Named,
    encode_reference,
    untag,
)

__all__ = ["ALL_BYTES", "INLINE_BYTES", "Named", "decode", "encode", "encode_each"]

ALL_BYTES = 1 << 62
"""As ``inline_bytes``: every array in place, as on the wire, where its data is needed."""

_ATOMS = frozenset({str, int, bool, type(None)})
_NUMBERS = _ATOMS | {float}
_TEXT = frozenset({str})
_MANY = 16

# If a future orjson spelled one of these in another way, the fast path would change
# every fingerprint; then the reference encoder does all the work instead.
_PROBES = (
    [0.0, -0.0, 1.0, 1e15, 1e16, 1e17, 1.5e-5, 1e-5, 1.23e-6, 5e-324, 1.7976931348623157e308],
    [2**63, -(2**63), 2**64 - 1, 123456789012345680.0, 0.1, 1e21, 9.5e-7, 0.0001],
    {"b": '\x00\x1f\x7f"\\/\b\f\n\r\t é\u2028\U0001f600', "a": [True, None, ""], "\ue000": {}},
)
_FAST = all(
    orjson.dumps(probe, option=orjson.OPT_SORT_KEYS) == encode_reference(probe) for probe in _PROBES
)


def encode(value: Any, *, inline_bytes: int = INLINE_BYTES) -> bytes:
    """Return the canonical bytes of ``value``.

    Args:
        value: None, bool, int, float, str, bytes, list, tuple, set, frozenset, dict,
            Decimal, date, time, datetime, timedelta, complex, UUID, numpy array or
            scalar, ``Named``; nested to a depth of 200.
        inline_bytes: Arrays with more data than this are written by digest.

    Raises:
        StateError: CD-101, a value of a type that canon/1 does not know; CD-102, nesting
            deeper than 200 or a cycle. Both name the path.

    Source:
        docs/spec/canon-1.md, section 2.
    """
    if _FAST and is_plain(value):
        try:
            text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except (TypeError, orjson.JSONEncodeError):
            # An integer over 64 bits, a lone surrogate, or too deep a nesting.
            return encode_reference(value, inline_bytes=inline_bytes)
        # Only a key that begins with $ needs escaping; a text that begins so is
        # rare and merely takes the slow way to the same bytes.
        if b'"$' not in text:
            return text
    return encode_reference(value, inline_bytes=inline_bytes)


def encode_each(values: list[Any]) -> list[bytes]:
    """Return the canonical bytes of each of ``values``, as ``encode`` does.

    Where all of them are plain, that is checked for all at once, which halves the work.
    """
    if not (_FAST and is_plain(values)):
        return [encode(value) for value in values]
    try:
        texts = [orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for value in values]
    except (TypeError, orjson.JSONEncodeError):
        return [encode(value) for value in values]
    return [
        encode_reference(value) if b'"$' in text else text
        for value, text in zip(values, texts, strict=True)
    ]


def decode(data: bytes) -> Any:
    """Return the value that ``data`` spells; the inverse of ``encode``.

    An array that was written by digest comes back as a ``Named`` value, since its
    data is elsewhere.

    Raises:
        orjson.JSONDecodeError: ``data`` is not JSON.
        StateError: CD-103, a tag that canon/1 does not know.
    """
    value = orjson.loads(data)
    return untag(value) if b'"$' in data else value


def is_plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Tell whether ``value`` is of plain JSON types through and through, all finite.

    Checked by exact type and a container at a time: a subclass may spell itself in
    another way, and orjson would write NaN as null and a tuple as a list. What is
    nested deeper than ``depth`` is not plain, nor what contains itself.
    """
    kind = type(value)
    if kind is dict:
        if not _TEXT.issuperset(map(type, value)):
            return False
        return _plain_items(value.values(), depth)
    if kind is list:
        return _plain_items(value, depth)
    return kind in _ATOMS or (kind is float and isfinite(value))


def _plain_items(items: Collection[Any], depth: int) -> bool:
    if depth == 0:
        return not items
    kinds = set(map(type, items))
    if kinds <= _ATOMS:
        return True
    if float in kinds:
        # A sum is finite only if every part is; an overflow merely takes the slow way.
        floats = items if kinds == {float} else [item for item in items if type(item) is float]
        if not isfinite(sum(floats)):
            return False
        kinds -= _NUMBERS
    else:
        kinds -= _ATOMS
    if not kinds:
        return True
    if not kinds <= {dict, list}:
        return False
    if len(items) <= _MANY:
        # A level of the walk is a loop here, not a generator: most values end in this one.
        for item in items:
            if (type(item) is dict or type(item) is list) and not is_plain(item, depth - 1):
                return False
        return True
    return _plain_level(items, depth)


def _plain_level(items: Collection[Any], depth: int) -> bool:
    """Look at the items of all containers in ``items`` at once: few calls for many rows."""
    # Each container once, however often it is held: one that holds itself must not grow.
    held = {id(item): item for item in items if type(item) is dict or type(item) is list}.values()
    maps = [item for item in held if type(item) is dict]
    if not _TEXT.issuperset(map(type, chain.from_iterable(maps))):
        return False
    below = [*chain.from_iterable(map(dict.values, maps))]
    below += chain.from_iterable([item for item in held if type(item) is list])
    return _plain_items(below, depth - 1)
