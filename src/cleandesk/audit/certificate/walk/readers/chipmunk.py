"""pymunk: spaces, bodies, shapes and constraints, by what pymunk itself would pickle."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.packing import ATOMS
from cleandesk.audit.certificate.walk.readers.protocol import REST

_KINDS = frozenset({"Space", "Body", "Shape", "Constraint"})
_MORE = {
    "Space": ("current_time_step",),
    "Body": ("mass", "moment", "body_type", "is_sleeping"),
    "Shape": ("mass", "density", "radius", "offset", "a", "b"),
    "Constraint": ("anchor_a", "anchor_b", "impulse"),
}
_COUNTERS = frozenset({"stamp", "shapeIDCounter", "currentTimeStep"})
_REST = Leaf(Kind.OPAQUE, None, "pymunk Space (spatial index, pools)")


class Chipmunk:
    """Reads ``pymunk``'s handles."""

    def takes(self, kind: type) -> bool:
        """Tell whether ``kind`` is, or extends, one of them."""
        return bool(_family(kind))

    def read(self, handle: Any) -> Mapping[str, object]:
        """Return settings, motion and geometry; of a space the cached contacts too."""
        family = _family(type(handle))
        found: dict[str, object] = {}
        for name in (*_listed(type(handle)), *_MORE[family]):
            # Some kinds of shapes and bodies refuse some of these.
            with contextlib.suppress(Exception):
                value = _plain(getattr(handle, name))
                if value is not None:
                    found[name] = value
        if family == "Space":
            found |= _space(handle)
        elif hasattr(type(handle), "get_vertices"):
            found["vertices"] = _plain(handle.get_vertices())
        return found

    def write(self, handle: Any, name: str, leaf: Leaf) -> None:
        """Put a setting or a motion back."""
        family = _family(type(handle))
        if name not in _listed(type(handle)) or family == "Space":
            raise LookupError(f"{name} of a {family} of pymunk can't be put back")
        setattr(handle, name, leaf.value)


def _space(handle: Any) -> dict[str, object]:
    shapes = {id(shape): place for place, shape in enumerate(handle.shapes)}
    special = handle.__getstate__()["special"]
    found: dict[str, object] = {name: value for name, value in special if name in _COUNTERS}
    for name, value in special:
        if name == "arbiters":
            found[name] = [_placed(arbiter, shapes) for arbiter in value]
    found[REST] = _REST
    return found


def _placed(value: Any, shapes: Mapping[int, int]) -> Any:
    """Return an arbiter as plain values, its shapes by their place in the space."""
    kind = type(value)
    if kind is dict:
        return {name: _placed(item, shapes) for name, item in value.items()}
    if kind is list:
        return [_placed(item, shapes) for item in value]
    if id(value) in shapes:
        return f"shape {shapes[id(value)]}"
    return _plain(value)


def _plain(value: Any) -> Any:
    """Return numbers and tuples of numbers as they are, and nothing of other objects."""
    if type(value) in ATOMS:
        return value
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return None


def _listed(kind: type) -> tuple[str, ...]:
    return tuple(getattr(kind, "_pickle_attrs_general", ()))


def _family(kind: type) -> str:
    for each in kind.__mro__:
        if each.__name__ in _KINDS and str(each.__module__).partition(".")[0] == "pymunk":
            return each.__name__
    return ""
