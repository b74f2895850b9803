"""Texts of worlds, agents, checkers and suites reach the terminal escaped."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.service


WORLD = """
import cleandesk as cd

TEXT = {text!r}

class Hostile:
    contract = cd.contract("hostile", "1", s=cd.objects("rows"))
    not_read = (TEXT,)
    def __init__(self, mode="quiet"):
        self.mode, self.rows = mode, {{}}
    def reset(self, *, seed=None, options=None):
        if self.mode == "reset":
            raise RuntimeError(TEXT)
        self.rows = self.rows if self.mode == "leak" else {{}}
        return {{"said": TEXT}}, {{}}
    def step(self, action):
        print(TEXT)
        self.rows[TEXT] = TEXT
        return {{"said": TEXT}}, 0.0, False, False, {{"action_error": TEXT}}
    def close(self):
        pass

class Acts:
    def start(self):
        self.is_done = False
    def act(self, observation):
        print(TEXT)
        if self.is_done:
            return cd.done(TEXT)
        self.is_done = True
        return {{TEXT: TEXT}}

class Raises:
    def act(self, observation):
        raise ValueError(TEXT)

def fails(change):
    return cd.fail(TEXT)

def raises(change):
    raise ValueError(TEXT)

def abstains(change):
    return cd.Unscored(TEXT)
"""

SUITE = """
name = "hostile"
world = "hostile.py:Hostile"
seeds = "1-2"

[[task]]
id = "whole"
goal = "Do {{{{x}}}} \\u001b[31m"
expect = {{}}
{checks}
"""

CHECK = """
[[task]]
id = "{name}"
goal = "x"
check = "hostile.py:{name}"
"""


def require_plain(said):
    """No character but line feeds may move a cursor or turn the writing around."""
    for text in (said.out, said.err):
        assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert "\\x1b" in said.out + said.err


@pytest.fixture(scope="module")
def hostile(bench, escapes):
    checks = "".join(CHECK.format(name=name) for name in ("fails", "raises", "abstains"))
    (bench / "hostile.py").write_text(WORLD.format(text=escapes))
    (bench / "hostile.toml").write_text(SUITE.format(checks=checks))


@pytest.fixture(scope="module")
def run(hostile, cleandesk):
    return cleandesk("run", "hostile.toml", "-a", "hostile.py:Acts", "--json")


def test_json_is_ascii(run):
    assert run.status == 0
    assert run.out.isascii()
    assert run.out.rstrip("\n").isprintable()


def test_json_holds_the_text_as_it_was(run, escapes):
    assert run.json["notes"][0]["action_error"].startswith(escapes[:4])


def test_summary_of_a_run(hostile, cleandesk):
    said = cleandesk("run", "hostile.toml", "-a", "hostile.py:Acts")

    require_plain(said)
    for word in ("could not be carried out", "CD-506", "CD-744", "CD-751"):
        assert word in said.out


def test_refused_run(hostile, cleandesk):
    leaky = ["--isolation", "shared", "--on-wrong-start", "refuse", "-T", "mode=leak"]
    said = cleandesk("run", "hostile.toml", "-a", "hostile.py:Acts", *leaky)

    assert said.status == 1
    require_plain(said)


def test_agent_that_raises(hostile, cleandesk):
    said = cleandesk("run", "hostile.toml", "-a", "hostile.py:Raises", "--limit", "1")

    require_plain(said)


def test_world_that_raises_in_reset(hostile, cleandesk):
    options = ["--limit", "1", "--reruns", "0", "-T", "mode=reset"]
    said = cleandesk("run", "hostile.toml", "-a", "hostile.py:Acts", *options)

    require_plain(said)


def test_verbose_steps(hostile, cleandesk, capfd):
    cleandesk("run", "hostile.toml", "-a", "hostile.py:Acts", "--limit", "1", "--verbose")
    err = capfd.readouterr().err

    assert [char for char in err if not char.isprintable() and char != "\n"] == []
    assert err != ""


def test_differences(run, cleandesk):
    episode = f"{run.json['run']}:whole/1-1"

    require_plain(cleandesk("diff", f"{episode}@start", f"{episode}@end"))
    assert cleandesk("diff", f"{episode}@start", f"{episode}@end", "--json").out.isascii()


def test_error_of_a_world_before_any_episode(hostile, cleandesk):
    said = cleandesk("contract", "hostile.py:Hostile", "--propose", "-T", "mode=reset")

    assert said.status == 4
    require_plain(said)


def test_error_about_a_suite(hostile, cleandesk, bench):
    text = (bench / "hostile.toml").read_text()
    (bench / "keys.toml").write_text(text.replace("seeds", '"\\u001b[2J\\u202e"', 1))
    said = cleandesk("run", "keys.toml", "-a", "nop")

    assert said.status == 2
    require_plain(said)


def test_plan_is_escaped_on_a_terminal_and_nowhere_else(hostile, cleandesk, bench):
    plan = ["run", "hostile.toml", "-a", "nop", "-T", "mode=\u202e\x9b", "--print-plan"]
    piped = cleandesk(*plan).out
    own = str(Path(sys.executable).with_name("cleandesk"))
    status, shown = on_a_terminal([own, *plan], bench)

    assert status == 0
    assert json.loads(shown) == json.loads(piped)
    assert "\x9b" in piped
    assert [char for char in shown if not char.isprintable() and char not in "\r\n"] == []


def on_a_terminal(command, folder):
    terminal, inner = pty.openpty()
    try:
        with subprocess.Popen(command, stdout=inner, cwd=folder) as process:
            os.close(inner)
            held = b""
            # On Linux a terminal whose other end is closed answers with an error.
            with contextlib.suppress(OSError):
                while piece := os.read(terminal, 65536):
                    held += piece
        return process.returncode, held.decode()
    finally:
        os.close(terminal)
