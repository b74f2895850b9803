"""SQLite: a million rows, 10 changes: what differs, a reset, and a full proof.

Wall time for the reset, since most of it is the disk's; the file system is in its row.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure, Row
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.surfaces.protocol import Copy
from cleandesk.surfaces.sqlite import Sqlite, sqlite
from cleandesk.surfaces.sqlite.reading import proof

_ROWS = 1_000_000
_SMALL = 100_000
_CHANGES = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1])
held.executemany("UPDATE orders SET status = 'back' WHERE id = ?", ((1000 + n * 97,) for n in range(4)))
held.executemany("DELETE FROM orders WHERE id = ?", ((5000 + n * 31,) for n in range(3)))
held.executemany("INSERT INTO users(name, email, made) VALUES(?, 'n@x', '2026')", ((f"new{n}",) for n in range(3)))
held.commit()
"""
_ASIDE = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', sys.argv[2:])"
_PLACE = tempfile.gettempdir()


def rows() -> list[Row]:
    """Measure diff, reset and proof on a million rows; and a small world's whole round."""
    with _desk(_ROWS) as desk:
        found = [_diff(desk), _reset(desk), _proof(desk)]
    with _desk(_SMALL) as desk:
        found.append(_round(desk))
    return found


@dataclass(frozen=True, slots=True)
class _Desk:
    source: Path
    aside: Path
    base: Path
    copy: Copy

    def change(self) -> None:
        """Make 10 changes in the copy, from another process."""
        subprocess.run([sys.executable, "-c", _CHANGES, self.copy.place], check=True)


@contextlib.contextmanager
def _desk(count: int) -> Iterator[_Desk]:
    with tempfile.TemporaryDirectory(dir=_PLACE) as folder:
        place = Path(folder)
        source = place / "seed.db"
        _fill(source, count)
        (place / "base").mkdir()
        (place / "copy").mkdir()
        terms, kind = sqlite("seed.db"), Sqlite()
        base = kind.prepare("db", terms, place / "base", lambda text: place / text)
        copy = kind.open_copy("db", terms, base.held, place / "copy")
        try:
            yield _Desk(source, place / "aside.db", Path(base.held["database"]), copy)
        finally:
            copy.close()


def _fill(path: Path, count: int) -> None:
    drawn = random.Random(3)
    users, orders = count // 10, count - count // 10
    with contextlib.closing(sqlite3.connect(path)) as held, held:
        held.executescript(
            "CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, email TEXT, made TEXT);"
            "CREATE TABLE orders(id INTEGER PRIMARY KEY, user INT REFERENCES users(id), amount REAL,"
            " status TEXT, note TEXT); CREATE INDEX by_user ON orders(user);"
        )
        held.executemany(
            "INSERT INTO users(name, email, made) VALUES(?, ?, '2026-01-01T00:00:00Z')",
            ((f"User {n}", f"u{n}@example.org") for n in range(users)),
        )
        held.executemany(
            "INSERT INTO orders VALUES(?, ?, ?, ?, ?)",
            (
                (
                    n,
                    drawn.randrange(1, users + 1),
                    round(drawn.random() * 500, 2),
                    drawn.choice(["new", "paid", "sent"]),
                    f"note for order {n}" if n % 4 else None,
                )
                for n in range(orders)
            ),
        )


def _median_of(call: Callable[[], object], clock: Callable[[], float], runs: int = 5) -> float:
    found = []
    for _ in range(runs):
        begun = clock()
        call()
        found.append(clock() - begun)
    return median(found)


def _diff(desk: _Desk) -> Row:
    desk.change()
    told = desk.copy.delta()
    if isinstance(told, CannotTell) or sum(map(len, told.tables.values())) != 11:
        raise AssertionError(f"the delta is not that of the 10 changes: {told}")
    if desk.copy.read() != told:
        raise AssertionError("the fast and the full reading disagree")
    ours = _median_of(desk.copy.delta, time.process_time)
    # The peer reads a file of its own with the same changes, all in one file.
    subprocess.run([sys.executable, "-c", _ASIDE, desk.copy.place, str(desk.aside)], check=True)

    def excepts() -> None:
        with contextlib.closing(sqlite3.connect(desk.aside)) as held:
            held.execute("ATTACH ? AS base", (str(desk.source),))
            for table in ("orders", "users"):
                for one, other in (("main", "base"), ("base", "main")):
                    held.execute(
                        f"SELECT * FROM {one}.{table} EXCEPT SELECT * FROM {other}.{table}"
                    ).fetchall()

    peer = _median_of(excepts, time.process_time, runs=3)
    return Figure(
        "sqlite 1M rows: diff", ours * 1e3, "ms", peer * 1e3, "EXCEPT", target=50, bound="ratio"
    )


def _reset(desk: _Desk) -> Row:
    ours, peers = [], []
    for _ in range(7):
        desk.change()
        ours.append(_median_of(desk.copy.restore, time.perf_counter, runs=1))
        if desk.copy.delta() != Delta():
            raise AssertionError("the restored copy is not the base")
        subprocess.run([sys.executable, "-c", _CHANGES, str(desk.aside)], check=True)
        peers.append(_median_of(lambda: _backup(desk), time.perf_counter, runs=1))
    subject = f"sqlite reset, {_file_system(desk.source)}"
    return Figure(
        subject,
        median(ours) * 1e3,
        "ms",
        median(peers) * 1e3,
        "backup()",
        target=100,
        bound="ratio",
    )


def _backup(desk: _Desk) -> None:
    with (
        contextlib.closing(sqlite3.connect(desk.source)) as source,
        contextlib.closing(sqlite3.connect(desk.aside)) as target,
    ):
        source.backup(target)


def _proof(desk: _Desk) -> Row:
    def peer() -> None:
        with contextlib.closing(sqlite3.connect(desk.source)) as held:
            for table in ("orders", "users"):
                for row in held.execute(f"SELECT * FROM {table} ORDER BY id"):
                    hashlib.sha256(repr(row).encode()).digest()

    ours = _median_of(lambda: proof(desk.base), time.process_time)
    beside = _median_of(peer, time.process_time, runs=3)
    return Figure(
        "sqlite 1M rows: proof", ours * 1e3, "ms", beside * 1e3, "repr+sha256", 2, bound="ratio"
    )


def _round(desk: _Desk) -> Row:
    """Measure what an episode costs beside the world: restore, verify the start, diff."""
    cpu, wall = [], []
    for _ in range(7):
        begun, since = time.process_time(), time.perf_counter()
        desk.copy.restore()
        desk.copy.delta()
        spent, passed = time.process_time() - begun, time.perf_counter() - since
        desk.change()
        begun, since = time.process_time(), time.perf_counter()
        desk.copy.delta()
        cpu.append(spent + time.process_time() - begun)
        wall.append(passed + time.perf_counter() - since)
    ours = median(cpu) * 1e3
    return Figure("sqlite 100k: episode", ours, "ms", target=15, wall=median(wall) * 1e3)


def _file_system(path: Path) -> str:
    """Return the type of the file system that holds ``path``."""
    found = ("", "")
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if path.resolve().is_relative_to(place) and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1]
