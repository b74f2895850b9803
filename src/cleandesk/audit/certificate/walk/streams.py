"""How generators of random numbers are walked: their whole state is one token.

The value of the leaf is what the generator's own setter takes, so that a state can be put
back in place, under every path that the generator has.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.packing import atom_bytes, plain_bytes
from cleandesk.audit.certificate.walk.paths import joined
from cleandesk.audit.certificate.walk.plans import is_a
from cleandesk.audit.certificate.walk.walker import Opener, Walker

SPAWNED = "n_children_spawned"
"""The segment at which it stands how many streams were spawned from a generator."""


def opener_of(kind: type) -> Opener | None:
    """Return how values of ``kind`` are recorded, or None if it is no generator."""
    for base, opener in _OPENERS:
        if base in kind.__mro__:
            return opener
    return None


def put_back(stream: Any, leaf: Leaf) -> bool:
    """Give a generator the state of a leaf; False where it is no generator that can."""
    if is_a(stream, np.random.Generator):
        stream.bit_generator.state = leaf.value
    elif is_a(stream, np.random.RandomState):
        stream.set_state(leaf.value)
    elif is_a(stream, np.random.BitGenerator):
        stream.state = leaf.value
    elif is_a(stream, random.Random) and not is_a(stream, random.SystemRandom):
        random.Random.setstate(stream, leaf.value)
    else:
        return False
    return True


def _plain(value: Any) -> Any:
    """Return a state of numpy with plain values only; its setters take lists as well."""
    if type(value) is dict:
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _token(walk: Walker, path: str, state: Any, about: str) -> None:
    data = plain_bytes(state)
    if data is None:
        data = atom_bytes(repr(state))
    walk.plain(path, data, about, Kind.TOKEN)


def _named(value: Any) -> str:
    return type(value).__name__


def _generator(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    source = value.bit_generator
    _token(walk, path, _plain(source.state), f"numpy.random.{_named(value)} {_named(source)}")
    _spawned(walk, path, source)


def _random_state(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    state = _plain(value.get_state(legacy=False))
    _token(walk, path, state, f"numpy.random.{_named(value)}")


def _source(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    _token(walk, path, _plain(value.state), f"numpy.random.{_named(value)}")
    _spawned(walk, path, value)


def _spawned(walk: Walker, path: str, source: Any) -> None:
    # What a generator was seeded with is not state once it is seeded; how many streams
    # were spawned from it decides what the next one is.
    seeds = getattr(source, "seed_seq", None)
    count = getattr(seeds, SPAWNED, None)
    if type(count) is int:
        walk.tokens[joined(path, SPAWNED)] = atom_bytes(count)


def _seeds(walk: Walker, path: str, value: Any) -> None:
    if not walk.is_known(path, value):
        _token(walk, path, _plain(value.state), "numpy.random.SeedSequence")


def _python(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    if is_a(value, random.SystemRandom):
        walk.shut(path, "random SystemRandom", value)
        return
    _token(walk, path, random.Random.getstate(value), "random.Random")


_OPENERS: tuple[tuple[type, Callable[[Walker, str, Any], None]], ...] = (
    (np.random.Generator, _generator),
    (np.random.RandomState, _random_state),
    (np.random.BitGenerator, _source),
    (np.random.SeedSequence, _seeds),
    (random.Random, _python),
)
