"""The global random streams: whether each moved, and by how much.

Two independent builds start them at different places on purpose, so a state is
described by how far it is from where it began. Both Python's and numpy's global streams
are Mersenne Twisters, so the number of words drawn can be found by drawing again from
the old state. Where that fails the stream was seeded anew, or moved very far; then its
state is told by digest, and two builds agree only if both seeded it alike.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from typing import Any

_WORDS = 624
_MOST_TWISTS = 16
_TWISTER = "MT19937"

State = tuple[Any, ...]
"""Kind, key (the array of words), position, and whether a normal value is kept."""


def states() -> dict[str, State]:
    """Return the state of each global stream whose library is loaded."""
    found = {"python": _python()}
    numpy: Any = sys.modules.get("numpy.random")
    if hasattr(numpy, "get_state"):
        found["numpy"] = _numpy(numpy)
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_rng_state"):
        found["torch"] = ("torch", torch.get_rng_state().numpy().tobytes(), 0, False)
    return found


def moved(before: State, after: State) -> dict[str, Any] | None:
    """Say how a stream moved, or return None if it did not.

    Returns:
        ``{"drew": words}``, or ``{"state": digest}`` where it was seeded anew or moved
        by more than about ten thousand words; ``"keeps"`` says that it now keeps the
        second of a pair of normal values, or no longer does.
    """
    if before == after:
        return None
    words = _drawn(before, after)
    if words is None:
        return {"state": hashlib.sha256(repr(after).encode()).hexdigest()}
    told: dict[str, Any] = {"drew": words}
    if (before[3] is None) != (after[3] is None):
        told["keeps"] = after[3] is not None
    return told


def _python() -> State:
    kind, words, kept = random.getstate()
    return (f"python {kind}", words[:-1], words[-1], kept)


def _numpy(module: Any) -> State:
    held = module.get_state(legacy=False)
    if held["bit_generator"] != _TWISTER:
        return (held["bit_generator"], repr(held), 0, None)
    kept = held["gauss"] if held["has_gauss"] else None
    return (f"numpy {_TWISTER}", held["state"]["key"].tobytes(), int(held["state"]["pos"]), kept)


def _drawn(before: State, after: State) -> int | None:
    """Count the words drawn from ``before`` to ``after``; None if it can't be told."""
    if before[0] != after[0] or before[0] not in _REPLAYS:
        return None
    draw, key = _REPLAYS[before[0]](before)
    position, total = before[2], 0
    for _ in range(_MOST_TWISTS):
        if key() == after[1] and after[2] >= position:
            return int(total + after[2] - position)
        # One word more than are left: that one makes the next array of words.
        count = _WORDS - position + 1
        draw(count)
        position, total = 1, total + count
    return None


Replay = tuple[Callable[[int], Any], Callable[[], Any]]
"""Draws so many words; returns the array of words as it is then."""


def _replay_python(state: State) -> Replay:
    source = random.Random()  # noqa: S311 - it repeats what was drawn
    source.setstate((3, (*state[1], state[2]), None))
    return lambda count: source.getrandbits(32 * count), lambda: source.getstate()[1][:-1]


def _replay_numpy(state: State) -> Replay:
    numpy: Any = sys.modules["numpy"]
    source = numpy.random.MT19937()
    key = numpy.frombuffer(state[1], dtype=numpy.uint32)
    source.state = {"bit_generator": _TWISTER, "state": {"key": key, "pos": state[2]}}

    def key_now() -> bytes:
        return bytes(source.state["state"]["key"].tobytes())

    return source.random_raw, key_now


_REPLAYS: dict[str, Callable[[State], Replay]] = {
    "python 3": _replay_python,
    f"numpy {_TWISTER}": _replay_numpy,
}
