"""One small rig with a defect for each of the further tests, and none by default.

It is imported by its path in processes of their own; see test_certificate_checks.py.
"""

from __future__ import annotations

import datetime
import os
import random
import secrets
import time
import uuid
from pathlib import Path
from time import perf_counter as renamed
from typing import ClassVar

import numpy as np

from cleandesk.audit.certificate.rig import Outcome

MEMORY = []
STATE = Path("/tmp/planted-state")


class Planted:
    """A walk on a line; a defect adds something to its resets or steps."""

    seen: ClassVar[list] = []

    def __init__(self, defect=""):
        self.name, self.harness, self.defect = f"planted:{defect}", "reset(seed)", defect
        self.state = np.zeros(2)
        self.info = {}
        self.resets = self.steps = 0
        self.kept = []

    def model_hash(self):
        return "0" * 64

    def build(self):
        self.rng = np.random.default_rng(0)

    def reset(self, seed):
        self.rng = np.random.default_rng(seed)
        self.steps = 0
        self.resets += 1
        self.state = self.rng.normal(size=2) + RESETS.get(self.defect, nothing)(self)
        return Outcome(self._said(), info=self._info())

    def step(self, action):
        self.steps += 1
        noise = self.rng.normal(size=2) * 0.01
        self.state[:] = self.state + action + noise + STEPS.get(self.defect, nothing)(self)
        is_over = self.steps >= 30
        return Outcome(self._said(), float(self.state.sum()), is_over, False, self._info(), is_over)

    def _said(self):
        if self.defect == "alias":
            return self.state
        if self.defect == "alias below":
            return {"body": [self.state[:1]], "goal": 1}
        return self.state.copy()

    def _info(self):
        if self.defect != "alias of info":
            return {"steps": self.steps}
        self.info["steps"] = self.steps
        return self.info

    def action(self, rng, k):
        return rng.normal(size=2)

    def roots(self):
        return {"env": self}

    def clock(self):
        return self.steps, self.steps * 0.1

    def declared(self):
        return []

    def write(self, path, value):
        raise LookupError(path)

    def close(self):
        pass


def nothing(rig):
    return 0


def keep(rig):
    rig.kept.append(rig.resets)
    return 0


def seed_global(rig):
    random.seed(7)
    return 0


RESETS = {
    "environment": lambda rig: "PLANTED" in os.environ,
    "file": lambda rig: STATE.exists(),
    "first reset": lambda rig: rig.resets == 1,
    "first reset, unread": keep,
    "module global": lambda rig: len(MEMORY),
    "seeds the global stream": seed_global,
}


def wear(rig):
    Planted.seen.append(rig.steps)
    return len(Planted.seen)


def remember(rig):
    if rig.steps == 3:
        MEMORY.append(1)
    return 0


def set_variable(rig):
    os.environ["PLANTED"] = str(rig.steps)
    return 0


def write_file(rig):
    STATE.write_text(str(rig.steps))
    return 0


def print_shortly(rig):
    np.set_printoptions(precision=3)
    return 0


def import_late(rig):
    import colorsys

    return 0 * len(colorsys.__name__)


def read_clocks(rig):
    return 0 * (time.time() + renamed() + datetime.datetime.now().timestamp())  # noqa: DTZ005


def draw_entropy(rig):
    secrets.token_bytes(4)
    uuid.uuid4()
    random.SystemRandom().random()
    return 0


def be_alone(rig):
    Planted.seen = [*{*Planted.seen, id(rig)}]
    if len(Planted.seen) > 1:
        raise RuntimeError("two of us")
    return 0


STEPS = {
    "class attribute": wear,
    "clock": read_clocks,
    "entropy": draw_entropy,
    "environment": set_variable,
    "file": write_file,
    "global stream": lambda rig: 0 * np.random.random(),
    "lazy import": import_late,
    "module global": remember,
    "print options": print_shortly,
    "raises beside another": be_alone,
}
