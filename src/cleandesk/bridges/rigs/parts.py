"""What an action is made of, whatever the interface that asks for it.

A part draws from the instrument's generator alone. Its values are plain or arrays of
numpy, made anew each time: an environment may write into what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

_HUGE = 1e10
_SPREAD = 3.0
_MOST_ITEMS = 3
_MOST_CHARACTERS = 8


class Part(Protocol):
    """An action, or a part of one."""

    def uniform(self, rng: Any) -> Any:
        """Draw from all that is allowed."""

    def extreme(self, rng: Any) -> Any:
        """Draw from the ends of what is allowed."""

    def null(self) -> Any:
        """Return what is nearest to doing nothing."""

    def expression(self, name: str) -> str:
        """Return Python that makes the action of its plain form in the variable ``name``."""


class Choice:
    """One of ``count`` numbers from ``start`` on."""

    def __init__(self, count: int, start: int = 0) -> None:
        self.count = count
        self.start = start

    def uniform(self, rng: Any) -> int:
        """Draw from all that is allowed."""
        return self.start + int(rng.integers(self.count))

    def extreme(self, rng: Any) -> int:
        """Draw from the ends."""
        return self.start + (self.count - 1) * int(rng.integers(2))

    def null(self) -> int:
        """Return what is nearest to nothing."""
        return self.start

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return name


class Grid:
    """An array of numbers, each between ends of its own."""

    def __init__(self, low: Any, high: Any, dtype: Any) -> None:
        """Take the ends, which may be infinite, as arrays of one shape."""
        self.dtype = np.dtype(dtype)
        self._is_whole = self.dtype.kind in "biu"
        kind = object if self._is_whole else np.float64
        self.low = np.asarray(low, dtype=kind)
        self.high = np.asarray(high, dtype=kind)
        # No program can be asked to bear 1e38; such ends stand for none.
        self._has_low = np.asarray(self.low > -_HUGE, dtype=bool)
        self._has_high = np.asarray(self.high < _HUGE, dtype=bool)
        if self._is_whole:
            self._has_low |= True
            self._has_high |= True

    def uniform(self, rng: Any) -> Any:
        """Draw from all that is allowed."""
        if self._is_whole:
            return self._whole(rng)
        spread = rng.normal(size=self.low.shape)
        share = rng.random(size=self.low.shape)
        low = np.where(self._has_low, self.low, 0.0)
        high = np.where(self._has_high, self.high, 0.0)
        values = np.select(
            [self._has_low & self._has_high, self._has_low, self._has_high],
            [low + share * (high - low), low + np.abs(spread), high - np.abs(spread)],
            spread,
        )
        return np.asarray(values).astype(self.dtype)

    def extreme(self, rng: Any) -> Any:
        """Draw from the ends."""
        is_high = rng.integers(2, size=self.low.shape).astype(bool)
        if self._is_whole:
            return np.asarray(np.where(is_high, self.high, self.low)).astype(self.dtype)
        low = np.where(self._has_low, self.low, np.where(self._has_high, self.high, 0.0) - _SPREAD)
        high = np.where(self._has_high, self.high, np.where(self._has_low, self.low, 0.0) + _SPREAD)
        return np.asarray(np.where(is_high, high, low)).astype(self.dtype)

    def null(self) -> Any:
        """Return what is nearest to nothing."""
        zero = 0 if self._is_whole else 0.0
        return np.asarray(np.clip(zero, self.low, self.high)).astype(self.dtype)

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return f'np.array({name}, dtype="{self.dtype}")'

    def _whole(self, rng: Any) -> Any:
        flat = [
            int(rng.integers(int(low), int(high), endpoint=True, dtype=_integer(low)))
            for low, high in zip(self.low.ravel(), self.high.ravel(), strict=True)
        ]
        return np.array(flat, dtype=self.dtype).reshape(self.low.shape)


class Words:
    """A text of these characters."""

    def __init__(self, shortest: int, longest: int, characters: Sequence[str]) -> None:
        self._shortest = shortest
        self._longest = max(shortest, min(longest, shortest + _MOST_CHARACTERS))
        self._characters = characters

    def uniform(self, rng: Any) -> str:
        """Draw from all that is allowed."""
        length = int(rng.integers(self._shortest, self._longest, endpoint=True))
        return self._of(rng.integers(len(self._characters), size=length))

    def extreme(self, rng: Any) -> str:
        """Draw from the ends."""
        length = self._longest if rng.integers(2) else self._shortest
        return self._of([int(rng.integers(len(self._characters)))] * length)

    def null(self) -> str:
        """Return what is nearest to nothing."""
        return self._of([0] * self._shortest)

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return name

    def _of(self, places: Any) -> str:
        return "".join(self._characters[int(place)] for place in places)


class Few:
    """A tuple of none to a few of one part."""

    def __init__(self, part: Part) -> None:
        self._part = part

    def uniform(self, rng: Any) -> tuple[Any, ...]:
        """Draw from all that is allowed."""
        return tuple(self._part.uniform(rng) for _ in range(int(rng.integers(_MOST_ITEMS + 1))))

    def extreme(self, rng: Any) -> tuple[Any, ...]:
        """Draw from the ends."""
        return tuple(self._part.extreme(rng) for _ in range(_MOST_ITEMS * int(rng.integers(2))))

    def null(self) -> tuple[Any, ...]:
        """Return what is nearest to nothing."""
        return ()

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return f"tuple({self._part.expression('item')} for item in {name})"


class Row:
    """A tuple or list of parts."""

    def __init__(self, parts: Sequence[Part], make: Any = tuple) -> None:
        self._parts = parts
        self._make = make

    def uniform(self, rng: Any) -> Any:
        """Draw from all that is allowed."""
        return self._make([part.uniform(rng) for part in self._parts])

    def extreme(self, rng: Any) -> Any:
        """Draw from the ends."""
        return self._make([part.extreme(rng) for part in self._parts])

    def null(self) -> Any:
        """Return what is nearest to nothing."""
        return self._make([part.null() for part in self._parts])

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        inside = [part.expression(f"{name}[{place}]") for place, part in enumerate(self._parts)]
        return f"{self._make.__name__}([{', '.join(inside)}])"


class Table:
    """A dict of parts."""

    def __init__(self, parts: Mapping[Any, Part]) -> None:
        self._parts = parts

    def uniform(self, rng: Any) -> dict[Any, Any]:
        """Draw from all that is allowed."""
        return {key: part.uniform(rng) for key, part in self._parts.items()}

    def extreme(self, rng: Any) -> dict[Any, Any]:
        """Draw from the ends."""
        return {key: part.extreme(rng) for key, part in self._parts.items()}

    def null(self) -> dict[Any, Any]:
        """Return what is nearest to nothing."""
        return {key: part.null() for key, part in self._parts.items()}

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        inside = [
            f"{key!r}: {part.expression(f'{name}[{key!r}]')}" for key, part in self._parts.items()
        ]
        return f"{{{', '.join(inside)}}}"


class Either:
    """One of several parts; with ``is_numbered``, a pair of its number and its value."""

    def __init__(self, parts: Sequence[Part], *, is_numbered: bool = False) -> None:
        self._parts = parts
        self._is_numbered = is_numbered

    def uniform(self, rng: Any) -> Any:
        """Draw from all that is allowed."""
        place = int(rng.integers(len(self._parts)))
        return self._given(place, self._parts[place].uniform(rng))

    def extreme(self, rng: Any) -> Any:
        """Draw from the ends."""
        place = int(rng.integers(len(self._parts)))
        return self._given(place, self._parts[place].extreme(rng))

    def null(self) -> Any:
        """Return what is nearest to nothing."""
        return self._given(0, self._parts[0].null())

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return name

    def _given(self, place: int, value: Any) -> Any:
        return (place, value) if self._is_numbered else value


class Fixed:
    """One of some given values."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def uniform(self, rng: Any) -> Any:
        """Draw from all that is allowed."""
        return self._values[int(rng.integers(len(self._values)))]

    def extreme(self, rng: Any) -> Any:
        """Draw from the ends."""
        return self._values[(len(self._values) - 1) * int(rng.integers(2))]

    def null(self) -> Any:
        """Return what is nearest to nothing."""
        return self._values[0]

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return name


def _integer(low: Any) -> Any:
    """Return the dtype in which numbers from ``low`` on are drawn."""
    return np.int64 if low < 0 else np.uint64
