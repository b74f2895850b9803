"""A small world of 100,000 rows and 1,000 files, and what a thousand of its episodes keep."""

from __future__ import annotations

import functools
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figure import Figure, Row
from cleandesk.log import write_object
from cleandesk.state import Snapshot, encode
from cleandesk.state.contract import contract
from cleandesk.state.diff import changes_between, to_json
from cleandesk.surfaces import files, sqlite
from cleandesk.surfaces.copies import Copies, HeldBase, make_base

_ROWS, _FILES, _RUNS = 100_000, 1_000, 15
_EPISODES = 1_000
_WRITER = """
import sqlite3, sys
from pathlib import Path
db, home = sys.argv[1], Path(sys.argv[2])
for line in sys.stdin:
    number = int(line)
    held = sqlite3.connect(db)
    with held:
        for place in range(10):
            held.execute("UPDATE item SET note = ? WHERE id = ?", (f"note {number}", 7 + 997 * place))
    held.close()
    for place in range(3):
        file = home / f"d{place}" / "f7.txt"
        _, rest = file.read_text().split("\\n", 1)
        file.write_text(f"written in {number}\\n{rest}")
    print("done", flush=True)
"""


def rows() -> list[Row]:
    """Measure restore, verified start and change; then the bytes of a thousand episodes."""
    with tempfile.TemporaryDirectory(prefix="measured-") as made:
        folder = Path(made)
        _make(folder)
        terms = contract("measured", "1", db=sqlite("seed.db"), home=files("home"))
        bases = {
            name: make_base(terms, name, folder / "bases" / name, lambda text: folder / text)
            for name in terms.surfaces
        }
        copies = Copies(terms, bases, folder / "copies", audit=0)
        try:
            return [*_cycles(copies), _storage(folder, bases, copies)]
        finally:
            copies.close()


def _make(folder: Path) -> None:
    with sqlite3.connect(folder / "seed.db") as db:
        db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, note TEXT)")
        db.executemany(
            "INSERT INTO item VALUES (?, ?, ?, ?)",
            ((row, f"item number {row}", row * 0.37, "x" * 380) for row in range(_ROWS)),
        )
    db.close()
    for number in range(_FILES):
        place = folder / "home" / f"d{number % 50}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"f{number // 50}.txt").write_text(f"file {number}\n" * 60)


def _cycles(copies: Copies) -> list[Row]:
    """Time restore, the look at the start, and the look at the end, with 13 changes between."""
    taken: dict[str, list[float]] = {"restore": [], "verify": [], "diff": []}
    with _Writer(copies) as write:
        for number in range(_RUNS):
            started = _timed(taken["verify"], copies.look)
            write(number)
            ended = _timed(taken["diff"], functools.partial(_changes, copies, started))
            if len(ended) != 13 and number:
                raise AssertionError(f"{len(ended)} changes were found")
            _timed(taken["restore"], copies.restore)
    each = {name: median(values) * 1e3 for name, values in taken.items()}
    total = median(map(sum, zip(*taken.values(), strict=True))) * 1e3
    return [
        Figure("small world, all three", total, "ms", target=15),
        *(Figure(f"small world, {name}", value, "ms") for name, value in each.items()),
    ]


def _changes(copies: Copies, started: Any) -> list[Any]:
    ended = copies.look()
    return [
        change
        for name, over in ended.items()
        for change in changes_between(name, started[name].delta, over.delta)
    ]


def _storage(folder: Path, bases: dict[str, HeldBase], copies: Copies) -> Row:
    """Keep what a run keeps: each base once, and for each episode its start and its change."""
    kept = folder / "run"
    kept.mkdir()
    for base in bases.values():
        write_object(kept, Path(base.path).read_bytes())
    logged = 0
    with _Writer(copies) as write:
        for number in range(_EPISODES):
            copies.restore()
            started = copies.look()
            write_object(kept, Snapshot("measured", {}, started).to_bytes())
            write(number)
            logged += len(encode(to_json(_changes(copies, started))))
    stored = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
    world = sum(
        path.stat().st_size
        for place in (folder / "seed.db", folder / "home")
        for path in [place, *place.rglob("*")]
        if path.is_file()
    )
    total = (stored + logged) / 1e6
    return Figure(f"kept of {_EPISODES:,} episodes", total, "MB", world / 1e6, "world", target=60)


class _Writer:
    """Another process that writes into the copies when it is told to."""

    def __init__(self, copies: Copies) -> None:
        from cleandesk.surfaces.mounts import enter

        holder = copies.holder()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, copies.places["db"], copies.places["home"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # No other thread runs here.
            preexec_fn=(lambda: enter(holder)) if holder is not None else None,  # noqa: PLW1509
        )

    def __enter__(self) -> Callable[[int], None]:
        def write(number: int) -> None:
            self._process.stdin.write(f"{number}\n")
            self._process.stdin.flush()
            self._process.stdout.readline()

        return write

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _timed(into: list[float], work: Callable[[], Any]) -> Any:
    begun = time.perf_counter()
    done = work()
    into.append(time.perf_counter() - begun)
    return done
