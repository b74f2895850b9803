"""Which code reads the clock or the system's entropy: each call is seen, none is changed.

The interpreter reports every call of a compiled function. What was imported under
another name is seen too; a call that compiled code makes by itself is not.
"""

from __future__ import annotations

import datetime
import gc
import os
import sys
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_CLOCKS = (
    "clock_gettime",
    "clock_gettime_ns",
    "gmtime",
    "localtime",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "time",
    "time_ns",
)
_FUNCTIONS: dict[int, str] = {
    **{id(getattr(time, name)): f"time.{name}" for name in _CLOCKS if hasattr(time, name)},
    id(os.urandom): "os.urandom",
    **({id(os.getrandom): "os.getrandom"} if hasattr(os, "getrandom") else {}),
}
_DATES = frozenset({"now", "utcnow", "today"})
_ENTROPY = frozenset({"os.urandom", "os.getrandom"})
_STANDARD = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_OURS = f"{os.sep}cleandesk{os.sep}"

Reads = Counter[tuple[str, str, int]]
"""(What was called, file, line) -> how often."""


@contextmanager
def watching() -> Iterator[Reads]:
    """Count the reads of this process, in all its threads, while the context is entered.

    It takes the place of whatever else profiles this process: for a throw-away fork.
    """
    found: Reads = Counter()
    sight = _Sight(found)
    # Whoever times collections reads a clock whenever one comes; that is not the rig.
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    threading.setprofile(sight.see)
    sys.setprofile(sight.see)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        gc.callbacks.extend(callbacks)


class _Sight:
    def __init__(self, found: Reads) -> None:
        self._found = found

    def see(self, frame: FrameType, event: str, about: Any) -> None:
        if event != "c_call":
            return
        name = _FUNCTIONS.get(id(about)) or _date(about)
        if name is not None:
            self._note(name, frame)

    def _note(self, name: str, frame: FrameType) -> None:
        at: FrameType | None = frame
        above = ""
        while at is not None and _is_standard(at.f_code.co_filename):
            if name in _ENTROPY:
                above = at.f_code.co_name
            at = at.f_back
        if at is None or _OURS in at.f_code.co_filename:
            return
        said = f"{name} (by {above})" if above else name
        self._found[said, at.f_code.co_filename, at.f_lineno] += 1


def _date(about: Any) -> str | None:
    name = getattr(about, "__name__", "")
    owner = getattr(about, "__self__", None)
    if name not in _DATES or not isinstance(owner, type) or not issubclass(owner, datetime.date):
        return None
    return f"{owner.__name__}.{name}"


def _is_standard(file: str) -> bool:
    if file.startswith("<"):
        return True
    return file.startswith(_STANDARD) and "site-packages" not in file


def reads_of(stages: dict[str, Callable[[], Any]]) -> list[list[Any]]:
    """Run the stages one after the other and return [stage, what, file, line, times] each."""
    rows: list[list[Any]] = []
    for stage, run in stages.items():
        with watching() as found:
            run()
        rows += [[stage, *place, times] for place, times in sorted(found.items())]
    return rows
