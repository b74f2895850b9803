"""The loop: what an episode and a step cost, with every start verified and all logged.

200 episodes of a world with 50 rows, of 0 and of 5 steps, and 10 of 1,000. The fixed
cost of a run, measured with a run of one episode, is taken off; the run's own end
(sealing, verifying and counting) is not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.figure import Figure, Row
from benchmarks.floors import FORKS, STEPS
from benchmarks.meter import Cost, cheapest, measured_apart
from benchmarks.suites import EPISODES, bump_suite

ISOLATIONS = ("shared", "fork")
_STEPS = 5
_LONG = 1000
_LONG_EPISODES = 10
_RUNS = 6

Costs = Mapping[tuple[str, str], Cost]


def rows() -> list[Row]:
    """Measure the loop."""
    costs = _measure()
    fork_ms = costs["floor", "fork"].cpu / FORKS * 1e3
    pipes_ms = costs["floor", "pipes"].cpu / STEPS * 1e3
    found: list[Row] = []
    for isolation in ISOLATIONS:
        took = _apart(costs[isolation, "steps"], costs[isolation, "empty"], EPISODES * _STEPS)
        found.append(_figure(f"step, {isolation}", took, pipes_ms, "bare pipes", target=0.1))
    took = _apart(costs["shared", "long"], costs["shared", "one"], _LONG * _LONG_EPISODES)
    found.append(_figure("step of 1,000, shared", took, pipes_ms, "bare pipes", target=0.1))
    for isolation, floor_ms in (("shared", 0.0), ("fork", fork_ms)):
        took = _apart(costs[isolation, "empty"], costs[isolation, "one"], EPISODES - 1)
        name = f"empty episode, {isolation}"
        found.append(_figure(name, took, fork_ms, "bare fork", target=2.0 + floor_ms))
    # Each of these has a start of its own, which the other importer builds once more.
    for isolation, forks in (("shared", 1), ("fork", 2)):
        took = _apart(costs[isolation, "seeds"], costs[isolation, "one"], EPISODES - 1)
        floor = f"{forks} bare fork{'s' * (forks > 1)}"
        found.append(_figure(f"own start, {isolation}", took, fork_ms * forks, floor))
    fixed = cheapest([costs[isolation, "one"] for isolation in ISOLATIONS])
    found.append(Figure("a run of one episode", fixed.cpu, "s", wall=fixed.wall))
    return found


def _apart(more: Cost, less: Cost, count: int) -> Cost:
    """Return the milliseconds that each of ``count`` things adds to ``less``."""
    return Cost(
        (more.cpu - less.cpu) / count * 1e3,
        (more.wall - less.wall) / count * 1e3,
    )


def _figure(
    subject: str, took: Cost, beside: float, name: str, *, target: float | None = None
) -> Figure:
    return Figure(subject, took.cpu, "ms", beside, name, target, wall=took.wall)


def _measure() -> Costs:
    """Return the cheapest cost of every kind of run, taken in turns."""
    with tempfile.TemporaryDirectory() as folder:
        empty = bump_suite(Path(folder), "empty", steps=0)
        steps = bump_suite(Path(folder), "steps", steps=_STEPS)
        seeds = bump_suite(Path(folder), "seeds", steps=0, own_starts=True)
        long = bump_suite(Path(folder), "long", steps=_LONG)
        everything = str(EPISODES)
        commands = {
            ("floor", "fork"): ["-m", "benchmarks.floors", "fork"],
            ("floor", "pipes"): ["-m", "benchmarks.floors", "pipes"],
        }
        once = ["-m", "benchmarks.once"]
        for isolation in ISOLATIONS:
            commands[isolation, "one"] = [*once, empty, isolation, "1", "1"]
            commands[isolation, "empty"] = [*once, empty, isolation, "1", everything]
            commands[isolation, "steps"] = [*once, steps, isolation, "1", everything]
            commands[isolation, "seeds"] = [*once, seeds, isolation, "1", everything]
        commands["shared", "long"] = [*once, long, "shared", "1", str(_LONG_EPISODES)]
        found = [
            {key: measured_apart(each) for key, each in commands.items()} for _ in range(_RUNS)
        ]
    return {key: cheapest([costs[key] for costs in found]) for key in commands}
