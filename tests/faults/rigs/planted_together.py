"""The clean twins of all planted rigs as one rig: one certificate keeps silent for all."""

from __future__ import annotations

import inspect

import gymnasium
import numpy as np
import planted_cases
import planted_leaks
import planted_refusals
from gymnasium.spaces import Box, Discrete
from planted_pond import Pond

APART = {"Huge", "Threaded", "Property", "GlobalStream"}
"""Too slow for the table; not to be forked; clean either way; and one whose live neighbours
do disturb each other, though its reset is clean."""


def twins():
    for module in (planted_leaks, planted_cases, planted_refusals):
        for name, kind in sorted(vars(module).items()):
            is_rig = inspect.isclass(kind) and issubclass(kind, Pond)
            if is_rig and kind.__module__ == module.__name__ and name not in APART:
                yield kind(leaks=False, **({"size": 0.0} if "Jittered" in name else {}))


class Together(gymnasium.Env):
    """BIT-IDENTICAL, no field named."""

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own form

    def __init__(self) -> None:
        self.rigs = {type(rig).__name__: rig for rig in twins()}
        self.observation_space = Box(-np.inf, np.inf, (2 * len(self.rigs),), np.float64)
        self.action_space = Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        said = [rig.reset(seed=seed) for rig in self.rigs.values()]
        return np.concatenate([seen for seen, _ in said]), {}

    def step(self, action):
        said = [rig.step(action) for rig in self.rigs.values()]
        seen = np.concatenate([each[0] for each in said])
        return seen, float(sum(each[1] for each in said)), False, said[0][3], {}

    def close(self):
        for rig in self.rigs.values():
            rig.close()
