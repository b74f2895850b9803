"""How containers are walked: plain ones as one leaf, others element by element.

Subclasses are read through the methods of the type that they extend, so that what a rig
overrides never runs; their attributes stand below ``__dict__``.
"""

from __future__ import annotations

import array
import gc
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind
from cleandesk.audit.certificate.walk.held import Held, length_token, set_leaf, told_token
from cleandesk.audit.certificate.walk.looking import ordered
from cleandesk.audit.certificate.walk.numbers import record_buffer
from cleandesk.audit.certificate.walk.packing import ATOMS, atom_bytes, plain_bytes
from cleandesk.audit.certificate.walk.paths import (
    KEY,
    ORDER,
    OWN,
    is_spelled,
    joined,
    segments,
)
from cleandesk.audit.certificate.walk.plans import plan_of
from cleandesk.audit.certificate.walk.skips import name_of
from cleandesk.audit.certificate.walk.walker import Opener, Walker

_KNOWN: dict[type[Any], str] = {
    dict: "",
    list: "",
    tuple: "",
    set: "",
    frozenset: "",
    OrderedDict: "collections.OrderedDict",
    Counter: "collections.Counter",
}
"""How containers without attributes of their own are called."""


def opener_of(kind: type) -> Opener | None:
    """Return how values of ``kind`` are recorded, or None if it is no container."""
    for base, opener in _OPENERS:
        if base in kind.__mro__:
            return opener
    return None


def map_base(kind: type) -> type[dict[Any, Any]]:
    """Return whose methods read and change a dict of this class, without its own."""
    return OrderedDict if OrderedDict in kind.__mro__ else dict


def pairs_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the keys and values of a dict, in its order."""
    return [*map_base(type(value)).items(value)]


def about_of(value: Any) -> str:
    """Say what a container is, where its elements do not say so."""
    kind = type(value)
    known = _KNOWN.get(kind)
    if known is not None:
        return known
    if kind is deque:
        return f"collections.deque maxlen={value.maxlen}"
    if kind is defaultdict:
        made = value.default_factory
        named = name_of(made) if made is not None else "None"
        return f"collections.defaultdict of {named}"
    return name_of(kind)


def _map(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    about = about_of(value)
    plain: dict[Any, Any] = value if type(value) is dict else dict(pairs_of(value))
    data = plain_bytes(plain)
    if data is not None:
        walk.nodes += len(plain)
        walk.plain(path, data, about)
    else:
        walk.tokens[path] = length_token(len(plain), about or "dict")
        walk.later(_expand_map, path, value)
    _own(walk, path, value)


def _expand_map(walk: Walker, path: str, value: Any) -> None:
    pairs = pairs_of(value)
    if not walk.has_room(path, len(pairs)):
        walk.shut(joined(path, ORDER), "budget", value)
        return
    keys = [key for key, _ in pairs]
    texts = segments(keys)
    walk.plain(joined(path, ORDER), atom_bytes(texts), kind=Kind.ORDER)
    named = sorted(zip(texts, range(len(texts)), strict=True))
    for text, place in named:
        below = joined(path, text)
        walk.child(below, pairs[place][1])
        if not is_spelled(keys[place]):
            walk.child(joined(below, KEY), keys[place])


def _sequence(base: type, base_list: Callable[[Any], list[Any]]) -> Opener:
    exact = base in {list, tuple}

    def record(walk: Walker, path: str, value: Any) -> None:
        if base is not tuple and walk.is_known(path, value):
            return
        about = about_of(value)
        plain: Any = value if exact and type(value) is base else base_list(value)
        data = plain_bytes(plain)
        if data is not None:
            walk.nodes += len(plain)
            walk.plain(path, data, about)
        else:
            walk.tokens[path] = length_token(len(plain), about or base.__name__)
            walk.later(expand, path, value)
        _own(walk, path, value)

    def expand(walk: Walker, path: str, value: Any) -> None:
        items = base_list(value)
        if not walk.has_room(path, len(items)):
            walk.shut(joined(path, ORDER), "budget", value)
            return
        names = fields_of(value) if base is tuple else None
        for place, item in enumerate(items):
            below = f"{path}[{place}]" if names is None else joined(path, names[place])
            walk.child(below, item)

    return record


def fields_of(value: Any) -> tuple[str, ...] | None:
    """Return the names of the elements of a named tuple."""
    if type(value) is tuple:
        return None
    names = next(
        (vars(each)["_fields"] for each in type(value).__mro__ if "_fields" in vars(each)), None
    )
    if type(names) is not tuple or len(names) != tuple.__len__(value):
        return None
    return names if all(type(name) is str for name in names) else None


def _set(base: type, listed: Callable[[Any], list[Any]]) -> Opener:
    def record(walk: Walker, path: str, value: Any) -> None:
        if base is set and walk.is_known(path, value):
            return
        items = listed(value)
        about = about_of(value)
        spelling = set_bytes(items)
        if spelling is not None:
            walk.nodes += len(items)
            _hold_set(walk, path, (about, spelling), base)
        else:
            walk.tokens[path] = length_token(len(items), about or base.__name__)
            walk.later(expand, path, value)
        _own(walk, path, value)

    def expand(walk: Walker, path: str, value: Any) -> None:
        if walk.around is not None:
            return  # looking ahead for one set, no other one is ordered
        items = listed(value)
        if not walk.has_room(path, len(items)):
            walk.shut(joined(path, ORDER), "budget", value)
            return
        for place, item in enumerate(ordered(walk, items)):
            walk.child(joined(path, f"<{type(item).__name__} #{place}>"), item)

    return record


def _hold_set(walk: Walker, path: str, made_of: tuple[str, bytes], base: type) -> None:
    about, data = made_of
    token = told_token(f"{base.__name__} {about}", data)
    held: Held = (token, set_leaf, data, about, base)
    walk.hold(path, held)


def set_bytes(items: list[Any]) -> bytes | None:
    """Return the sorted bytes of the elements of a set, or None if one is not plain."""
    found = []
    for item in items:
        if type(item) in ATOMS:
            found.append(atom_bytes(item))
            continue
        data = plain_bytes(item) if type(item) is tuple else None
        if data is None:
            return None
        found.append(data)
    return atom_bytes(sorted(found))


def _array_array(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    if value.typecode in "uw":
        walk.plain(path, atom_bytes(array.array.tounicode(value)), f"array.array {value.typecode}")
        return
    code = np.dtype(value.typecode)
    about = f"array.array {value.typecode}"
    record_buffer(walk, path, array.array.tobytes(value), code, (array.array.__len__(value),))
    walk.tokens[path] = told_token(about, walk.tokens[path])


def _proxy(walk: Walker, path: str, value: Any) -> None:
    # What lies behind it, without a call to it.
    behind = gc.get_referents(value)
    if behind:
        walk.child(path, behind[0])


def _own(walk: Walker, path: str, value: Any) -> None:
    kind = type(value)
    if kind in _KNOWN or kind is deque or kind is defaultdict:
        return
    plan = plan_of(kind)
    walk.met_kind(plan)
    if plan.attributes is not None or plan.slots:
        from cleandesk.audit.certificate.walk.things import expand_object

        walk.later(expand_object, joined(path, OWN), value)


_OPENERS: tuple[tuple[type, Opener], ...] = (
    (dict, _map),
    (list, _sequence(list, list.copy)),
    (tuple, _sequence(tuple, lambda value: [*tuple.__iter__(value)])),
    (deque, _sequence(deque, lambda value: [*deque.__iter__(value)])),
    (set, _set(set, lambda value: [*set.__iter__(value)])),
    (frozenset, _set(frozenset, lambda value: [*frozenset.__iter__(value)])),
    (array.array, _array_array),
    (type(type.__dict__), _proxy),
)
