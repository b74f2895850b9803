"""The checker's process, asked over its channel as the harness does it."""

from __future__ import annotations

import pytest

from cleandesk.processes import start_role
from cleandesk.state import Snapshot, decode, diff, encode
from cleandesk.state.diff import to_json

START = Snapshot.of("c", {"desk": {"events": {1: {"title": "Gym"}}}})
END = Snapshot.of("c", {"desk": {"events": {}}})
SPEC = {
    "expect": {"removed": {"desk.events": [1]}},
    "accept_answers": None,
    "infeasible": False,
    "checks": [{"ref": "served_checks.py:polite", "with": {}, "weight": 1.0}],
    "combine": "and",
    "may_change": False,
    "incidental": [],
}
BROKEN = {**SPEC, "checks": [{"ref": "served_checks.py:broken", "with": {}, "weight": 1.0}]}
EVIDENCE = {
    "answer": encode("please"),
    "changes": encode(to_json(diff(START, END))),
    "end": END.to_bytes(),
    "goal": encode("Go."),
    "infeasible_answer": encode(value=False),
    "params": encode({}),
    "reason": encode("done"),
    "rewards": encode([1.0]),
    "start": START.to_bytes(),
    "task_id": encode("t"),
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "served_checks.py").write_text(
        "def polite(answer, rewards): return answer == 'please' and rewards == (1.0,)\n"
        "def broken(end): return end.desk.nothing\n"
        "def asserts(end):\n    assert end\n    return True\n"
    )
    role = start_role("cleandesk.checkers.serve", environment={"PYTHONHASHSEED": "0"})
    role.channel.send(b"H", encode({"bases": {}, "debug": False, "path": [str(folder)]}))

    def run(kind, *parts):
        role.channel.send(kind, *parts)
        letter, (answer,) = role.channel.receive(30)
        return letter, decode(answer)

    yield run
    role.stop()


def judge(ask, spec):
    names = sorted(EVIDENCE)
    return ask(b"J", encode(spec), encode(names), *(EVIDENCE[name] for name in names))


def test_a_check_is_loaded_with_its_needs_and_digests(ask):
    letter, loaded = ask(b"L", encode(SPEC))

    assert letter == b"L"
    assert loaded["needs"] == ["answer", "changes", "rewards", "start"]
    assert len(loaded["digests"]["served_checks.py:polite"]) == 64


def test_an_episode_is_judged(ask):
    letter, judged = judge(ask, SPEC)

    assert letter == b"J"
    assert (judged["score"], judged["metric"], judged["unscored"]) == (1.0, None, None)
    assert [part["score"] for part in judged["parts"]] == [1.0, 1.0]


def test_premises_are_judged(ask):
    gone = {**SPEC, "expect": {"removed": {"desk.events": [9]}}}

    assert ask(b"R", encode(SPEC), START.to_bytes()) == (b"R", [])
    assert len(ask(b"R", encode(gone), START.to_bytes())[1]) == 1


def test_a_checker_that_raises_is_answered_and_the_process_goes_on(ask):
    letter, (code, message, detail) = judge(ask, BROKEN)

    assert (letter, code) == (b"X", "CD-506")
    assert "no 'nothing'" in message
    assert "Traceback" in detail
    assert judge(ask, SPEC)[0] == b"J"


def test_a_checker_that_cannot_be_loaded_is_answered(ask):
    asserting = {**SPEC, "checks": [{"ref": "served_checks.py:asserts"}]}
    letter, (code, message, where, do) = ask(b"L", encode(asserting))

    assert (letter, code) == (b"X", "CD-504")
    assert "assert end" in message
    assert "served_checks.py, line 4" in where
    assert "cleandesk.fail" in do
