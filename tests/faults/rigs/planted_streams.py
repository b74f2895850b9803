"""Environments reset without a seed, whose streams stand where no attribute of theirs is."""

from __future__ import annotations

import random

import numpy as np

OF_MODULE = np.random.default_rng(1)


class Walker:
    """What the others are made from: it goes from where ``draw`` says, a little each step."""

    actions = (-1, 0, 1)

    def reset(self, *, seed=None):
        if seed is not None:
            self.seed(seed)
        self.place, self.t = self.draw(), 0
        return self.place, {}

    def step(self, action):
        self.place += 0.1 * action
        self.t += 1
        return self.place, -abs(self.place), False, self.t >= 20, {}

    def seed(self, seed):
        """Seed what ``draw`` draws from."""


class OfModule(Walker):
    def seed(self, seed):
        OF_MODULE.bit_generator.state = np.random.default_rng(seed).bit_generator.state

    def draw(self):
        return float(OF_MODULE.random())


class OfClosure(Walker):
    def __init__(self):
        stream = random.Random(0)
        self.seed = stream.seed
        self.draw = lambda: 2 * stream.random()


class OfEverybody(Walker):
    def seed(self, seed):
        random.seed(seed)
        np.random.seed(seed)

    def draw(self):
        return random.random() + float(np.random.random())


class NeverSeeded(Walker):
    """Its steps draw from a stream of everybody's that it never seeds."""

    def draw(self):
        return 0.0

    def step(self, action):
        said = super().step(action)
        return (said[0] + float(np.random.random()), *said[1:])
