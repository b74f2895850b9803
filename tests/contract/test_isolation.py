"""What keeps one episode out of the next, and the agent's hands off the record."""

from __future__ import annotations

import pytest

from cleandesk.audit.record import verify
from cleandesk.verdict import Status


def tasks(suites, *defects, **more):
    world = {"world": f"{suites.planted / 'starts.py'}:build"}
    check = {"expect": None, "check": f"{suites.planted / 'checkers.py'}:passes"}
    return [{"id": name, "with": {"defect": name}, **world, **check, **more} for name in defects]


@pytest.fixture(scope="session")
def isolated(suites):
    """The same two tasks in each isolation; one shows its process, one spoils what it sees."""
    agent = f"{suites.planted / 'agents.py'}:Spoils"
    chosen = {"fork": 3, "shared": 3, "spawn": 2}
    return {
        isolation: suites.run(
            tasks(suites, "ShowsItsProcess", "Honest"), agent, isolation=isolation, trials=trials
        )
        for isolation, trials in chosen.items()
    }


def processes(ran):
    trials = len(list(ran.folder.glob("episodes/ShowsItsProcess/*.jsonl")))
    names = [f"ShowsItsProcess/1-{trial}" for trial in range(1, trials + 1)]
    return [ran.kinds(name, "start")[0]["info"] for name in names]


@pytest.mark.parametrize("isolation", ["fork", "spawn", "shared"])
def test_a_clean_world_is_scored_and_proven_in_each_isolation(isolated, isolation):
    ran = isolated[isolation]

    assert (ran.result.score["mean"], ran.result.proven) == (1.0, True)
    assert ran.result.starts["isolation"] == isolation
    assert verify(ran.folder, root=ran.result.root).status is Status.PASS


def test_a_fork_is_a_new_process_of_one_parent(isolated):
    shown = processes(isolated["fork"])

    assert len({info["pid"] for info in shown}) == len(shown)
    assert len({info["parent"] for info in shown}) == 1


def test_a_spawned_world_has_a_new_parent_each_time(isolated):
    shown = processes(isolated["spawn"])

    assert len({info["parent"] for info in shown}) == len(shown)


def test_a_shared_world_stays_in_one_process(isolated):
    assert len({info["pid"] for info in processes(isolated["shared"])}) == 1


@pytest.mark.parametrize("isolation", ["fork", "spawn", "shared"])
def test_what_a_world_prints_is_kept(isolated, isolation):
    printed = (isolated[isolation].folder / "output" / "worlds.log").read_text()

    assert printed.count("printed by the world\n") >= 2


@pytest.mark.parametrize("isolation", ["fork", "shared"])
def test_an_observation_is_a_copy_for_the_log_and_a_copy_for_the_agent(isolated, isolation):
    """The world hands out the list that it goes on writing to; the agent empties it."""
    ran = isolated[isolation]
    start = ran.kinds("Honest/1-1", "start")[0]
    steps = ran.kinds("Honest/1-1", "step")
    end = ran.kinds("Honest/1-1", "end")[0]

    assert start["observation"] == ["note 1"]
    assert [step["observation"] for step in steps] == [
        ["note 1", "saw 1"],
        ["note 1", "saw 1", "saw 2"],
    ]
    assert [change["after"] for change in end["changes"] if "notes" in change["pointer"]] == [
        "saw 1",
        "saw 2",
    ]


def test_an_importer_that_was_killed_is_started_again_and_the_run_goes_on(suites, kill_roles):
    killed = []

    def kill_importers(item, result):
        if not killed:
            killed.extend(kill_roles("cleandesk.worlds.importer"))

    agent = f"{suites.planted / 'agents.py'}:AddsTwice"
    names = tasks(suites, "Honest", seeds="1-3")
    ran = suites.run(names, agent, on_result=kill_importers)

    assert len(killed) == 2
    assert ran.result.episodes == {"planned": 3, "scored": 3, "unscored": 0}
    assert (ran.result.score["mean"], ran.result.proven) == (1.0, True)
