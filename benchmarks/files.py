"""Files: 10,000 of them, 10 changed; putting them back, and seeing that nothing changed.

Beside a reset stands deleting the folder and copying it anew; beside a look that finds
nothing, hashing every file. Both run in turn with ours, on one file system at a time; a
row says the median by the clock.

python -m benchmarks.files FOLDER    one line of JSON: seconds by subject
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import shutil
import stat
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure, Missing, Row
from benchmarks.meter import ROOT
from cleandesk.errors import WorldError
from cleandesk.surfaces.files import Files, files

_FILES = 10_000
_CHANGES = 10
_RUNS = 3
_PLACES = ("/dev/shm", tempfile.gettempdir())
_METHODS = ("portable", "overlay")
_LEAST_RESET = {"portable": {"ext4": 10.0, "tmpfs": 5.0}, "overlay": {"ext4": 50.0, "tmpfs": 50.0}}
_LEAST_LOOK = {"portable": 4.0, "overlay": 100.0}


def rows() -> list[Row]:
    """Measure on the disk and in memory, each in a process of its own."""
    found: list[Row] = []
    for place in _PLACES:
        kind = _file_system(place)
        command = [sys.executable, "-m", "benchmarks.files", place]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stderr[-2000:])
            found.append(Missing(f"files on {kind}", "failed"))
            continue
        found += _rows(kind, json.loads(done.stdout.splitlines()[-1]))
    return found


def _rows(kind: str, held: dict[str, Any]) -> list[Row]:
    found: list[Row] = []
    for method in _METHODS:
        named = f"{method}, {kind}"
        if method in held["missing"]:
            found.append(Missing(f"files: {named}", held["missing"][method]))
            continue
        least = _LEAST_RESET[method].get(kind)
        found.append(_row(f"reset {named}", held["reset"], method, "rm + copy", least))
        if method in held["look"]:
            least = _LEAST_LOOK[method]
            found.append(_row(f"verify {named}", held["look"], method, "full hash", least))
        else:
            found.append(Missing(f"verify {named}", "can't tell here: everything is read"))
    return found


def _row(
    subject: str, taken: dict[str, float], method: str, peer: str, target: float | None
) -> Figure:
    ours, beside = taken[method] * 1e3, taken["peer"] * 1e3
    return Figure(subject, ours, "ms", beside, peer, target=target, bound="ratio")


def main() -> None:
    """Measure in the folder that is named, and print what was found."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1], prefix="cleandesk-files-") as name:
        print(json.dumps(_measured(Path(name))))


def _measured(folder: Path) -> dict[str, Any]:
    source, plain = folder / "source", folder / "plain"
    _generate(source)
    shutil.copytree(source, plain, symlinks=True)
    copies: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for method in _METHODS:
        try:
            copies[method] = _opened(folder / method, source, method)
        except WorldError as error:
            missing[method] = error.message
    told = {name: copy for name, copy in copies.items() if copy.delta() == copy.read()}
    looks = {name: copy.delta for name, copy in told.items()}
    looks["peer"] = lambda: _hashed(plain)
    resets = {name: copy.restore for name, copy in copies.items()}
    resets["peer"] = lambda: _copied_anew(source, plain)
    places = [plain, *(Path(copy.place) for copy in copies.values())]
    found = {
        "look": _in_turn(looks, lambda: None),
        "missing": missing,
        "reset": _in_turn(resets, lambda: _change(*places)),
    }
    for copy in copies.values():
        if copy.read():
            raise AssertionError("a reset left something behind")
        copy.close()
    return found


def _opened(folder: Path, source: Path, method: Any) -> Any:
    surface, terms = Files(), files(str(source), method=method)
    for part in ("base", "copy"):
        (folder / part).mkdir(parents=True)
    base = surface.prepare("home", terms, folder / "base", Path)
    copy = surface.open_copy("home", terms, base.held, folder / "copy")
    copy.restore()
    return copy


def _in_turn(
    calls: dict[str, Callable[[], object]], before: Callable[[], object]
) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(_RUNS):
        before()
        for name, call in calls.items():
            gc.collect()
            begun = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - begun)
    return {name: statistics.median(times) for name, times in taken.items()}


def _generate(source: Path) -> None:
    draw = random.Random(5)
    for number in range(_FILES):
        path = _path(source, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(draw.randbytes(draw.choice([200, 1000, 4000, 12000])))


def _path(root: Path, number: int) -> Path:
    return root / f"d{number % 100:02d}" / f"s{number // 100 % 10}" / f"f{number}.txt"


def _change(*roots: Path) -> None:
    for root in roots:
        for number in range(0, _FILES, _FILES // _CHANGES):
            with _path(root, number).open("ab") as file:
                file.write(b"x")


def _copied_anew(source: Path, place: Path) -> None:
    shutil.rmtree(place)
    shutil.copytree(source, place, symlinks=True)


def _hashed(root: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Read what a look compares: mode, owner and content of every entry."""
    found: dict[str, tuple[int, int, int, bytes]] = {}
    folders = [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                held = entry.stat(follow_symlinks=False)
                digest = b""
                if stat.S_ISDIR(held.st_mode):
                    folders.append(entry.path)
                else:
                    with open(entry.path, "rb") as file:  # noqa: PTH123 - as fast as it goes
                        digest = hashlib.file_digest(file, "sha256").digest()
                found[entry.path] = (held.st_mode, held.st_uid, held.st_gid, digest)
    return found


def _file_system(place: str) -> str:
    done = subprocess.run(
        ["findmnt", "-n", "-o", "FSTYPE", "-T", place], check=False, capture_output=True, text=True
    )
    return (done.stdout.split() or ["unknown"])[-1]


if __name__ == "__main__":
    main()
