"""MuJoCo: every public field of MjData, MjModel and their structs.

What the engine keeps in its arena (constraints, islands, contacts) is memory that each
step claims anew: beyond what the step wrote it holds remains of earlier ones. It is one
opaque group, with the counts that say how much of it is in use read as numbers.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind, Leaf

_ARENA = (
    "efc_", "iefc_", "efm_", "iacc", "ifrc", "iLD", "iM", "island_", "map_", "maxuse_", "solver",
    "dof_island", "tree_island", "tendon_efcadr",
)  # fmt: skip
_ARENA_NAMES = frozenset({"contact", "timer", "warning", "parena", "pstack", "pbase", "maxuse"})
# Counts that say how much of the arena is in use.
_COUNTS = frozenset({"efm_active"})
_POINTERS = frozenset({"threadpool", "plugin_data", "narena", "nbuffer", "signature"})
_STRUCTS = frozenset(
    {"MjData", "MjModel", "MjOption", "MjStatistic", "MjVisual", "MjvCamera", "MjvOption",
     "MjvPerturb", "MjLROpt"}
)  # fmt: skip
_ARENA_LEAF = Leaf(Kind.OPAQUE, None, "MuJoCo arena")


class Mujoco:
    """Reads the structs of the ``mujoco`` package."""

    def takes(self, kind: type) -> bool:
        """Tell whether ``kind`` is one of MuJoCo's structs."""
        return str(kind.__module__).startswith("mujoco.") and (
            kind.__name__ in _STRUCTS or kind.__qualname__.startswith("MjVisual.")
        )

    def read(self, handle: Any) -> Mapping[str, object]:
        """Return every field; arrays are the engine's own memory."""
        names, read = _fields_of(handle)
        try:
            found = dict(zip(names, read(handle), strict=True))
        except Exception:  # noqa: BLE001 - a field may refuse for any reason; the others are read
            found = {name: _one(handle, name) for name in names}
        if type(handle).__name__ == "MjData":
            found["arena"] = _ARENA_LEAF
        return found

    def one(self, handle: Any, name: str) -> object:
        """Return one field, as ``read`` would."""
        if name not in _fields_of(handle)[0]:
            raise LookupError(f"MuJoCo's {type(handle).__name__} has no field {name!r} to read")
        return _one(handle, name)

    def write(self, handle: Any, name: str, leaf: Leaf) -> None:
        """Put a field back; arrays in place."""
        if name not in _fields_of(handle)[0]:
            raise LookupError(f"MuJoCo's {type(handle).__name__} has no field {name!r} to write")
        now = getattr(handle, name)
        if not isinstance(now, np.ndarray):
            _set(handle, name, leaf.value)
            return
        if now.shape != np.shape(leaf.value):
            raise LookupError(f"{name} has the shape {now.shape} now; it can't be put back")
        now[...] = leaf.value


def _set(handle: object, name: str, value: Any) -> None:
    try:
        setattr(handle, name, value)
    except (AttributeError, TypeError) as error:
        raise LookupError(f"MuJoCo does not let {name} be set") from error


def _one(handle: Any, name: str) -> object:
    try:
        return getattr(handle, name)
    except Exception as error:  # noqa: BLE001 - said in the leaf
        return Leaf(Kind.OPAQUE, None, f"unreadable: {type(error).__name__}")


def _fields_of(handle: Any) -> tuple[tuple[str, ...], Any]:
    kind: Any = type(handle)
    return _fields(kind)


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, ...], Any]:
    names = tuple(name for name in dir(kind) if name[:1] != "_" and _is_read(kind, name))
    if len(names) == 1:
        return names, lambda handle: (getattr(handle, names[0]),)
    return names, operator.attrgetter(*names)


def _is_read(kind: type, name: str) -> bool:
    if type(getattr(kind, name)) is not property or name in _POINTERS:
        return False
    if kind.__name__ != "MjData" or name in _COUNTS:
        return True
    return name not in _ARENA_NAMES and not name.startswith(_ARENA)
