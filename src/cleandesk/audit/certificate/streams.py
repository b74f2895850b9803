"""The random streams that a rig owns, found by a short look through its objects.

Under a reset without a seed they go on by design. A fresh build is comparable only after
its streams were put where those of the judged rig stood before its reset.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from cleandesk.audit.certificate.walk import walk
from cleandesk.audit.certificate.walk.plans import class_dict, is_a, own_of
from cleandesk.audit.certificate.walk.spaces import module_dict, parts_of_function
from cleandesk.audit.certificate.walk.walking import owners
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES
from cleandesk.state.reference import spelled

_MOST_OBJECTS = 20_000
_FEW = 4
_EXPRESSION = re.compile(r"env(\.[A-Za-z_]\w*|\[\d+\])*")
_NEVER = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, str, bytes, np.ndarray)


def streams(roots: Mapping[str, object]) -> dict[str, Any]:
    """Return the generators that ``roots`` reach through attributes and containers, by path.

    Those of spaces are the agent's and are left out.
    """
    return _met(((name,), root) for name, root in sorted(roots.items()))


def all_streams(roots: Mapping[str, object]) -> dict[str, Any]:
    """Return those, and what the classes, modules and functions behind ``roots`` hold.

    It takes a walk.
    """
    walk(roots)
    starts: list[tuple[tuple[Any, ...], Any]] = [
        ((name,), root) for name, root in sorted(roots.items())
    ]
    for name, owner in sorted(owners().items()):
        if is_a(owner, type):
            held = class_dict(owner).items()
        elif is_a(owner, ModuleType):
            held = module_dict(owner).items()
        else:
            starts += [((name, *parts), value) for parts, value in parts_of_function(owner)]
            continue
        starts += [((name, key), value) for key, value in held if key[:2] != "__"]
    return _met(starts)


def _met(starts: Iterable[tuple[tuple[Any, ...], Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = deque(starts)
    # Held, because an id is given again once its object is gone.
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _MOST_OBJECTS:
        path, value = waiting.popleft()
        if id(value) in seen or is_a(value, *_NEVER):
            continue
        seen[id(value)] = value
        if is_stream(value):
            found[spelled(path)] = value
        elif not _is_space(value):
            waiting.extend(((*path, key), item) for key, item in _inside(value))
    return found


def is_stream(value: Any) -> bool:
    """Tell whether ``value`` is a generator whose state can be read and put."""
    if is_a(value, random.Random):
        return not is_a(value, random.SystemRandom)
    return is_a(value, np.random.Generator, np.random.RandomState)


def states_of(found: Mapping[str, Any]) -> bytes:
    """Return the states of generators, as bytes that any process can read."""
    return encode({path: _state(each) for path, each in found.items()}, inline_bytes=ALL_BYTES)


def put_states(found: Mapping[str, Any], states: bytes) -> None:
    """Put generators in the states that ``states_of`` returned.

    Raises:
        LookupError: There is no such generator here.
    """
    for path, state in decode(states).items():
        if path not in found:
            raise LookupError(f"no generator at {path}")
        _put(found[path], state)


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


def seed_all(found: Mapping[str, Any], seed: int) -> None:
    """Put each generator in the state that a new one of its kind, seeded so, would have."""
    for each in found.values():
        if isinstance(each, random.Random):
            each.seed(seed)
        elif isinstance(each, np.random.RandomState):
            each.set_state(np.random.RandomState(seed).get_state(legacy=False))
        else:
            each.bit_generator.state = type(each.bit_generator)(seed).state


def seeding_lines(found: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return ``seed_all`` as a person writes it, or None where a path is no expression."""
    if not found or not all(_EXPRESSION.fullmatch(path) for path in found):
        return None
    lines = []
    for path, each in found.items():
        if isinstance(each, random.Random):
            lines.append(f"{path}.seed(seed)")
        elif isinstance(each, np.random.RandomState):
            lines.append(f"{path}.set_state(np.random.RandomState(seed).get_state())")
        else:
            kind = type(each.bit_generator).__name__
            lines.append(f"{path}.bit_generator.state = np.random.{kind}(seed).state")
    return tuple(lines)


def named(found: Mapping[str, Any]) -> str:
    """Return a few of the paths of generators, for people."""
    few = [*found][:_FEW]
    more = f" and {len(found) - _FEW} more" if len(found) > _FEW else ""
    return f"{', '.join(few)}{more}" if few else "none was found"


def _state(stream: Any) -> Any:
    if isinstance(stream, random.Random):
        return stream.getstate()
    if isinstance(stream, np.random.RandomState):
        return stream.get_state(legacy=False)
    return stream.bit_generator.state


def _put(stream: Any, state: Any) -> None:
    if isinstance(stream, random.Random):
        stream.setstate(state)
    elif isinstance(stream, np.random.RandomState):
        stream.set_state(state)
    else:
        stream.bit_generator.state = state


def _inside(value: Any) -> Iterator[tuple[Any, Any]]:
    if is_a(value, dict):
        yield from list(value.items())
    elif is_a(value, list, tuple, deque):
        yield from enumerate(value)
    else:
        # What a class says of its attributes may be anything, and may never end.
        yield from sorted(own_of(value).items(), key=lambda item: str(item[0]))


def _is_space(value: Any) -> bool:
    return any(kind.__name__ == "Space" for kind in type(value).__mro__)
