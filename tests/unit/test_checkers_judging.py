from __future__ import annotations

import pytest

from cleandesk.checkers import Evidence, judge, load_checker, needs
from cleandesk.errors import CheckerError
from cleandesk.state import Snapshot, diff

CHECKS = """
import cleandesk.checkers as cd

def half(): return 0.5
def yes(): return True
def no(): return cd.fail("no reason")
def lost(): return cd.Unscored("no recording")
def metric(): return cd.Metric(12.5, "distance")
def raises(end): return end.desk.nothing
def leaves(): raise SystemExit(3)
def forgets(): "no return"
def high(): return 2

def says_why(task, params, start, end, change, answer, reason, word="because", n=0):
    if word not in answer:
        return cd.fail(f"no {word}")
    if task.params != params or task.id != "t" or task.goal != "Go.":
        return cd.fail("task")
    if start.desk.n != 1 or end.desk.n != 2:
        return cd.fail("state")
    return change.only(changed={"desk.n": 2})

def steps(rewards, actions, trajectory):
    return rewards == (1.0, 0.0) and actions == ({"go": 1}, 2) and len(trajectory) == 2

def spoils(params, actions, trajectory, change):
    params["a"].append(9); actions[0]["go"] = 9; trajectory[0]["x"] = 9
    change[0].after["deep"] = 9
    return True

class Callable:
    def __call__(self, answer): return answer == "because"

called = Callable()
"""

START = Snapshot.of("c", {"desk": {"n": 1}})
END = Snapshot.of("c", {"desk": {"n": 2}})
EVIDENCE = Evidence(
    task_id="t",
    goal="Go.",
    params={"a": [1]},
    start=START,
    end=END.to_bytes(),
    changes=diff(START, END),
    answer="because",
    reason="done",
    rewards=(1.0, 0.0),
    actions=({"go": 1}, 2),
    trajectory=({"step": 1}, {"step": 2}),
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop_checks.py").write_text(CHECKS)
    return tmp_path


def spec(*names, **others):
    checks = [
        {"ref": f"shop_checks.py:{name}"} if isinstance(name, str) else name for name in names
    ]
    return {"expect": None, "accept_answers": None, "checks": checks, "combine": "and", **others}


def judged(folder, *names, evidence=EVIDENCE, **others):
    return judge(spec(*names, **others), evidence, folders=[folder])


def test_a_checker_gets_what_it_asks_for_by_name(folder):
    assert judged(folder, "says_why").score == 1.0
    assert judged(folder, "steps").score == 1.0
    assert judged(folder, "called").score == 1.0


def test_the_with_table_gives_further_arguments(folder):
    check = {"ref": "shop_checks.py:says_why", "with": {"word": "since"}}

    assert judged(folder, check).score == 0.0
    assert judged(folder, check).explanation == "shop_checks.py:says_why: no since"


def test_expectation_answer_and_functions_are_combined_in_this_order(folder):
    result = judged(
        folder,
        {"ref": "shop_checks.py:half", "weight": 2},
        expect={"changed": {"desk.n": 2}},
        accept_answers=["Because"],
    )

    assert [part["name"] for part in result.parts] == ["expect", "answer", "shop_checks.py:half"]
    assert result.score == pytest.approx((1 + 1 + 2 * 0.5) / 4)


def test_a_wrong_change_ends_it_before_any_function_is_asked(folder):
    result = judged(folder, "raises", expect={})

    assert (result.score, len(result.parts)) == (0.0, 1)


@pytest.mark.parametrize(("right", "score"), [(2, 1.0), (3, 0.0)])
def test_one_of_several_right_answers_is_enough(folder, right, score):
    answers = [{"changed": {"desk.n": 7}}, {"changed": {"desk.n": right}}]

    assert judged(folder, expect=answers).score == score


def test_of_several_right_answers_the_nearest_explains_the_failure(folder):
    far = {"removed": {"desk.rows": [1, 2, 3]}}
    near = {"changed": {"desk.n": 3}}

    assert "should become 3" in judged(folder, expect=[far, near]).explanation


@pytest.mark.parametrize(
    ("infeasible", "said_so", "score"),
    [(True, True, 1.0), (True, False, 0.0), (False, True, 0.0), (False, False, 1.0)],
)
def test_the_rule_for_infeasible_tasks_stands_before_every_check(infeasible, said_so, score):
    evidence = Evidence(infeasible_answer=said_so, answer="x")
    check = {**spec(), "accept_answers": ["x"], "infeasible": infeasible}

    assert judge(check, evidence).score == score


def test_an_infeasible_answer_is_never_handed_to_a_function(folder):
    evidence = Evidence(infeasible_answer=True)

    assert judged(folder, "raises", evidence=evidence).score == 0.0


def test_a_check_without_anything_to_ask_is_no_score():
    result = judge(spec(), EVIDENCE)

    assert (result.score, result.metric, result.unscored) == (None, None, "no checker")


def test_an_unscored_check_leaves_the_episode_unscored(folder):
    result = judged(folder, "yes", "lost")

    assert result.score is None
    assert result.unscored == "shop_checks.py:lost: no recording"


def test_a_metric_alone_is_a_metric(folder):
    result = judged(folder, "metric")

    assert (result.score, result.metric, result.unscored) == (None, 12.5, None)
    assert judged(folder, {"ref": "returns"}).metric == 1.0


def test_a_registered_checker_takes_its_range(folder):
    check = {"ref": "returns", "with": {"low": 0, "high": 4}}

    assert judged(folder, check).score == 0.25


@pytest.mark.parametrize(
    ("names", "code", "said"),
    [
        (["yes", "metric"], "CD-508", "gives a metric"),
        (["raises"], "CD-506", "raised AttributeError: desk has no 'nothing'"),
        (["leaves"], "CD-506", "raised SystemExit"),
        (["forgets"], "CD-502", "returned nothing"),
        (["high"], "CD-503", "2 is not a score"),
    ],
)
def test_a_checkers_own_failure_is_an_error_that_names_it(folder, names, code, said):
    with pytest.raises(CheckerError, match=said) as caught:
        judged(folder, *names)

    assert caught.value.code == code
    assert names[-1] in str(caught.value)
    assert caught.value.do


def test_the_line_where_a_checker_raised_is_named(folder):
    with pytest.raises(CheckerError) as caught:
        judged(folder, "raises")

    assert caught.value.where.endswith("shop_checks.py, line 9")


def test_what_one_checker_does_to_its_arguments_the_next_does_not_see(folder):
    """Law 10."""
    start = Snapshot.of("c", {"desk": {"n": {}}})
    end = Snapshot.of("c", {"desk": {"n": {}, "m": {"deep": 1}}})
    evidence = Evidence(
        params={"a": [1]},
        changes=diff(start, end),
        start=start,
        end=end,
        actions=({"go": 1},),
        trajectory=({"step": 1},),
    )

    judged(folder, "spoils", "spoils", evidence=evidence)

    assert evidence.params == {"a": [1]}
    assert evidence.actions == ({"go": 1},)
    assert evidence.trajectory == ({"step": 1},)
    assert evidence.changes[0].after == {"deep": 1}


@pytest.mark.parametrize(
    ("others", "names", "wanted"),
    [
        ({}, [], set()),
        ({"expect": {}}, [], {"changes", "start"}),
        ({"accept_answers": ["x"]}, [], {"answer"}),
        ({}, ["steps"], {"rewards", "actions", "trajectory"}),
        ({}, ["says_why"], {"start", "end", "changes", "answer", "reason"}),
        ({"infeasible": True}, ["steps"], set()),
    ],
)
def test_only_what_the_checks_ask_for_is_needed(folder, others, names, wanted):
    assert needs(spec(*names, **others), folders=[folder]) == wanted


@pytest.mark.parametrize("names", [["says_why"], []])
def test_evidence_that_was_not_sent_is_asked_for_by_name(folder, names):
    others = {} if names else {"expect": {}}
    with pytest.raises(CheckerError) as caught:
        judged(folder, *names, evidence=Evidence(answer="because"), **others)

    assert caught.value.code == "CD-509"


def test_the_digest_of_a_checker_is_that_of_its_file(folder):
    one = load_checker("shop_checks.py:yes", folders=[folder])
    other = load_checker("shop_checks.py:no", folders=[folder])

    assert one.source_sha256 == other.source_sha256
    assert len(one.source_sha256) == 64
