"""Values and the spaces of Gymnasium that they should lie in.

Gymnasium's own ``contains`` says only yes or no, and warns on the way; here a misfit
is named. Kinds of space that are not known here are asked with ``contains``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from cleandesk.errors import shown


class MisfitError(ValueError):
    """A value that can't be taken for a member of the space, in words."""


def fitted(space: Any, action: Any) -> Any:
    """Return ``action`` as the type that ``space`` asks for.

    Args:
        space: A space of Gymnasium.
        action: Plain values or arrays: an int for ``Discrete``, (nested) lists or an
            array for ``Box``, ``MultiDiscrete`` and ``MultiBinary``, a list or a dict of
            such for ``Tuple`` and ``Dict``, a text for ``Text``.

    Raises:
        MisfitError: It lies outside the space, or is of another type or shape.
    """
    value = _typed(space, action, "the action")
    problem = misfit(space, value, "the action")
    if problem:
        raise MisfitError(problem)
    return value


def misfit(space: Any, value: Any, name: str) -> str:
    """Say in which way ``value`` lies outside ``space``, or return an empty text.

    Args:
        space: A space of Gymnasium, or None, in which everything lies.
        value: Anything.
        name: What the text calls the value.
    """
    if space is None:
        return ""
    if isinstance(space, spaces.Dict):
        return _misfit_of_dict(space, value, name)
    if isinstance(space, spaces.Tuple):
        if not isinstance(value, tuple | list) or len(value) != len(space.spaces):
            return f"{name} is no tuple of {len(space.spaces)}"
        parts = enumerate(zip(space.spaces, value, strict=True))
        found = (misfit(inner, item, f"{name}[{place}]") for place, (inner, item) in parts)
        return next(filter(None, found), "")
    if isinstance(space, spaces.Box):
        return _misfit_of_box(space, value, name)
    if space.contains(value):
        return ""
    return f"{name} = {shown(repr(value), 60)} lies outside {shown(repr(space), 60)}"


def plain_copy(value: Any) -> Any:
    """Return an independent copy of ``value`` of types that canon/1 knows, where it can.

    Subclasses of the plain types (an ``OrderedDict``, a named tuple, an enumeration of
    numbers) become these; arrays stay arrays; a value of another type is copied as it is.
    """
    if isinstance(value, np.ndarray):
        return value.copy()
    if value is None or isinstance(value, np.generic | bool):
        return value
    if isinstance(value, Mapping):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [plain_copy(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    for kind in (int, float, str):
        if isinstance(value, kind):
            return value if type(value) is kind else kind(value)
    return copy.deepcopy(value)


def _misfit_of_dict(space: Any, value: Any, name: str) -> str:
    if not isinstance(value, Mapping) or set(value) != set(space.spaces):
        keys = ", ".join(map(str, space.spaces))
        return f"{name} is no dict with the keys {shown(keys, 120)}"
    found = (misfit(inner, value[key], f"{name}[{key!r}]") for key, inner in space.spaces.items())
    return next(filter(None, found), "")


def _misfit_of_box(space: Any, value: Any, name: str) -> str:
    if not isinstance(value, np.ndarray):
        return f"{name} is no array but a {type(value).__name__}"
    if value.shape != space.shape:
        return f"{name} has the shape {value.shape}, not {space.shape}"
    if not np.can_cast(value.dtype, space.dtype):
        return f"{name} is of {value.dtype}, not {space.dtype}"
    # A NaN is neither: it lies outside even a box without ends.
    is_inside = (value >= space.low) & (value <= space.high)
    if is_inside.all():
        return ""
    place = tuple(int(index) for index in np.argwhere(~is_inside)[0])
    spelled = "".join(f"[{index}]" for index in place)
    low, high = space.low[place], space.high[place]
    return f"{name}{spelled} = {value[place]} lies outside [{low}, {high}]"


def _typed(space: Any, action: Any, name: str) -> Any:
    if isinstance(space, spaces.Discrete):
        return _whole_number(action, name)
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        return _array(action, space.dtype, name)
    if isinstance(space, spaces.Tuple) and isinstance(action, list | tuple):
        if len(action) != len(space.spaces):
            raise MisfitError(f"{name} has {len(action)} parts, not {len(space.spaces)}")
        parts = enumerate(zip(space.spaces, action, strict=True))
        return tuple(_typed(inner, item, f"{name}[{place}]") for place, (inner, item) in parts)
    if isinstance(space, spaces.Dict) and isinstance(action, Mapping):
        return {
            key: _typed(space.spaces[key], item, f"{name}[{key!r}]")
            if key in space.spaces
            else item
            for key, item in action.items()
        }
    return action


def _whole_number(action: Any, name: str) -> int:
    held = (
        action.item()
        if isinstance(action, np.generic | np.ndarray) and action.size == 1
        else action
    )
    if type(held) is not int:
        raise MisfitError(f"{name} = {shown(repr(action), 60)} is no whole number")
    return held


def _array(action: Any, dtype: Any, name: str) -> Any:
    try:
        array = np.asarray(action)
        is_number = array.dtype.kind in "iuf" or (array.dtype.kind == "b" and dtype.kind == "b")
        cast = array.astype(dtype) if is_number else array
    except (TypeError, ValueError, OverflowError) as error:
        raise MisfitError(f"{name} = {shown(repr(action), 60)} is no array of {dtype}") from error
    # A float may be rounded to the box's precision; 1.5 is not rounded to a whole number.
    if not is_number or (dtype.kind in "iu" and not np.array_equal(cast, array)):
        raise MisfitError(f"{name} = {shown(repr(action), 60)} is no array of {dtype}")
    return cast
