"""What the tests share: how long law tests search, and running suites for real.

``HYPOTHESIS_PROFILE=thorough`` searches ten times as long, ``nightly`` two hundred times.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No test here is about time: a busy machine is no failure.
settings.register_profile(
    "dev", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("dev"), max_examples=1_000)
settings.register_profile("nightly", settings.get_profile("dev"), max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

PLANTED = Path(__file__).parent / "faults" / "worlds"


@dataclass(frozen=True)
class Ran:
    """A run that was made, and how to look into it."""

    result: Any

    @property
    def folder(self) -> Path:
        return self.result.run

    def verdict(self, episode: str) -> dict[str, Any]:
        return self.entries(episode)[-1]

    def entries(self, episode: str) -> list[dict[str, Any]]:
        from cleandesk.log import episode_path, read_episode

        return read_episode(episode_path(self.folder, episode))

    def kinds(self, episode: str, kind: str) -> list[dict[str, Any]]:
        return [entry for entry in self.entries(episode) if entry["kind"] == kind]


class Suites:
    """Writes suites whose tasks are given as tables, and runs them."""

    planted = PLANTED

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)

    def write(self, tasks: list[dict[str, Any]], **top: Any) -> Path:
        folder = self.folder / f"suite{next(self._numbers)}"
        folder.mkdir()
        lines = [f"{key} = {as_toml(value)}" for key, value in top.items()]
        path = folder / "planted.toml"
        path.write_text("\n".join([*lines, "[[tasks]]", 'from = "tasks.jsonl"']) + "\n")
        rows = [{"goal": "Do it.", "expect": {}, **task} for task in tasks]
        rows = [{key: value for key, value in row.items() if value is not None} for row in rows]
        (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def run(self, tasks: list[dict[str, Any]], agent: Any, top: Any = None, **chosen: Any) -> Ran:
        return self.run_file(self.write(tasks, **(top or {})), agent, **chosen)

    def run_file(self, suite: str | Path, agent: Any, **chosen: Any) -> Ran:
        from cleandesk.run.conduct import run

        return Ran(run(suite, agent, **{"log_dir": Path(suite).parent / "runs", **chosen}))


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value)


@pytest.fixture(scope="session")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Suites:
    return Suites(tmp_path_factory.mktemp("suites"))


@pytest.fixture(scope="session")
def ends() -> Any:
    """Wait until processes have ended; return those that went on all the same."""

    def is_alive(pid: int) -> bool:
        try:
            return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False

    def wait(pids: list[int]) -> list[int]:
        until(lambda: not any(map(is_alive, pids)), seconds=5)
        return [pid for pid in pids if is_alive(pid)]

    return wait


@pytest.fixture
def kill_roles():
    """Kills the roles of one module that this process started; says which they were."""

    def kill(module: str) -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(path.read_text().rpartition(")")[2].split()[1])
                words = (path.parent / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if parent == os.getpid() and module.encode() in words:
                found.append(int(path.parent.name))
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return found

    return kill


def until(holds: Any, seconds: float = 20.0) -> bool:
    """Wait for something that happens in another process and says nothing when it does."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.01)
    return True


@pytest.fixture
def marked() -> Any:
    """A variable for a program's environment, and whoever carries it: all that it started."""

    class Marked:
        def __init__(self) -> None:
            self.environment = {"PLANTED_MARK": uuid.uuid4().hex}

        def alive(self) -> list[str]:
            mark = "=".join(*self.environment.items()).encode()
            found = []
            for path in Path("/proc").glob("[0-9]*/environ"):
                try:
                    if mark in path.read_bytes():
                        words = (path.parent / "cmdline").read_bytes().split(b"\0")
                        found.append(b" ".join(words).decode())
                except OSError:
                    continue
            return found

        def all_gone(self) -> bool:
            return until(lambda: not self.alive())

    return Marked()
