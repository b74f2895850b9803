"""How everything that is neither a container nor a number is walked."""

from __future__ import annotations

import enum
import functools
import gc
import itertools
import marshal
import pathlib
import re
import types
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from cleandesk.audit.certificate.leaf import Kind
from cleandesk.audit.certificate.walk.held import (
    CLASS,
    FUNCTION,
    MODULE,
    kept_leaf,
    told_token,
)
from cleandesk.audit.certificate.walk.packing import atom_bytes
from cleandesk.audit.certificate.walk.paths import OWN, enum_name, joined
from cleandesk.audit.certificate.walk.plans import class_dict, is_a, plan_of
from cleandesk.audit.certificate.walk.skips import is_left_out, name_of
from cleandesk.audit.certificate.walk.spaces import CACHED, module_dict
from cleandesk.audit.certificate.walk.walker import Opener, Walker


def comes_first(kind: type) -> bool:
    """Tell whether a kind is recorded here although it may extend a container."""
    return enum.Enum in kind.__mro__ or is_left_out(kind)  # such as an enum of texts


def opener_of(kind: type) -> Opener:
    """Return how values of ``kind`` are recorded; every kind is, in some way."""
    if is_left_out(kind):
        return _nothing
    if enum.Enum in kind.__mro__:
        return _enum
    if _is_compiled_enum(kind):
        return _texted(lambda value: str(int(value)))
    exact = _EXACT.get(kind)
    if exact is not None:
        return exact
    for base, opener in _BASES:
        if base in kind.__mro__:
            return opener
    return _object


def _is_compiled_enum(kind: type) -> bool:
    # As pybind11 makes them: constants, often shared, never written.
    return type(kind).__name__ == "pybind11_type" and "__members__" in class_dict(kind)


def record_object(walk: Walker, path: str, value: Any) -> None:
    """Record an object by its attributes, slots and class; nothing is asked about aliases."""
    plan = plan_of(type(value))
    if not plan.is_open:
        walk.shut(path, plan.about, value)
        return
    if plan.has_hidden:
        walk.shut(path, plan.about, value)
    else:
        walk.tokens[path] = plan.token
    walk.met_kind(plan)
    walk.later(expand_object, path, value)


def expand_object(walk: Walker, path: str, value: Any) -> None:
    """Record what an object holds in its attributes and slots."""
    plan = plan_of(type(value))
    if plan.attributes is not None:
        held = plan.attributes(value) or {}
        if type(held) is not dict:
            held = dict(dict.items(held))
        tokens, child = walk.tokens, walk.child
        for name, below in walk.layout(path, tuple(held), plan.leaves)[2]:
            item = held[name]
            if type(item) in _TINY:
                tokens[below] = marshal.dumps(item, 2)  # here, since most attributes end so
                walk.nodes += 1
            else:
                child(below, item)
    for name, read in plan.slots:
        try:
            item = read(value)
        except AttributeError:
            continue  # a slot that was never set
        walk.child(joined(path, name), item)


def _object(walk: Walker, path: str, value: Any) -> None:
    if not walk.is_known(path, value):
        record_object(walk, path, value)


def _nothing(_walk: Walker, _path: str, _value: Any) -> None:
    return


def _enum(walk: Walker, path: str, value: Any) -> None:
    name = enum_name(value)
    about = name_of(type(value))
    walk.hold(path, (told_token(about, name.encode()), kept_leaf, name, about, Kind.VALUE))


def _function(walk: Walker, path: str, value: Any) -> None:
    walk.tokens[path] = FUNCTION + name_of(value).encode()
    walk.met_function(value)


def _method(walk: Walker, path: str, value: Any) -> None:
    # The C-level members of a bound method; its class can't be extended.
    walk.tokens[path] = FUNCTION + name_of(value.__func__).encode()
    if type(value.__func__) is types.FunctionType:
        walk.met_function(value.__func__)
    walk.child(joined(path, "__self__"), value.__self__)


def _builtin(walk: Walker, path: str, value: Any) -> None:
    walk.tokens[path] = FUNCTION + f"{value.__module__}:{value.__qualname__}".encode()
    owner = value.__self__
    if owner is not None and type(owner) is not types.ModuleType and not is_a(owner, type):
        walk.child(joined(path, "__self__"), owner)


def _class(walk: Walker, path: str, value: Any) -> None:
    walk.tokens[path] = CLASS + name_of(value).encode()


def _module(walk: Walker, path: str, value: Any) -> None:
    walk.tokens[path] = MODULE + str(module_dict(value).get("__name__")).encode()


def _partial(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    plan = plan_of(type(value))
    walk.tokens[path] = plan.token
    for name in ("func", "args", "keywords"):
        walk.child(joined(path, name), functools.partial.__dict__[name].__get__(value))
    if plan.attributes is not None and plan.attributes(value):
        walk.later(expand_object, joined(path, OWN), value)


def _count(walk: Walker, path: str, value: Any) -> None:
    if not walk.is_known(path, value):
        text = itertools.count.__repr__(value)
        walk.hold(
            path,
            (told_token("count", text.encode()), kept_leaf, text, "itertools.count", Kind.TOKEN),
        )


def _generator(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    walk.shut(path, f"generator {value.__qualname__}", value)
    frame = value.gi_frame
    if frame is None:
        walk.plain(joined(path, "at"), atom_bytes("finished"))
        return
    walk.plain(joined(path, "at"), atom_bytes(frame.f_lasti))
    if not value.gi_running:
        for name, item in sorted(frame.f_locals.items()):
            walk.child(joined(path, name), item)


def _pattern(walk: Walker, path: str, value: Any) -> None:
    about = f"re.Pattern {value.flags}"
    text = value.pattern if type(value.pattern) is str else repr(value.pattern)
    walk.hold(path, (told_token(about, text.encode()), kept_leaf, text, about, Kind.VALUE))


def _iterator(walk: Walker, path: str, value: Any) -> None:
    if not walk.is_known(path, value):
        walk.shut(path, f"builtins {type(value).__name__}", value)
        left = type(value).__length_hint__(value)
        walk.plain(joined(path, "remaining"), atom_bytes(left))


def _keys(walk: Walker, path: str, value: Any) -> None:
    # A view has no state but the dict behind it.
    walk.tokens[path] = CLASS + type(value).__name__.encode()
    for behind in gc.get_referents(value)[:1]:
        walk.child(joined(path, "mapping"), behind)


def _spelled(spell: Callable[[Any], str]) -> Opener:
    def record(walk: Walker, path: str, value: Any) -> None:
        about = name_of(type(value)).replace(":", ".")
        data = spell(value).encode()
        walk.hold(path, (told_token(about, data), kept_leaf, value, "", Kind.VALUE))

    return record


def _texted(spell: Callable[[Any], str]) -> Opener:
    def record(walk: Walker, path: str, value: Any) -> None:
        about = name_of(type(value)).replace(":", ".")
        text = spell(value)
        walk.hold(path, (told_token(about, text.encode()), kept_leaf, text, about, Kind.VALUE))

    return record


def _extended(base: type) -> Opener:
    """Return how a subclass of an atom is recorded: its value, its class and attributes."""

    def record(walk: Walker, path: str, value: Any) -> None:
        plan = plan_of(type(value))
        plain = _BARE[base](value)
        walk.plain(path, atom_bytes(plain), plan.about)
        if plan.attributes is not None or plan.slots:
            walk.met_kind(plan)
            walk.later(expand_object, joined(path, OWN), value)

    return record


_TINY = frozenset({bool, type(None)})
_BARE: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    complex: complex.__pos__,
}

_NOTHING_YET: dict[str, int] = {}
_VIEWS: tuple[Any, ...] = (_NOTHING_YET.keys(), _NOTHING_YET.values(), _NOTHING_YET.items())
_ITERATORS: tuple[Any, ...] = (
    *map(iter, ([], (), range(1), "", _NOTHING_YET)),
    *map(iter, _VIEWS[1:]),
)
_EXACT: dict[type, Opener] = {
    Decimal: _spelled(Decimal.__str__),
    datetime: _spelled(datetime.isoformat),
    date: _spelled(date.isoformat),
    time: _spelled(time.isoformat),
    timedelta: _spelled(timedelta.__repr__),
    UUID: _spelled(UUID.__str__),
    Fraction: _texted(Fraction.__str__),
    range: _texted(range.__repr__),
    types.EllipsisType: _texted(lambda _: "..."),
    types.NotImplementedType: _texted(lambda _: "NotImplemented"),
    timezone: _texted(timezone.__str__),
    re.Pattern: _pattern,
    **dict.fromkeys(map(type, _ITERATORS), _iterator),
    **dict.fromkeys(map(type, _VIEWS), _keys),
    types.FunctionType: _function,
    CACHED: _function,
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    types.MethodWrapperType: _builtin,
    types.GeneratorType: _generator,
    itertools.count: _count,
}
_BASES: tuple[tuple[type, Opener], ...] = (
    (type, _class),
    (types.ModuleType, _module),
    (pathlib.PurePath, _texted(pathlib.PurePath.__str__)),
    (functools.partial, _partial),
    *((base, _extended(base)) for base in (int, float, str, bytes, complex)),
)
