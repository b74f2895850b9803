"""Which actions are tried: a mix that reaches contacts, limits and rest.

Drawn uniformly alone, forces average out and nothing is ever reached. So actions come in
blocks: uniform, held, from one end to the other, and null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cleandesk.bridges.rigs.parts import Choice, Part

POLICY = "mix/1: blocks of uniform, held, extreme and null actions"
"""What a profile says of it; another mix is another version."""

_BLOCKS = (("uniform", 0.45, 24), ("held", 0.2, 16), ("extreme", 0.2, 16), ("null", 0.15, 8))
_ENDS = np.cumsum([share for _, share, _ in _BLOCKS])
_FLIP = 0.25


class Excitation:
    """The actions of one actor: a function of the generator and of what it drew before."""

    def __init__(self, part: Part) -> None:
        """Draw actions of the shape of ``part``."""
        self._part = part
        self._block = "uniform"
        self._left = 0
        self._held: Any = None

    def action(self, rng: Any, k: int, mask: Any = None) -> Any:
        """Return the k-th action.

        Args:
            rng: The instrument's generator.
            k: Its number; with 0 everything begins anew.
            mask: Which numbers of a choice are allowed now, or None for all.
        """
        if k == 0 or not self._left:
            self._begin(rng)
        self._left -= 1
        return _allowed(self._part, self._next(rng), mask, rng)

    def _begin(self, rng: Any) -> None:
        place = int(np.searchsorted(_ENDS, rng.random(), side="right"))
        self._block, _, longest = _BLOCKS[min(place, len(_BLOCKS) - 1)]
        self._left = 1 + int(rng.integers(longest))
        if self._block == "held":
            self._held = self._part.uniform(rng)
        elif self._block == "extreme":
            self._held = self._part.extreme(rng)

    def _next(self, rng: Any) -> Any:
        if self._block == "uniform":
            return self._part.uniform(rng)
        if self._block == "null":
            return self._part.null()
        if self._block == "extreme" and rng.random() < _FLIP:
            self._held = self._part.extreme(rng)
        return own_copy(self._held)


def own_copy(value: Any) -> Any:
    """Return a copy of an action that an environment may write into."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: own_copy(item) for key, item in value.items()}
    if type(value) is tuple or type(value) is list:
        return type(value)(own_copy(item) for item in value)
    return value


def _allowed(part: Part, action: Any, mask: Any, rng: Any) -> Any:
    if mask is None or not isinstance(part, Choice):
        return action
    legal = np.flatnonzero(np.asarray(mask))
    if not legal.size or action - part.start in legal:
        return action
    return part.start + int(legal[int(rng.integers(legal.size))])
