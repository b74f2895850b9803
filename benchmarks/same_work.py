"""The same work in Inspect AI: 200 samples of 5 tool calls on a counter and 50 rows.

Measured around the call that runs everything (theirs: ``eval``; ours: ``run``), not
around the imports of the program that calls; ours counts all processes that it starts,
with what these import. Theirs does not verify starts, read the change or chain its
log: the same task, not the same proof.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.figure import Figure, Missing, Row
from benchmarks.meter import Cost, cheapest, measured_apart
from benchmarks.peers.environment import peers_program
from benchmarks.suites import EPISODES, bump_suite

_STEPS = 5
_RUNS = 3
_PEER = Path(__file__).with_name("peers") / "inspect_task.py"
_OURS = ("shared", "fork")

Costs = Mapping[tuple[str, int], Cost]


def rows() -> list[Row]:
    """Measure both in turns, for all episodes and for one."""
    python = peers_program("python")
    if python is None or peers_program("inspect") is None:
        return [Missing("200 x 5 beside Inspect AI", "not installed")]
    costs = _measure(str(python))
    return [*_whole(costs), *_each(costs)]


def _measure(python: str) -> Costs:
    found: dict[tuple[str, int], list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        suite = bump_suite(Path(folder), "same", steps=_STEPS)
        for count in (1, EPISODES) * _RUNS:
            peer = [str(_PEER), str(count), str(_STEPS), folder]
            found.setdefault(("inspect", count), []).append(measured_apart(peer, python=python))
            for isolation in _OURS:
                ours = ["-m", "benchmarks.once", suite, isolation, "1", str(count)]
                found.setdefault((isolation, count), []).append(measured_apart(ours))
    return {key: cheapest(costs) for key, costs in found.items()}


def _whole(costs: Costs) -> list[Row]:
    peer = costs["inspect", EPISODES].cpu
    return [
        Figure(
            f"200 x 5, {isolation}",
            costs[isolation, EPISODES].cpu,
            "s",
            peer,
            "Inspect AI",
            target=10,
            bound="ratio",
            wall=costs[isolation, EPISODES].wall,
        )
        for isolation in _OURS
    ]


def _each(costs: Costs) -> list[Row]:
    """Return what each episode after the first one costs."""
    each_ms = {
        name: (costs[name, EPISODES].cpu - costs[name, 1].cpu) / (EPISODES - 1) * 1e3
        for name in ("inspect", *_OURS)
    }
    return [
        Figure(
            f"each more episode, {isolation}",
            each_ms[isolation],
            "ms",
            each_ms["inspect"],
            "Inspect AI",
            bound="ratio",
        )
        for isolation in _OURS
    ]
