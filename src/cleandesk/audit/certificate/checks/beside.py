"""A rig with a neighbour of its own kind in the same process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cleandesk.audit.certificate.rig import Declared, Outcome, Rig


def beside(rig: Rig, neighbour: Rig, rng: Sequence[int], seed: int) -> Rig:
    """Return ``rig``, before each step and reset of which ``neighbour`` takes a step.

    Args:
        rig: What is traced.
        neighbour: It is built, and runs episodes of its own without an end.
        rng: Numbers for the generator of the neighbour's actions.
        seed: That of its first episode.
    """
    return _Beside(rig, neighbour, rng, seed)


class _Beside:
    def __init__(self, rig: Rig, neighbour: Rig, rng: Sequence[int], seed: int) -> None:
        self._rig = rig
        self._neighbour = neighbour
        self._rng = np.random.default_rng(list(rng))
        self._seed = seed
        self._taken = 0
        self.name, self.harness = rig.name, rig.harness
        neighbour.reset(seed)
        self._live()

    def _live(self) -> None:
        action = self._neighbour.action(self._rng, self._taken)
        self._taken += 1
        if self._neighbour.step(action).is_over:
            self._seed += 1
            self._taken = 0
            self._neighbour.reset(self._seed)

    def prepare_reset(self, state: bytes) -> None:
        # Asked only of rigs that have it, and so of what stands before one.
        self._rig.prepare_reset(state)  # type: ignore[attr-defined]

    def reset(self, seed: int) -> Outcome:
        self._live()
        outcome = self._rig.reset(seed)
        self._live()
        return outcome

    def step(self, action: Any) -> Outcome:
        self._live()
        return self._rig.step(action)

    def action(self, rng: Any, k: int) -> Any:
        return self._rig.action(rng, k)

    def model_hash(self) -> str:
        return self._rig.model_hash()

    def build(self) -> None:
        self._rig.build()

    def roots(self) -> Mapping[str, object]:
        return self._rig.roots()

    def clock(self) -> tuple[int, float]:
        return self._rig.clock()

    def declared(self) -> Sequence[Declared]:
        return self._rig.declared()

    def write(self, path: str, value: Any) -> None:
        self._rig.write(path, value)

    def close(self) -> None:
        self._neighbour.close()
        self._rig.close()
