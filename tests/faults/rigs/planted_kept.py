"""Statistics that persist on purpose and are read by every observation, with and without a leak."""

from __future__ import annotations

import gymnasium as gym
import numpy as np


class Normalised(gym.Env):
    """Observations divided by a running scale; FAIL on ``env.scale``, PASS where that is kept.

    With ``leaks`` the reset forgets ``env.drift``: FAIL on it, kept scale or not.
    """

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = gym.spaces.Discrete(3)

    def __init__(self, leaks=False):
        self._leaks = leaks
        self.scale = np.ones(1)
        self.seen = {"count": 0, "by": {"low": 0, "high": 0}}
        self.drift = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.level, self.steps = self.np_random.uniform(), 0
        if not self._leaks:
            self.drift = 0.0
        return self._shown(), {}

    def step(self, action):
        self.steps += 1
        self.drift += 0.01
        self.level += 0.1 * (int(action) - 1) + self.drift
        self.scale = 0.99 * self.scale + 0.01 * abs(self.level)
        self.seen["count"] += 1
        self.seen["by"]["low" if self.level < 0 else "high"] += 1
        return self._shown(), 0.0, False, self.steps >= 40, {"count": self.seen["count"]}

    def _shown(self):
        return np.array([self.level]) / self.scale
