"""A leaf as a short text, for people: what a fresh build has, what the reset left there."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.errors import shown
from cleandesk.state.canon import Named

ABSENT = "absent"

_FEW = 4
_SHORT = 8
"""Hex digits of a digest: enough to tell two apart by eye, never to prove that they agree."""


def text_of_leaf(leaf: Leaf | None, limit: int = 120) -> str:
    """Return a text of at most ``limit`` characters without control characters.

    Args:
        leaf: The leaf, or None where there is no such field.
        limit: The most characters.
    """
    if leaf is None:
        return ABSENT
    if leaf.kind is Kind.OPAQUE:
        return shown(leaf.about or "a handle", limit)
    if leaf.kind is Kind.ALIAS:
        return shown(f"the same object as {leaf.value or leaf.about}", limit)
    if leaf.kind is Kind.TOKEN:
        return shown(_of_token(leaf), limit)
    return shown(_of_value(leaf.value, limit), limit)


def _of_token(leaf: Leaf) -> str:
    if type(leaf.value) is str and not leaf.about:
        return repr(leaf.value)
    return f"{leaf.about or type(leaf.value).__name__} {_digest(leaf)}"


def _digest(leaf: Leaf) -> str:
    return "#" + hashlib.sha256(leaf.to_bytes()).hexdigest()[:_SHORT]


def _of_value(value: Any, limit: int) -> str:
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, np.generic):
        return f"{value.item()!r} ({value.dtype})"
    if isinstance(value, Named):
        return f"{value.name} {_of_value(dict(value.fields), limit)}"
    if isinstance(value, dict | list | tuple | set | frozenset) and len(value) > limit:
        # Its whole text could be long to make, and is cut anyway.
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 10_000:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str | bytes):
        return repr(value[:limit])
    return repr(value)


def _of_array(array: Any) -> str:
    shape = ", ".join(map(str, array.shape))
    some = [repr(item) for item in array.ravel()[:_FEW].tolist()]
    more = ", ..." if array.size > _FEW else ""
    return f"{array.dtype}[{shape}] {', '.join(some)}{more}".strip()
