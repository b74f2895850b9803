"""Whose failure it was: each planted defect gets its blame, and a clean twin gets none."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleandesk.audit.record import verify
from cleandesk.errors import CleandeskError, ContractError, StateError, WorldError
from cleandesk.verdict import Status

# What the world is told to do -> the code, and what the message must hold.
WORLD_FAILURES = {
    "reset raises": ("CD-711", "the world raised in reset: ValueError: planted in reset"),
    "reset ends": ("CD-713", "the world's process ended in reset"),
    "reset exits": ("CD-711", "the world raised in reset: SystemExit: 3"),
    "reset hangs": ("CD-712", "the world did not answer within 1 s in reset"),
    "reset holds what can't be read": ("CD-101", "desk.extra.deep[1].down"),
    "reset returns an observation alone": ("CD-216", "reset() returned 1 values"),
    "step raises": ("CD-711", "the world raised in step: ValueError: planted in step"),
    "step ends": ("CD-713", "the world's process ended in step"),
    "step exits": ("CD-711", "the world raised in step: SystemExit: 3"),
    "step hangs": ("CD-712", "the world did not answer within 1 s in step"),
    "step holds what can't be read": ("CD-101", "desk.extra.late"),
    "step shows what can't be sent": ("CD-101", "Unreadable"),
    "step returns four values": ("CD-216", "step() returned 4 values"),
    "step returns no info": ("CD-216", "step() returned a NoneType as its info"),
    "step pays a word": ("CD-711", "could not convert string to float"),
}
CLEAN_WORLDS = ("nothing fails", "close raises", "close hangs")


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def failing(suites, name, **more):
    return {
        "id": name,
        "world": f"{suites.planted / 'failing.py'}:Failing",
        "expect": None,
        "check": f"{suites.planted / 'checkers.py'}:passes",
        "limits": {"world_seconds": 1.0},
        **more,
    }


@pytest.fixture(scope="session")
def pids(tmp_path_factory):
    return tmp_path_factory.mktemp("pids") / "pids.txt"


@pytest.fixture(scope="session")
def worlds(suites, pids):
    names = (*WORLD_FAILURES, *CLEAN_WORLDS)
    tasks = [failing(suites, name, **{"with": {"fails": name, "pids": str(pids)}}) for name in names]
    agent = f"{suites.planted / 'agents.py'}:AddsTwice"
    return suites.run(tasks, agent, reruns=0, workers=2)


@pytest.mark.parametrize("name", WORLD_FAILURES)
def test_a_failure_of_the_world_is_the_worlds_and_not_scored(worlds, name):
    code, text = WORLD_FAILURES[name]
    verdict = worlds.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["code"], verdict["score"]) == ("world", code, None)
    assert text in verdict["message"]


@pytest.mark.parametrize("name", CLEAN_WORLDS)
def test_a_clean_world_is_blamed_for_nothing_and_the_run_goes_on(worlds, name):
    verdict = worlds.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["score"], verdict["proven"]) == (None, 1.0, True)
    assert worlds.result.score["mean"] == 1.0
    assert verify(worlds.folder, root=worlds.result.root).status is Status.PASS


def test_a_world_that_hangs_is_killed_with_all_that_it_started(worlds, pids):
    started = [int(line) for line in pids.read_text().split()]

    # Built twice in reset (independently, and not at all for the run), once in step, in close.
    assert len(started) >= 9
    assert [pid for pid in started if is_alive(pid)] == []
