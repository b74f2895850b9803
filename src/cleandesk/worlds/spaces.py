"""Gymnasium's spaces as plain data, so that an agent in another process can read them.

Gymnasium is not imported: a world that has spaces has imported it already.

The kinds: ``discrete`` (n, start), ``box`` (low, high, shape, dtype), ``multi_discrete``
(nvec, start), ``multi_binary`` (shape), ``text`` (min_length, max_length, characters),
``tuple`` (spaces), ``dict`` (spaces), ``other`` (text).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cleandesk.errors import shown


def describe_space(space: Any) -> dict[str, Any] | None:
    """Return ``space`` as plain data that JSON can say.

    Args:
        space: A space of Gymnasium, a description (returned as it is), or None.

    Returns:
        A table with ``kind`` and what that kind has, or None for None. The ends of a
        box are one number where all its elements share it, else nested lists; an
        end at infinity is None.
    """
    if space is None or isinstance(space, dict):
        return space
    for owner in type(space).__mro__:
        describe = _DESCRIBERS.get(owner.__name__)
        if describe is not None and owner.__module__.startswith("gymnasium.spaces"):
            return describe(space)
    return {"kind": "other", "text": shown(repr(space))}


def _discrete(space: Any) -> dict[str, Any]:
    return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}


def _box(space: Any) -> dict[str, Any]:
    return {
        "kind": "box",
        "low": _ends(space.low),
        "high": _ends(space.high),
        "shape": [int(size) for size in space.shape],
        "dtype": str(space.dtype),
    }


def _multi_discrete(space: Any) -> dict[str, Any]:
    return {
        "kind": "multi_discrete",
        "nvec": space.nvec.tolist(),
        "start": space.start.tolist(),
    }


def _multi_binary(space: Any) -> dict[str, Any]:
    return {"kind": "multi_binary", "shape": [int(size) for size in space.shape]}


def _text(space: Any) -> dict[str, Any]:
    return {
        "kind": "text",
        "min_length": int(space.min_length),
        "max_length": int(space.max_length),
        "characters": "".join(sorted(space.character_set)),
    }


def _tuple(space: Any) -> dict[str, Any]:
    return {"kind": "tuple", "spaces": [describe_space(inner) for inner in space.spaces]}


def _dict(space: Any) -> dict[str, Any]:
    return {
        "kind": "dict",
        "spaces": {str(key): describe_space(inner) for key, inner in space.spaces.items()},
    }


_DESCRIBERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "Discrete": _discrete,
    "Box": _box,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": _multi_binary,
    "Text": _text,
    "Tuple": _tuple,
    "Dict": _dict,
}


def _ends(ends: Any) -> Any:
    flat = ends.ravel().tolist()
    if flat and all(end == flat[0] for end in flat):
        return _finite(flat[0])
    return _finite(ends.tolist())


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value if math.isfinite(value) else None
