"""What a run came to: the numbers, whose the failures were, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cleandesk.errors import shown


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of one run.

    Attributes:
        run: The run folder.
        root: The root over the plan and the accepted episodes.
        proven: Every scored start was verified, and the record verifies.
        episodes: planned, scored, unscored.
        reruns: Attempts that were run again.
        starts: verified, wrong, source, fields_read, not_read, isolation; certify: the commands
            that show whether the worlds' own resets are clean; and readings: how
            private copies were read (surface, method, fast or full) -> how often.
        score: mean, se, low, high, method, tasks, episodes; None without a score.
        bounds: Where the mean would lie if all that was set aside were 0, or 1.
        metrics: Unbounded metrics by task.
        blames: One row for each failure: episode, blame, code, message.
        notes: What the worlds said of actions: episode, step, action_error.
        by_task: Task -> episodes, scored, steps, and its own mean, low and high.
        seeds: The seeds, sorted.
        max_steps: The step limit, or a list where tasks differ.
        warnings: What a reader must know, in sentences.
        refused: The wrong start at which the run was stopped, or None.
        same_plan: An earlier run of the same plan: its folder and root, or None.
    """

    run: Path
    root: str
    proven: bool
    episodes: Mapping[str, int]
    reruns: int
    starts: Mapping[str, Any]
    score: Mapping[str, Any] | None
    bounds: tuple[float, float] | None
    metrics: Mapping[str, Any]
    blames: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    by_task: Mapping[str, Any]
    seeds: list[int]
    max_steps: int | list[int]
    warnings: list[str] = field(default_factory=list)
    refused: Mapping[str, Any] | None = None
    same_plan: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values, as ``run --json`` prints it."""
        return {
            "blames": self.blames,
            "bounds": list(self.bounds) if self.bounds else None,
            "by_task": dict(self.by_task),
            "episodes": dict(self.episodes),
            "max_steps": self.max_steps,
            "metrics": dict(self.metrics),
            "notes": self.notes,
            "proven": self.proven,
            "refused": dict(self.refused) if self.refused else None,
            "reruns": self.reruns,
            "root": self.root,
            "run": str(self.run),
            "same_plan": dict(self.same_plan) if self.same_plan else None,
            "score": dict(self.score) if self.score else None,
            "seeds": self.seeds,
            "starts": dict(self.starts),
            "warnings": self.warnings,
        }

    def status(self, *, fail_under: float | None = None, max_unscored: int | None = None) -> int:
        """Return the exit status: 0 proven, 1 a finding, 3 undecided.

        Args:
            fail_under: A mean below it is a finding.
            max_unscored: More set aside than this is undecided.
        """
        if self.refused is not None or self.starts["wrong"]:
            return 1
        if self.score is not None and fail_under is not None and self.score["mean"] < fail_under:
            return 1
        if max_unscored is not None and self.episodes["unscored"] > max_unscored:
            return 3
        if not self.proven or (self.score is None and not self.metrics):
            return 3
        return 0


def blame_rows(results: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each failure among ``results``."""
    return [
        {
            "blame": result["outcome"]["blame"],
            "code": result["outcome"]["code"],
            "episode": result["episode"],
            "message": shown(result["outcome"]["message"], 500),
        }
        for result in results
        if result["outcome"]["blame"] is not None
    ]
