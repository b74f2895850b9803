"""Private copies when things break: a run that is killed, no room, a killed worker.

The base and its source stay as they were, nothing is scored wrongly, nothing is left.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from cleandesk.audit.record import verify
from cleandesk.errors import CleandeskError
from cleandesk.verdict import Status

pytestmark = pytest.mark.service

WORLD = """
import os, signal, sqlite3
from pathlib import Path

import cleandesk as cd


class Ledger:
    contract = cd.contract("ledger", "1", db=cd.sqlite("ledger.db"), home=cd.files("home"))

    def __init__(self, at):
        self.at = at

    def reset(self, *, seed=None, options=None):
        self.db = sqlite3.connect(self.at.db)
        return 0, {}

    def step(self, action):
        with self.db:
            self.db.execute("UPDATE note SET text = ?", (str(action),))
        (Path(self.at.home) / "new.txt").write_text(str(action))
        return 0, 0.0, False, False, {}

    def close(self):
        self.db.close()


class Writes:
    def __init__(self):
        self.left = 2

    def act(self, observation):
        self.left -= 1
        return self.left if self.left >= 0 else cd.done()


class KillsItsRun(Writes):
    def act(self, observation):
        if not self.left:
            os.kill(int(Path("run.pid").read_text()), signal.SIGKILL)
            signal.pause()
        return super().act(observation)


class KillsItsWorker(Writes):
    def act(self, observation):
        marker = Path("killed")
        if not self.left and not marker.exists():
            marker.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        return super().act(observation)
"""
SUITE = """
name = "ledger"
world = "world.py:Ledger"
seeds = "1-4"

[[task]]
id = "write"
goal = "Write."
check = "checks.py:passes"
"""
CHECKS = """
import cleandesk as cd


def passes(change):
    fields = sorted({change.path[0] for change in change})
    return cd.passed() if fields == ["files", "note"] else cd.fail(str(fields))
"""
RUN = """
import os, sys
from pathlib import Path

import cleandesk as cd

if __name__ == "__main__":
    Path("run.pid").write_text(str(os.getpid()))
    result = cd.run("suite.toml", sys.argv[1], log_dir="runs", workers=2)
    print("proven", result.proven, result.score["mean"])
"""


@pytest.fixture
def ledger(tmp_path):
    for name, text in (
        ("world.py", WORLD),
        ("suite.toml", SUITE),
        ("checks.py", CHECKS),
        ("run.py", RUN),
    ):
        (tmp_path / name).write_text(text)
    with sqlite3.connect(tmp_path / "ledger.db") as db:
        db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
        db.executemany("INSERT INTO note (text) VALUES (?)", [("x" * 100,)] * 200)
    db.close()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "old.txt").write_text("old\n" * 100)
    (tmp_path / "scratch").mkdir()
    return tmp_path


def run(ledger, agent, **env):
    return subprocess.run(
        [sys.executable, "run.py", agent],
        cwd=ledger,
        env={**os.environ, "CLEANDESK_SCRATCH": str(ledger / "scratch"), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def sources(ledger):
    return {
        name: hashlib.sha256((ledger / name).read_bytes()).hexdigest()
        for name in ("ledger.db", "home/old.txt")
    }


def mounts_below(folder):
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line for line in lines if str(folder) in line]


def test_a_clean_run_leaves_no_copy_and_no_mount(ledger):
    before = sources(ledger)

    ended = run(ledger, "world.py:Writes")

    assert ended.stdout == "proven True 1.0\n"
    assert list((ledger / "scratch").iterdir()) == []
    assert mounts_below(ledger) == []
    assert sources(ledger) == before


def test_what_a_killed_run_leaves_is_deleted_by_the_next_one(ledger):
    before = sources(ledger)

    killed = run(ledger, "world.py:KillsItsRun")
    left = list((ledger / "scratch").iterdir())
    ended = run(ledger, "world.py:Writes")

    assert killed.returncode == -signal.SIGKILL
    assert len(left) == 1
    assert ended.stdout == "proven True 1.0\n"
    assert list((ledger / "scratch").iterdir()) == []
    assert mounts_below(ledger) == []
    assert sources(ledger) == before
    folders = (ledger / "runs").iterdir()
    (stopped,) = [folder for folder in folders if not (folder / "root.json").exists()]
    assert verify(stopped).status is Status.UNKNOWN


def test_a_worker_that_is_killed_takes_its_copies_with_it_and_the_run_goes_on(ledger):
    ended = run(ledger, "world.py:KillsItsWorker")

    assert ended.stdout == "proven True 1.0\n"
    assert list((ledger / "scratch").iterdir()) == []
    assert mounts_below(ledger) == []


@pytest.fixture
def tiny_disk(tmp_path, monkeypatch):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "none", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can't be mounted here")
    monkeypatch.setenv("CLEANDESK_SCRATCH", str(place))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_no_room_for_the_copies_stops_the_run_and_says_where(suites, ledger, tiny_disk):
    before = sources(ledger)

    with pytest.raises(CleandeskError) as refused:
        suites.run_file(ledger / "suite.toml", f"{ledger / 'world.py'}:Writes")

    assert refused.value.code == "CD-241"
    assert "room" in str(refused.value) or "space" in str(refused.value)
    assert list(tiny_disk.iterdir()) == []
    assert sources(ledger) == before


def test_two_workers_on_one_base_never_see_each_other(ledger):
    ended = run(ledger, "world.py:Writes")
    (folder,) = (ledger / "runs").iterdir()
    record = json.loads((folder / "record.json").read_text())

    assert ended.stdout == "proven True 1.0\n"
    assert record["workers"] == 2
    for path in (folder / "episodes").rglob("*.jsonl"):
        entries = [json.loads(line)["entry"] for line in path.read_text().splitlines()]
        (end,) = [entry for entry in entries if entry["kind"] == "end"]
        notes = [row for row in end["changes"] if row["path"][0] == "note"]
        assert len(notes) == 200
