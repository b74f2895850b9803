"""Seed 001's expense task on a real database: five endings, judged two ways."""

from __future__ import annotations

import pytest

from cleandesk.audit.states import read_state
from cleandesk.log import read_object
from cleandesk.state import Snapshot, fingerprint

pytestmark = pytest.mark.service

ENDINGS = ("right", "everything deleted", "one row too many", "one amount changed", "one row left")
ROWS_LEFT = (50, 0, 49, 50, 51)


def run(suites, name, **chosen):
    return suites.run_file(name, "scripted", log_dir=suites.folder / f"runs-{name}", **chosen)


def scores(ran):
    return [ran.verdict(f"delete-three/30-{trial}")["score"] for trial in range(1, 6)]


@pytest.fixture(scope="module")
def whole(suites):
    return run(suites, "expenses", workers=2)


@pytest.fixture(scope="module")
def large(suites):
    return run(suites, "expenses-large")


def test_the_full_checker_passes_the_right_ending_alone(whole):
    """Seed 001: the worked example."""
    assert scores(whole) == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert whole.result.proven


def test_the_targets_check_passes_four_of_the_five_and_three_falsely(suites, whole):
    """Seed 001: the obvious check."""
    looks = scores(run(suites, "expenses-targets"))

    assert looks == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert sum(one > other for one, other in zip(looks, scores(whole), strict=True)) == 3


@pytest.mark.parametrize(("trial", "left"), [*enumerate(ROWS_LEFT, 1)], ids=ENDINGS)
def test_the_rows_that_are_left_are_those_of_the_worked_example(whole, trial, left):
    end = read_state(f"{whole.folder}:delete-three/30-{trial}@end")

    assert len(end.tree()["db"]["expense"]) == left


def test_the_goal_names_three_rows_and_the_same_seed_names_them_again(suites, whole):
    again = run(suites, "expenses")

    (opened,) = whole.kinds("delete-three/30-1", "open")
    names = [row["name"] for row in opened["params"]["expenses"]]
    assert opened["goal"] == f"Delete the following expenses: {', '.join(names)}."
    assert again.result.root == whole.result.root


def test_a_row_that_was_never_there_is_the_tasks_fault(suites):
    named = {
        "id": "delete-absent",
        "world": "expenses",
        "expect": {"removed": {"db.expense": [1, 2, 999]}},
    }

    ran = suites.run([named], "nop")

    verdict = ran.verdict("delete-absent/1-1")
    assert (verdict["blame"], verdict["code"], verdict["score"]) == ("task", "CD-714", None)
    assert "999" in verdict["message"]


def test_a_hundred_thousand_rows_are_judged_alike_by_the_fast_path(large):
    assert scores(large) == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert large.result.proven
    assert any(path.endswith("fast") for path in large.result.starts["readings"])


@pytest.mark.parametrize("trial", [1, 3, 4])
def test_the_base_and_the_recorded_change_hash_to_the_recorded_end(large, trial):
    """Law 3."""
    episode = f"delete-three/30-{trial}"
    end = read_state(f"{large.folder}:{episode}@end")

    assert fingerprint(end) == large.kinds(episode, "end")[0]["fingerprint"]


def test_the_base_is_stored_once_for_all_episodes(large):
    starts = {large.kinds(f"delete-three/30-{trial}", "start")[0]["object"] for trial in (1, 2)}
    (held,) = starts

    over = Snapshot.from_bytes(read_object(large.folder, held)).over["db"]

    assert len([*(large.folder / "objects").iterdir()]) == 2
    assert not over.delta
