"""From sealed verdicts to a score; the same function writes a record and checks it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from cleandesk.run.blame import Blame
from cleandesk.stats import Estimate, estimate, task_bounds, unbounded


def task_of(episode: str) -> str:
    """Return the task's id of ``<task>/<seed>-<trial>``."""
    return episode.rpartition("/")[0]


def instance_of(episode: str) -> str:
    """Return ``<task>/<seed>``."""
    return episode.rpartition("-")[0]


def counted(verdicts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the verdicts without the scores of tasks that are quarantined.

    A task whose own premises failed once is broken: what its other episodes were given
    says nothing.
    """
    rows = list(verdicts)
    broken = {task_of(row["episode"]) for row in rows if row.get("blame") == Blame.TASK}
    return [
        {**row, "metric": None, "score": None} if task_of(row["episode"]) in broken else row
        for row in rows
    ]


def score_of(
    verdicts: Iterable[Mapping[str, Any]], families: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the score of a run as plain values, or None where nothing was scored.

    Args:
        verdicts: The verdict entries, each with its ``episode``.
        families: Family of each task.

    Returns:
        mean, se, low, high (all in [0, 1]), method, tasks, episodes, warnings.
    """
    rows = counted(verdicts)
    scores: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.get("score") is not None:
            scores[instance_of(row["episode"])].append(float(row["score"]))
    tasks = {task_of(row["episode"]) for row in rows if row.get("score") is not None}
    # An instance is a task with a seed; where each task has one seed, it is the task.
    is_drawn = len(scores) > len(tasks)
    is_own_family = all(families.get(task, task) == task for task in tasks)
    held = estimate(
        scores,
        families={key: families.get(task_of(f"{key}-1"), key) for key in scores},
        words=("instance" if is_drawn else "task", "task" if is_own_family else "family"),
    )
    if held is None:
        return None
    return {**_plain(held), "tasks": len(tasks)}


def metrics_of(verdicts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return each task's unbounded metric: task -> mean, se, low, high, episodes."""
    values: dict[str, list[float]] = defaultdict(list)
    for row in counted(verdicts):
        if row.get("metric") is not None:
            values[task_of(row["episode"])].append(float(row["metric"]))
    found = {}
    for task, numbers in values.items():
        held = unbounded(numbers)
        if held is not None:
            found[task] = {**_plain(held), "episodes": len(numbers)}
    return found


def bounds_of(
    verdicts: Iterable[Mapping[str, Any]], not_run: Iterable[str]
) -> tuple[float, float] | None:
    """Return where the score would lie if all that was set aside were 0, or all were 1."""
    scores: dict[str, list[float]] = defaultdict(list)
    unscored: dict[str, int] = defaultdict(int)
    for row in counted(verdicts):
        key = instance_of(row["episode"])
        if row.get("score") is not None:
            scores[key].append(float(row["score"]))
        elif row.get("metric") is None:
            unscored[key] += 1
    for episode in not_run:
        unscored[instance_of(episode)] += 1
    return task_bounds(scores, unscored) if scores else None


def classified(
    verdicts: Iterable[Mapping[str, Any]], classifications: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the verdicts with the blames that people settled afterwards.

    An episode that is classified as the agent's is a score of 0; one that is not the
    agent's stays, or is, set aside.
    """
    settled = {row["episode"]: row for row in classifications}
    rows = []
    for verdict in verdicts:
        row = dict(verdict)
        said = settled.get(row["episode"])
        if said is not None:
            row["blame"] = said["blame"]
            row["message"] = f"{row.get('message', '')} [classified: {said['why']}]"
            row["score"] = 0.0 if said["blame"] == Blame.AGENT else None
        rows.append(row)
    return rows


def _plain(held: Estimate) -> dict[str, Any]:
    return {**asdict(held), "warnings": list(held.warnings)}
