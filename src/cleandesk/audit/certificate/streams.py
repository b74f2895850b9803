"""The random streams that an environment owns, found by a short look through its objects.

An unseeded reset goes on from where they stand. A fresh build can be compared with it only
after its own streams were put there.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES
from cleandesk.state.reference import spelled

_MOST_OBJECTS = 20_000
_NEVER = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, str, bytes, np.ndarray)


def streams(roots: Mapping[str, object]) -> dict[str, Any]:
    """Return the generators that ``roots`` reach through attributes and containers, by path.

    Those of spaces are the agent's and are left out.
    """
    found: dict[str, Any] = {}
    waiting: deque[tuple[tuple[Any, ...], Any]] = deque(
        ((name,), root) for name, root in sorted(roots.items())
    )
    # Held, because an id is given again once its object is gone.
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _MOST_OBJECTS:
        path, value = waiting.popleft()
        if id(value) in seen or isinstance(value, _NEVER):
            continue
        seen[id(value)] = value
        if is_stream(value):
            found[spelled(path)] = value
        elif not _is_space(value):
            waiting.extend(((*path, key), item) for key, item in _inside(value))
    return found


def is_stream(value: Any) -> bool:
    """Tell whether ``value`` is a generator whose state can be read and put."""
    if isinstance(value, random.Random):
        return not isinstance(value, random.SystemRandom)
    return isinstance(value, np.random.Generator | np.random.RandomState)


def states_of(found: Mapping[str, Any]) -> bytes:
    """Return the states of generators, as bytes that any process can read."""
    return encode({path: _state(each) for path, each in found.items()}, inline_bytes=ALL_BYTES)


def global_states() -> bytes:
    """Return the states of the global streams of Python and numpy, as bytes."""
    version, words, kept = random.getstate()
    of_numpy = np.random.get_state(legacy=False)
    # As an array: its numbers one by one would cost ten times as much.
    of_python = [version, np.array(words, np.uint64), kept]
    return encode([of_python, of_numpy], inline_bytes=ALL_BYTES)


def put_global_states(states: bytes) -> None:
    """Put the global streams in the states that ``global_states`` returned."""
    (version, words, kept), of_numpy = decode(states)
    random.setstate((version, tuple(words.tolist()), kept))
    np.random.set_state(of_numpy)


def _state(stream: Any) -> Any:
    if isinstance(stream, random.Random):
        return stream.getstate()
    if isinstance(stream, np.random.RandomState):
        return stream.get_state(legacy=False)
    return stream.bit_generator.state


def _inside(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from list(value.items())
    elif isinstance(value, list | tuple | deque):
        yield from enumerate(value)
    else:
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            yield from sorted(held.items(), key=lambda item: str(item[0]))


def _is_space(value: Any) -> bool:
    return any(kind.__name__ == "Space" for kind in type(value).__mro__)
