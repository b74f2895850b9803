"""A body in a pond: the clean environment that every planted rig is made from.

A rig is a class of these modules, so it is pointed at as ``planted_leaks.py:WarmStart``.
Each takes ``leaks``: with False it is its own clean twin, the same code with the reset
done right. Each docstring says what a certificate must say of it.
"""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Pond(gymnasium.Env):
    """Clean. BIT-IDENTICAL, no field named."""

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own form

    def __init__(self, *, leaks: bool = True, horizon: int = 200) -> None:
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = Discrete(3)
        self.leaks = leaks
        self.horizon = horizon
        self.place = self.speed = 0.0
        self.t = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if not self.leaks:
            self.forget()
        self.place = float(self.np_random.uniform(-0.05, 0.05))
        self.speed = 0.0
        self.t = 0
        return self.seen(), self.told()

    def step(self, action):
        self.t += 1
        self.speed = 0.9 * self.speed + 0.1 * (int(action) - 1) + self.push()
        self.place += 0.1 * self.speed
        return self.seen(), -abs(self.place), False, self.t >= self.horizon, self.told()

    def forget(self) -> None:
        """What the reset of a leaky rig omits."""

    def push(self) -> float:
        """What a rig adds to the speed in each step."""
        return 0.0

    def seen(self):
        return np.array([self.place, self.speed])

    def told(self):
        return {}
