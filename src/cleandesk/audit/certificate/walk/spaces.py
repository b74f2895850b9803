"""What classes, modules and functions hold beside code: read once, then only compared.

Almost nothing in a class or a module changes while a rig runs. What it holds is sorted
out once; later walks only see that the same objects are still bound to the same names.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import operator
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import SHORT_BYTES
from cleandesk.audit.certificate.walk.held import LONG_TEXT, Held, plain_leaf, short
from cleandesk.audit.certificate.walk.packing import ATOMS, atom_bytes, is_plain
from cleandesk.audit.certificate.walk.paths import joined
from cleandesk.audit.certificate.walk.plans import class_dict, is_a
from cleandesk.audit.certificate.walk.skips import (
    is_closed,
    is_followed,
    is_foreign,
    is_framework,
    module_of,
)

CACHED = type(functools.lru_cache(lambda: None))
FUNCTIONS = (types.FunctionType, CACHED)
_WRAPPED = (staticmethod, classmethod)
_NOT_STATE = frozenset(
    {
        types.BuiltinFunctionType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.WrapperDescriptorType,
        types.MethodDescriptorType,
        types.ClassMethodDescriptorType,
        types.ModuleType,
        types.GenericAlias,
        type(int | str),
        # Functions of numpy, which a module may hold by name.
        np.ufunc,
        type(np.mean),
    }
)


Owner = tuple[str, str, str, Any]
"""class or module, its name, the module that defines it, and it itself."""


@dataclass(frozen=True, slots=True)
class Space:
    """What one class or module holds.

    Attributes:
        owner: The class or module.
        names: What was bound in it, in order.
        ids: The identities of what was bound.
        kept: What was bound; held, so that no identity is used again.
        tokens: Path to token of what can't change without being bound anew.
        held: Path to what such leaves are made of, where the token is not all.
        changing: (path, value) of what can change in place.
        functions: Functions defined in it.
        stateful: Those of them that hold state from the beginning.
        leads: Of a module: its classes, and modules of its package whose functions it
            uses, since those keep their state in globals of their own.
    """

    owner: object
    names: list[str]
    ids: list[int]
    kept: list[Any]
    tokens: dict[str, bytes]
    held: dict[str, Held]
    changing: list[tuple[str, Any]]
    functions: list[types.FunctionType]
    stateful: list[Any]
    leads: list[Owner]

    def is_bound_as(self, bound: Mapping[str, Any]) -> bool:
        """Tell whether the same objects are bound to the same names still."""
        return self.ids == [*map(id, bound.values())] and self.names == [*bound]

    def with_attributes(self) -> list[types.FunctionType]:
        """Return the functions that have attributes by now."""
        if not any(map(_ATTRIBUTES, self.functions)):
            return []
        return [function for function in self.functions if function.__dict__]


_ATTRIBUTES = operator.attrgetter("__dict__")
_SPACES: dict[tuple[int, str], Space] = {}
_MOST_SPACES = 20_000


def space_of(owner: Any, root: str) -> Space:
    """Return what a class or module holds now.

    Args:
        owner: The class or module.
        root: The path under which it stands.
    """
    bound = class_dict(owner) if isinstance(owner, type) else module_dict(owner)
    space = _SPACES.get((id(owner), root))
    if space is not None and space.owner is owner and space.is_bound_as(bound):
        return space
    if len(_SPACES) > _MOST_SPACES:
        _SPACES.clear()
    space = _SPACES[id(owner), root] = _sorted_out(owner, root, bound)
    return space


_MODULE_DICT: Any = vars(types.ModuleType)["__dict__"]


def module_dict(owner: Any) -> dict[str, Any]:
    """Return what a module holds, whatever its class says."""
    found: dict[str, Any] = _MODULE_DICT.__get__(owner)
    return found


def _sorted_out(owner: Any, root: str, bound: Mapping[str, Any]) -> Space:
    names, kept = [*bound], [*bound.values()]
    space = Space(owner, names, [*map(id, kept)], kept, {}, {}, [], [], [], [])
    home = module_of(owner) if isinstance(owner, type) else owner.__name__
    for name, value in sorted(zip(names, kept, strict=True), key=lambda pair: str(pair[0])):
        if type(name) is not str or (name[:2] == "__" and name[-2:] == "__"):
            functions_in(value, home, space)
            continue
        path = joined(root, name)
        if type(value) in ATOMS:
            _add_atom(path, value, space)
        elif not functions_in(value, home, space) and is_state(value):
            space.changing.append((path, value))
    if not isinstance(owner, type):
        space.leads.extend(_leads(home, kept))
    return space


def _leads(home: str, bound: list[Any]) -> list[Owner]:
    found: dict[int, Owner] = {}
    for value in bound:
        if is_a(value, type):
            # Those of a framework are read where they are used.
            if (
                module_of(value) == home
                and not is_framework(home)
                and not is_a(value, enum.EnumMeta)
            ):
                found[id(value)] = ("class", value.__qualname__, home, value)
            continue
        module = value if type(value) is types.ModuleType else _home_of(value)
        if module is None or not _leads_on(module, home):
            continue
        found[id(module)] = ("module", module.__name__, "", module)
    return sorted(found.values(), key=lambda owner: owner[:3])


def _leads_on(module: Any, home: str) -> bool:
    held = module_dict(module) if type(module) is types.ModuleType else {}
    return "__path__" not in held and is_followed(str(held.get("__name__", "")), home)


def _home_of(value: Any) -> Any:
    return sys.modules.get(module_of(value)) if type(value) in FUNCTIONS else None


def _add_atom(path: str, value: Any, space: Space) -> None:
    data = atom_bytes(value)
    space.tokens[path] = token = short(data)
    if len(data) > SHORT_BYTES or (type(value) in {str, bytes} and len(value) > LONG_TEXT):
        space.held[path] = (token, plain_leaf, data, "", None)


def functions_in(value: Any, home: str, space: Space) -> bool:
    """Note the functions behind a name, and tell whether it is one or a descriptor."""
    kind = type(value)
    if kind in _WRAPPED:
        value = value.__func__
        kind = type(value)
    if kind is property:
        found = [value.fget, value.fset, value.fdel]
    elif kind is functools.cached_property:
        found = [value.func]
    elif kind in FUNCTIONS:
        found = [value]
    else:
        return False
    for each in found:
        # Imported ones belong to the module that defines them.
        if type(each) in FUNCTIONS and module_of(each) == home:
            if type(each) is types.FunctionType:
                space.functions.append(each)
            if has_state(each):
                space.stateful.append(each)
    return True


def is_state(value: Any) -> bool:
    """Tell whether what a class or module holds can be state of a rig."""
    kind = type(value)
    if kind in _NOT_STATE or is_a(value, type):
        return False
    return not is_closed(kind) and not _is_library(kind)


def _is_library(kind: type) -> bool:
    # What numpy makes is state: arrays and generators. Aliases of types are not.
    module = module_of(kind)
    return module.partition(".")[0] in {"typing", "typing_extensions", "abc", "_abc"}


def has_state(function: Any) -> bool:
    """Tell whether a function holds anything that can change."""
    if type(function) is not types.FunctionType:
        return True
    defaults = function.__defaults__ or ()
    return bool(
        any(name != "__class__" for name in function.__code__.co_freevars)
        or any(map(_can_change, (function.__kwdefaults__ or {}).values()))
        or any(map(_can_change, defaults))
    )


def _can_change(value: Any) -> bool:
    kind = type(value)
    return kind not in ATOMS and not (kind is tuple and is_plain(value))


def parts_of_function(function: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield (segments, value) for all that a function holds beside its code."""
    if type(function) is not types.FunctionType:
        info = function.cache_info()
        yield ("cache",), tuple(info)
        return
    is_wrapper = is_foreign(str(function.__globals__.get("__name__")))
    for name, value in _cells(function):
        # Of a library's decorator only the function that it decorates is a rig's.
        if not is_wrapper or type(value) in FUNCTIONS:
            yield ("closure", name), value
    if not is_wrapper:
        yield from _settings(function)


def _settings(function: types.FunctionType) -> Iterator[tuple[tuple[str, ...], Any]]:
    for place, value in enumerate(function.__defaults__ or ()):
        if _can_change(value):
            yield ("defaults", str(place)), value
    for name, value in sorted((function.__kwdefaults__ or {}).items()):
        if _can_change(value):
            yield ("kwdefaults", name), value
    for name, value in sorted(function.__dict__.items()):
        if not (name[:2] == "__" and name[-2:] == "__"):
            yield ("attributes", name), value


def _cells(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name == "__class__":
            continue
        with contextlib.suppress(ValueError):  # an empty cell
            yield name, cell.cell_contents


def wrapped_by(function: Any) -> Any:
    """Return the function that another one wraps, or None."""
    found = getattr(function, "__dict__", {}).get("__wrapped__")
    return found if type(found) in FUNCTIONS else None


def is_library_function(function: Any) -> bool:
    """Tell whether a function is a library's, so that its cells are not a rig's."""
    return is_foreign(module_of(function))
