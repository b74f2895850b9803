"""Another time for one process: shifted by a constant, or standing still.

Python's own clocks are changed where they are made, below every name that a module may
have imported them by. ``time-machine`` does that for the wall clock; the clocks that
only run forward are changed here. Compiled code that asks the system is not reached.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OFFSET_S = 34_585_991.618
"""About 400 days and a part of a day: another year, weekday, hour and second."""

STANDING_AT = 1_786_543_211.25
"""Where a frozen clock stands unless it is said: one instant for every device."""

_RUNNING = ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_WALL = ("time", "time_ns")
_NO_ARGUMENTS = 4
_PATIENCE = 100_000
_NUDGE_NS = 1_000_000
_COMPILED = "clock: compiled code that asks the system for the time sees the machine's"
_NO_DATES = "clock: datetime.now and time.localtime see the machine's time (time-machine is absent)"
_NO_RUNNING = "clock: this interpreter's clocks can't be changed; time.monotonic runs as it is"


@dataclass(frozen=True, slots=True)
class Changed:
    """A clock that was changed.

    Attributes:
        gaps: What does not see the changed time.
        undo: Puts it back.
    """

    gaps: tuple[str, ...]
    undo: Callable[[], None]


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


class _Function(ctypes.Structure):
    """The head of CPython's PyCFunctionObject."""

    _fields_ = (
        ("count", ctypes.c_ssize_t),
        ("kind", ctypes.c_void_p),
        ("method", ctypes.POINTER(_Method)),
    )


_Code = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)


def shift(seconds: float = OFFSET_S) -> Changed:
    """Let this process see a time that is ``seconds`` ahead; it goes on from there.

    All clocks move by a constant, so what waits or measures is not disturbed.
    """
    ahead_ns = round(seconds * 1_000_000_000)

    def ahead(before: Callable[[], int]) -> Callable[[], int]:
        return lambda: before() + ahead_ns

    return _change(time.time() + seconds, ahead, ticks=True)


def freeze(at: float = STANDING_AT) -> Changed:
    """Let time stand still for this process; for throw-away trials only.

    Whoever waits for the time to pass would wait for ever: after many looks in a row
    the running clocks begin to move.
    """
    at_ns = round(at * 1_000_000_000)

    def still(before: Callable[[], int]) -> Callable[[], int]:
        del before
        return _Standing(at_ns).now

    return _change(at, still, ticks=False)


class _Standing:
    def __init__(self, at_ns: int) -> None:
        self._at_ns = at_ns
        self._looks = 0

    def now(self) -> int:
        self._looks += 1
        return self._at_ns + max(0, self._looks - _PATIENCE) * _NUDGE_NS


def _change(
    to: float, how: Callable[[Callable[[], int]], Callable[[], int]], *, ticks: bool
) -> Changed:
    undo: list[Callable[[], None]] = []
    gaps = [_COMPILED]
    machine = _time_machine()
    names = _RUNNING if machine is not None else (*_RUNNING, *_WALL)
    if machine is None:
        gaps.append(_NO_DATES)
    if all(map(_is_known, names)):
        undo += [_replace(name, how(_in_ns(name))) for name in names]
    else:
        gaps.append(_NO_RUNNING)
    if machine is not None:
        travel = machine.travel(to, tick=ticks)
        travel.start()
        undo.append(travel.stop)

    def back() -> None:
        for each in reversed(undo):
            each()

    return Changed(tuple(gaps), back)


def _time_machine() -> Any:
    """Import time-machine, without what it would load for tests; None if it is absent."""
    absent = [name for name in ("pytest", "dateutil.parser") if name not in sys.modules]
    try:
        for name in absent:
            # Importing them would cost a device a hundred times what it needs.
            sys.modules[name] = None  # type: ignore[assignment]
        return importlib.import_module("time_machine")
    except ImportError:
        return None
    finally:
        for name in absent:
            sys.modules.pop(name, None)


def _method(name: str) -> _Method:
    found: _Method = _Function.from_address(id(getattr(time, name))).method.contents
    return found


def _is_known(name: str) -> bool:
    """Tell whether a clock is laid out as we think; nothing is written otherwise."""
    function = getattr(time, name, None)
    if sys.implementation.name != "cpython" or type(function) is not type(len):
        return False
    if hasattr(sys, "getobjects") or object.__basicsize__ != 2 * ctypes.sizeof(ctypes.c_void_p):
        return False
    method = _method(name)
    return bool(method.name == name.encode() and method.flags == _NO_ARGUMENTS)


def _in_ns(name: str) -> Callable[[], int]:
    """Return the machine's own clock, in nanoseconds, whatever is done to its name."""
    code = _Code(_method(name.removesuffix("_ns") + "_ns").code)
    return lambda: int(code(None, None))


def _replace(name: str, now_ns: Callable[[], int]) -> Callable[[], None]:
    method = _method(name)
    if name.endswith("_ns"):
        code = _Code(lambda _self, _none: now_ns())
    else:
        code = _Code(lambda _self, _none: now_ns() / 1_000_000_000)
    before = method.code
    # It must live as long as it may be called, and something may always still call it.
    _KEPT.append(code)
    method.code = ctypes.cast(code, ctypes.c_void_p).value

    def undo() -> None:
        method.code = before

    return undo


_KEPT: list[Any] = []
