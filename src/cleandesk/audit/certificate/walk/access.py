"""Reading and writing one path of a rig."""

from __future__ import annotations

import array
import enum
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk import streams
from cleandesk.audit.certificate.walk.containers import map_base, pairs_of
from cleandesk.audit.certificate.walk.paths import ORDER, parts_of, segments
from cleandesk.audit.certificate.walk.places import Place, below, in_class, in_function, refuse
from cleandesk.audit.certificate.walk.plans import is_a, plan_of
from cleandesk.audit.certificate.walk.readers import Reader
from cleandesk.audit.certificate.walk.walking import leaf_at, owner_of

_NEVER = {
    Kind.ALIAS: "which object it is can't be put back, only what the object holds",
    Kind.OPAQUE: "a handle can't be put back",
}
_NAMES = frozenset({"object", "function", "class", "module", "records"})


def read(roots: Mapping[str, object], path: str, *, readers: Sequence[Reader] = ()) -> Leaf:
    """Return the leaf at one path now.

    An object that has a shorter path is read as what it is, not as an alias.

    Args:
        roots: As for ``walk``; classes, modules and functions are those of the last walk.
        path: As the walk spelled it, or deeper into a plain container.
        readers: As for ``walk``.

    Raises:
        LookupError: There is nothing there now.
    """
    parts = parts_of(path)
    if parts[-1] == ORDER:
        held = _place(roots, parts[:-1], readers).value
        return Leaf(Kind.ORDER, segments(key for key, _ in pairs_of(held)))
    place = _place(roots, parts, readers)
    if place.reader is not None and type(place.value) is Leaf:
        return place.value
    return leaf_at(path, place.value, readers)


def write(
    roots: Mapping[str, object], path: str, leaf: Leaf | None, *, readers: Sequence[Reader] = ()
) -> None:
    """Put one leaf back; what can be changed in place keeps its identity.

    Args:
        roots: As for ``walk``.
        path: As the walk spelled it, or deeper into a plain container.
        leaf: What a walk found there; None takes an attribute, key or element away.
        readers: As for ``walk``.

    Raises:
        LookupError: It can't be put back; a sentence says why.
    """
    parts = parts_of(path)
    if leaf is not None and leaf.kind in _NEVER:
        raise LookupError(f"{path}: {_NEVER[leaf.kind]}")
    if parts[-1] == ORDER:
        _put_order(_place(roots, parts[:-1], readers).value, leaf)
        return
    if leaf is None:
        _place(roots, parts, readers).drop()
        return
    place = _found_or_new(roots, parts, readers)
    if place.reader is not None:
        place.reader.write(place.handle, place.name, leaf)
    elif leaf.kind is Kind.LENGTH:
        _cut(place.value, leaf)
    elif leaf.kind is Kind.TOKEN and leaf.about in _NAMES:
        raise LookupError(f"{path}: a {leaf.about} can't be put back, only what it holds")
    elif not (_is_stream(leaf) and streams.put_back(place.value, leaf)):
        _put(place, leaf, path)


def _place(roots: Mapping[str, object], parts: tuple[str, ...], own: Sequence[Reader]) -> Place:
    head, *rest = parts
    if head in roots:
        place = Place(roots[head], refuse("a root can't be replaced"), refuse("a root stays"))
    else:
        owner = owner_of(head)
        word = head.partition(" ")[0]
        if owner is None:
            raise LookupError(f"there is no {head} among what was walked")
        if word == "function":
            place, rest = in_function(owner, tuple(rest)), rest[2:]
        elif word == "class" and rest:
            place, rest = in_class(owner, rest[0]), rest[1:]
        else:
            place = Place(owner, refuse("a module can't be replaced"), refuse("it stays"))
    for segment in rest:
        place = below(place, segment, own)
    return place


def _found_or_new(
    roots: Mapping[str, object], parts: tuple[str, ...], own: Sequence[Reader]
) -> Place:
    """Return the place at ``parts``; of an attribute or text key that is gone, a new one."""
    try:
        return _place(roots, parts, own)
    except LookupError:
        if len(parts) < 2:
            raise
        holder = _place(roots, parts[:-1], own).value
        return Place(None, _adder(holder, parts[-1]), refuse("it is not there"))


def _adder(holder: Any, name: str) -> Any:
    if type(holder) is dict:
        return lambda value: dict.__setitem__(holder, name, value)
    if type(holder) is list and name == str(len(holder)):
        return holder.append
    plan = plan_of(type(holder))
    held = plan.attributes(holder) if plan.attributes is not None else None
    if held is None or is_a(holder, type) or not name.isidentifier():
        raise LookupError(f"there is no {name!r} now, and it can't be added")
    return lambda value: dict.__setitem__(held, name, value)


def _is_stream(leaf: Leaf) -> bool:
    return leaf.kind is Kind.TOKEN and leaf.about.startswith(("numpy.random", "random.Random"))


def _put_order(held: Any, leaf: Leaf | None) -> None:
    pairs = pairs_of(held)
    texts = segments(key for key, _ in pairs)
    if leaf is None or type(leaf.value) is not list or sorted(texts) != sorted(leaf.value):
        raise LookupError("the order can't be put back: the keys are others, or not all known")
    by_text = dict(zip(texts, pairs, strict=True))
    base = map_base(type(held))
    base.clear(held)
    for text in leaf.value:
        base.__setitem__(held, *by_text[text])


def _cut(held: Any, leaf: Leaf) -> None:
    """Take away what a list has too much at its end."""
    base: Any = deque if is_a(held, deque) else list
    if not is_a(held, base) or base.__len__(held) < leaf.value:
        raise LookupError("elements that are gone can't be put back by their number")
    while base.__len__(held) > leaf.value:
        base.pop(held)


def _put(place: Place, leaf: Leaf, path: str) -> None:
    now = place.value
    if is_a(now, np.ndarray) and _fits(now, leaf):
        if not now.flags.writeable:
            raise LookupError(f"{path} is a read-only array")
        held = leaf.value if leaf.kind is Kind.ARRAY else _of_objects(leaf.value, now.shape)
        np.ndarray.__setitem__(now, ..., held)
        return
    value = _value(leaf, now, path)
    if not _put_inside(now, value):
        place.put(value)


def _fits(now: Any, leaf: Leaf) -> bool:
    if leaf.kind is not Kind.ARRAY:
        return bool(now.dtype == object) and leaf.about.startswith(f"array of objects {now.shape}")
    return bool(now.shape == leaf.value.shape and now.dtype == leaf.value.dtype)


def _of_objects(items: list[Any], shape: tuple[int, ...]) -> Any:
    held = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        held[place] = item
    return held.reshape(shape)


def _put_inside(now: Any, value: Any) -> bool:
    """Change a container in place; False where it is no container of that kind."""
    if is_a(now, dict) and type(value) is dict:
        base = map_base(type(now))
        base.clear(now)
        for key, item in value.items():
            base.__setitem__(now, key, item)
    elif is_a(now, list) and type(value) is list:
        list.__setitem__(now, slice(None), value)
    elif is_a(now, deque) and type(value) is list:
        deque.clear(now)
        deque.extend(now, value)
    elif is_a(now, set) and type(value) in {set, frozenset}:
        set.clear(now)
        set.update(now, value)
    elif is_a(now, bytearray) and type(value) is bytearray:
        now[:] = value
    elif is_a(now, array.array) and isinstance(value, np.ndarray):
        now[:] = array.array(now.typecode, value.tobytes())
    else:
        return False
    return True


def _value(leaf: Leaf, now: Any, path: str) -> Any:
    """Return the value behind a leaf, of the class that it had."""
    about = leaf.about.partition("; ")[0]
    if about.startswith("keys ") and type(leaf.value) is dict:
        return _in_order(leaf.value, about.split(" ")[1:])
    if (
        not about
        or about.startswith(("keys ", "order "))
        or is_a(now, list, dict, set, deque, array.array)
    ):
        return leaf.value
    kind = _class_of(about)
    if kind is None and type(now).__qualname__ == about.rpartition(".")[2]:
        kind = type(now)
    if kind is None:
        raise LookupError(f"{path}: a value of {about} can't be made again")
    return _made(kind, leaf.value, path)


def _in_order(value: dict[Any, Any], names: list[str]) -> dict[Any, Any]:
    by_text = {str(key): key for key in value}
    if len(by_text) != len(value) or sorted(by_text) != sorted(names):
        return value
    return {by_text[name]: value[by_text[name]] for name in names}


def _class_of(about: str) -> type | None:
    module, _, name = about.replace(" ", ":").partition(":")
    if not name:
        module, _, name = about.rpartition(".")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def _made(kind: type, value: Any, path: str) -> Any:
    if enum.Enum in kind.__mro__:
        members: dict[str, Any] = kind._member_map_  # type: ignore[attr-defined]
        if value in members:
            return members[value]
    elif tuple in kind.__mro__:
        return tuple.__new__(kind, value)
    elif kind is Fraction or kind is np.dtype:
        return kind(value)
    elif kind is range:
        return range(*(int(part) for part in value[6:-1].split(",")))
    for base in (int, float, str, bytes, complex):
        if base in kind.__mro__:
            return base.__new__(kind, value)
    if PurePath in kind.__mro__:
        return kind(value)
    raise LookupError(f"{path}: a value of {kind.__qualname__} can't be made again")
