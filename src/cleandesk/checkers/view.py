"""Captured state as a checker reads it: ``start.desk.events[3].title``, never written."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NoReturn

from cleandesk.errors import shown
from cleandesk.state.canon import encode
from cleandesk.state.reference import Named, spelled

_METHODS = frozenset({"keys", "values", "items", "get", "plain"})
_CONTAINERS = (Mapping, Named, list, tuple)


class View:
    """A table, record, list or object of captured state, for reading.

    ``view.name`` and ``view["name"]`` are the same; numbers and texts with spaces need
    brackets. ``in``, ``len``, ``for`` and ``==`` are those of the value seen. A table
    has ``keys``, ``values``, ``items`` and ``get``, unless it has a field of that
    name; then the field is meant. ``plain()`` gives a copy to work on.
    """

    __slots__ = ("_path", "_value")

    _path: tuple[object, ...]
    _value: Any

    def __init__(self, value: Any, path: tuple[object, ...] = ()) -> None:
        """See ``value``, which is at ``path`` of the state."""
        object.__setattr__(self, "_value", value.fields if isinstance(value, Named) else value)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in View.__slots__:
            raise AttributeError(name)
        value = self._value
        if isinstance(value, Mapping) and name in value:
            return self._seen(value[name], name)
        if name == "plain":
            return lambda: _plain(value)
        if name in _METHODS and isinstance(value, Mapping):
            return getattr(self, f"_{name}")
        raise AttributeError(self._lacks(name))

    def __getitem__(self, key: Any) -> Any:
        value = self._value
        key = key._value if isinstance(key, View) else key
        if isinstance(value, Mapping):
            try:
                return self._seen(value[key], key)
            except (KeyError, TypeError):
                raise KeyError(self._lacks(key)) from None
        if isinstance(key, slice):
            return [self._seen(item, place) for place, item in enumerate(value)][key]
        try:
            return self._seen(value[key], key)
        except (IndexError, TypeError):
            raise IndexError(self._lacks(key)) from None

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self._value, Mapping):
            return iter(list(self._value))
        return iter([self._seen(item, place) for place, item in enumerate(self._value)])

    def __len__(self) -> int:
        return len(self._value)

    def __contains__(self, item: object) -> bool:
        item = item._value if isinstance(item, View) else item
        if isinstance(self._value, Mapping):
            return isinstance(item, Hashable) and item in self._value
        return any(_equal(item, held) for held in self._value)

    def __eq__(self, other: object) -> bool:
        return _equal(self._value, other._value if isinstance(other, View) else other)

    __hash__ = None  # type: ignore[assignment] # it is compared by what it holds

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"captured state can't be changed, so {name} can't be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"captured state can't be changed, so {name} can't be deleted")

    def __repr__(self) -> str:
        return f"View({shown(self._name(), 120)}: {len(self)} entries)"

    def __deepcopy__(self, memo: object) -> View:
        return self

    def _keys(self) -> list[Any]:
        return list(self._value)

    def _values(self) -> list[Any]:
        return [self._seen(item, key) for key, item in self._value.items()]

    def _items(self) -> list[tuple[Any, Any]]:
        return [(key, self._seen(item, key)) for key, item in self._value.items()]

    def _get(self, key: Any, default: Any = None) -> Any:
        return self._seen(self._value[key], key) if key in self else default

    def _seen(self, value: Any, key: object) -> Any:
        if isinstance(value, _CONTAINERS):
            return View(value, (*self._path, key))
        if isinstance(value, set):
            return frozenset(value)
        if isinstance(value, bytearray):
            return bytes(value)
        # An array is handed out as a copy: it would be the one thing that can be written.
        return copy.deepcopy(value) if hasattr(value, "dtype") else value

    def _name(self) -> str:
        return spelled(self._path) if self._path else "state"

    def _lacks(self, key: object) -> str:
        if isinstance(self._value, Mapping):
            held = [str(name) for name in self._value]
            if str(key) in held:
                twin = next(name for name in self._value if str(name) == str(key))
                return f"{self._name()} has no {key!r}; it has {twin!r}, a {type(twin).__name__}"
            near = difflib.get_close_matches(str(key), held[:10_000], 3, cutoff=0.5) or held[:3]
            has = f"near it: {', '.join(near)}" if near else "it is empty"
            return shown(f"{self._name()} has no {key!r}; {has} ({len(held)} in all)", 300)
        return shown(f"{self._name()} has no place {key!r}; it is a list of {len(self)}", 300)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return copy.deepcopy(value)


def _equal(one: Any, other: Any) -> bool:
    one = one.fields if isinstance(one, Named) else one
    other = other.fields if isinstance(other, Named) else other
    try:
        return bool(one == other)
    except ValueError:
        # Arrays inside answer == with arrays; their canonical bytes decide.
        return encode(_plain(one)) == encode(_plain(other))
