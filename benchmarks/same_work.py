"""The same work in Inspect AI: 200 samples of 5 tool calls on a counter and 50 rows.

Measured around the call that runs everything (theirs: ``eval``; ours: ``run``), not
around the imports of the program that calls; ours counts all processes that it starts.
Theirs does not verify starts, read the change or chain its log: the same task, not
the same proof.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figure import Figure, Missing, Row
from benchmarks.meter import Cost, cheapest, measured_apart
from benchmarks.peers.environment import peers_program
from benchmarks.suites import EPISODES, bump_suite

_STEPS = 5
_RUNS = 3
_PEER = Path(__file__).with_name("peers") / "inspect_task.py"


def rows() -> list[Row]:
    """Measure both in turns."""
    python = peers_program("python")
    if python is None or peers_program("inspect") is None:
        return [Missing("200 x 5 beside Inspect AI", "not installed")]
    costs: dict[str, list[Cost]] = {"shared": [], "fork": [], "inspect": []}
    with tempfile.TemporaryDirectory() as folder:
        suite = bump_suite(Path(folder), "same", steps=_STEPS)
        peer = [str(_PEER), str(EPISODES), str(_STEPS), folder]
        for _ in range(_RUNS):
            costs["inspect"].append(measured_apart(peer, python=str(python)))
            for isolation in ("shared", "fork"):
                ours = ["-m", "benchmarks.once", suite, isolation, "1", str(EPISODES)]
                costs[isolation].append(measured_apart(ours))
    least = {name: cheapest(found) for name, found in costs.items()}
    return [
        Figure(
            f"200 x 5, CPU, {isolation}",
            least[isolation].cpu,
            "s",
            least["inspect"].cpu,
            "Inspect AI",
            target=10,
            bound="ratio",
            wall=least[isolation].wall,
        )
        for isolation in ("shared", "fork")
    ]
