"""A start that is not the declared one is never scored as if it were (law 4)."""

from __future__ import annotations

import pytest

from cleandesk.audit.record import verify
from cleandesk.verdict import Status

pytestmark = pytest.mark.service


OF_A_PROCESS = {
    "DrawsFromImport": "desk.notes[1]",
    "DrawsGlobally": "desk.notes[1]",
    "FollowsHashSeed": "desk.notes[",
    "ReadsMachineClock": "desk.notes[1]",
}
LEAKS = {
    # Field, and the step of the first episode that wrote it; None: the reset itself did.
    "KeepsInInstance": ("desk.notes[1]", 1),
    "KeepsIncidental": ("desk.views", 2),
    "KeepsInClass": ("desk.notes[2]", 2),
    "CountsInModule": ("desk.notes[1]", None),
    # Living through it again does not bring it back, so nobody is named.
    "KeepsWhatItDraws": ("desk.notes[1]", None),
}
CLEAN = ("Honest", "ReadsOwnClock", "Declares")


def tasks(suites, *names):
    world = f"{suites.planted / 'starts.py'}:build"
    check = {"expect": None, "check": f"{suites.planted / 'checkers.py'}:passes"}
    return [{"id": name, "world": world, "with": {"defect": name}, **check} for name in names]


def agent(suites):
    return f"{suites.planted / 'agents.py'}:AddsTwice"


@pytest.fixture(scope="session")
def forked(suites):
    names = (*OF_A_PROCESS, *LEAKS, *CLEAN, "DeclaresTooMuch", "SettlesWhileItIsRead")
    return suites.run(tasks(suites, *names), agent(suites), trials=2, reruns=1, workers=2)


@pytest.fixture(scope="session")
def recorded(suites):
    return suites.run(
        tasks(suites, *LEAKS, *CLEAN),
        agent(suites),
        trials=3,
        isolation="shared",
        on_wrong_start="record",
    )


@pytest.fixture(scope="session")
def rebuilt(suites):
    names = tasks(suites, "KeepsInInstance")
    return suites.run(names, agent(suites), trials=3, isolation="shared", on_wrong_start="rerun")


@pytest.fixture(scope="session")
def refused(suites):
    names = tasks(suites, "KeepsInInstance")
    return suites.run(names, agent(suites), trials=3, isolation="shared", on_wrong_start="refuse")


@pytest.mark.parametrize("name", OF_A_PROCESS)
def test_a_start_that_depends_on_its_process_differs_from_the_independent_build(forked, name):
    verdict = forked.verdict(f"{name}/1-1")

    assert (verdict["blame"], verdict["code"], verdict["score"]) == ("world", "CD-701", None)
    assert OF_A_PROCESS[name] in verdict["message"]
    assert not verdict["proven"]


def test_a_start_that_is_right_only_when_it_is_read_again_is_wrong(forked):
    verdict = forked.verdict("SettlesWhileItIsRead/1-1")

    assert (verdict["blame"], verdict["code"], verdict["proven"]) == ("world", "CD-701", False)
    assert "when it was read again" in verdict["message"]


def test_a_declared_field_outside_its_sampler_is_a_wrong_start(forked):
    verdict = forked.verdict("DeclaresTooMuch/1-1")

    assert (verdict["blame"], verdict["code"]) == ("world", "CD-701")
    assert "desk.price holds" in verdict["message"]
    assert "outside its sampler 'integer 1 6'" in verdict["message"]


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_world_starts_right_in_every_isolation(forked, recorded, name):
    for ran in (forked, recorded):
        for trial in (1, 2):
            verdict = ran.verdict(f"{name}/1-{trial}")
            assert (verdict["score"], verdict["proven"]) == (1.0, True)


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_clean_where_each_episode_has_a_fork_of_its_own(forked, name):
    verdict = forked.verdict(f"{name}/1-2")

    assert (verdict["score"], verdict["proven"]) == (1.0, True)
    assert forked.result.starts["isolation"] == "fork"


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_into_a_shared_world_is_named_with_the_step_that_wrote_it(recorded, name):
    field, step = LEAKS[name]
    first = recorded.kinds(f"{name}/1-1", "start")[0]
    second = recorded.kinds(f"{name}/1-2", "start")[0]
    pointers = ["".join(("desk", change["pointer"])) for change in second["changes"]]

    assert first["verified"]
    assert not second["verified"]
    assert field.replace(".", "/").replace("[", "/").replace("]", "") in pointers
    wanted = None if step is None else {"episode": f"{name}/1-1", "step": step}
    assert second["writers"].get(field) == wanted


def test_what_leaks_on_and_on_is_named_each_time_with_whoever_wrote_it_last(recorded):
    third = recorded.kinds("KeepsInInstance/1-3", "start")[0]

    assert third["writers"] == {
        "desk.notes[1]": {"episode": "KeepsInInstance/1-1", "step": 1},
        "desk.notes[2]": {"episode": "KeepsInInstance/1-1", "step": 2},
        "desk.notes[3]": {"episode": "KeepsInInstance/1-2", "step": 1},
        "desk.notes[4]": {"episode": "KeepsInInstance/1-2", "step": 2},
    }


def test_a_run_that_records_wrong_starts_goes_on_and_is_unproven(recorded):
    assert recorded.verdict("KeepsInInstance/1-2")["score"] == 1.0
    assert recorded.verdict("KeepsInInstance/1-2")["proven"] is False
    assert recorded.result.starts["wrong"] == 2 * len(LEAKS)
    assert recorded.result.proven is False
    assert recorded.result.status() == 1


def test_a_run_that_refuses_stops_at_the_first_wrong_start_without_a_score(refused):
    result = refused.result

    assert result.refused["episode"] == "KeepsInInstance/1-2"
    assert result.refused["fields"][0] == {
        "expected": "absent",
        "field": "desk.notes[1]",
        "found": "'added 1'",
        "writer": {"episode": "KeepsInInstance/1-1", "step": 1},
    }
    assert (result.score, result.proven, result.status()) == (None, False, 1)
    assert sorted(path.name for path in refused.folder.glob("episodes/*/*")) == [
        "1-1.jsonl",
        "1-2.jsonl",
    ]
    assert verify(refused.folder, root=result.root).status is Status.PASS


def test_a_wrong_start_is_run_again_in_a_rebuilt_world_and_then_proven(rebuilt):
    result = rebuilt.result

    assert result.reruns == 2
    assert result.episodes == {"planned": 3, "scored": 3, "unscored": 0}
    assert (result.score["mean"], result.proven) == (1.0, True)
    # The wrong starts are not forgotten: they are a finding about the world.
    assert (result.starts["wrong"], result.status()) == (2, 1)


def test_every_attempt_is_kept_and_sealed_and_its_head_left(forked, rebuilt):
    for ran, names in ((forked, ["1-1.1.jsonl", "1-2.1.jsonl"]), (rebuilt, ["1-2.1.jsonl"])):
        reruns = sorted(ran.folder.glob("reruns/*[GI][ln]*/*.jsonl"))
        assert set(names) <= {path.name for path in reruns}
        assert verify(ran.folder, root=ran.result.root).status is Status.PASS
        heads = ran.folder / "heads.jsonl"
        assert verify(ran.folder, root=ran.result.root, heads=heads).status is Status.PASS


def test_a_clean_world_is_refused_by_no_setting(suites):
    names = tasks(suites, "Honest")
    ran = suites.run(names, agent(suites), trials=3, isolation="shared", on_wrong_start="refuse")

    assert ran.result.refused is None
    assert (ran.result.score["mean"], ran.result.proven, ran.result.status()) == (1.0, True, 0)


@pytest.mark.parametrize("isolation", ["fork", "shared"])
def test_what_leaks_through_a_file_outside_is_not_in_the_start_that_is_expected(
    suites, tmp_path, isolation
):
    """All expected starts are built before the first episode can leave anything."""
    (named,) = tasks(suites, "KeepsOutside")
    named["with"]["path"] = str(tmp_path / "outside.txt")
    named["seeds"] = "1-3"

    ran = suites.run([named], agent(suites), isolation=isolation, reruns=0)

    wrong = [ran.verdict(f"KeepsOutside/{seed}-1")["code"] for seed in (1, 2, 3)]
    assert wrong == [None, "CD-701", "CD-701"]
    assert "desk.notes[1]" in ran.verdict("KeepsOutside/2-1")["message"]
