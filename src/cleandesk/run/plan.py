"""plan/1: what a run is, written down and hashed before its first episode.

The plan's hash is the first link of every episode's chain, so a log can't be moved to
another run. Host, times and the number of workers are not in it: they are not what the
run is (law 7).
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

from cleandesk.errors import UsageError, shown
from cleandesk.log import RunFolder, iter_verdicts
from cleandesk.run.settings import Settings
from cleandesk.state import encode
from cleandesk.tasks import Instance, Suite, Task, fill, parse_seeds
from cleandesk.tasks.draws import Ask
from cleandesk.worlds.network import NOT_SEEN

Asking = Callable[[str], Ask | None]
_PACKAGES = ("cleandesk", "apsw", "psycopg", "gymnasium", "minigrid", "mujoco", "Box2D", "numpy")


@dataclass(frozen=True, slots=True)
class Planned:
    """One episode that is to be run.

    Attributes:
        episode: ``<task>/<seed>-<trial>``.
        instance: The task with its seed.
        trial: Which try, from 1.
    """

    episode: str
    instance: Instance
    trial: int

    @property
    def start(self) -> tuple[str, int]:
        """What shares an expected start: task and seed."""
        return self.instance.task_id, self.instance.seed


@dataclass(frozen=True, slots=True)
class Choices:
    """The settings with the suite's answers and the defaults filled in."""

    checker_seconds: float
    isolation: str
    on_wrong_start: str
    reruns: int
    trials: int
    workers: int


def choose(suite: Suite, settings: Settings) -> Choices:
    """Fill in what neither the suite nor the settings say."""
    trials = settings.trials if settings.trials is not None else suite.trials
    reruns = settings.reruns if settings.reruns is not None else suite.reruns
    return Choices(
        checker_seconds=float(settings.checker_seconds),
        isolation=settings.isolation or suite.isolation or "fork",
        on_wrong_start=settings.on_wrong_start or suite.on_wrong_start or "rerun",
        reruns=2 if reruns is None else reruns,
        trials=trials,
        workers=1 if settings.debug else settings.workers,
    )


def plan_episodes(
    suite: Suite, settings: Settings, choices: Choices, asking: Asking = lambda _world: None
) -> list[Planned]:
    """Return the episodes of the run, in the plan's order: task, seed, trial.

    Args:
        suite: The suite.
        settings: What a person chose.
        choices: What shapes the run.
        asking: World -> a function that asks its bases, for draws from state.

    Raises:
        UsageError: CD-704, no episode is left by the settings, or a task is unknown.
        SuiteError: CD-410 to CD-415, a task can't be filled for a seed.
    """
    tasks = chosen_tasks(suite, settings)
    wanted = _failed_episodes(settings)
    planned = [
        item
        for task in tasks
        for item in _of_task(task, settings, choices, asking(task.world or ""))
        if wanted is None or item.episode in wanted
    ]
    planned = planned[: settings.limit] if settings.limit is not None else planned
    if not planned:
        raise UsageError(
            "CD-704",
            "no episode is left to run",
            where=f"suite {suite.name!r}",
            do="loosen --task, --seeds, --limit or --failed",
        )
    return planned


def chosen_tasks(suite: Suite, settings: Settings) -> list[Task]:
    """Return the tasks that are to be run.

    Raises:
        UsageError: CD-704, the suite has no task of a name that was given.
    """
    known = {task.id for task in suite.tasks}
    unknown = [name for name in settings.tasks if name not in known]
    if unknown:
        raise UsageError(
            "CD-704",
            f"the suite has no task {unknown[0]!r}",
            where=f"suite {suite.name!r}",
            do=f"it has: {', '.join(sorted(known)[:10])}",
        )
    return [task for task in suite.tasks if not settings.tasks or task.id in settings.tasks]


def _of_task(
    task: Task, settings: Settings, choices: Choices, ask: Ask | None
) -> Iterator[Planned]:
    if settings.max_steps is not None:
        task = replace(task, limits=replace(task.limits, steps=settings.max_steps))
    seeds = task.seeds
    if settings.seeds is not None:
        seeds = parse_seeds(settings.seeds, where="--seeds")
    for seed in seeds:
        instance = fill(task, seed, ask)
        for trial in range(1, choices.trials + 1):
            yield Planned(f"{task.id}/{seed}-{trial}", instance, trial)


def _failed_episodes(settings: Settings) -> set[str] | None:
    if settings.failed is None:
        return None
    if not RunFolder(settings.failed).plan.is_file():
        raise UsageError(
            "CD-703",
            f"{shown(settings.failed)} is no run folder",
            where="--failed",
            do="give the folder that an earlier run printed",
        )
    verdicts = iter_verdicts(settings.failed)
    return {episode for episode, entry in verdicts if entry.get("score") != 1.0}


def describe_plan(
    suite: Suite,
    planned: Sequence[Planned],
    choices: Choices,
    found: Mapping[str, Any],
) -> bytes:
    """Return the bytes of plan.json.

    Args:
        suite: The suite.
        planned: The episodes.
        choices: The settings that shape the run.
        found: ``agent`` (reference and digest), ``checkers`` and ``worlds`` as they
            were loaded.

    Source:
        docs/spec/plan-1.md.
    """
    instances = {item.start: item.instance for item in planned}
    steps = sorted({instance.limits.steps for instance in instances.values()})
    plan = {
        "agent": found["agent"],
        "checker_seconds": choices.checker_seconds,
        "checkers": found["checkers"],
        "episodes": [item.episode for item in planned],
        "format": "plan/1",
        "isolation": choices.isolation,
        "max_steps": steps,
        "network": {
            "not_seen": NOT_SEEN,
            **{name: list(hosts) for name, hosts in suite.network.items()},
        },
        "on_wrong_start": choices.on_wrong_start,
        "reruns": choices.reruns,
        "suite": {"digest": suite.digest, "name": suite.name, "version": suite.version},
        "tasks": [_described(instance) for instance in instances.values()],
        "trials": choices.trials,
        "versions": _versions(),
        "worlds": found["worlds"],
    }
    return encode(plan) + b"\n"


def _described(instance: Instance) -> dict[str, Any]:
    return {
        "family": instance.family,
        "id": instance.task_id,
        "limits": instance.limits.to_plain(),
        "params_sha256": instance.params_sha256,
        "seed": instance.seed,
        "with": instance.with_,
        "world": instance.world,
    }


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
