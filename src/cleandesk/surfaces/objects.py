"""State in Python objects: a type-strict walk of what a contract names.

It reads the attributes that the contract lists and nothing else; the discovery of
state that no contract names is not its job.

Law 2: looking changes nothing. Attributes are read with ``getattr`` because a contract
may name a property; what lies below them is read from dictionaries and slots alone,
so that no property of an inner object runs.
"""

from __future__ import annotations

import enum
import functools
import random
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from cleandesk.errors import StateError, WorldError
from cleandesk.state.canon import Named, is_plain
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.pattern import Pattern
from cleandesk.state.prune import prune
from cleandesk.state.reference import Path, encode_reference, spelled


def objects(
    *names: str,
    ignore: Mapping[str, str] | None = None,
    incidental: Sequence[str] = (),
    declared: Mapping[str, str] | None = None,
    **renamed: str,
) -> SurfaceTerms:
    """Name the attributes of a world that hold its state.

    Args:
        names: Attributes of the world; each becomes a table of the surface.
        ignore: Pattern below the surface -> reason; such a field is never compared.
        incidental: Patterns verified at the start and free to change.
        declared: Pattern -> sampler; such a field varies per episode.
        renamed: Table name -> dotted attribute, such as ``rows="engine.rows"``.

    Example:
        >>> objects("events", "next_id", incidental=["views"])
    """
    tables = {name: name for name in names} | renamed
    return SurfaceTerms(
        "objects", {"tables": tables}, dict(ignore or {}), tuple(incidental), dict(declared or {})
    )


def read_objects(
    world: object, surface: str, terms: SurfaceTerms
) -> tuple[dict[str, Any], set[str]]:
    """Read the tables of one objects surface.

    Args:
        world: The built world.
        surface: The surface's name, for messages.
        terms: What the contract says of it.

    Returns:
        Table name -> value that canon/1 knows, without the ignored fields; and the
        ignored patterns (from the surface down) that did name something.

    Raises:
        WorldError: CD-211, a named attribute does not exist.
        StateError: CD-101, a value that canon/1 does not know (the path is named).
    """
    ignored = [Pattern.parse(text) for text in terms.ignore]
    tables: dict[str, Any] = {}
    matched: set[str] = set()
    for table, dotted in terms.source["tables"].items():
        value = _attribute(world, dotted, surface)
        is_left_out = False
        for pattern in ignored:
            if pattern.parts[0] not in {None, table}:
                continue
            rest = pattern.parts[1:]
            value, fits = prune(_opened(value), rest) if rest else (None, True)
            is_left_out = is_left_out or not rest
            if fits:
                matched.add(f"{surface}.{pattern.text}")
        if not is_left_out:
            tables[table] = flatten(value, (surface, table))
    return tables, matched


def read_attributes(world: object, leave: Collection[int]) -> tuple[dict[str, Any], list[str]]:
    """Read every attribute of an object that can be read, for a first contract.

    Args:
        world: A built world.
        leave: ids of objects that are the harness's and not the world's.

    Returns:
        Attribute -> value that canon/1 knows; and what could not be read, by path.
    """
    tables: dict[str, Any] = {}
    left_out: list[str] = []
    for name, value in sorted((_fields(world) or {}).items()):
        if id(value) in leave or name == "contract":
            continue
        read = flatten(value, (name,), left_out)
        if read is not _LEFT_OUT:
            tables[name] = read
    return tables, left_out


def _attribute(world: object, dotted: str, surface: str) -> Any:
    value: Any = world
    for name in dotted.split("."):
        try:
            value = value[name] if isinstance(value, dict) else getattr(value, name)
        except (AttributeError, KeyError) as error:
            raise WorldError(
                "CD-211",
                f"the contract names {dotted!r}, and the world has no {name!r}",
                where=f"surface {surface} of {type(world).__qualname__}",
                do="set it in reset(), or correct the contract",
            ) from error
    return value


def _opened(value: Any) -> Any:
    """Return an ordinary object as a ``Named``, so that patterns reach its fields."""
    fields = _fields(value)
    return value if fields is None else Named(_class_name(value), fields)


def flatten(value: Any, path: Path = (), left_out: list[str] | None = None) -> Any:
    """Turn ``value`` into values that canon/1 knows.

    Args:
        value: Anything.
        path: Where it is, for messages.
        left_out: Where given, what can't be read is named there and left out;
            otherwise it is an error.

    Raises:
        StateError: CD-101, a value that canon/1 does not know; CD-102, a cycle.
    """
    if is_plain(value):
        return value
    return _Walk(left_out).read(value, path, ())


class _Walk:
    def __init__(self, left_out: list[str] | None) -> None:
        self._left_out = left_out

    def read(self, value: Any, path: Path, above: tuple[int, ...]) -> Any:
        reader = _READERS.get(type(value)) or _reader_by_class(value)
        if reader is not None:
            return self._descend(reader(value), value, path, above)
        fields = _fields(value)
        if fields is not None:
            return self._descend(Named(_class_name(value), fields), value, path, above)
        # It stands for itself, or the reference encoder says what it is and where.
        try:
            encode_reference(value)
        except StateError as error:
            if self._left_out is None:
                raise StateError(
                    error.code, error.message, where=f"field {spelled(path)}", do=error.do
                ) from error
            self._left_out.append(f"{spelled(path)} ({_class_name(value)})")
            return _LEFT_OUT
        return value

    def _descend(self, opened: Any, value: Any, path: Path, above: tuple[int, ...]) -> Any:
        if id(value) in above:
            if self._left_out is None:
                raise StateError(
                    "CD-102",
                    "a value contains itself",
                    where=f"field {spelled(path)}",
                    do="ignore that field in the contract with a reason",
                )
            self._left_out.append(f"{spelled(path)} (contains itself)")
            return _LEFT_OUT
        inside = (*above, id(value))
        if isinstance(opened, Named):
            return Named(opened.name, dict(self._items(opened.fields.items(), path, inside)))
        if isinstance(opened, dict):
            return dict(self._items(opened.items(), path, inside))
        members = [item for _, item in self._items(enumerate(opened), path, inside)]
        return type(opened)(members)

    def _items(self, items: Any, path: Path, above: tuple[int, ...]) -> Iterator[tuple[Any, Any]]:
        for key, item in items:
            read = item if is_plain(item) else self.read(item, (*path, key), above)
            if read is not _LEFT_OUT:
                yield key, read


_LEFT_OUT = object()


def _same(value: Any) -> Any:
    return value


_READERS: dict[type, Callable[[Any], Any]] = {
    dict: _same,
    list: _same,
    tuple: _same,
    set: _same,
    frozenset: _same,
    deque: lambda value: Named("collections:deque", {"items": list(value), "maxlen": value.maxlen}),
    # An object that was opened already, to leave out one of its fields.
    Named: _same,
    random.Random: lambda value: Named("random:Random", {"state": value.getstate()}),
}


def _reader_by_class(value: Any) -> Callable[[Any], Any] | None:
    if isinstance(value, enum.Enum):
        return lambda held: Named(_class_name(held), {"name": held.name})
    if isinstance(value, type):
        return lambda held: Named("type", {"name": f"{held.__module__}:{held.__qualname__}"})
    if isinstance(value, dict):
        # A subclass keeps its name: an OrderedDict is not the same state as a dict.
        return lambda held: Named(_class_name(held), {"items": dict(held)})
    for kind in (bool, int, float, str, bytes, tuple, list):
        if isinstance(value, kind) and type(value) is not kind and not _is_numpy(value):
            return functools.partial(_subclass_value, kind)
    return _generator_reader(value)


def _subclass_value(kind: Callable[[Any], Any], held: Any) -> Named:
    return Named(_class_name(held), {"value": kind(held)})


def _generator_reader(value: Any) -> Callable[[Any], Any] | None:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.random.Generator):
        return lambda held: Named("numpy.random:Generator", dict(held.bit_generator.state))
    if isinstance(value, numpy.random.RandomState):
        return lambda held: Named("numpy.random:RandomState", dict(held.get_state(legacy=False)))
    return None


def _is_numpy(value: Any) -> bool:
    return type(value).__module__ == "numpy"


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the own attributes of an ordinary object, or None if it isn't one."""
    kind = type(value)
    if _module_name(kind) in {"builtins", "numpy", "_thread", "types", "weakref"} or callable(
        value
    ):
        return None
    own = getattr(value, "__dict__", None)
    slots = [
        name
        for owner in kind.__mro__
        for name in _slot_names(owner)
        if name not in {"__dict__", "__weakref__"} and hasattr(value, name)
    ]
    if own is None and not slots:
        return None
    return {**{name: getattr(value, name) for name in slots}, **(own or {})}


def _slot_names(owner: type) -> tuple[str, ...]:
    names = owner.__dict__.get("__slots__", ())
    names = (names,) if isinstance(names, str) else tuple(names)
    prefix = f"_{owner.__name__.lstrip('_')}"
    return tuple(
        f"{prefix}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
    )


def _class_name(value: object) -> str:
    return f"{_module_name(type(value))}:{type(value).__qualname__}"


def _module_name(kind: type) -> str:
    # Types that compiled code makes (SWIG's, say) may have none.
    return str(getattr(kind, "__module__", "unknown"))
