"""The end of a run: the record sealed and verified, and the result counted from it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cleandesk.errors import CleandeskError
from cleandesk.log import RunFolder, seal, verify_run, write_json_atomically
from cleandesk.run.anchor import INDEPENDENT
from cleandesk.run.blame import Blame
from cleandesk.run.intake import Outcome
from cleandesk.run.outcomes import Result
from cleandesk.run.prepare import Prepared
from cleandesk.run.result import RunResult, blame_rows
from cleandesk.run.scores import bounds_of, counted, metrics_of, score_of, task_of
from cleandesk.verdict import Status


def close_run(prepared: Prepared, folder: Path, outcome: Outcome, begun: datetime) -> RunResult:
    """Seal the record, verify it, and count.

    Args:
        prepared: What was planned.
        folder: The run folder.
        outcome: What became of the episodes.
        begun: When the first episode began.

    Raises:
        LogError: The record can't be written.
    """
    order = [item.episode for item in prepared.planned if item.episode in outcome.accepted]
    accepted = [outcome.accepted[episode] for episode in order]
    reruns = sorted(outcome.reruns, key=lambda row: (row["episode"], row["attempt"]))
    root = seal(folder, prepared.plan_hash, _rows(accepted), _rows(reruns))
    verdicts = [{"episode": result["episode"], **result["outcome"]} for result in accepted]
    families = {item.instance.task_id: item.instance.family for item in prepared.planned}
    score = None if outcome.refused is not None else score_of(verdicts, families)
    write_json_atomically(RunFolder(folder).record, _record(prepared, outcome, score, begun))
    is_sealed = verify_run(folder, root).status is Status.PASS
    rows = counted(verdicts)
    scored = [row for row in rows if row["score"] is not None]
    measured = [row for row in rows if row["metric"] is not None]
    counting = scored + measured
    is_proven = is_sealed and bool(counting) and all(row["proven"] for row in counting)
    return RunResult(
        run=folder,
        root=root,
        proven=is_proven and outcome.refused is None,
        episodes={
            "planned": len(prepared.planned),
            "scored": len(scored),
            "unscored": len(prepared.planned) - len(counting),
        },
        reruns=len(outcome.reruns),
        starts=_starts(prepared, outcome),
        score=score,
        bounds=bounds_of(verdicts, outcome.not_run) if score else None,
        metrics=metrics_of(verdicts),
        blames=blame_rows([*accepted, *outcome.reruns]),
        notes=[note for result in accepted for note in result["notes"]],
        by_task=_by_task(accepted, rows),
        seeds=sorted({item.instance.seed for item in prepared.planned}),
        max_steps=_one_or_all({item.instance.limits.steps for item in prepared.planned}),
        warnings=_warnings(prepared, outcome, score),
        refused=_refusal(outcome),
        same_plan=_same_plan(prepared, folder),
    )


def _rows(results: Sequence[Result]) -> list[tuple[str, str, int, str]]:
    return [(row["episode"], row["head"], row["entries"], row["file"]) for row in results]


def _record(
    prepared: Prepared, outcome: Outcome, score: Mapping[str, Any] | None, begun: datetime
) -> dict[str, Any]:
    """record/1: what happened around the run; beside the proof."""
    ended = datetime.now(UTC)
    results = [*outcome.accepted.values(), *outcome.reruns]
    return {
        "begun": begun.isoformat(),
        "cores": os.cpu_count(),
        "details": {
            f"{row['episode']}#{row['attempt']}": row["outcome"]["detail"]
            for row in results
            if row["outcome"].get("detail")
        },
        "ended": ended.isoformat(),
        "format": "record/1",
        "host": platform.node(),
        "not_run": outcome.not_run,
        "platform": platform.platform(),
        "python": sys.version,
        "readings": _readings(outcome),
        "reruns": [
            {
                "attempt": row["attempt"],
                "blame": row["outcome"]["blame"],
                "code": row["outcome"]["code"],
                "episode": row["episode"],
                "seconds": row["seconds"],
                "usage": row["usage"],
            }
            for row in outcome.reruns
        ],
        "score": dict(score) if score else None,
        "seconds": {row["episode"]: row["seconds"] for row in outcome.accepted.values()},
        "usage": {row["episode"]: row["usage"] for row in outcome.accepted.values()},
        "workers": prepared.choices.workers,
    }


def _starts(prepared: Prepared, outcome: Outcome) -> dict[str, Any]:
    starts = [
        result["start"]
        for result in [*outcome.accepted.values(), *outcome.reruns]
        if result["start"] is not None and "source" in result["start"]
    ]
    return {
        "certify": _certifying(prepared),
        "fields_read": sum(start["fields_read"] for start in starts),
        "isolation": prepared.choices.isolation,
        "not_read": sorted({name for start in starts for name in start["not_read"]}),
        "readings": _readings(outcome),
        "source": INDEPENDENT,
        "verified": sum(start["verified"] for start in starts),
        "wrong": sum(not start["verified"] for start in starts),
    }


def _certifying(prepared: Prepared) -> list[str]:
    """Return the commands that would show whether the worlds' own resets are clean (law 15)."""
    worlds = {
        (item.instance.world or "", json.dumps(item.instance.with_)) for item in prepared.planned
    }
    return [
        _command(name, json.loads(given), prepared.suite.folder) for name, given in sorted(worlds)
    ]


def _command(world: str, given: Mapping[str, Any], folder: Path) -> str:
    file, _, name = world.rpartition(":")
    if file.endswith(".py") and not Path(file).is_absolute() and (folder / file).exists():
        # As the suite writes it: from the suite's folder on.
        world = f"{os.path.relpath(folder / file)}:{name}"
    words = ["cleandesk", "certify", world]
    # Of a bridge alone: how often it resets is a way of resetting.
    if given.get("unseeded_resets"):
        words += ["--reset", "unseeded"]
    kept = {key: value for key, value in given.items() if key != "unseeded_resets"}
    for key, value in sorted(kept.items()):
        words += ["-T", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return shlex.join(words)


def _readings(outcome: Outcome) -> dict[str, int]:
    """Count how the private copies were read: fast or in full, and why."""
    total: Counter[str] = Counter()
    for result in [*outcome.accepted.values(), *outcome.reruns]:
        # An attempt whose worker is gone took its count with it.
        total.update(result.get("readings", {}))
    return dict(sorted(total.items()))


def _by_task(accepted: Sequence[Result], counting: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Count by task; each mean with its own interval (law 12)."""
    rows: dict[str, dict[str, Any]] = {}
    verdicts: dict[str, list[dict[str, Any]]] = {}
    for result, verdict in zip(accepted, counting, strict=True):
        task, score = task_of(result["episode"]), verdict["score"]
        row = rows.setdefault(task, {"episodes": 0, "scored": 0, "steps": 0})
        row["episodes"] += 1
        row["scored"] += score is not None
        row["steps"] += result["steps"]
        verdicts.setdefault(task, []).append({"episode": result["episode"], "score": score})
    for task, row in rows.items():
        held = score_of(verdicts[task], {}) or {}
        row |= {name: held.get(name) for name in ("high", "low", "mean")}
    return rows


def _one_or_all(values: set[int]) -> int | list[int]:
    return next(iter(values)) if len(values) == 1 else sorted(values)


def _warnings(prepared: Prepared, outcome: Outcome, score: Mapping[str, Any] | None) -> list[str]:
    warnings = list(score["warnings"]) if score else []
    blocked = sorted({host for row in outcome.accepted.values() for host in row["blocked"]})
    if blocked:
        warnings.append(f"blocked connections: {', '.join(blocked)}")
    broken = sorted(
        {
            task_of(episode)
            for episode, row in outcome.accepted.items()
            if row["outcome"]["blame"] == Blame.TASK
        }
    )
    if broken:
        warnings.append(f"quarantined, and in no score: {', '.join(broken)}")
    summing = _unpaid_tasks(prepared, outcome)
    if summing:
        warnings.append(
            f"CD-752 every step reward of {', '.join(summing)} was 0 in every episode: if that "
            "world pays only at the end, summing its rewards gives 0 whatever the agent does"
        )
    may_change = sorted(
        {item.instance.task_id for item in prepared.planned if item.instance.spec["may_change"]}
    )
    if may_change:
        warnings.append(f"may change under you: {', '.join(may_change)}")
    return warnings


def _unpaid_tasks(prepared: Prepared, outcome: Outcome) -> list[str]:
    """Return the tasks that sum rewards and never saw one (seed 001's trap)."""
    paid = {
        task_of(episode) for episode, row in outcome.accepted.items() if not row["pays_nothing"]
    }
    played = {task_of(episode) for episode, row in outcome.accepted.items() if row["steps"]}
    return sorted((prepared.summing & played) - paid)


def _refusal(outcome: Outcome) -> dict[str, Any] | None:
    if outcome.refused is None:
        return None
    return {
        "episode": outcome.refused["episode"],
        "fields": (outcome.refused["start"] or {}).get("fields", []),
        "message": outcome.refused["outcome"]["message"],
    }


def _same_plan(prepared: Prepared, folder: Path) -> dict[str, str] | None:
    """Find an earlier run of this plan: law 7 says that its root must be the same."""
    pattern = f"*-{prepared.plan_hash[:8]}*"
    for other in sorted(prepared.settings.log_dir.glob(pattern), reverse=True):
        held = RunFolder(other)
        if other == folder or not held.root.is_file():
            continue
        with contextlib.suppress(OSError, ValueError, KeyError, CleandeskError):
            sealed = json.loads(held.root.read_bytes())
            if sealed["plan"] == prepared.plan_hash:
                return {"root": sealed["root"], "run": str(other)}
    return None
