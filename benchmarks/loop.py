"""The loop: what an episode and a step cost, with every start verified and all logged.

200 episodes of a world with 50 rows, of 0 and of 5 steps. The fixed cost of a run,
measured with a run of one episode, is taken off; the run's own end (sealing, verifying
and counting) is not.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figure import Figure, Row
from benchmarks.floors import COUNT
from benchmarks.meter import cheapest, measured_apart
from benchmarks.suites import EPISODES, bump_suite

STEPS = 5
RUNS = 5
ISOLATIONS = ("shared", "fork")


def rows() -> list[Row]:
    """Measure the loop."""
    cpu = _measure()
    fork_ms = cpu["floor", "fork"] / COUNT * 1e3
    pipes_ms = cpu["floor", "pipes"] / (COUNT * 50) * 1e3
    found: list[Row] = []
    for isolation in ISOLATIONS:
        step = (cpu[isolation, "steps"] - cpu[isolation, "empty"]) / (EPISODES * STEPS) * 1e3
        found.append(Figure(f"step, {isolation}", step, "ms", pipes_ms, "bare pipes", target=0.1))
    for isolation, floor_ms in (("shared", 0.0), ("fork", fork_ms)):
        found.append(
            Figure(
                f"empty episode, {isolation}",
                _each_ms(cpu, isolation, "empty"),
                "ms",
                fork_ms,
                "bare fork",
                target=2.0 + floor_ms,
            )
        )
    # Each of these has a start of its own, built once more by the other importer.
    found += [
        Figure(
            f"empty, own start, {isolation}",
            _each_ms(cpu, isolation, "seeds"),
            "ms",
            fork_ms * forks,
            f"{forks} bare fork{'s' * (forks > 1)}",
        )
        for isolation, forks in (("shared", 1), ("fork", 2))
    ]
    fixed = [cpu[isolation, "one"] for isolation in ISOLATIONS]
    found.append(Figure("a run of one episode", min(fixed), "s"))
    return found


def _each_ms(cpu: dict[tuple[str, str], float], isolation: str, what: str) -> float:
    return (cpu[isolation, what] - cpu[isolation, "one"]) / (EPISODES - 1) * 1e3


def _measure() -> dict[tuple[str, str], float]:
    """Return the least CPU seconds of every kind of run, taken in turns."""
    with tempfile.TemporaryDirectory() as folder:
        empty = bump_suite(Path(folder), "empty", steps=0)
        steps = bump_suite(Path(folder), "steps", steps=STEPS)
        seeds = bump_suite(Path(folder), "seeds", steps=0, own_starts=True)
        everything = str(EPISODES)
        commands = {
            ("floor", "fork"): ["-m", "benchmarks.floors", "fork"],
            ("floor", "pipes"): ["-m", "benchmarks.floors", "pipes"],
        }
        for isolation in ISOLATIONS:
            once = ["-m", "benchmarks.once"]
            commands[isolation, "one"] = [*once, empty, isolation, "1", "1"]
            commands[isolation, "empty"] = [*once, empty, isolation, "1", everything]
            commands[isolation, "steps"] = [*once, steps, isolation, "1", everything]
            commands[isolation, "seeds"] = [*once, seeds, isolation, "1", everything]
        costs = [{key: measured_apart(each) for key, each in commands.items()} for _ in range(RUNS)]
    return {key: cheapest([cost[key] for cost in costs]).cpu for key in commands}
