"""Environments for guarded loops; imported by their path in other processes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import dm_env
import gymnasium
import numpy as np
from dm_env import specs
from gymnasium.wrappers import PassiveEnvChecker, TimeLimit
from pettingzoo import ParallelEnv


class Walk(gymnasium.Env):
    """A walk on a line; with ``wear`` each step leaves something that the reset forgets."""

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,))

    def __init__(self, wear=0.0, *, log=False, late=0):
        self._wear, self._late = wear, late
        self.worn = 0.0
        self.seen = 0
        self.resets = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        self.state = self.np_random.normal() + random.random() + np.random.random()
        return self._said(), {}

    def step(self, action):
        self.seen += 1
        if self.resets > self._late:
            self.worn += self._wear
        self.state += float(action[0]) + self.np_random.normal() + self.worn
        return self._said(), self.state, False, False, {}

    def _said(self):
        return np.array([self.state], np.float32)


def walk(**given):
    return TimeLimit(Walk(**given), 20)


def checked_walk(**given):
    return PassiveEnvChecker(walk(**given))


class Diary(Walk):
    """Each step writes a line, or starts a program."""

    def __init__(self, place, *, runs=False):
        super().__init__()
        self._place, self._runs = place, runs

    def step(self, action):
        if self._runs:
            subprocess.run(["/bin/true"], check=True)
        with Path(self._place).open("a") as file:
            file.write("x")
        return super().step(action)


def diary(**given):
    return TimeLimit(Diary(**given), 20)


class Pair(ParallelEnv):
    """Two walks at once, of which the second is worn out."""

    metadata = {"name": "pair_v0"}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, wear=0.1):
        self.possible_agents = ["a", "b"]
        self._wear, self.worn = wear, 0.0

    def observation_space(self, agent):
        return Walk.observation_space

    def action_space(self, agent):
        return Walk.action_space

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.steps = self.possible_agents[:], 0
        self.state = {agent: self.rng.normal() for agent in self.agents}
        return self._said(), {agent: {} for agent in self.agents}

    def step(self, actions):
        self.worn += self._wear
        self.steps += 1
        for agent in self.agents:
            self.state[agent] += float(actions[agent][0]) + self.worn
        said, is_over = self._said(), self.steps >= 20
        rewards, flags = dict(self.state), dict.fromkeys(self.agents, is_over)
        infos = {agent: {} for agent in self.agents}
        self.agents = [] if is_over else self.agents
        return said, rewards, dict.fromkeys(flags, False), flags, infos

    def _said(self):
        return {agent: np.array([self.state[agent]], np.float32) for agent in self.agents}


class Still(dm_env.Environment):
    """A walk with dm_env's interface; it knows no seed."""

    def __init__(self, wear=0.1, seed=0):
        self.rng = np.random.RandomState(seed)
        self.worn, self._wear = 0.0, wear

    def reset(self):
        self.steps, self.state = 0, self.rng.normal()
        return dm_env.restart(np.array([self.state]))

    def step(self, action):
        self.steps += 1
        self.worn += self._wear
        self.state += float(np.sum(action)) + self.worn
        said = np.array([self.state])
        over = self.steps >= 20
        return dm_env.termination(1.0, said) if over else dm_env.transition(1.0, said)

    def observation_spec(self):
        return specs.Array((1,), float)

    def action_spec(self):
        return specs.BoundedArray((1,), float, -1.0, 1.0)
