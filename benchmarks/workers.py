"""Two workers beside one, where the world needs the processor all the time."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from pathlib import Path

from benchmarks.figure import Figure, Row
from benchmarks.meter import cheapest, measured_apart
from benchmarks.suites import busy_suite
from benchmarks.worlds import Busy

_TRIALS = 100
_STEPS = 5
_RUNS = 3


def rows() -> list[Row]:
    """Measure the wall time of both, and of two bare processes beside one."""
    walls: dict[int, list[float]] = {1: [], 2: []}
    bare: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        suite = busy_suite(Path(folder), steps=_STEPS, trials=_TRIALS)
        for _ in range(_RUNS):
            for count in (1, 2):
                command = ["-m", "benchmarks.once", suite, "fork", str(count), str(_TRIALS)]
                walls[count].append(cheapest([measured_apart(command)]).wall)
                bare[count].append(_bare(count))
    least = {count: min(found) for count, found in walls.items()}
    bound = min(bare[1]) / min(bare[2])
    return [
        Figure(
            "2 workers beside 1, wall",
            least[1] / least[2],
            "x",
            bound,
            "bare processes",
            target=1.7,
            gains=True,
        )
    ]


def _bare(count: int) -> float:
    """Return the wall time of the same counting, shared by ``count`` bare processes."""
    share = _TRIALS * _STEPS // 4 // count
    processes = [
        multiprocessing.get_context("fork").Process(target=_work, args=(core, share))
        for core in range(count)
    ]
    begun = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return time.perf_counter() - begun


def _work(core: int, steps: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[core % len(cores)]})
    world = Busy()
    for _ in range(steps):
        world.step(None)
