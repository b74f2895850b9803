"""The worlds and agents that the measurements run."""

from __future__ import annotations

import os
import signal
from typing import Any

from cleandesk.agents.answers import Done, done
from cleandesk.state.contract import contract
from cleandesk.surfaces.objects import objects

Outcome = tuple[dict[str, int], float, bool, bool, dict[str, Any]]


def _reap() -> None:
    """Count the CPU time of ended children as this process's own.

    The importer lets the kernel drop its ended children, and with them the time that
    they used. A measurement needs that time, so it takes the children itself.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


# The importer imports this module, so each of its forks is preceded by this.
os.register_at_fork(before=_reap)


class Rows:
    """A counter and 50 small rows; a step adds one to the counter.

    Attributes:
        count: Steps since the reset.
        rows: 50 rows by number, different for each seed.
    """

    contract = contract("rows", "1", desk=objects("count", "rows"))
    pays = "end"

    def __init__(self) -> None:
        """Build nothing: all is made at the reset."""
        self.count = 0
        self.rows: dict[str, dict[str, Any]] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, int], dict[str, Any]]:
        """Build the rows anew."""
        del options
        self.count = 0
        text = f"{seed or 0:x>20}"
        self.rows = {str(number): {"id": number, "v": text} for number in range(50)}
        return {"count": 0}, {}

    def step(self, action: Any) -> Outcome:
        """Add one."""
        del action
        self.count += 1
        return {"count": self.count}, 0.0, False, False, {}


class Busy:
    """A world that needs the processor: a step counts for a while in pure Python.

    Attributes:
        count: Steps since the reset.
    """

    contract = contract("busy", "1", desk=objects("count"))
    pays = "end"

    def __init__(self, *, turns: int = 300_000) -> None:
        """Take how long a step counts; 300,000 turns are some 20 ms."""
        self._turns = turns
        self.count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, int], dict[str, Any]]:
        """Begin at 0."""
        del seed, options
        self.count = 0
        return {"count": 0}, {}

    def step(self, action: Any) -> Outcome:
        """Count, and add one."""
        del action
        left = self._turns
        while left:
            left -= 1
        self.count += 1
        return {"count": self.count}, 0.0, False, False, {}


class Bump:
    """An agent that bumps as often as its task is named for, then says that it is done."""

    def start(self, task: str) -> None:
        """Read the number of steps from the task's name, such as ``bump-5``."""
        self._left = int(task.rpartition("-")[2])

    def act(self, observation: Any) -> dict[str, str] | Done:
        """Bump once more, or say done."""
        del observation
        if not self._left:
            return done()
        self._left -= 1
        return {"do": "bump"}
