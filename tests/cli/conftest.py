"""A small suite and a few runs of it, made once for all tests of the command line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cleandesk.cli import main
from cleandesk.suites.starter import begin

_ESCAPES = "\x1b[2J\x1b[31mPASS\x1b[0m\r\n\u202eevil\u2066\x9b31m\x07\x00end"


@dataclass(frozen=True, slots=True)
class Said:
    """What one command said, and its exit status."""

    out: str
    err: str
    status: int

    @property
    def json(self) -> Any:
        """The last line of standard output, as ``--json`` promises it."""
        return json.loads(self.out.splitlines()[-1])


Command = Callable[..., Said]


def said_in(folder: Path, arguments: Sequence[str], env: dict[str, str] | None = None) -> Said:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, list(arguments), env=env)
    return Said(result.stdout, result.stderr, result.exit_code)


@pytest.fixture(scope="session")
def escapes() -> str:
    """Would clear a terminal, colour it, turn its writing around and fake a result."""
    return _ESCAPES


@pytest.fixture(scope="session")
def bench(tmp_path_factory) -> Path:
    """The folder that ``cleandesk init`` makes, with more agents and a leaking world."""
    folder = begin(tmp_path_factory.mktemp("cli") / "mybench")
    clean = 'self.letters = {"a"'
    world = (folder / "world.py").read_text()
    assert clean in world
    leak = world.replace(clean, 'self.letters = self.letters or {"a"')
    (folder / "leak.py").write_text(leak)
    suite = (folder / "suite.toml").read_text()
    (folder / "leak.toml").write_text(suite.replace("world.py", "leak.py"))
    (folder / "agents.py").write_text(
        "class Breaks:\n"
        "    def start(self, task):\n"
        "        self.task = task\n"
        "    def act(self, observation):\n"
        "        if self.task == 'file-letter':\n"
        "            raise KeyError('lost')\n"
        "        return {'do': 'dance'}\n"
    )
    return folder


@pytest.fixture(scope="session")
def cleandesk(bench) -> Command:
    """Returns a function that gives a command line in the bench, without its first word."""
    return lambda *arguments, env=None, cwd=bench: said_in(cwd, arguments, env)


@pytest.fixture(scope="session")
def passed(cleandesk) -> Said:
    """A run in which everything passed."""
    return cleandesk("run", "suite.toml", "-a", "agent.py:Clerk", "--json", "--seeds", "1-3")


@pytest.fixture(scope="session")
def mixed(cleandesk) -> Said:
    """Ten unclassified failures, and two episodes of which one is an agent's failure."""
    return cleandesk("run", "suite.toml", "-a", "agents.py:Breaks", "--json", "--limit", "12")


@pytest.fixture(scope="session")
def refused(cleandesk) -> Said:
    """A run that was refused at its second start."""
    leaky = ["--isolation", "shared", "--on-wrong-start", "refuse", "--max-steps", "2"]
    return cleandesk("run", "leak.toml", "-a", "agent.py:Clerk", *leaky)
