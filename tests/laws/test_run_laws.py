"""Laws that a run as a whole keeps to."""

from __future__ import annotations

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleandesk.audit.record import verify
from cleandesk.run.blame import Blame
from cleandesk.run.scores import counted
from cleandesk.verdict import Status
from cleandesk.worlds.events import Schedule

LEAKS = ("KeepsInInstance", "KeepsIncidental", "CountsInModule")
CLEAN = ("Honest", "ReadsOwnClock", "Declares")
AGENT_DOES = ("leaves", "has_a_bug", "is_limited", "cannot", "goes_on", "answers_much")


def tasks(suites, *defects, **more):
    world = {"world": f"{suites.planted / 'starts.py'}:build"}
    check = {"expect": None, "check": f"{suites.planted / 'checkers.py'}:passes"}
    return [{"id": name, "with": {"defect": name}, **world, **check, **more} for name in defects]


def agent(suites, name="AddsTwice"):
    return f"{suites.planted / 'agents.py'}:{name}"


def verdicts(ran):
    return {
        path: json.loads(path.read_bytes().splitlines()[-1])["entry"]
        for path in sorted(ran.folder.glob("*/*/*.jsonl"))
    }


@pytest.fixture(scope="module")
def leaking(suites):
    chosen = {"isolation": "shared", "on_wrong_start": "record", "trials": 2}
    return suites.run(tasks(suites, *LEAKS, *CLEAN), agent(suites), **chosen)


@pytest.fixture(scope="module")
def failing(suites):
    names = [
        {**task, "id": name, "with": {"defect": "Honest"}}
        for name, task in zip(AGENT_DOES, tasks(suites, *AGENT_DOES), strict=True)
    ]
    return suites.run(names, agent(suites, "ByTask"), max_steps=3, reruns=1)


def test_a_score_is_proven_exactly_where_its_start_was_verified(leaking):
    """Law 4."""
    shown = set()
    for path, verdict in verdicts(leaking).items():
        entries = [json.loads(line)["entry"] for line in path.read_bytes().splitlines()]
        (start,) = [entry for entry in entries if entry["kind"] == "start"]
        assert verdict["score"] == 1.0
        assert verdict["proven"] == start["verified"] == (not start.get("changes"))
        shown.add(verdict["proven"])

    assert shown == {True, False}
    assert not leaking.result.proven


def test_only_the_agents_own_failures_are_scored_and_every_rerun_is_kept(failing):
    """Law 5."""
    for verdict in verdicts(failing).values():
        assert (verdict["score"] is not None) == (verdict["blame"] in {None, Blame.AGENT})

    blames = {name: failing.verdict(f"{name}/1-1")["blame"] for name in AGENT_DOES}
    assert blames == {
        "leaves": "agent",
        "has_a_bug": "unclassified",
        "is_limited": "provider",
        "cannot": "agent",
        "goes_on": None,
        "answers_much": "agent",
    }
    kept = [path.relative_to(failing.folder) for path in failing.folder.glob("reruns/*/*")]
    assert list(map(str, kept)) == ["reruns/is_limited/1-1.1.jsonl"]
    assert verify(failing.folder, root=failing.result.root).status is Status.PASS


def kill_a_worker(kill_roles):
    killed = []

    def kill(item, result):
        if not killed:
            killed.extend(kill_roles("cleandesk.run.worker"))

    return kill


def test_two_runs_of_one_plan_have_one_root_with_any_workers_and_whatever_was_rerun(
    suites, kill_roles
):
    """Laws 7 and 9: events and faults are part of what is the same."""
    world = {"world": f"{suites.planted / 'failing.py'}:Failing", "with": None}
    happens = {"event": EVENTS, "disturb": [{"on": "step", "fault": "timeout", "share": 0.5}]}
    names = tasks(suites, "Honest", "ReadsOwnClock", seeds="1-2")
    names += tasks(suites, "visited", **world, **happens, seeds="1-4")
    suite = suites.write(names)
    kept = suites.folder / f"law7-{uuid.uuid4().hex}"
    chosen = {"log_dir": kept, "trials": 2}
    one = suites.run_file(suite, agent(suites), **chosen)
    two = suites.run_file(suite, agent(suites), workers=2, **chosen)
    broken = suites.run_file(
        suite, agent(suites), workers=2, on_result=kill_a_worker(kill_roles), **chosen
    )

    roots = {ran.result.root for ran in (one, two, broken)}
    assert len(roots) == 1
    assert broken.result.same_plan["root"] == one.result.root
    assert one.result.proven
    assert broken.result.proven
    for ran in (one, two, broken):
        assert verify(ran.folder, root=one.result.root).status is Status.PASS
    ends = [str(one.kinds(f"visited/{seed}-1", "end")[0]["changes"]) for seed in range(1, 5)]
    assert any("visit" in end for end in ends)
    assert any("timeout" in end for end in ends)


EVENTS = [{"name": "visit", "step": "1-9"}, {"name": "visit", "step": "1-9"}]


class Room:
    def __init__(self):
        self.seen = []

    def fire(self, event, **values):
        self.seen.append(event)


def steps_of(events, seed, name):
    schedule, room, steps = Schedule(events, seed), Room(), []
    for step in range(1, 30):
        before = room.seen.count(name)
        schedule.fire(room)
        steps += [step] * (room.seen.count(name) - before)
    return steps


events = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["mail", "call", "rain"]), "step": st.sampled_from(["1-9", 3])}
    ),
    max_size=5,
)


@given(events, events, st.integers(0, 1000))
def test_an_event_is_where_its_name_and_seed_put_it_whatever_else_happens(before, after, seed):
    """Law 9."""
    drawn = steps_of(EVENTS, seed, "visit")

    assert len(drawn) == 2
    assert steps_of([*before, *EVENTS, *after], seed, "visit") == drawn


def test_events_are_drawn_over_their_whole_range():
    """Law 9."""
    assert {steps_of(EVENTS[:1], seed, "visit")[0] for seed in range(200)} == set(range(1, 10))


def test_neither_agent_nor_world_can_read_what_is_expected(suites):
    """Law 10: both look through all of their memory; the checker, that must know, finds it."""
    secret, word, hint = (f"{kind}-{uuid.uuid4().hex}" for kind in ("secret", "shown", "shown"))
    seekers = suites.planted / "seekers.py"
    task = {
        "id": "seek",
        "goal": f"Seek {hint}.",
        "world": f"{seekers}:Seeking",
        "with": {"word": word},
        "expect": [{"added": {"desk.notes": [secret]}}, {}],
        "answer": secret,
        "check": {"ref": f"{seekers}:seeks", "with": {"wanted": secret}},
        "combine": "or",
    }
    ran = suites.run([task], f"{seekers}:Seeker")
    (step,) = ran.kinds("seek/1-1", "step")

    assert step["action"] == [0, 1]
    assert step["info"]["found"] == {"$t": [0, 1]}
    assert ran.verdict("seek/1-1")["score"] == 1.0


def test_every_verified_start_says_how_much_was_read_and_what_was_not(leaking):
    """Law 15."""
    for task in (*LEAKS, *CLEAN):
        start = leaking.kinds(f"{task}/1-1", "start")[0]
        assert start["fields_read"] > 0
        assert "attributes that the contract does not name" in start["not_read"]
        assert leaking.entries(f"{task}/1-1")[0]["expected"]["source"] == "independent build"

    assert leaking.result.starts["isolation"] == "shared"
    assert leaking.result.starts["fields_read"] > 0


rows = st.lists(
    st.fixed_dictionaries(
        {
            "episode": st.sampled_from(["a/1-1", "a/2-1", "b/1-1"]),
            "blame": st.sampled_from([None, "agent", "task", "world"]),
            "metric": st.none(),
            "score": st.sampled_from([0.0, 1.0]),
        }
    ),
    max_size=4,
)


@given(rows)
def test_no_episode_of_a_quarantined_task_is_in_a_score(verdicts):
    """Law 5."""
    broken = {row["episode"][0] for row in verdicts if row["blame"] == "task"}

    for row, before in zip(counted(verdicts), verdicts, strict=True):
        is_broken = row["episode"][0] in broken
        assert row["score"] == (None if is_broken else before["score"])
