"""State in Python objects: a type-strict walk of what a contract names.

It reads the attributes that the contract lists and nothing else; the discovery of
state that no contract names is not its job.

Law 2: looking changes nothing. Attributes are read with ``getattr`` because a contract
may name a property; what lies below them is read from dictionaries and slots alone,
so that no property of an inner object runs.
"""

from __future__ import annotations

import enum
import random
import struct
import sys
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from cleandesk.errors import StateError, WorldError
from cleandesk.state.canon import Named, is_plain
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.pattern import Pattern, fits
from cleandesk.state.reference import LEAVES, Path, encode_reference, spelled


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
    walk = _Walk(None, [Pattern.parse(text).under(surface) for text in terms.ignore])
    tables: dict[str, Any] = {}
    for table, dotted in terms.source["tables"].items():
        value = _attribute(world, dotted, surface)
        if not walk.leaves_out((surface, table)):
            tables[table] = walk.read(value, (surface, table), ())
    return tables, walk.matched


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
    return _Walk(left_out, []).read(value, path, ())


class _Walk:
    """One reading: what it leaves out, and which ignored patterns named something."""

    def __init__(self, left_out: list[str] | None, ignored: list[Pattern]) -> None:
        self._left_out = left_out
        self._ignored = ignored
        self.matched: set[str] = set()

    def read(self, value: Any, path: Path, above: tuple[int, ...]) -> Any:
        if is_plain(value) and not self._looks_below(path):
            return value
        if type(value) in LEAVES:
            return value
        opened = _open(value)
        if opened is not None:
            return self._descend(opened, value, path, above)
        # It stands for itself, or the reference encoder says what it is and where.
        try:
            encode_reference(value)
        except StateError as error:
            return self._refused(error.code, error.message, error.do, value, path)
        return value

    def leaves_out(self, path: Path) -> bool:
        """Tell whether the field at ``path`` is ignored, and note which pattern says so."""
        fitting = [
            pattern.text
            for pattern in self._ignored
            if len(pattern.parts) == len(path) and pattern.matches(str(path[0]), path[1:])
        ]
        self.matched.update(fitting)
        return bool(fitting)

    def _looks_below(self, path: Path) -> bool:
        return any(_is_above(pattern, path) for pattern in self._ignored)

    def _descend(self, opened: Any, value: Any, path: Path, above: tuple[int, ...]) -> Any:
        if id(value) in above:
            do = "ignore that field in the contract with a reason"
            return self._refused("CD-102", "a value contains itself", do, value, path)
        if len(above) >= _MAX_DEPTH:
            do = "flatten it, or ignore the field in the contract with a reason"
            message = f"a value is nested deeper than {_MAX_DEPTH}"
            return self._refused("CD-102", message, do, value, path)
        inside = (*above, id(value))
        if isinstance(opened, Named):
            return Named(opened.name, dict(self._items(opened.fields, path, inside)))
        if isinstance(opened, dict):
            return dict(self._items(opened, path, inside))
        if isinstance(opened, set | frozenset):
            return self._members(opened, path, inside)
        return type(opened)(self._places(opened, path, inside))

    def _items(
        self, fields: Mapping[Any, Any], path: Path, above: tuple[int, ...]
    ) -> Iterator[tuple[Any, Any]]:
        if not fields:
            self._meets_nothing(path)
        for key, item in fields.items():
            below = (*path, key)
            if self._ignored and self.leaves_out(below):
                continue
            read = self.read(item, below, above)
            if read is not _LEFT_OUT:
                yield key, read

    def _places(self, items: Sequence[Any], path: Path, above: tuple[int, ...]) -> Iterator[Any]:
        if not items:
            self._meets_nothing(path)
        for place, item in enumerate(items):
            below = (*path, place)
            # An ignored place stays as None, so that the others keep their numbers.
            read = (
                None if self._ignored and self.leaves_out(below) else self.read(item, below, above)
            )
            if read is not _LEFT_OUT:
                yield read

    def _members(self, items: set[Any] | frozenset[Any], path: Path, above: tuple[int, ...]) -> Any:
        read = [self.read(item, (*path, "{}"), above) for item in items]
        kept = [item for item in read if item is not _LEFT_OUT]
        if not any(isinstance(item, Named | dict | list) for item in kept):
            return type(items)(kept)
        # Opened objects have no hash, and two that look alike are still two.
        return Named(_class_name(items), {"items": sorted(kept, key=encode_reference)})

    def _meets_nothing(self, path: Path) -> None:
        """Let a ``*`` fit a container that is empty now and need not stay so."""
        for pattern in self._ignored:
            if _is_above(pattern, path) and pattern.parts[len(path)] is None:
                self.matched.add(pattern.text)

    def _refused(self, code: str, message: str, do: str, value: Any, path: Path) -> Any:
        if self._left_out is None:
            raise StateError(code, message, where=f"field {spelled(path)}", do=do)
        why = "contains itself" if "itself" in message else _class_name(value)
        self._left_out.append(f"{spelled(path)} ({why})")
        return _LEFT_OUT


def _is_above(pattern: Pattern, path: Path) -> bool:
    """Tell whether ``pattern`` may name a field below ``path``."""
    return len(pattern.parts) > len(path) and all(map(fits, pattern.parts, path))


_LEFT_OUT = object()


_MAX_DEPTH = 200


def _open(value: Any) -> Any:
    """Return what is inside ``value`` as a container, or None where it is opaque or a leaf."""
    kind = type(value)
    if kind in _CONTAINERS:
        return value
    if kind is deque:
        return Named("collections:deque", {"items": list(value), "maxlen": value.maxlen})
    if kind is random.Random:
        return Named("random:Random", {"state": value.getstate()})
    if isinstance(value, enum.Enum):
        return Named(_class_name(value), {"name": value.name})
    if isinstance(value, type):
        return Named("type", {"name": f"{_module_name(value)}:{value.__qualname__}"})
    if _is_numpy(value) or _is_database(value):
        # Compiled, and read in a way of its own.
        return _generator(value) if _is_numpy(value) else _database(value)
    if isinstance(value, dict):
        # A subclass keeps its name: an OrderedDict is not the same state as a dict.
        return Named(_class_name(value), {"items": dict(value), **_own(value)})
    for base in _SUBCLASSED:
        if isinstance(value, base):
            return Named(_class_name(value), {"value": base(value), **_own(value)})
    fields = _fields(value)
    return None if fields is None else Named(_class_name(value), fields)


_CONTAINERS = frozenset({dict, list, tuple, set, frozenset, Named})
_SUBCLASSED: tuple[type[Any], ...] = (
    bool, int, float, str, bytes, tuple, list, set, frozenset
)  # fmt: skip


def _own(value: Any) -> dict[str, Any]:
    attributes = getattr(value, "__dict__", None)
    return {"attributes": dict(attributes)} if attributes else {}


def _generator(value: Any) -> Named | None:
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.random.Generator):
        return Named("numpy.random:Generator", dict(value.bit_generator.state))
    if isinstance(value, numpy.random.RandomState):
        return Named("numpy.random:RandomState", dict(value.get_state(legacy=False)))
    return None


def _is_database(value: Any) -> bool:
    # Whoever holds one has imported it.
    sqlite3 = sys.modules.get("sqlite3")
    return sqlite3 is not None and isinstance(value, sqlite3.Connection)


def _database(value: Any) -> Named | None:
    """Read a database in memory; one in a file is for ``sqlite(..)``, from outside."""
    from cleandesk.surfaces.sqlite import inside

    if not inside.is_in_memory(value):
        return None
    return Named("sqlite3:Connection", inside.read_connection(value))


def _is_numpy(value: Any) -> bool:
    return _module_name(type(value)).split(".")[0] == "numpy"


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the own attributes of an ordinary object, or None if it isn't one."""
    kind = type(value)
    if callable(value) or not _is_all_python(kind):
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


def _is_all_python(kind: type) -> bool:
    """Tell whether instances keep their state in attributes and slots, and nowhere else.

    An instance of a compiled class, or of a subclass of one, has memory that Python
    can't see (a buffer, a queue): read by its attributes it would look empty (law 15).
    """
    if _module_name(kind) in _NEVER_OPENED or kind.__itemsize__:
        return False
    slots = sum(
        name not in {"__dict__", "__weakref__"}
        for owner in kind.__mro__
        for name in _slot_names(owner)
    )
    # A positive offset is a pointer inside the instance; others are kept in front of it.
    pointers = slots + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    return kind.__basicsize__ == object.__basicsize__ + pointers * _POINTER_BYTES


_NEVER_OPENED = frozenset({"builtins", "_thread", "types", "weakref"})
_POINTER_BYTES = struct.calcsize("P")


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
