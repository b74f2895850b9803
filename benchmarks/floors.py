"""The bare floors of the loop: a fork, and the messages of one step.

python -m benchmarks.floors fork|pipes
"""

from __future__ import annotations

import gc
import os
import sys

# As large as an importer of the measured world: a fork copies what a process maps.
import benchmarks.worlds  # noqa: F401
import cleandesk.worlds.importer  # noqa: F401
from benchmarks.meter import cost_with_children, print_cost

FORKS = 200
STEPS = 10_000
_MESSAGE = b"x" * 60


def main() -> None:
    """Measure the named floor many times over and print the cost of all."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    gc.collect()
    gc.freeze()
    print_cost(cost_with_children({"fork": _forks, "pipes": _steps}[sys.argv[1]]))


def _forks() -> None:
    for _ in range(FORKS):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)


def _steps() -> None:
    """Pass one message to and fro with each of two processes, as a step does."""
    ends = [_echo(), _echo()]
    for _ in range(STEPS):
        for read, write in ends:
            os.write(write, _MESSAGE)
            os.read(read, 1 << 16)
    for read, write in ends:
        os.close(write)
        os.close(read)


def _echo() -> tuple[int, int]:
    (there_read, here_write), (here_read, there_write) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(here_write)
        while os.read(there_read, 1 << 16):
            os.write(there_write, _MESSAGE)
        os._exit(0)
    os.close(there_read)
    os.close(there_write)
    return here_read, here_write


if __name__ == "__main__":
    main()
