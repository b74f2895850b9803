"""The demo: a leak that changes a score, the same leak caught, and a real run proven.

The calendar's figures: one agent, twenty tries, four scores. The reset and the checker
each have an honest and a lying form; only one of the four scores is the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.certificate import Certificate
from cleandesk.audit.certificate.certify import certify
from cleandesk.audit.certificate.spelling import to_json
from cleandesk.audit.states import read_state
from cleandesk.log import find_episode, iter_verdicts, read_episode
from cleandesk.run.conduct import run
from cleandesk.run.result import RunResult
from cleandesk.verdict import Status

JOB, JOB_AND_DAMAGE, OTHER, NOTHING = (
    "did the job",
    "did the job and deleted Gym",
    "did something else",
    "changed nothing",
)

_CHECKERS = {"reads what changed": "calendar", "looks for the event": "calendar-looks"}
_DENTIST = {"day": "Fri", "hour": 15, "title": "Dentist"}


@dataclass(frozen=True, slots=True)
class Row:
    """One of the four scores.

    Attributes:
        reset: ``reset`` or ``keep the last world``.
        checker: What the checker does.
        result: The run.
        passes: Tries that the checker passed.
        false_passes: Of these, what the same tries did in a clean world.
        false_passes_here: Of these, what they did in this run.
        false_fails: Tries that failed and do the job in a clean world.
    """

    reset: str
    checker: str
    result: RunResult
    passes: int
    false_passes: Mapping[str, int]
    false_passes_here: Mapping[str, int]
    false_fails: int


ENDINGS = (
    "the three are deleted",
    "all 53 are deleted",
    "one more is deleted",
    "one amount is changed",
    "one of the three is left",
)
"""What the scripted agent does on the five trials of the expense task, in order."""

RESETS = ("gym:LunarLander-v3", "gym:BipedalWalker-v3")
"""Both hold a world of one engine: the first makes a new one in its reset, the other keeps it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """One ending of the expense task, judged two ways.

    Attributes:
        deed: What the agent did.
        left: Rows in the table at the end, of 53.
        whole: The score by the checker that reads the whole change.
        targets: The score by the checker that looks at the named rows only.
    """

    deed: str
    left: int
    whole: float
    targets: float


@dataclass(slots=True)
class Demo:
    """Everything that the demo showed.

    Attributes:
        rows: The four scores.
        refused: The leaking world under its contract.
        endings: The five endings of the expense task, on a real database.
        expenses: The two runs that they come from: whole change, targets only.
        cached: The program whose cache outlived its reset.
        resets: Certificates of published environments, clean and not.
        real: Agent -> the run over published environments.
    """

    rows: list[Row] = field(default_factory=list)
    refused: RunResult | None = None
    endings: list[Ending] = field(default_factory=list)
    expenses: list[RunResult] = field(default_factory=list)
    cached: RunResult | None = None
    resets: list[Certificate] = field(default_factory=list)
    real: dict[str, RunResult] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "cached": self.cached.to_json() if self.cached else None,
            "expenses": [
                {
                    "deed": row.deed,
                    "left": row.left,
                    "targets": row.targets,
                    "whole": row.whole,
                }
                for row in self.endings
            ],
            "four_scores": [
                {
                    "checker": row.checker,
                    "false_fails": row.false_fails,
                    "false_passes": dict(row.false_passes),
                    "false_passes_here": dict(row.false_passes_here),
                    "passes": row.passes,
                    "proven": row.result.proven,
                    "reset": row.reset,
                    "root": row.result.root,
                    "run": str(row.result.run),
                    "score": dict(row.result.score or {}),
                }
                for row in self.rows
            ],
            "real": {agent: result.to_json() for agent, result in self.real.items()},
            "refused": self.refused.to_json() if self.refused else None,
            "resets": [to_json(certificate) for certificate in self.resets],
        }

    def status(self) -> int:
        """Return the exit status: 0 where each leak was seen and the real runs are proven."""
        leaks = (self.refused, self.cached)
        is_seen = all(leak is not None and leak.refused is not None for leak in leaks)
        is_seen &= [each.status for each in self.resets] == [Status.PASS, Status.FAIL]
        return max([0 if is_seen else 1, *(result.status() for result in self.real.values())])


Watch = Callable[[], AbstractContextManager[Any]]


def demo(
    log_dir: str | Path = "runs",
    *,
    workers: int = 2,
    on_part: Callable[[str, Demo], None] | None = None,
    watch: Watch | None = None,
) -> Demo:
    """Run the demo; everything in it is a real run whose record is kept.

    Args:
        log_dir: Folder that takes the run folders.
        workers: Episodes that run at the same time.
        on_part: Called after each part with its name (scores, refused, endings, cached,
            resets, real) and what is known so far.
        watch: Makes a progress display with ``begin`` and ``advance``.

    Raises:
        CleandeskError: A run can't be made, such as without the ``gym`` extra.
    """
    shown = Demo()
    tell = on_part or (lambda _name, _shown: None)
    shown.rows = _four_scores(Path(log_dir))
    tell("scores", shown)
    shown.refused = _leaking("calendar", {"reset": "keep"}, Path(log_dir))
    tell("refused", shown)
    shown.expenses = [
        run(suite, "scripted", log_dir=Path(log_dir)) for suite in ("expenses", "expenses-targets")
    ]
    shown.endings = _endings(*(result.run for result in shown.expenses))
    tell("endings", shown)
    shown.cached = _leaking("stock", {"cache": "keep"}, Path(log_dir))
    tell("cached", shown)
    shown.resets = [certify(reference) for reference in RESETS]
    tell("resets", shown)
    for agent in ("random", "scripted"):
        shown.real[agent] = _watched(agent, Path(log_dir), workers, watch)
    tell("real", shown)
    return shown


def _leaking(suite: str, arguments: Mapping[str, Any], log_dir: Path) -> RunResult:
    """Run a world that leaks on purpose; it is refused where its contract sees the leak."""
    return run(
        suite,
        "scripted",
        arguments=arguments,
        isolation="shared",
        on_wrong_start="refuse",
        log_dir=log_dir,
    )


def _watched(agent: str, log_dir: Path, workers: int, watch: Watch | None) -> RunResult:
    if watch is None:
        return run("gymnasium", agent, workers=workers, log_dir=log_dir)
    with watch() as progress:
        return run(
            "gymnasium",
            agent,
            workers=workers,
            log_dir=log_dir,
            on_plan=progress.begin,
            on_result=progress.advance,
        )


def _four_scores(log_dir: Path) -> list[Row]:
    rows: list[Row] = []
    truth: dict[str, str] = {}
    for reset in ("clean", "keep"):
        for checker, suite in _CHECKERS.items():
            result = run(
                suite,
                "scripted",
                arguments={"reset": reset},
                isolation="fork" if reset == "clean" else "shared",
                # The two leaky scores are made knowingly, and stay unproven.
                on_wrong_start="rerun" if reset == "clean" else "record",
                log_dir=log_dir,
            )
            truth = truth or deeds(result.run)
            rows.append(_row(reset, checker, result, truth))
    return rows


def _row(reset: str, checker: str, result: RunResult, truth: Mapping[str, str]) -> Row:
    passed = {episode for episode, entry in iter_verdicts(result.run) if entry["score"] == 1}
    here = deeds(result.run)
    return Row(
        "reset" if reset == "clean" else "keep the last world",
        checker,
        result,
        len(passed),
        Counter(truth[episode] for episode in sorted(passed) if truth[episode] != JOB),
        Counter(here[episode] for episode in sorted(passed) if here[episode] != JOB),
        sum(deed == JOB for episode, deed in truth.items() if episode not in passed),
    )


def _endings(whole: Path, targets: Path) -> list[Ending]:
    scores = [
        {episode: entry["score"] for episode, entry in iter_verdicts(folder)}
        for folder in (whole, targets)
    ]
    return [
        Ending(deed, _rows_left(whole, episode), scores[0][episode], scores[1][episode])
        for deed, episode in zip(ENDINGS, scores[0], strict=True)
    ]


def _rows_left(folder: Path, episode: str) -> int:
    return len(read_state(f"{folder}:{episode}@end").tree()["db"]["expense"])


def deeds(folder: Path) -> dict[str, str]:
    """Return what each try of a calendar run did, read from its recorded change."""
    return {
        episode: _deed(read_episode(find_episode(folder, episode)))
        for episode, _ in iter_verdicts(folder)
    }


def _deed(entries: list[dict[str, Any]]) -> str:
    changes = next(entry["changes"] for entry in entries if entry["kind"] == "end")
    events = [change for change in changes if change["path"][0] == "events"]
    added = [change["after"] for change in events if change["op"] == "added"]
    has_removed = any(change["op"] == "removed" for change in events)
    if not events:
        return NOTHING
    if added == [_DENTIST]:
        return JOB_AND_DAMAGE if has_removed else JOB
    return OTHER
