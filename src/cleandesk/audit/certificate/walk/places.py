"""Finding one path again: what stands there now, and how something else is put there."""

from __future__ import annotations

import enum
import functools
import gc
import types
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cleandesk.audit.certificate.walk.containers import fields_of, map_base, pairs_of
from cleandesk.audit.certificate.walk.paths import KEY, OWN, segments
from cleandesk.audit.certificate.walk.plans import class_dict, is_a, plan_of
from cleandesk.audit.certificate.walk.readers import Reader, reader_of
from cleandesk.audit.certificate.walk.spaces import module_dict

_PROXY = type(type.__dict__)


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a rig.

    Attributes:
        value: What stands there now.
        put: Puts another value there, or raises LookupError.
        drop: Takes it away, or raises LookupError.
        reader: What reads the handle of which this is a field, or None.
        handle: That handle.
        name: The field's name.
    """

    value: Any
    put: Callable[[Any], None]
    drop: Callable[[], None]
    reader: Reader | None = None
    handle: Any = None
    name: str = ""


def refuse(why: str) -> Callable[..., None]:
    """Return what refuses to put or drop anything, with a sentence."""

    def refused(*_: Any) -> None:
        raise LookupError(why)

    return refused


def below(place: Place, segment: str, own: Sequence[Reader]) -> Place:
    """Return the place ``segment`` below another.

    Raises:
        LookupError: There is none.
    """
    value = place.value
    kind = type(value)
    if kind is _PROXY:
        behind = gc.get_referents(value)
        return below(Place(behind[0], place.put, place.drop), segment, own)
    for base, find in _FINDERS:
        if base in kind.__mro__ and segment != OWN:
            return find(place, segment)
    reader = reader_of(kind, own)
    if reader is not None and segment != OWN:
        return _field(reader, value, segment)
    if segment == OWN:
        return Place(_Own(value), refuse("the attributes are put back one by one"), _no_drop)
    return _attribute(value.value if type(value) is _Own else value, segment)


@dataclass(frozen=True, slots=True)
class _Own:
    """The attributes of a container, as a place of their own."""

    value: Any


_no_drop = refuse("it can't be taken away")


def in_class(owner: type, name: str) -> Place:
    """Return a class attribute."""
    bound = class_dict(owner)
    if name not in bound:
        raise LookupError(f"class {owner.__qualname__} has no attribute {name!r}")
    return Place(
        bound[name],
        functools.partial(type.__setattr__, owner, name),
        functools.partial(type.__delattr__, owner, name),
    )


def in_dict(held: dict[Any, Any], key: Any) -> Place:
    """Return the element of a dict."""
    base = map_base(type(held))
    return Place(
        base.__getitem__(held, key),
        functools.partial(base.__setitem__, held, key),
        functools.partial(base.__delitem__, held, key),
    )


def in_function(function: Any, parts: tuple[str, ...]) -> Place:
    """Return a cell, default or attribute of a function."""
    if len(parts) < 2 or type(function) is not types.FunctionType:
        raise LookupError("the counters of a cache can't be put back")
    group, name = parts[:2]
    if group == "closure":
        names = function.__code__.co_freevars
        if name not in names:
            raise LookupError(f"{function.__qualname__} closes over no {name!r}")
        cell = (function.__closure__ or ())[names.index(name)]
        return Place(
            cell.cell_contents, functools.partial(setattr, cell, "cell_contents"), _no_drop
        )
    if group == "attributes":
        return in_dict(function.__dict__, name)
    if group == "kwdefaults":
        return in_dict(function.__kwdefaults__ or {}, name)
    defaults = function.__defaults__ or ()
    number = _number(name, len(defaults))

    def put(value: Any) -> None:
        function.__defaults__ = (*defaults[:number], value, *defaults[number + 1 :])

    return Place(defaults[number], put, _no_drop)


def _in_map(place: Place, segment: str) -> Place:
    held = place.value
    if type(held) is dict and segment in held:
        return in_dict(held, segment)
    keys = [key for key, _ in pairs_of(held)]
    texts = segments(keys)
    if segment == KEY or segment not in texts:
        raise LookupError(f"there is no key {segment} now")
    return in_dict(held, keys[texts.index(segment)])


def _in_list(place: Place, segment: str) -> Place:
    held = place.value
    base = deque if is_a(held, deque) else list
    at = _number(segment, base.__len__(held))
    return Place(
        base.__getitem__(held, at),
        functools.partial(base.__setitem__, held, at),
        functools.partial(base.__delitem__, held, at),
    )


def _in_tuple(place: Place, segment: str) -> Place:
    held = place.value
    names = fields_of(held)
    if names is not None and segment in names:
        at = names.index(segment)
    else:
        at = _number(segment, tuple.__len__(held))

    def put(value: Any) -> None:
        items = [*tuple.__iter__(held)]
        items[at] = value
        place.put(tuple.__new__(type(held), items))

    return Place(tuple.__getitem__(held, at), put, _no_drop)


def _in_array(place: Place, segment: str) -> Place:
    held = place.value
    if held.dtype.names is not None and segment in held.dtype.names:
        member = np.ndarray.__getitem__(held, segment)
        return Place(member, functools.partial(np.ndarray.__setitem__, held, segment), _no_drop)
    try:
        at = tuple(int(part) for part in segment.strip("() ").split(",") if part.strip())
        value = np.ndarray.__getitem__(held, at)
    except (ValueError, IndexError) as error:
        raise LookupError(f"there is no element {segment} now") from error
    return Place(value, functools.partial(np.ndarray.__setitem__, held, at), _no_drop)


def _in_set(_place: Place, segment: str) -> Place:
    raise LookupError(f"{segment} is an element of a set, which has no place of its own")


def _in_partial(place: Place, segment: str) -> Place:
    member = functools.partial.__dict__.get(segment)
    if member is None:
        raise LookupError(f"a partial has no {segment}")
    return Place(
        member.__get__(place.value), refuse("a partial is not put together anew"), _no_drop
    )


def _in_method(place: Place, segment: str) -> Place:
    if segment != "__self__":
        raise LookupError(f"a method has no {segment}")
    return Place(place.value.__self__, refuse("a method stays bound"), _no_drop)


def _in_module(place: Place, segment: str) -> Place:
    held = module_dict(place.value)
    if segment not in held:
        raise LookupError(f"module {place.value.__name__} has no {segment!r}")
    return in_dict(held, segment)


def _in_type(place: Place, segment: str) -> Place:
    return in_class(place.value, segment)


def _field(reader: Reader, handle: Any, name: str) -> Place:
    one: Callable[[Any, str], Any] | None = getattr(reader, "one", None)
    found: Mapping[str, object] | None
    found = {name: one(handle, name)} if one is not None else reader.read(handle)
    if found is None or name not in found:
        raise LookupError(f"there is no {name!r} in the {type(handle).__name__} now")
    return Place(found[name], _no_drop, _no_drop, reader, handle, name)


def _attribute(value: Any, name: str) -> Place:
    plan = plan_of(type(value))
    held = plan.attributes(value) if plan.attributes is not None else None
    if held is not None and name in held:
        return in_dict(held, name)
    for slot, read in plan.slots:
        if slot == name:
            member = read.__self__  # type: ignore[attr-defined]
            try:
                now = read(value)
            except AttributeError as error:
                raise LookupError(f"the slot {name!r} is empty now") from error
            return Place(
                now,
                functools.partial(member.__set__, value),
                functools.partial(member.__delete__, value),
            )
    raise LookupError(f"{plan.about} has no attribute {name!r} now")


def _number(segment: str, count: int) -> int:
    if not segment.isdecimal() or int(segment) >= count:
        raise LookupError(f"there is no element {segment} now: there are {count}")
    return int(segment)


_FINDERS: tuple[tuple[type, Callable[[Place, str], Place]], ...] = (
    (enum.Enum, _in_set),
    (dict, _in_map),
    (list, _in_list),
    (deque, _in_list),
    (tuple, _in_tuple),
    (set, _in_set),
    (frozenset, _in_set),
    (np.ndarray, _in_array),
    (functools.partial, _in_partial),
    (types.MethodType, _in_method),
    (types.BuiltinFunctionType, _in_method),
    (types.ModuleType, _in_module),
    (type, _in_type),
)
