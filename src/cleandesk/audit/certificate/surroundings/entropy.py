"""The system's entropy, held equal: who draws it, and does the difference go away?

What is reached: generators of numpy that nobody seeded, ``os.urandom``, and what rests on
it (``secrets``, ``uuid4``, ``random.SystemRandom``). A ``random.Random()`` without a seed
is made by compiled code and keeps its own.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import random
import sys
from collections.abc import Iterator
from pathlib import PurePath
from types import FrameType
from typing import Any

import numpy as np

_MOST = 64
_INNER = ("numpy", "gymnasium", "gym", "random.py", "secrets.py", "uuid.py")


class Drawn:
    """What was drawn from the system while this was at work.

    Attributes:
        draws: Per place: (what drew, ``file:line``, the line's text).
        owners: The spaces that made themselves a generator.
    """

    def __init__(self) -> None:
        self.draws: dict[tuple[str, str, str], int] = {}
        self.owners: list[object] = []
        self._count = 0

    def bytes(self, size: int) -> bytes:
        """Return as many bytes as were asked for: the same in every process."""
        data = b""
        while len(data) < size:
            self._count += 1
            data += hashlib.sha256(b"entropy %d" % self._count).digest()
        return data[:size]

    def note(self, what: str, frame: FrameType | None) -> None:
        """Note who asks."""
        for each in _frames(frame):
            owner = each.f_locals.get("self")
            if _is_space(owner) and not any(owner is held for held in self.owners):
                self.owners.append(owner)
        outer = next((each for each in _frames(frame) if not _is_inner(each)), None)
        if outer is None or len(self.draws) >= _MOST:
            return
        file, line = outer.f_code.co_filename, outer.f_lineno
        where = "/".join(PurePath(file).parts[-3:])
        key = (what, f"{where}:{line}", linecache.getline(file, line).strip())
        self.draws[key] = self.draws.get(key, 0) + 1


class _Held:
    """What is at work in this process."""

    drawn: Drawn | None = None


def hold_entropy() -> None:
    """Give every process the same entropy from now on; for a process that is thrown away."""
    drawn = _Held.drawn = Drawn()

    def urandom(size: int) -> bytes:
        drawn.note("os.urandom", sys._getframe(1))
        return drawn.bytes(size)

    def randbits(count: int) -> int:
        drawn.note("a generator without a seed", sys._getframe(1))
        return int.from_bytes(drawn.bytes((count + 7) // 8)) >> (-count % 8)

    os.urandom = urandom
    random._urandom = urandom  # type: ignore[attr-defined]
    # What numpy seeds a generator with that was given no seed.
    np.random.bit_generator.randbits = randbits  # type: ignore[attr-defined]


def drawn() -> Drawn | None:
    """Return what was drawn, or None where nothing is held."""
    return _Held.drawn


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_inner(frame: FrameType) -> bool:
    parts = PurePath(frame.f_code.co_filename).parts
    return any(name in parts for name in _INNER) or "<" in frame.f_code.co_filename


def _is_space(value: Any) -> bool:
    spaces: Any = sys.modules.get("gymnasium.spaces")
    return spaces is not None and isinstance(value, spaces.Space)
