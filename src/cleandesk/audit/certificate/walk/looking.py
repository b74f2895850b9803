"""A stable order for the objects of a set, whose own order depends on addresses."""

from __future__ import annotations

from typing import Any

from cleandesk.audit.certificate.walk.walker import Memory, Walker

_NEAR = 200  # values that tell two elements of a set apart, at most


def ordered(walk: Walker, items: list[Any]) -> list[Any]:
    """Return ``items`` in an order that two equal rigs share.

    What has a path already comes first, by that path; the others by their class and what
    is near them.
    """
    return sorted(items, key=lambda item: _rank(walk, item))


def _rank(walk: Walker, item: Any) -> tuple[int, str, str]:
    path = walk.met.get(id(item))
    if path:
        return (0, path, "")
    kind = type(item)
    return (1, f"{kind.__module__}:{kind.__qualname__}", _look(walk, item))


def _look(walk: Walker, item: Any) -> str:
    near = Walker(walk.openers, Memory(), walk.skip, _NEAR)
    near.around = walk.met
    near.child("element", item)
    near.drain()
    return near.finished().fingerprint()
