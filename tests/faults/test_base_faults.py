"""Worlds over a base: what they leave, hide or break is named, and their clean twin passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleandesk.audit import states
from cleandesk.audit.record import verify
from cleandesk.errors import ContractError
from cleandesk.verdict import Status

pytestmark = pytest.mark.service


DEFECTS = {
    "RowOfItsProcess": ({"CD-701"}, "db.note[2].text"),
    "RowOfTheMachinesClock": ({"CD-701"}, "db.note[7]"),
    # Written between two readings it is another start, written during one it is unreadable.
    "GoesOnWriting": ({"CD-242", "CD-701"}, ""),
    "LeavesOneUndeclared": ({"CD-701"}, "holds 'second', outside its sampler"),
}


def task(suites, name, **more):
    check = {"expect": None, "check": f"{suites.planted / 'checkers.py'}:passes"}
    return {"id": name, "world": f"{suites.planted / 'ledger.py'}:{name}", **check, **more}


def agent(suites):
    return f"{suites.planted / 'agents.py'}:AddsTwice"


@pytest.fixture(scope="module")
def forked(suites):
    names = ("Honest", *DEFECTS, "Declares", "OtherTable", "DeletesItsFile")
    tasks = [task(suites, name) for name in names]
    return suites.run(tasks, agent(suites), trials=2, reruns=0, workers=2)


@pytest.mark.parametrize("name", DEFECTS)
def test_what_a_world_leaves_in_its_database_is_named(forked, name):
    codes, said = DEFECTS[name]

    verdict = forked.verdict(f"{name}/1-1")

    assert verdict["blame"] == "world"
    assert verdict["code"] in codes
    assert said in verdict["message"]


def test_the_clean_twin_starts_right_each_time(forked):
    starts = [forked.kinds(f"Honest/1-{trial}", "start")[0] for trial in (1, 2)]

    assert all(start["verified"] for start in starts)
    assert starts[0]["fingerprint"] == starts[1]["fingerprint"]


def test_a_declared_field_may_lie_outside_its_sampler_at_the_base_if_each_start_writes_it(forked):
    assert forked.kinds("Declares/1-2", "start")[0]["verified"]


def test_the_change_is_read_row_by_row(forked):
    (end,) = forked.kinds("Honest/1-2", "end")

    assert [(row["op"], row["surface"], row["path"]) for row in end["changes"]] == [
        ("added", "db", ["note", 3]),
        ("added", "db", ["note", 4]),
    ]


def test_a_table_that_was_made_is_in_the_change(forked):
    (end,) = forked.kinds("OtherTable/1-1", "end")

    assert ("added", ["extra"]) in [(row["op"], row["path"]) for row in end["changes"]]


def test_a_world_that_deletes_its_file_is_to_blame_and_the_next_start_is_right(forked):
    assert forked.verdict("DeletesItsFile/1-1")["blame"] == "world"
    assert forked.kinds("DeletesItsFile/1-2", "start")[0]["verified"]


def test_the_record_of_states_over_a_base_verifies(forked):
    assert verify(forked.folder, root=forked.result.root).status is Status.PASS


def test_an_end_is_made_from_its_start_with_one_reading_of_the_base(forked):
    states._base.cache_clear()
    changes = states.compare_states(
        f"{forked.folder}:Honest/1-2@start", f"{forked.folder}:Honest/1-2@end"
    )

    assert [change.field for change in changes] == ["db.note[3]", "db.note[4]"]
    assert states._base.cache_info().misses == 1


def test_a_shared_world_is_put_back_under_its_feet(suites):
    ran = suites.run(
        [task(suites, "Honest")], agent(suites), trials=3, isolation="shared", reruns=0
    )

    assert ran.result.starts["verified"] == 3
    assert ran.result.proven


def test_a_shared_world_that_keeps_the_old_file_open_is_named(suites):
    ran = suites.run(
        [task(suites, "KeepsItsConnection")],
        agent(suites),
        trials=2,
        isolation="shared",
        reruns=0,
    )

    verdict = ran.verdict("KeepsItsConnection/1-2")

    assert (verdict["blame"], verdict["code"]) == ("world", "CD-245")


@pytest.mark.parametrize("name", ["KeepsItsLog", "StaysInItsFolder"])
def test_a_shared_world_that_stays_in_the_old_folder_is_named(suites, name):
    ran = suites.run([task(suites, name)], agent(suites), trials=2, isolation="shared", reruns=0)

    verdict = ran.verdict(f"{name}/1-2")

    assert (verdict["blame"], verdict["code"]) == ("world", "CD-245")
    assert "papers" in verdict["message"]


@pytest.mark.parametrize("name", ["KeepsItsConnection", "KeepsItsLog"])
def test_it_is_named_also_where_the_folder_of_copies_is_a_link(suites, tmp_path, monkeypatch, name):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLEANDESK_SCRATCH", "link")

    ran = suites.run([task(suites, name)], agent(suites), trials=2, isolation="shared", reruns=0)

    assert ran.verdict(f"{name}/1-2")["code"] == "CD-245"


def test_a_shared_world_that_opens_its_files_anew_is_put_back_each_time(suites):
    ran = suites.run(
        [task(suites, "Writes")], agent(suites), trials=3, isolation="shared", reruns=0
    )
    ends = [ran.kinds(f"Writes/1-{trial}", "end")[0]["changes"] for trial in (1, 2, 3)]

    assert ran.result.starts["verified"] == 3
    assert ends[0]
    assert ends[0] == ends[1] == ends[2]


def test_what_a_world_left_running_does_not_write_into_the_next_ones_state(suites):
    ran = suites.run([task(suites, "LeavesAWriter")], agent(suites), trials=4, reruns=0)
    seen = [ran.kinds(f"LeavesAWriter/1-{n}", "step")[0]["observation"] for n in (1, 2, 3, 4)]

    assert seen == [["first", "second", "added 1"]] * 4
    assert ran.result.starts["verified"] == 4


SETUPS = {
    "what a call wrote": ([{"call": "begin_late"}, {"expect": {"db.note[2].text": "late"}}], None),
    "one of two rows": ([{"expect": {"db.note[*].id": 1}}], "task"),
    "a row of the base": ([{"expect": {"db.note[1]": {"id": 1, "text": "first"}}}], None),
    "another value": ([{"expect": {"db.note[1].text": "late"}}], "task"),
    "no such field": ([{"expect": {"db.note[9].text": "late"}}], "task"),
}


def test_a_setup_step_may_expect_what_the_copies_hold(suites):
    tasks = [
        task(suites, "Honest", setup=steps) | {"id": name.replace(" ", "-")}
        for name, (steps, _) in SETUPS.items()
    ]
    ran = suites.run(tasks, agent(suites), reruns=0)
    found = {name: ran.verdict(f"{name.replace(' ', '-')}/1-1") for name in SETUPS}

    assert {name: verdict["blame"] for name, verdict in found.items()} == {
        name: blame for name, (_, blame) in SETUPS.items()
    }
    assert "no such field" in found["no such field"]["message"]
    assert "'first'" in found["another value"]["message"]


def test_a_contract_with_a_base_must_be_known_before_the_world_is_built(suites):
    with pytest.raises(ContractError) as refused:
        suites.run([task(suites, "KnownTooLate")], agent(suites))

    assert refused.value.code == "CD-207"


def test_an_expectation_about_a_table_that_is_nowhere_is_the_tasks_fault(suites):
    """Whether there is such a table is known when the start is: a reset may make it."""
    wanted = {"added": {"db.notes": [{"text": "added 1"}]}}
    named = task(suites, "Honest", expect=wanted, check=None)

    ran = suites.run([named], agent(suites))

    verdict = ran.verdict("Honest/1-1")
    assert (verdict["blame"], verdict["code"]) == ("task", "CD-714")
    assert "there is: note," in verdict["message"]


def test_a_table_that_reset_makes_may_be_expected_of(suites):
    wanted = {"added": {"db.made": [{"text": "added 1"}, {"text": "added 2"}]}}
    named = task(suites, "MakesItsTable", expect=wanted, check=None)

    ran = suites.run([named], agent(suites))

    assert ran.verdict("MakesItsTable/1-1")["score"] == 1


def test_a_run_leaves_the_mounts_of_its_caller_alone(suites):
    namespace = Path("/proc/self/ns/mnt")
    before = namespace.readlink()

    suites.run([task(suites, "Writes")], "nop")

    assert namespace.readlink() == before


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("WritesItsLog", {"papers.files[log.txt].lines[1]", "papers.files[log.txt].lines[2]"}),
        ("OpensItsDatabase", {"db.note[3]", "db.note[4]"}),
    ],
)
def test_what_a_contract_leaves_free_is_not_held_against_an_agent(suites, name, changed):
    ran = suites.run([task(suites, name, expect={}, check=None)], agent(suites))

    said = ran.verdict(f"{name}/1-1")["message"]
    assert all(field in said for field in changed)
    assert "new.log" not in said
    assert "old/more.txt" not in said
    assert "descriptors" not in said
