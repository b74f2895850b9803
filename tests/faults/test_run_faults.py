"""Whose failure it was: each planted defect gets its blame, and a clean twin gets none."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path

import pytest

from cleandesk.audit.record import verify
from cleandesk.errors import CheckerError, ContractError, WorldError
from cleandesk.verdict import Status

pytestmark = pytest.mark.service


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
FILL = {"call": "fill", "with": {"row": "x"}}
# What the task sets up -> blame, code, score, and what the message must hold.
SETUPS = {
    "calls": ([FILL], None, None, ""),
    "waits": ([FILL, {"wait": "is_full"}], None, None, ""),
    "expects": ([{"expect": {"desk.rows[0]": "first"}}], None, None, ""),
    "waits in vain": (
        [{"wait": "is_full", "timeout_s": 0.05}],
        "world",
        "CD-711",
        "the condition 'is_full' did not hold within 0.05 s",
    ),
    "waits for what raises": ([{"wait": "is_broken"}], "world", "CD-711", "RuntimeError"),
    "calls what is not there": ([{"call": "nope"}], "task", "CD-714", "no method 'nope'"),
    "calls with too little": ([{"call": "fill"}], "task", "CD-714", "'row'"),
    "expects another start": (
        [{"expect": {"desk.rows[0]": "second"}}],
        "task",
        "CD-714",
        "expects desk.rows[0] = 'second' at its start; 'first'",
    ),
    "expects no such field": (
        [{"expect": {"desk.none": 1}}],
        "task",
        "CD-714",
        "no such field",
    ),
}
# What the agent does -> blame, code, score, and what the message must hold.
AGENT_FAILURES = {
    "leaves": ("agent", "CD-303", 0.0, "ended (status 5)"),
    "is_killed": ("unclassified", "CD-723", None, "signal 9"),
    "answers_much": ("agent", "CD-304", 0.0, "answered 50 MB; 16 MB is the limit"),
    "has_a_bug": ("unclassified", "CD-721", None, "KeyError: 'missing'"),
    "breaks_its_text": ("unclassified", "CD-721", None, "UntoldError (its text can't be made)"),
    "is_limited": ("provider", "CD-722", None, "RateLimitError: slow down"),
    "says_its_provider_is_gone": ("provider", "CD-311", None, "the model is away"),
    "wraps_its_provider": ("provider", "CD-722", None, "no answer from the model"),
    "groups_its_providers": ("provider", "CD-722", None, "all failed"),
    "hides_its_provider": ("unclassified", "CD-721", None, "a bug of its own"),
    "answers_what_cannot_be_sent": ("agent", "CD-312", 0.0, "Mute"),
    "reports_what_is_no_usage": ("agent", "CD-309", 0.0, "-5 tokens"),
    "writes_junk": ("agent", "CD-305", 0.0, "no message of an agent"),
    "forges_a_message": ("agent", "CD-305", 0.0, "no message of an agent"),
    "blames_the_world": ("agent", "CD-305", 0.0, "no message of an agent"),
    "connects_out": ("unclassified", "CD-725", None, "blocked: 192.0.2.1:80"),
    "cannot-feasible": ("agent", "CD-751", 0.0, "the task cannot be done"),
    "goes_on-infeasible": ("agent", "CD-753", 0.0, "did not say so"),
}
# What the agent does -> the limit that ends it, the limits, and its steps.
LIMITS = {
    "is_silent": ("agent_seconds", {"agent_seconds": 0.5}, 0),
    "is_slow": ("episode_agent_seconds", {"episode_agent_seconds": 0.5}, 2),
    "uses_tokens": ("tokens", {"tokens": 100}, 1),
    "uses_dollars": ("usd", {"usd": 1.0}, 2),
    "goes_on": ("steps", {"steps": 3}, 3),
}
# What the checker does -> the code, and what the message must hold.
CHECKER_FAILURES = {
    "raises": ("CD-506", "raised LookupError: planted in a checker"),
    "hangs": ("CD-742", "did not answer within 1 s"),
    "ends": ("CD-743", "the checker's process ended"),
    "exits": ("CD-506", "raised SystemExit"),
    "says_nothing": ("CD-502", "the checker returned nothing, not a score"),
    "says_nan": ("CD-503", "nan"),
    "says_too_much": ("CD-503", "1.5"),
    "writes": ("CD-506", "a checker is pure, and this one writes written-by-a-checker.txt"),
    "starts_a_program": ("CD-506", "a checker is pure, and this one starts a program"),
    "connects_out": ("CD-506", "cleandesk blocked a connection to 192.0.2.1:80"),
}
CLEAN_CHECKERS = ("passes", "prints")
CLEAN_AGENTS = ("prints_and_leaves_a_child", "cannot-infeasible", "connects_out_and_hides_it")
CLEAN_WORLDS = ("nothing fails", "close raises", "close hangs")


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
def hung():
    """Task -> how much its world started, and what of it went on after its result came."""
    return {}


@pytest.fixture(scope="session")
def worlds(suites, hung, ends, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pids")

    def look(item, result):
        started = folder / item.instance.task_id
        if started.exists():
            pids = [int(line) for line in started.read_text().split()]
            hung[started.name] = len(pids), ends(pids)

    names = (*WORLD_FAILURES, *CLEAN_WORLDS)
    told = {name: {"with": {"fails": name, "pids": str(folder / name)}} for name in names}
    tasks = [failing(suites, name, **told[name]) for name in names]
    tasks += [failing(suites, name, setup=row[0]) for name, row in SETUPS.items()]
    removes = {"check": None, "expect": {"removed": {"desk.rows": ["never there"]}}}
    tasks.append(failing(suites, "removes what is not there", **removes))
    agent = f"{suites.planted / 'agents.py'}:AddsTwice"
    return suites.run(tasks, agent, reruns=0, workers=2, on_result=look)


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


@pytest.mark.parametrize("name", SETUPS)
def test_a_setup_that_fails_is_the_tasks_or_the_worlds_and_a_clean_one_nobodys(worlds, name):
    _, blame, code, text = SETUPS[name]
    verdict = worlds.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["code"]) == (blame, code)
    assert verdict["score"] == (1.0 if blame is None else None)
    assert text in verdict["message"]


def test_the_first_observation_is_from_after_the_setup(worlds):
    start = worlds.kinds("calls/1-1", "start")[0]

    assert start["observation"] == ["seen after setup", "first", "x"]


def test_a_row_to_remove_that_is_not_there_is_the_tasks(worlds):
    verdict = worlds.verdict("removes what is not there/1-1")

    assert (verdict["blame"], verdict["code"], verdict["score"]) == ("task", "CD-714", None)
    assert "never there" in verdict["message"]


def test_a_world_that_hangs_is_killed_with_all_that_it_started_before_the_run_goes_on(worlds, hung):
    assert hung == {name: (3, []) for name in ("reset hangs", "step hangs", "close hangs")}


def honest(suites, name, **more):
    world = {"world": f"{suites.planted / 'starts.py'}:Honest"}
    check = {"expect": None, "check": f"{suites.planted / 'checkers.py'}:passes"}
    if name.endswith("-infeasible"):
        check = {"expect": None, "infeasible": True}
    return {"id": name, **world, **check, **more}


@pytest.fixture(scope="session")
def agents(suites):
    names = (*AGENT_FAILURES, *CLEAN_AGENTS)
    tasks = [honest(suites, name, limits={"steps": 5}) for name in names]
    tasks += [honest(suites, name, limits=limits) for name, (_, limits, _) in LIMITS.items()]
    return suites.run(tasks, f"{suites.planted / 'agents.py'}:ByTask", reruns=1, workers=2)


@pytest.mark.parametrize("name", AGENT_FAILURES)
def test_a_failure_of_the_agent_is_told_from_its_providers_and_from_an_unknown_one(agents, name):
    blame, code, score, text = AGENT_FAILURES[name]
    verdict = agents.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["code"], verdict["score"]) == (blame, code, score)
    assert text in verdict["message"]


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_ends_the_episode_and_is_judged_like_any_end(agents, name):
    reason, _, steps = LIMITS[name]
    end = agents.kinds(f"{name}/1-1", "end")[0]

    assert (end["reason"], end["steps"]) == (reason, steps)
    assert agents.verdict(f"{name}/1-1")["score"] == 1.0


@pytest.mark.parametrize("name", CLEAN_AGENTS)
def test_a_clean_agent_is_blamed_for_nothing(agents, name):
    verdict = agents.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["score"]) == (None, 1.0)


def test_only_a_provider_gets_its_episode_run_again(agents):
    providers = {name for name, row in AGENT_FAILURES.items() if row[0] == "provider"}
    rerun = {path.parent.name for path in agents.folder.glob("reruns/*/*.jsonl")}

    assert rerun == providers
    assert agents.result.reruns == len(providers)
    assert verify(agents.folder, root=agents.result.root).status is Status.PASS


def test_what_was_set_aside_is_in_no_score_and_within_its_bounds(agents):
    scored = [row for row in AGENT_FAILURES.values() if row[2] is not None]
    clean = len(LIMITS) + len(CLEAN_AGENTS)
    aside = len(AGENT_FAILURES) - len(scored)

    assert agents.result.episodes["unscored"] == aside
    assert agents.result.score["mean"] == pytest.approx(clean / (clean + len(scored)))
    low, high = agents.result.bounds
    everything = clean + len(AGENT_FAILURES)
    assert (low, high) == pytest.approx((clean / everything, (clean + aside) / everything))


def test_a_blocked_connection_is_reported_also_where_the_agent_hides_it(agents):
    entry = agents.kinds("connects_out_and_hides_it/1-1", "network")[0]

    assert entry == {"blocked": ["192.0.2.1:80"], "by": "agent", "kind": "network"}
    assert "blocked connections: 192.0.2.1:80" in agents.result.warnings


def test_what_an_agent_prints_is_kept_and_what_it_starts_is_ended(agents, ends):
    printed = (agents.folder / "output" / "roles.log").read_text()
    pid = int(re.search(r"printed by the agent, whose child is (\d+)", printed)[1])

    assert ends([pid]) == []


@pytest.fixture(scope="session")
def checkers(suites):
    file = suites.planted / "checkers.py"
    names = (*CHECKER_FAILURES, *CLEAN_CHECKERS)
    tasks = [honest(suites, name, check=f"{file}:{name}") for name in names]
    return suites.run(tasks, f"{suites.planted / 'agents.py'}:AddsTwice", checker_seconds=1.0)


@pytest.mark.parametrize("name", CHECKER_FAILURES)
def test_a_failure_of_the_checker_is_the_checkers_and_not_scored(checkers, name):
    code, text = CHECKER_FAILURES[name]
    verdict = checkers.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["code"], verdict["score"]) == ("checker", code, None)
    assert text in verdict["message"]
    # What it was to judge is there, so that it can be judged again.
    assert checkers.kinds(f"{name}/1-1", "end")[0]["steps"] == 2


@pytest.mark.parametrize("name", CLEAN_CHECKERS)
def test_a_clean_checker_is_blamed_for_nothing_and_asked_on_after_another_failed(checkers, name):
    verdict = checkers.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["score"]) == (None, 1.0)
    assert checkers.result.score["episodes"] == len(CLEAN_CHECKERS)


def test_a_checker_leaves_nothing_and_what_it_prints_is_kept(checkers):
    assert "printed by the checker" in (checkers.folder / "output" / "roles.log").read_text()
    assert not Path("written-by-a-checker.txt").exists()


def test_a_checker_that_asserts_is_refused_before_any_episode(suites):
    check = f"{suites.planted / 'checkers.py'}:asserts"
    with pytest.raises(CheckerError) as caught:
        suites.run([honest(suites, "one", check=check)], "nop")

    assert caught.value.code == "CD-504"
    assert 'if not (len(change) == 2): return cleandesk.fail("why")' in caught.value.do


def test_a_world_that_raises_in_its_constructor_is_an_error_before_any_episode(suites):
    task = failing(suites, "one", **{"with": {"fails": "build raises"}})
    with pytest.raises(WorldError) as caught:
        suites.run([task], "nop")

    assert caught.value.code == "CD-711"
    assert "the world raised in build: ValueError: planted in build" in caught.value.message
    assert "failing.py" in caught.value.do


def test_a_contract_that_ignores_what_is_not_there_is_an_error_that_names_it(suites):
    world = f"{suites.planted / 'failing.py'}:IgnoresWhatIsNotThere"
    with pytest.raises(ContractError) as caught:
        suites.run([{**failing(suites, "one"), "world": world}], "nop")

    assert caught.value.code == "CD-204"
    assert "the contract ignores 'desk.extra.token'" in caught.value.message


def test_a_clean_program_plays_a_whole_run(suites):
    program = f"cmd:{sys.executable} {suites.planted / 'program.py'} clean"
    ran = suites.run([honest(suites, "one")], program)
    steps = ran.kinds("one/1-1", "step")

    assert [step["action"] for step in steps] == [
        {"seen": ["note 1"]},
        {"seen": ["note 1", {"seen": ["note 1"]}]},
    ]
    assert ran.kinds("one/1-1", "end")[0]["usage"] == {"tokens": 10, "usd": 0.0}
    assert (ran.result.score["mean"], ran.result.proven) == (1.0, True)


def broken_from_seed_four(suites, workers):
    task = failing(
        suites,
        "broken",
        seeds="1-6",
        setup=[{"expect": {"desk.rows[0]": "first"}}],
        **{"with": {"fails": "seed 4 differs"}},
    )
    whole = honest(suites, "whole", seeds="1-2")
    return suites.run([task, whole], f"{suites.planted / 'agents.py'}:AddsTwice", workers=workers)


def test_a_task_whose_premises_fail_is_quarantined_the_same_with_any_workers(suites):
    one, two = (broken_from_seed_four(suites, workers) for workers in (1, 2))

    assert one.result.root == two.result.root
    for ran in (one, two):
        record = json.loads((ran.folder / "record.json").read_bytes())
        assert sorted(record["not_run"]) == ["broken/5-1", "broken/6-1"]
        assert ran.verdict("broken/4-1")["blame"] == "task"
        assert ran.result.episodes == {"planned": 8, "scored": 2, "unscored": 6}
        assert ran.result.score["tasks"] == 1
        assert "quarantined, and in no score: broken" in ran.result.warnings
        assert verify(ran.folder, root=ran.result.root).status is Status.PASS


@pytest.fixture(scope="session")
def server():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]


def reaching(suites, name, port, *, goal, **more):
    world = {"world": f"{suites.planted / 'failing.py'}:Reaching"}
    return {**failing(suites, name), **world, "goal": str(goal), "with": {"port": port, **more}}


@pytest.fixture(scope="session")
def networked(suites, server):
    tasks = [
        reaching(suites, "allowed", server, goal=server),
        reaching(suites, "forbidden", 9, goal=server),
        reaching(suites, "hidden", 9, goal=server, hides=True),
        reaching(suites, "agent forbidden", server, goal=9),
    ]
    hosts = {"agent": [f"127.0.0.1:{server}"], "world": [f"localhost:{server}"]}
    agent = f"{suites.planted / 'agents.py'}:Reaches"
    return suites.run(tasks, agent, {"network": hosts}, reruns=0)


def test_a_clean_world_and_agent_connect_where_the_suite_says(networked):
    assert networked.verdict("allowed/1-1")["score"] == 1.0
    assert networked.kinds("allowed/1-1", "network") == []


def test_a_world_that_connects_where_the_suite_forbids_is_blocked_and_reported(networked):
    forbidden = networked.verdict("forbidden/1-1")
    blocked = {"blocked": ["127.0.0.1:9"], "by": "world", "kind": "network"}

    assert (forbidden["blame"], forbidden["code"]) == ("world", "CD-725")
    assert "blocked a connection to 127.0.0.1:9" in forbidden["message"]
    # Where it hides that, nothing went wrong; that it tried is in the record all the same.
    assert networked.verdict("hidden/1-1")["score"] == 1.0
    for name in ("forbidden", "hidden"):
        assert networked.kinds(f"{name}/1-1", "network")[0] == blocked
    assert "blocked connections: 127.0.0.1:9" in networked.result.warnings


def test_an_agent_that_connects_where_the_suite_forbids_is_blocked_and_reported(networked):
    verdict = networked.verdict("agent forbidden/1-1")

    assert (verdict["blame"], verdict["code"]) == ("unclassified", "CD-725")
    assert "[blocked: 127.0.0.1:9]" in verdict["message"]
