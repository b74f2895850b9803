"""The actions of an episode: as values, and as a person would write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cleandesk.state import encode
from cleandesk.state.canon import ALL_BYTES

_PLAIN = (bool, int, float, str, bytes, type(None))
_DRAWS = 3
_HELD = 5


@dataclass(frozen=True, slots=True)
class Actions:
    """Actions in order.

    Attributes:
        values: Each of them.
        drawn: How they are drawn: (seed, low, high); None where they are given.
    """

    values: tuple[Any, ...] = ()
    drawn: tuple[int, Any, Any] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def first(self, count: int) -> Actions:
        """Return the first ``count`` of them."""
        return Actions(self.values[:count], self.drawn)

    @property
    def is_held(self) -> bool:
        """Whether all are the same; of none, too."""
        return len({key_of(value) for value in self.values}) < 2

    def to_wire(self) -> Any:
        """Return what a device takes as ``actions``: short, and read by place modulo length."""
        if self.values and self.is_held:
            return [self.values[0]]
        arrays = [value for value in self.values if type(value) is np.ndarray and value.ndim]
        if len(arrays) == len(self.values) and len({(a.shape, a.dtype) for a in arrays}) == 1:
            return np.stack(arrays)
        return list(self.values)

    def to_python(self) -> str | None:
        """Return an expression for their plain forms, or None where they have none."""
        if not self.values:
            return "[]"
        if self.drawn is not None:
            return _drawn_text(self.drawn, self.values)
        texts = [text_of(value) for value in self.values]
        if None in texts:
            return None
        if self.is_held:
            return f"[{texts[0]}] * {len(texts)}" if len(texts) > 1 else f"[{texts[0]}]"
        return f"[{', '.join(filter(None, texts))}]"


def key_of(value: Any) -> bytes:
    """Return bytes that are equal exactly for equal actions."""
    return encode(value, inline_bytes=ALL_BYTES)


def text_of(value: Any) -> str | None:
    """Return an action's plain form as Python: of an array its list. None where it has none."""
    if isinstance(value, np.ndarray | np.generic):
        return repr(_short(value))
    if type(value) in _PLAIN:
        return repr(value)
    if type(value) is dict:
        inside = [(text_of(key), text_of(item)) for key, item in value.items()]
        parts = [None if None in pair else f"{pair[0]}: {pair[1]}" for pair in inside]
        brackets = "{}"
    elif type(value) is list or type(value) is tuple:
        parts = [text_of(item) for item in value]
        brackets = "[]" if type(value) is list else "()"
    else:
        return None
    if None in parts:
        return None
    comma = "," if brackets == "()" and len(parts) == 1 else ""
    return f"{brackets[0]}{', '.join(filter(None, parts))}{comma}{brackets[1]}"


def _short(value: Any) -> Any:
    """Return an array as lists; its floats with no more digits than its own type needs."""
    array = np.asarray(value)
    plain = array.tolist()
    if array.dtype.kind != "f" or array.dtype.itemsize >= np.dtype(float).itemsize:
        return plain
    short = np.array([float(str(item)) for item in array.ravel()]).reshape(array.shape)
    same = short.astype(array.dtype).tobytes() == array.tobytes()
    return short.tolist() if same else plain


def simpler(actions: Actions, count: int) -> Iterator[Callable[[], Actions]]:
    """Yield ways to make ``count`` actions that are shorter to write than ``actions``.

    Args:
        actions: Actions of the same rig; what is legal is learnt from them.
        count: How many.
    """
    for value in _held(actions.values):
        yield lambda value=value: Actions((value,) * count)  # type: ignore[misc]
    for seed in range(_DRAWS):
        if _ends(actions.values) is not None:
            yield lambda seed=seed: drawn(actions.values, seed, count)  # type: ignore[misc]


def drawn(like: Sequence[Any], seed: int, count: int) -> Actions:
    """Return ``count`` actions that lie between the least and the largest number of ``like``."""
    ends = _ends(like)
    if ends is None:
        return Actions(tuple(like[:count]))
    how = (seed, *ends)
    shape, dtype = np.shape(like[0]), getattr(like[0], "dtype", None)
    rows = _draw(how, (count, *shape))
    if dtype is None:
        return Actions(tuple(rows.tolist()), how)
    return Actions(tuple(row.astype(dtype) for row in rows), how)


def _draw(how: tuple[int, Any, Any], shape: tuple[int, ...]) -> Any:
    seed, low, high = how
    rng = np.random.default_rng(seed)
    if type(low) is int:
        return rng.integers(low, high + 1, shape)
    return rng.uniform(low, high, shape)


def _drawn_text(how: tuple[int, Any, Any], values: tuple[Any, ...]) -> str:
    seed, low, high = how
    shape = (len(values), *np.shape(values[0]))
    size = shape[0] if len(shape) == 1 else shape
    call = f"integers({low}, {high + 1}, {size})"
    if type(low) is not int:
        call = f"uniform({low!r}, {high!r}, {size})"
    return f"np.random.default_rng({seed}).{call}.tolist()"


def _held(values: Sequence[Any]) -> list[Any]:
    """Return single actions worth trying: nothing, the ends, and what was met most often."""
    kinds: dict[bytes, Any] = {}
    if values and all(type(value) is np.ndarray for value in values):
        first = values[0]
        if first.dtype.kind in "fiu" and len({value.shape for value in values}) == 1:
            stacked = np.stack(values)
            low, high = stacked.min(axis=0), stacked.max(axis=0)
            for each in (np.clip(np.zeros_like(first), low, high), high, low):
                kinds.setdefault(key_of(each), each)
    for key, _ in Counter(map(key_of, values)).most_common(_HELD):
        kinds.setdefault(key, next(value for value in values if key_of(value) == key))
    return list(kinds.values())[:_HELD]


def _ends(values: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the least and the largest number in ``values``, if they are numbers of one kind."""
    if not values or len({(type(value), np.shape(value)) for value in values}) > 1:
        return None
    if all(type(value) is int for value in values):
        return min(values), max(values)
    if all(type(value) is np.ndarray and value.dtype.kind in "fiu" for value in values):
        low, high = min(each.min() for each in values), max(each.max() for each in values)
        is_float = values[0].dtype.kind == "f"
        return (float(low), float(high)) if is_float else (int(low), int(high))
    return None
