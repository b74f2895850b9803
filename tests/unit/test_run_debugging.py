"""--pdb: the debugger opens where something fails, in the process in which it failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

MAKE_RUN = """
import json, sys
from cleandesk.run.conduct import run

given = json.loads(sys.argv[1])
result = run(given.pop("suite"), given.pop("agent"), **given)
print("ended with", result.score and result.score["mean"])
"""


def debugged(suites, tmp_path, task, agent, typed):
    """Run one task with the debugger, on a terminal's worth of typing."""
    program = tmp_path / "make_run.py"
    program.write_text(MAKE_RUN)
    given = {
        "suite": str(suites.write([{"id": "one", **task}])),
        "agent": f"{suites.planted / 'agents.py'}:{agent}",
        "log_dir": str(tmp_path / "runs"),
        "debug": True,
        "reruns": 0,
    }
    done = subprocess.run(
        [sys.executable, str(program), json.dumps(given)],
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_failed_episode_opens_the_debugger_in_its_world(suites, tmp_path):
    task = {"world": f"{suites.planted / 'starts.py'}:Honest", "expect": {}}
    said = debugged(suites, tmp_path, task, "AddsTwice", "p world.notes\nc\n")

    assert "['note 1', 'added 1', 'added 2']" in said
    assert "ended with 0.0" in said


@pytest.mark.service
def test_a_world_that_raises_opens_the_debugger_where_it_did(suites, tmp_path):
    task = {"world": f"{suites.planted / 'failing.py'}:Failing", "with": {"fails": "step raises"}}
    said = debugged(suites, tmp_path, task, "AddsTwice", "p how\nup\np action\nc\n")

    assert "'raises'" in said
    assert "'added 1'" in said
    assert "ended with None" in said


def test_an_agent_that_raises_opens_the_debugger_where_it_did(suites, tmp_path):
    task = {"id": "has_a_bug", "world": f"{suites.planted / 'starts.py'}:Honest", "expect": {}}
    said = debugged(suites, tmp_path, task, "ByTask", "up\np self.does.__name__\nc\n")

    assert "'has_a_bug'" in said


@pytest.mark.service
def test_a_checker_that_raises_opens_the_debugger_where_it_did(suites, tmp_path):
    check = f"{suites.planted / 'checkers.py'}:raises"
    task = {"world": f"{suites.planted / 'starts.py'}:Honest", "expect": None, "check": check}
    said = debugged(suites, tmp_path, task, "AddsTwice", "p len(change)\nc\n")

    assert "planted in a checker" in said
    assert "(Pdb) 3\n" in said
