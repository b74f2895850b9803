"""CPU and wall time: of a call here, or of a call and every process that it starts."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository; what is measured in a process of its own is started here."""

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took.

    Attributes:
        cpu: Seconds of user and system time, over all processes.
        wall: Seconds on the clock.
    """

    cpu: float
    wall: float


def adopt_orphans() -> None:
    """Make this process the parent of whatever its children leave behind.

    The kernel adds a process's time to its parent's only when the parent waits for it.
    A worker is killed while its agent and checker run; as orphans they come to us.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cost_with_children(call: Callable[[], object]) -> Cost:
    """Measure ``call``; only in a process that did ``adopt_orphans`` and has no children."""
    cpu, wall = _cpu_so_far(), time.perf_counter()
    call()
    wall = time.perf_counter() - wall
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return Cost(_cpu_so_far() - cpu, wall)


def _cpu_so_far() -> float:
    # Not os.times(): that counts in ticks of 10 ms.
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def cpu_of(call: Callable[[], object], runs: int = 5) -> float:
    """Return the least CPU seconds of ``call`` in this process over ``runs`` runs."""
    least = float("inf")
    for _ in range(runs):
        gc.collect()
        begun = time.process_time()
        held = call()
        least = min(least, time.process_time() - begun)
        del held
    return least


def wall_of(command: Sequence[str], runs: int = 10) -> float:
    """Return the least wall seconds of a command over ``runs`` runs."""
    least = float("inf")
    for _ in range(runs):
        begun = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        least = min(least, time.perf_counter() - begun)
    return least


def measured_apart(arguments: Sequence[str], *, python: str = sys.executable) -> Cost:
    """Run a script or module that measures itself, and return what it printed last."""
    done = subprocess.run(
        [python, *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    printed = json.loads(done.stdout.strip().splitlines()[-1])
    return Cost(printed["cpu"], printed["wall"])


def print_cost(cost: Cost) -> None:
    """Say what was measured to whoever started this process."""
    print(json.dumps({"cpu": cost.cpu, "wall": cost.wall}))


def cheapest(costs: Sequence[Cost]) -> Cost:
    """Return the least CPU and the least wall time: what other programs add only grows."""
    return Cost(min(cost.cpu for cost in costs), min(cost.wall for cost in costs))
