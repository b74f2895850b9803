"""How the walk spells where a leaf is, and how a key becomes a segment of that."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable
from typing import Any

from cleandesk.audit.certificate.walk.packing import ATOMS
from cleandesk.state.pattern import Pattern
from cleandesk.state.reference import spelled

ORDER = "order()"
"""The segment below a dict at which the order of its keys stands."""

KEY = "key()"
"""The segment below a dict's element at which a key that is an object stands."""

OWN = "__dict__"
"""The segment below a subclass of a container at which its attributes stand."""


def joined(prefix: str, segment: str) -> str:
    """Return the path of ``segment`` below ``prefix``, as ``spelled`` writes it."""
    if segment.isidentifier():
        return f"{prefix}.{segment}"
    # Only the second segment of a path is quoted for its dots.
    if "." in segment:
        return spelled((*parts_of(prefix), segment))
    return prefix + spelled((segment,))


@functools.lru_cache(maxsize=4096)
def parts_of(path: str) -> tuple[str, ...]:
    """Return the segments of a path that the walk spelled."""
    return tuple("*" if part is None else part for part in Pattern.parse(path).parts)


def segments(keys: Iterable[Any]) -> list[str]:
    """Return a segment for each key of one dict; no two are equal."""
    held = [*keys]
    texts = [segment_of(key, place) for place, key in enumerate(held)]
    if len(set(texts)) == len(texts):
        return texts
    taken: set[str] = set()
    for place, text in enumerate(texts):
        unique = text
        if unique in taken or (type(held[place]) is not str and texts.count(text) > 1):
            unique = f"{text} ({type(held[place]).__name__})"
        while unique in taken:
            unique += f" #{place}"
        taken.add(unique)
        texts[place] = unique
    return texts


def segment_of(key: Any, place: int) -> str:
    """Return the segment of one key, the ``place``-th of its dict."""
    kind = type(key)
    if kind is str:
        return key if key.isprintable() else repr(key)
    if is_spelled(key):
        return repr(key)
    if issubclass(kind, enum.Enum):
        return f"{kind.__name__}.{enum_name(key)}"
    return f"<{kind.__name__} #{place}>"


def is_spelled(key: Any) -> bool:
    """Tell whether a key's own text says what it is: an atom, or a tuple of such."""
    kind = type(key)
    return kind in ATOMS or (kind is tuple and all(map(is_spelled, key)))


def enum_name(member: Any) -> str:
    """Return a member's name; a combination of flags may have none."""
    own = object.__getattribute__(member, "__dict__")
    return str(own.get("_name_") or own.get("_value_"))
