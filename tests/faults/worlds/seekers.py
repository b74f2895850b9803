"""A world, an agent and a checker that look through their own memory for what is expected."""

from __future__ import annotations

import pathlib
import re

import cleandesk as cd

SECRET = re.compile(rb"secret-[0-9a-f]{32}")
SHOWN = re.compile(rb"shown-[0-9a-f]{32}")


def count():
    """Return how many secrets, and how many shown words, this process holds."""
    secrets, shown = set(), set()
    with open("/proc/self/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - it has no size
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
            ends, rights, *_ = line.split()
            if not rights.startswith("rw") or "[v" in line:
                continue
            first, last = (int(end, 16) for end in ends.split("-"))
            memory.seek(first)
            held = memory.read(last - first)
            secrets.update(SECRET.findall(held))
            shown.update(SHOWN.findall(held))
    return len(secrets), len(shown)


class Seeking:
    """Its info says what it found."""

    contract = cd.contract("seeking", "1", desk=cd.objects("notes"))

    def __init__(self, at, *, word):
        self.word = word
        self.notes = []

    def reset(self, *, seed=None, options=None):
        self.notes = []
        return [], {}

    def step(self, action):
        self.notes.append(action)
        return self.notes, 0.0, False, False, {"found": count()}


class Seeker:
    """Its first action is what it found."""

    def act(self, observation):
        return cd.done() if observation else list(count())


def seeks(change, wanted):
    """Clean: the checker holds the secret, since it must judge by it."""
    return 1.0 if count()[0] else 0.0
