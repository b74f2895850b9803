"""Worlds whose start is not the declared one, each by one defect, and their clean twin.

Each is a list of notes that an agent adds to; ``seed`` names the first one.
"""

from __future__ import annotations

import os
import pathlib
import random
import sys
import time
import uuid

import cleandesk as cd

BUILT_IN = uuid.uuid4().hex
LIVES = []


class Honest:
    """The clean twin: everything is made anew in reset."""

    contract = cd.contract("notes", "1", desk=cd.objects("notes", "views", incidental=["views"]))

    def __init__(self, at):
        self.at = at
        self.notes = []
        self.views = 0

    def reset(self, *, seed=None, options=None):
        self.notes = [f"note {seed}"]
        self.views = 0
        return self.notes, {}

    def step(self, action):
        self.views += 1
        self.notes.append(action)
        return self.notes, 0.0, False, False, {}


class ShowsItsProcess(Honest):
    """Clean: its info says where it runs; that is no part of its state."""

    def reset(self, *, seed=None, options=None):
        observation, _ = super().reset(seed=seed)
        sys.stdout.write("printed by the world\n")
        return observation, {"parent": os.getppid(), "pid": os.getpid()}


class KeepsInInstance(Honest):
    """The notes of the last episode are still there."""

    def reset(self, *, seed=None, options=None):
        if not self.notes:
            self.notes = [f"note {seed}"]
        self.views = 0
        return self.notes, {}


class KeepsWhatItDraws(KeepsInInstance):
    """As the last one, and what it keeps is another thing each time."""

    def step(self, action):
        return super().step(f"{action} {random.SystemRandom().random()}")


class KeepsIncidental(Honest):
    """A view counter may change during a run; at a start it must be right."""

    def reset(self, *, seed=None, options=None):
        self.notes = [f"note {seed}"]
        return self.notes, {}


class KeepsInClass(Honest):
    """What one instance wrote, every other one has."""

    written = []  # noqa: RUF012 - the defect

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.notes += self.written
        return self.notes, {}

    def step(self, action):
        self.written.append(action)
        return super().step(action)


class CountsInModule(Honest):
    """A list of the module grows with each reset."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        LIVES.append(seed)
        self.notes.append(f"life {len(LIVES)}")
        return self.notes, {}


class DrawsFromImport(Honest):
    """Drawn once when the module is imported: another process draws another one."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.notes.append(BUILT_IN)
        return self.notes, {}


class DrawsGlobally(Honest):
    """The global generator is not seeded by reset."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.notes.append(f"draw {random.random()}")
        return self.notes, {}


class FollowsHashSeed(Honest):
    """The order of a set of texts depends on the interpreter's hash seed."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.notes += list({f"word {number}" for number in range(40)})
        return self.notes, {}


class ReadsMachineClock(Honest):
    """The machine's time, not the world's."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.notes.append(f"at {time.time_ns()}")
        return self.notes, {}


class ReadsOwnClock(Honest):
    """Clean: the world's own time is pinned, at its constructor and at each reset."""

    contract = cd.contract("notes", "1", desk=cd.objects("notes"), clock="2030-05-06T07:08:09Z")

    def __init__(self, at):
        super().__init__(at)
        self.clock = at.clock
        self.built = self.clock.now()

    def reset(self, *, seed=None, options=None):
        self.notes = [f"built {self.built}", f"now {self.clock.now()}"]
        return self.notes, {}

    def step(self, action):
        self.clock.advance(3600)
        return super().step(action)


class SettlesWhileItIsRead(Honest):
    """In the process of the runs its first reading shows what no other one does."""

    @property
    def notes(self):
        if os.environ["PYTHONHASHSEED"] == "0" and sys._getframe(1).f_globals is not globals():
            return self.kept + ([] if LIVES else [LIVES.append("read") or "stale"])
        return self.kept

    @notes.setter
    def notes(self, kept):
        self.kept = kept


class KeepsOutside(Honest):
    """What was added lies in a file that no contract names, and comes back from there."""

    def __init__(self, at, path):
        super().__init__(at)
        self.path = pathlib.Path(path)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.path.exists():
            self.notes += self.path.read_text().split()
        return self.notes, {}

    def step(self, action):
        self.path.write_text("kept")
        return super().step(action)


class Declares(Honest):
    """Clean: a field that is meant to vary, within its sampler."""

    contract = cd.contract(
        "lots", "1", desk=cd.objects("notes", "price", declared={"price": "integer 1 6"})
    )
    low, high = 1, 6

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        # Not from the seed, so that two builds have two prices.
        self.price = random.SystemRandom().randint(self.low, self.high)
        return self.notes, {}


class DeclaresTooMuch(Declares):
    """The declared field holds what its sampler never gives."""

    low, high = 7, 9


def build(at, *, defect, **given):
    """Build the world that is named: one importer serves them all."""
    return globals()[defect](at, **given)
