"""What a set of scores says about the agent, with how sure one can be.

The task is the unit: the trials of a task are averaged first, then the tasks.
Where tasks come from fewer families, the family is the unit of the uncertainty.
This module does not compare two agents, and it does not decide what is scored.

Laws (tests/laws/test_stats_laws.py): an interval lies in [0, 1] and holds the
mean; names and order change nothing; trials that only repeat a task's first
one never make the interval narrower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cleandesk.errors import UsageError, shown
from cleandesk.stats.intervals import clustered_se, normal_quantile, student_quantile, wilson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FEW_TASKS = 5  # below: counts say more than a percentage
FEW_CLUSTERS = 10  # below: the spread between clusters is itself badly known
NO_SPREAD = 1e-12  # equal task means such as 1/3 leave rounding of about 1e-17, never 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its uncertainty and what it rests on.

    Attributes:
        mean: Mean of the task means (each task weighs the same), in [0, 1] for scores.
        se: Standard error of the mean, for tasks like these. 0.0 when nothing
            varied: then a warning says so, and the interval is the uncertainty.
        low: Lower end of the interval.
        high: Upper end of the interval.
        method: How the interval was made, in words that a report prints.
        tasks: Tasks with at least one score.
        episodes: Scores in all.
        warnings: What a reader must know before using the numbers, in sentences.
    """

    mean: float
    se: float
    low: float
    high: float
    method: str
    tasks: int
    episodes: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sample:
    """Scores sorted into what is averaged (units) and what varies together (clusters).

    Attributes:
        clusters: The units' means, cluster by cluster; one unit per cluster unless families count.
        unit: What a cluster is: "task", "family", or "trial" (of the only task).
        tasks: How many tasks have a score.
        episodes: How many scores there are.
        binary: Whether every score is 0 or 1.
        only: The single family that all tasks come from, where there is one.
        words: What a task and a family are called.
    """

    clusters: tuple[tuple[float, ...], ...]
    unit: str
    tasks: int
    episodes: int
    binary: bool
    only: str | None = None
    words: tuple[str, str] = ("task", "family")

    @property
    def units(self) -> tuple[float, ...]:
        return tuple(mean for cluster in self.clusters for mean in cluster)

    @property
    def independent(self) -> bool:
        """Whether each score stands for itself: no task repeated, no family shared."""
        return len(self.clusters) == self.episodes


def estimate(
    scores: Mapping[str, Sequence[float]],
    *,
    families: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    words: tuple[str, str] = ("task", "family"),
) -> Estimate | None:
    """Return the mean score with the interval that fits the shape of the scores.

    - Each task once, all 0 or 1: "wilson".
    - Tasks repeated, all 0 or 1: "clustered wilson", Wilson at the effective
      number of episodes, shrunk for the few degrees of freedom.
    - Scores in between: "t on task means", cut to [0, 1].
    - No spread between tasks: "wilson (no spread)", on the number of tasks.
    - One task: "wilson (one task, its trials)" or "t (one task, its trials)".
    - Fewer families than tasks: the same with families as clusters, and
      "(by family)" behind the name.

    Args:
        scores: Each task's scores in [0, 1], one a trial; a task without scores is left out.
        families: The family of each task; a task that is not named is its own family.
        confidence: Share of such intervals that hold the true mean, in (0, 1).
        words: What the caller calls a task and a family, for methods and warnings.

    Returns:
        The estimate, or None when no task has a score.

    Raises:
        UsageError: ``CD-890``, a score that is not a number in [0, 1]; ``CD-891``, the confidence.
    """
    scored = {task: _checked(task, values) for task, values in scores.items() if len(values)}
    if not scored:
        return None
    return _estimated(replace(_sample(scored, families or {}), words=words), scored, confidence)


def _estimated(
    sample: _Sample, scored: Mapping[str, tuple[float, ...]], confidence: float
) -> Estimate:
    mean = math.fsum(sample.units) / len(sample.units)
    se = _standard_error(sample, mean)
    low, high, method = _interval(sample, mean, se, confidence)
    return Estimate(
        mean=mean,
        se=se,
        low=max(0.0, min(low, mean)),
        high=min(1.0, max(high, mean)),
        method=method,
        tasks=sample.tasks,
        episodes=sample.episodes,
        warnings=(
            *_size_warnings(sample),
            *_spread_warnings(sample, scored, se),
            *(["the interval reached past the scale and was cut"] if low < 0 or high > 1 else []),
        ),
    )


def unbounded(values: Sequence[float], *, confidence: float = 0.95) -> Estimate | None:
    """Return the mean of a metric that is not a score, with Student's t interval.

    Args:
        values: One value a task (the mean of its trials), finite, in the metric's own unit.
        confidence: Share of such intervals that hold the true mean, in (0, 1).

    Returns:
        An estimate whose numbers may lie anywhere, or None without values. One
        value has no spread to go by: its ``se``, ``low`` and ``high`` are infinite.

    Raises:
        UsageError: ``CD-890``, a value that is not finite; ``CD-891``, the confidence.
    """
    count = len(values)
    if not count:
        return None
    for value in values:
        if not math.isfinite(value):
            raise _not_a_score(value, "unbounded", "a finite number")
    mean = math.fsum(values) / count
    se = clustered_se([(value,) for value in values]) if count > 1 else math.inf
    half = student_quantile(confidence, max(1, count - 1)) * se
    warnings = []
    if count == 1:
        warnings.append("one value has no spread: nothing is known about the uncertainty")
    elif count < FEW_CLUSTERS:
        warnings.append(f"fewer than {FEW_CLUSTERS} tasks ({count}): the interval is rough")
    if se == 0:
        warnings.append("every value is the same: an SE of 0 is not the uncertainty")
    return Estimate(
        mean, se, mean - half, mean + half, "t, unbounded metric", count, count, tuple(warnings)
    )


def bounds(mean: float, scored: int, unscored: int) -> tuple[float, float]:
    """Return where the mean would lie if all that is unscored were 0, and if all were 1.

    Right when every scored episode weighs the same. Where some tasks lost more
    trials than others, the mean of task means moves further: use ``task_bounds``.

    Args:
        mean: The mean of what was scored, in [0, 1].
        scored: How many were scored.
        unscored: How many were set aside.

    Returns:
        ``(low, high)``; (0, 1) when nothing was scored.

    Raises:
        UsageError: ``CD-890``, a mean outside [0, 1]; ``CD-891``, a negative count.
    """
    if not _between_0_and_1(mean):
        raise _not_a_score(mean, "bounds", "a mean from 0 to 1")
    _require_count(scored, "scored")
    _require_count(unscored, "unscored")
    if not scored:
        return 0.0, 1.0
    planned = scored + unscored
    low = mean * (scored / planned)
    return low, min(1.0, max(mean, low + unscored / planned))


def task_bounds(
    scores: Mapping[str, Sequence[float]], unscored: Mapping[str, int]
) -> tuple[float, float]:
    """Return the bounds of the mean of task means, task by task.

    Args:
        scores: Each task's scores in [0, 1], one a trial.
        unscored: How many of a task's trials were set aside; also for tasks without a score.

    Returns:
        ``(low, high)``: the mean of task means with every unscored trial at 0, and
        at 1; (0, 1) when there is no trial at all.

    Raises:
        UsageError: ``CD-890``, a score that is not a number in [0, 1]; ``CD-891``, a negative count.
    """
    lows, highs = [], []
    for task in (*scores, *(task for task in unscored if task not in scores)):
        values, lost = _checked(task, scores.get(task, ())), unscored.get(task, 0)
        _require_count(lost, f"unscored of task {shown(task)}")
        planned = len(values) + lost
        if planned:
            lows.append(math.fsum(values) / planned)
            highs.append(math.fsum((*values, lost)) / planned)
    if not lows:
        return 0.0, 1.0
    return math.fsum(lows) / len(lows), math.fsum(highs) / len(highs)


def _checked(task: str, values: Sequence[float]) -> tuple[float, ...]:
    for value in values:
        if not _between_0_and_1(value):
            raise _not_a_score(value, f"task {shown(task)}", "a score from 0 to 1")
    return tuple(float(value) for value in values)


def _between_0_and_1(value: float) -> bool:
    try:
        return 0 <= value <= 1  # false for NaN
    except TypeError:  # None or a text read from a file: typed callers never get here
        return False


def _not_a_score(value: object, where: str, wanted: str) -> UsageError:
    return UsageError(
        "CD-890",
        f"{shown(value)} is not {wanted}",
        where=where,
        do="leave out what was not scored, and map metrics to [0, 1] or use unbounded()",
    )


def _require_count(count: int, where: str) -> None:
    if count < 0:
        raise UsageError(
            "CD-891",
            f"a count of {shown(count)} is below 0",
            where=where,
            do="give the number of episodes, 0 or more",
        )


def _sample(scored: Mapping[str, tuple[float, ...]], families: Mapping[str, str]) -> _Sample:
    episodes = sum(map(len, scored.values()))
    binary = all(value in (0, 1) for values in scored.values() for value in values)
    if len(scored) == 1:
        (trials,) = scored.values()
        return _Sample(tuple((value,) for value in trials), "trial", 1, episodes, binary)
    means = {task: math.fsum(values) / len(values) for task, values in scored.items()}
    # Tagged keys: a family that is named like a lonely task must not swallow it.
    groups: dict[tuple[str, str], list[float]] = {}
    for task, mean in means.items():
        key = ("family", families[task]) if task in families else ("task", task)
        groups.setdefault(key, []).append(mean)
    if 1 < len(groups) < len(means):
        clusters = tuple(map(tuple, groups.values()))
        return _Sample(clusters, "family", len(means), episodes, binary)
    only = next(iter(groups))[1] if len(groups) == 1 else None
    clusters = tuple((mean,) for mean in means.values())
    return _Sample(clusters, "task", len(means), episodes, binary, only)


def _standard_error(sample: _Sample, mean: float) -> float:
    if len(sample.clusters) == 1:
        # One trial of one task: what a coin with this mean would do, for want of any spread.
        return math.sqrt(mean * (1 - mean))
    if sample.binary and sample.independent:
        return math.sqrt(mean * (1 - mean) / sample.episodes)
    se = clustered_se(sample.clusters)
    return se if se > NO_SPREAD else 0.0


def _interval(
    sample: _Sample, mean: float, se: float, confidence: float
) -> tuple[float, float, str]:
    count = len(sample.clusters)
    task, family = sample.words
    behind = {"trial": f" (one {task}, its trials)", "family": f" (by {family})"}.get(
        sample.unit, ""
    )
    if sample.episodes == 1 or (sample.binary and sample.independent):
        name = "wilson" if sample.episodes == 1 else f"wilson{behind}"
        return *wilson(math.fsum(sample.units), count, confidence=confidence), name
    if se == 0:
        # Clusters that all agree say nothing about their spread, and reruns of them add nothing.
        name = f"wilson{behind}" if sample.unit == "trial" else f"wilson (no spread){behind}"
        return *wilson(mean * count, count, confidence=confidence), name
    t = student_quantile(confidence, count - 1)
    if sample.binary:
        z = normal_quantile(confidence)
        effective = min(sample.episodes, mean * (1 - mean) / se**2) * (z / t) ** 2
        ends = wilson(mean * effective, effective, confidence=confidence)
        return *ends, f"clustered wilson{behind}"
    name = f"t{behind}" if sample.unit == "trial" else f"t on {task} means{behind}"
    return mean - t * se, mean + t * se, name


def _plural(sample: _Sample) -> str:
    task, family = sample.words
    word = {"task": task, "family": family}.get(sample.unit, sample.unit)
    return "families" if word == "family" else f"{word}s"


def _size_warnings(sample: _Sample) -> list[str]:
    found = []
    task, family = sample.words
    if sample.unit == "trial" and sample.episodes > 1:
        found.append(f"one {task}: this speaks of this {task} only, not of {task}s like it")
    if sample.only is not None:
        found.append(f"one {family} ({shown(sample.only)}): this speaks of this {family} only")
    if sample.tasks < FEW_TASKS:
        found.append(
            f"fewer than {FEW_TASKS} {task}s ({sample.tasks}): give counts, not a percentage"
        )
    elif len(sample.clusters) < FEW_CLUSTERS:
        kind = _plural(sample)
        found.append(
            f"fewer than {FEW_CLUSTERS} {kind} ({len(sample.clusters)}): the interval is rough"
        )
    return found


def _spread_warnings(
    sample: _Sample, scored: Mapping[str, tuple[float, ...]], se: float
) -> list[str]:
    found = []
    if se == 0 and len(sample.clusters) == 1:
        found.append("one score has no spread: an SE of 0 is not the uncertainty")
    elif se == 0:
        kind = _plural(sample)
        found.append(
            f"no spread between {kind}: an SE of 0 is not the uncertainty, "
            f"the interval is Wilson's on {len(sample.clusters)} {kind}"
        )
    repeated = [values for values in scored.values() if len(values) > 1]
    if sample.tasks > 1 and repeated and all(len(set(values)) == 1 for values in repeated):
        found.append(
            f"every {sample.words[0]}'s trials agree: repeating them added nothing to the interval"
        )
    return found
