"""Worlds over a base: what they leave, hide or break is named, and their clean twin passes."""

from __future__ import annotations

import pytest

from cleandesk.audit.record import verify
from cleandesk.errors import ContractError
from cleandesk.verdict import Status

pytestmark = pytest.mark.service


DEFECTS = {
    "RowOfItsProcess": ({"CD-701"}, "db.note[2].text"),
    "RowOfTheMachinesClock": ({"CD-701"}, "db.note[7]"),
    # Written between two readings it is another start, written during one it is unreadable.
    "GoesOnWriting": ({"CD-242", "CD-701"}, ""),
}


def task(suites, name, **more):
    check = {"expect": None, "check": f"{suites.planted / 'checkers.py'}:passes"}
    return {"id": name, "world": f"{suites.planted / 'ledger.py'}:{name}", **check, **more}


def agent(suites):
    return f"{suites.planted / 'agents.py'}:AddsTwice"


@pytest.fixture(scope="module")
def forked(suites):
    names = ("Honest", *DEFECTS, "OtherTable", "DeletesItsFile")
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


def test_a_contract_with_a_base_must_be_known_before_the_world_is_built(suites):
    with pytest.raises(ContractError) as refused:
        suites.run([task(suites, "KnownTooLate")], agent(suites))

    assert refused.value.code == "CD-207"
