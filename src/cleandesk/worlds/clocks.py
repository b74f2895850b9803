"""Which time a world sees, as a declared tier, and what each tier does not reach.

===============  ===============================================================
tier             who sees the world's own time
===============  ===============================================================
``none``         nobody: ``at.clock`` alone stands still, and no surface reads it
``virtual``      whoever asks ``at.clock``
``in-process``   also Python code of the world's process (time-machine)
``libc``         also programs that the world serves (libfaketime)
===============  ===============================================================

The last two pin the time zone too, to the offset that the contract's clock is written
with. So a task that crosses midnight, or a clock change of the machine's zone, ends in
the same state wherever it runs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from cleandesk.errors import WorldError, shown

TIERS = ("none", "virtual", "in-process", "libc")

_ALWAYS = (
    "clock: times of files are the machine's",
    "clock: other machines, and servers that the world did not start, keep their own time",
)
_MONOTONIC = "clock: time.monotonic, time.perf_counter and all timeouts run on in real time"
_IN_PROCESS = (
    _MONOTONIC,
    "clock: compiled code in the world's process reads the machine's time, SQLite's 'now' included",
)
GAPS: Mapping[str, tuple[str, ...]] = {
    "none": ("clock: nothing is pinned; every program reads the machine's time", *_ALWAYS),
    "virtual": (
        "clock: whatever does not ask at.clock reads the machine's time, time.time included",
        *_ALWAYS,
    ),
    "in-process": (
        *_IN_PROCESS,
        "clock: programs that the world starts read the machine's time",
        *_ALWAYS,
    ),
    "libc": (
        *_IN_PROCESS,
        "clock: programs that do not use the C library (static ones, most of Go) and "
        "programs that the world starts without at.serve read the machine's time",
        "clock: a served program sees whole seconds",
        *_ALWAYS,
    ),
}
"""Tier -> what it does not reach (law 15)."""

_LIBRARY = "libfaketime.so.1"
_SYSTEM = (
    "/usr/lib/*/faketime",
    "/usr/lib/faketime",
    "/usr/lib64/faketime",
    "/usr/local/lib/faketime",
    "/usr/local/lib",
)


class Pinned(Protocol):
    """A tier at work, in the world's process.

    Attributes:
        tier: Its name.
        gaps: What it does not reach.
    """

    tier: str
    gaps: tuple[str, ...]

    def move(self, to: datetime) -> None:
        """Show ``to`` from now on, in whichever direction that is."""

    def environment(self) -> dict[str, str]:
        """Return the variables with which a served program sees this time."""

    def tidy(self, pid: int) -> None:
        """Remove what a served program with this process id left because of them."""

    def stop(self) -> None:
        """Show the machine's time again."""


def begin(tier: str, start: datetime, folder: Path | None = None) -> Pinned:
    """Let this process see ``start``, as far as ``tier`` reaches.

    Call it before the process's baseline is taken: the tiers from ``in-process`` on set
    the variable TZ.

    Args:
        tier: One of ``TIERS``.
        start: The time, with an offset.
        folder: Private to this world, for what served programs read; made if not given.

    Raises:
        WorldError: CD-276, there is no such tier; CD-277, it needs what is not installed.
    """
    if tier not in TIERS:
        raise WorldError(
            "CD-276",
            f"there is no clock tier {shown(repr(tier), 40)}",
            where="the clock of a contract",
            do=f"write one of: {', '.join(TIERS)}",
        )
    if tier in {"none", "virtual"}:
        return _Standing(tier)
    inner = _InProcess(start)
    return inner if tier == "in-process" else _Libc(inner, start, folder)


def find_library() -> Path | None:
    """Return libfaketime, from the package of that name or of the system; None if absent."""
    spec = find_spec("libfaketime")
    # Found without importing it: it would put itself into the environment.
    for place in (spec.submodule_search_locations or []) if spec else []:
        for found in Path(place).glob(f"vendor/**/{_LIBRARY}"):
            return found
    for pattern in _SYSTEM:
        for found in Path("/").glob(f"{pattern[1:]}/{_LIBRARY}"):
            return found
    return None


class _Standing:
    """A tier that pins nothing outside ``at.clock``."""

    def __init__(self, tier: str) -> None:
        self.tier = tier
        self.gaps = GAPS[tier]

    def move(self, to: datetime) -> None:
        del to

    def environment(self) -> dict[str, str]:
        return {}

    def tidy(self, pid: int) -> None:
        del pid

    def stop(self) -> None:
        return


class _InProcess:
    def __init__(self, start: datetime) -> None:
        try:
            import time_machine
        except ImportError:
            raise WorldError(
                "CD-277",
                "this clock tier needs time-machine, which is not installed",
                where="the clock of a contract",
                do="pip install 'cleandesk[clock]', or declare the tier virtual",
            ) from None
        self.tier = "in-process"
        self.gaps = GAPS[self.tier]
        self.zone = zone_of(start)
        self._zone_before = os.environ.get("TZ")
        _set_zone(self.zone)
        self._travel: Any = time_machine.travel(_elsewhere(start), tick=False)
        self._shown: Any = self._travel.start()

    def move(self, to: datetime) -> None:
        self._shown.move_to(_elsewhere(to))

    def environment(self) -> dict[str, str]:
        return {"TZ": self.zone}

    def tidy(self, pid: int) -> None:
        del pid

    def stop(self) -> None:
        if self._shown is None:
            return
        self._travel.stop()
        self._shown = None
        _set_zone(self._zone_before)


class _Libc:
    """The world's own process as in-process; what it serves through libfaketime.

    The programs read the time from a file each time they ask, so that it moves with
    the world's clock while they run.
    """

    def __init__(self, inner: _InProcess, start: datetime, folder: Path | None) -> None:
        found = find_library()
        if found is None:
            inner.stop()
            raise WorldError(
                "CD-277",
                "the clock tier libc needs libfaketime, which is not installed",
                where="the clock of a contract",
                do="pip install libfaketime or install it with the system's packages, "
                "or declare the tier in-process",
            )
        self.tier = "libc"
        self.gaps = GAPS[self.tier]
        self._inner = inner
        self._library = found
        self._made = Path(tempfile.mkdtemp(prefix="cleandesk-clock-")) if folder is None else None
        self._file = (folder or self._made or Path()) / "time"
        self._write(start)

    def move(self, to: datetime) -> None:
        self._inner.move(to)
        self._write(to)

    def _write(self, to: datetime) -> None:
        # Replaced at once: a program must never read half a number.
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{int(to.timestamp() // 1)}", "ascii")
        fresh.replace(self._file)

    def environment(self) -> dict[str, str]:
        before = os.environ.get("LD_PRELOAD", "")
        return {
            **self._inner.environment(),
            # Seconds since 1970: what a text says would depend on the program's zone.
            "FAKETIME_FMT": "%s",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            # A standing monotonic clock would hang whatever waits with a timeout.
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "LD_PRELOAD": f"{self._library}:{before}" if before else str(self._library),
            "NO_FAKE_STAT": "1",
        }

    def tidy(self, pid: int) -> None:
        for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
            with contextlib.suppress(OSError):
                Path("/dev/shm", name).unlink()  # noqa: S108 - where the library puts it

    def stop(self) -> None:
        self._inner.stop()
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)


def zone_of(moment: datetime) -> str:
    """Return the offset of ``moment`` as a value of TZ, such as ``UTC0`` or ``<+02>-02:00``."""
    offset = moment.utcoffset() or timedelta()
    if not offset:
        return "UTC0"
    # POSIX counts westwards.
    sign, away = ("-", offset) if offset > timedelta() else ("+", -offset)
    hours, minutes = divmod(int(away.total_seconds()) // 60, 60)
    name = f"{'+' if sign == '-' else '-'}{hours:02}{minutes:02}"
    return f"<{name}>{sign}{hours:02}:{minutes:02}"


def _elsewhere(moment: datetime) -> datetime:
    """Return the same moment in an offset that time-machine takes no zone from.

    It would put the zone UTC over ours; a plain number would be rounded to a float.
    """
    return moment.astimezone(timezone(timedelta(hours=1)))


def _set_zone(zone: str | None) -> None:
    if zone is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = zone
    time.tzset()
