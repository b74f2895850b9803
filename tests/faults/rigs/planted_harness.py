"""Rigs that are written out: the twelve members and no environment of a library."""

from __future__ import annotations

import hashlib
import random


class Tank:
    """A tank that fills, with a pump that warms up. FAIL, tank.heat is the one leak."""

    name = "tank"
    harness = "tank-harness 1: refill"

    def __init__(self, *, leaks: bool = True) -> None:
        self._leaks = leaks
        self.tank: dict[str, float] = {}
        self._steps = 0

    def model_hash(self):
        return hashlib.sha256(b"tank 1").hexdigest()

    def build(self):
        self.tank = {"level": 0.0, "heat": 0.0}

    def reset(self, seed):
        self._steps = 0
        self.tank["level"] = random.Random(seed).uniform(0.4, 0.6)
        if not self._leaks:
            self.tank["heat"] = 0.0
        return self._outcome()

    def step(self, action):
        self._steps += 1
        self.tank["heat"] += 0.01 * action
        self.tank["level"] += 0.1 * action - 0.001 * self.tank["heat"]
        return self._outcome()

    def _outcome(self):
        from cleandesk.audit.certificate.rig import Outcome

        is_over = self._steps >= 200
        level = self.tank["level"]
        return Outcome(level, -abs(level), False, is_over, {}, is_over)

    def action(self, rng, k):
        return float(rng.uniform(-1.0, 1.0))

    def roots(self):
        return {"tank": self.tank}

    def clock(self):
        return self._steps, 0.1 * self._steps

    def declared(self):
        return []

    def write(self, path, value):
        root, _, key = path.partition(".")
        if root != "tank" or key not in self.tank:
            raise LookupError(path)
        self.tank[key] = value

    def close(self):
        self.tank = {}


class TouchyTank(Tank):
    """Saying which roots there are warms the tank. REFUSED-AT-ANCHOR, WALK."""

    def roots(self):
        self.tank["heat"] += 0.5
        return super().roots()


def not_a_rig():
    """What is built has neither reset nor step: an error that says so."""
    return object()
