"""What a person chooses for one run, over what the suite says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cleandesk.errors import UsageError, shown

ISOLATIONS = ("fork", "spawn", "shared")
ON_WRONG_START = ("rerun", "refuse", "record")
DEFAULT_LOG_DIR = Path("runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one run; None leaves the choice to the suite.

    Attributes:
        trials: Tries at each task and seed.
        seeds: Such as ``1-10``.
        workers: Episodes that run at the same time.
        limit: Run only the first so many episodes of the plan.
        tasks: Run only these tasks.
        failed: Run only the episodes that were not a full score in this run folder.
        max_steps: The step limit of every task.
        isolation: ``fork`` (a fork of a clean process per episode), ``spawn`` (a new
            interpreter per episode) or ``shared`` (one world for many episodes).
        on_wrong_start: ``rerun``, ``refuse`` or ``record``.
        reruns: How often an episode is run again after a fault that is not the agent's.
        heads_to: File, or ``cmd:`` and a program, that takes each head as it is made.
        checker_seconds: Wall time of one question to a checker; reaching it is the
            checker's failure.
        arguments: Keyword arguments of the world's constructor, over the suite's.
        log_dir: Folder that takes the run folder.
        audit: Every how many readings of a private copy the fast path is compared with a
            full one; 0 for never, 1 for always.
        debug: Open the debugger where a world, agent or checker raises, and in the world
            of a failed episode; one worker, no time limits.
        verbose: Print every step to standard error.
    """

    trials: int | None = None
    seeds: str | None = None
    workers: int = 1
    limit: int | None = None
    tasks: Sequence[str] = ()
    failed: Path | None = None
    max_steps: int | None = None
    isolation: str | None = None
    on_wrong_start: str | None = None
    reruns: int | None = None
    heads_to: str | None = None
    checker_seconds: float = 120.0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    log_dir: Path = DEFAULT_LOG_DIR
    audit: int = 20
    debug: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        """Refuse what can't be meant.

        Raises:
            UsageError: CD-703, a number below its least, or a word that is none of those
                that there are.
        """
        least = {"trials": 1, "workers": 1, "limit": 1, "max_steps": 1, "reruns": 0, "audit": 0}
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < low):
                raise _unfit(name, value, f"give a whole number of {low} or more")
        for name, words in (("isolation", ISOLATIONS), ("on_wrong_start", ON_WRONG_START)):
            value = getattr(self, name)
            if value is not None and value not in words:
                raise _unfit(name, value, f"write one of: {', '.join(words)}")
        if not self.checker_seconds > 0:
            raise _unfit("checker_seconds", self.checker_seconds, "give a number above 0")
        if isinstance(self.tasks, str):
            raise _unfit("tasks", self.tasks, f"give a list: tasks=[{self.tasks!r}]")
        object.__setattr__(self, "log_dir", Path(self.log_dir))
        if self.failed is not None:
            object.__setattr__(self, "failed", Path(self.failed))


def _unfit(name: str, value: object, do: str) -> UsageError:
    return UsageError(
        "CD-703",
        f"{name} can't be {shown(repr(value), 60)}",
        where=f"the setting {name!r}",
        do=do,
    )
