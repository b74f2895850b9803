"""A world that fails in the way that it is told to, and is clean where it is told nothing."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
import threading

import cleandesk as cd


class Unreadable:
    """Something that canon/1 has no spelling for."""

    __slots__ = ()


class Failing:
    """``fails`` names what goes wrong: a method, and how."""

    contract = cd.contract("failing", "1", desk=cd.objects("rows", "extra"))

    def __init__(self, at, *, fails="", pids=""):
        self.at, self.fails, self.pids = at, fails, pids
        self.rows, self.extra = [], {}
        self.happens("build raises")

    def happens(self, what):
        if self.fails != what:
            return
        method, how = what.split(" ", 1)
        if how == "raises":
            raise ValueError(f"planted in {method}")
        if how == "ends":
            os._exit(7)
        if how == "exits":
            sys.exit(3)
        if how == "hangs":
            self.note(os.getpid())
            for own in (False, True):
                child = subprocess.Popen(["sleep", "600"], start_new_session=own)
                self.note(child.pid)
            threading.Event().wait()

    def note(self, pid):
        with pathlib.Path(self.pids).open("a") as file:
            file.write(f"{pid}\n")

    def reset(self, *, seed=None, options=None):
        for how in ("raises", "ends", "exits", "hangs"):
            self.happens(f"reset {how}")
        self.rows, self.extra = ["first"], {}
        if self.fails == f"seed {seed} differs":
            self.rows = ["other"]
        if self.fails == "reset holds what can't be read":
            self.extra = {"deep": [1, {"down": Unreadable()}]}
        if self.fails == "reset returns an observation alone":
            return self.rows
        return self.rows, {}

    def step(self, action):
        for how in ("raises", "ends", "exits", "hangs"):
            self.happens(f"step {how}")
        fault = self.at.disturbed("step", action=action)
        self.rows.append(fault or action)
        if self.fails == "step holds what can't be read":
            self.extra = {"late": Unreadable()}
        if self.fails == "step shows what can't be sent":
            return [Unreadable()], 0.0, False, False, {}
        if self.fails == "step returns four values":
            return self.rows, 0.0, False, {}
        if self.fails == "step returns no info":
            return self.rows, 0.0, False, False, None
        if self.fails == "step pays a word":
            return self.rows, "much", False, False, {}
        return self.rows, 0.0, False, False, {}

    def close(self):
        self.happens("close hangs")
        self.happens("close raises")

    def fill(self, *, row):
        self.rows.append(row)

    def is_full(self):
        return len(self.rows) > 1

    def is_broken(self):
        raise RuntimeError("planted in a condition")

    def observe(self):
        return ["seen after setup", *self.rows]

    def fire(self, event, **values):
        self.rows.append([event, values])


class IgnoresWhatIsNotThere(Failing):
    """Its contract names a field that no start has."""

    contract = cd.contract(
        "failing", "1", desk=cd.objects("rows", "extra", ignore={"extra.token": "random"})
    )


class Reaching(Failing):
    """Connects to ``port`` of this machine in each step; it may hide that it could not."""

    def __init__(self, at, *, port, hides=False):
        super().__init__(at)
        self.port, self.hides = port, hides

    def step(self, action):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            if not self.hides:
                raise
        return super().step(action)
