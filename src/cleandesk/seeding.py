"""Random numbers by name: seeding/1.

Every random choice is drawn from a stream that is named, never from one shared
sequence, so that a draw added in one place moves nothing anywhere else (law 9).
The numbers come from SHA-256 in counter mode and therefore are the same in every
Python version, on every machine and in every thread order.

Source: docs/spec/seeding-1.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")
_TWO_53 = float(1 << 53)


def derive(seed: int, *names: str | int) -> int:
    """Return the 64-bit number that ``seed`` and ``names`` stand for.

    Args:
        seed: The episode's seed, any integer.
        names: The path of the stream, such as ``("task", "refund", "order")``.
            The number 1 and the text "1" are different names.

    Source:
        docs/spec/seeding-1.md, section 2.
    """
    return int.from_bytes(key(seed, *names)[:8], "big")


def stream(seed: int, *names: str | int) -> Stream:
    """Return the stream of ``seed`` and ``names``, at its beginning."""
    return Stream(key(seed, *names))


def key(seed: int, *names: str | int) -> bytes:
    """Return the 32 bytes from which ``Stream`` makes the stream of these names.

    For handing a stream to another process without handing it the seed.
    """
    parts = [f"i{seed}"]
    parts += [f"i{name}" if isinstance(name, int) else f"s{name}" for name in names]
    # Each part carries its length, so that ("ab", "c") and ("a", "bc") differ.
    framed = b"".join(
        len(raw).to_bytes(4, "big") + raw
        for raw in (part.encode("utf-8", "surrogatepass") for part in parts)
    )
    return hashlib.sha256(b"cleandesk seeding/1" + framed).digest()


class Stream:
    """A named sequence of random numbers; drawing from one never moves another."""

    __slots__ = ("_block", "_counter", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._counter = 0
        self._block: list[int] = []

    def bits(self) -> int:
        """Return the next 64 random bits."""
        if not self._block:
            digest = hashlib.sha256(self._key + self._counter.to_bytes(8, "big")).digest()
            self._counter += 1
            self._block = [int.from_bytes(digest[at : at + 8], "big") for at in (24, 16, 8, 0)]
        return self._block.pop()

    def random(self) -> float:
        """Return a float in [0, 1) with 53 random bits."""
        return (self.bits() >> 11) / _TWO_53

    def uniform(self, low: float, high: float) -> float:
        """Return a float in [low, high)."""
        return low + (high - low) * self.random()

    def integer(self, low: int, high: int) -> int:
        """Return an integer in [low, high], each equally likely.

        Raises:
            ValueError: ``high`` is below ``low``.
        """
        span = high - low + 1
        if span < 1:
            raise ValueError(f"no integer lies in [{low}, {high}]")
        words = (span.bit_length() + 63) // 64
        top = 1 << (64 * words)
        limit = top - top % span
        while True:
            value = 0
            for _ in range(words):
                value = value << 64 | self.bits()
            # Values beyond the last whole multiple would favour small results.
            if value < limit:
                return low + value % span

    def choice(self, items: Sequence[T]) -> T:
        """Return one of ``items``, each equally likely."""
        return items[self.integer(0, len(items) - 1)]

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        """Return ``size`` different places of ``items``, in random order.

        Raises:
            ValueError: ``items`` holds fewer than ``size``.
        """
        if size > len(items):
            raise ValueError(f"cannot draw {size} of {len(items)} items")
        pool = list(items)
        for place in range(size):
            other = self.integer(place, len(pool) - 1)
            pool[place], pool[other] = pool[other], pool[place]
        return pool[:size]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Put ``items`` in random order, in place."""
        items[:] = self.sample(items, len(items))

    def normal(self, mean: float = 0.0, deviation: float = 1.0) -> float:
        """Return a draw of the normal distribution (Box and Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        return mean + deviation * radius * math.cos(math.tau * self.random())
