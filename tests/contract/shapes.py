"""Agents of every shape that is promised, all of which do the same."""

from __future__ import annotations

import asyncio
import contextlib
import random

import cleandesk as cd

ALIVE = []
ENDED = []


def choose(observation, steps):
    return {"seen": observation} if steps < 2 else cd.done({"goal": "kept", "steps": steps})


class Acts:
    def __init__(self):
        self.steps = -1

    def act(self, observation):
        self.steps += 1
        return choose(observation, self.steps)


class ActsAsynchronously(Acts):
    async def act(self, observation):
        await asyncio.sleep(0)
        return super().act(observation)


def function(observation):
    return choose(observation, len(observation) - 1)


async def asynchronous(observation):
    await asyncio.sleep(0)
    return choose(observation, len(observation) - 1)


class Plays:
    def play(self, session):
        for _ in range(2):
            session.step({"seen": session.observation})
        session.done({"goal": "kept", "steps": 2})


class PlaysAndReturns:
    def play(self, session):
        for _ in range(2):
            session.step({"seen": session.observation})
        return {"goal": "kept", "steps": 2}


class PlaysAsynchronously:
    async def play(self, session):
        for _ in range(2):
            await asyncio.sleep(0)
            session.step({"seen": session.observation})
        return cd.done({"goal": "kept", "steps": 2})


class SaysInfeasible:
    def play(self, session):
        return cd.infeasible("can't be done")


class Mutates:
    """Spoils whatever it is shown."""

    def act(self, observation):
        seen = list(observation)
        observation.clear()
        return choose(seen, len(seen) - 1)


class AsksByName:
    def start(self, goal, trial, max_steps, rng, task, tools, action_space):
        self.told = [goal, trial, max_steps, task, tools, action_space, rng.integer(0, 10**9)]

    def act(self, observation, goal):
        return cd.done([*self.told, goal])


class AsksForEverything:
    def start(self, **given):
        self.given = sorted(given)

    def act(self, observation):
        return cd.done(self.given)


class DrawsGlobally:
    def act(self, observation):
        return cd.done(random.random())


class Ticks:
    """Leaves a task of its loop running."""

    async def act(self, observation):
        async def tick():
            try:
                while True:
                    ALIVE.append(observation)
                    await asyncio.sleep(0)
            finally:
                ENDED.append(observation)

        before = len(ALIVE), len(ENDED)
        self.ticking = asyncio.ensure_future(tick())
        for _ in range(3):
            await asyncio.sleep(0)
        return cd.done(before)


class ReportsLate:
    def play(self, session):
        session.done()
        cd.report_usage(tokens=7, usd=0.5)


class Swallows:
    def play(self, session):
        while True:
            with contextlib.suppress(Exception):
                session.step("again")


class Forwards:
    """Goes on after the end that it was told of."""

    def play(self, session):
        while not session.step("again").is_over:
            pass
        session.step("once more")


class Neither:
    pass


class Demanding:
    def __init__(self, model):
        self.model = model

    def act(self, observation):
        return cd.done()


a_value = 7
