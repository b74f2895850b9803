from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cleandesk.errors import SuiteError
from cleandesk.tasks import Instance, fill, load_suite

WHOLE = """
name = "shopbench"
version = "2.1.0"
description = "refunds"
labels = ["shop"]
world = "shop.world:Shop"
with = { rows = 50, warm = false }
seeds = "1-3"
trials = 2
limits = { steps = 40, usd = 2.0 }
network = { world = ["127.0.0.1"] }
isolation = "spawn"
on_wrong_start = "refuse"
reruns = 1

[[disturb]]
on = "query"
when = { table = "orders" }
count = [1]
share = 0.2
fault = "timeout"
outage = { share = 0.1, minutes = 10 }

[[event]]
name = "price_rise"
step = "2-5"
with = { percent = 10 }

[[task]]
id = "refund-late"
goal = "Refund late order {order.id}; say why."
family = "refund"
draw.order = [{ id = 7, total = 120.5 }]
draw.day = { date = ["2026-01-01", "2026-01-01"] }
setup = [{ call = "add", with = { id = "{order.id}" } }, { wait = "is_idle", timeout_s = 2 },
         { expect = { "db.orders[{order.id}].status" = "late" } }]
expect.changed = { "db.orders[{order.id}].status" = "refunded" }
expect.added = { "db.refunds" = [{ order_id = "{order.id}", amount = "{order.total}", on = "{day}" }] }
answer = ["late", "{order.total}"]
accept = "any"
check = ["shop.checks:polite", { ref = "shop.checks:why", with = { word = "{day}" }, weight = 2 }]
combine = "or"
limits = { steps = 10 }
options = { start = "{order.id}" }
seeds = [5]
with = { rows = 3 }

[[task]]
id = "sing"
goal = "Sing the refund."
infeasible = true
may_change = true
"""


def suite_of(tmp_path: Path, text: str, **files: str):
    (tmp_path / "suite.toml").write_text(text)
    for name, held in files.items():
        (tmp_path / name.replace("__", "/")).parent.mkdir(exist_ok=True)
        (tmp_path / name.replace("__", "/")).write_text(held)
    return load_suite(tmp_path / "suite.toml")


def test_everything_a_suite_says_is_read(tmp_path):
    suite = suite_of(tmp_path, WHOLE)

    assert (suite.name, suite.version, suite.world) == ("shopbench", "2.1.0", "shop.world:Shop")
    assert suite.seeds == (1, 2, 3)
    assert (suite.trials, suite.reruns) == (2, 1)
    assert (suite.isolation, suite.on_wrong_start) == ("spawn", "refuse")
    assert suite.network == {"world": ["127.0.0.1"], "agent": []}
    assert (suite.limits.steps, suite.limits.usd, suite.limits.world_seconds) == (40, 2.0, 60.0)
    assert suite.disturb[0]["outage"] == {"share": 0.1, "minutes": 10.0}
    assert suite.events == ({"name": "price_rise", "step": "2-5", "with": {"percent": 10}},)
    assert suite.folder == tmp_path


def test_what_the_suite_sets_reaches_each_task_and_the_task_stands_above_it(tmp_path):
    refund, sing = suite_of(tmp_path, WHOLE).tasks

    assert (refund.limits.steps, refund.limits.usd) == (10, 2.0)
    assert (sing.limits.steps, sing.limits.usd) == (40, 2.0)
    assert (refund.seeds, sing.seeds) == ((5,), (1, 2, 3))
    assert refund.with_ == {"rows": 3, "warm": False}
    assert sing.family == "sing"
    assert len(sing.disturb) == len(sing.events) == 1


def test_filled_task_is_plain_data_with_typed_blanks(tmp_path):
    task = suite_of(tmp_path, WHOLE).task("refund-late")

    instance = fill(task, 5)

    assert instance.goal == "Refund late order 7; say why."
    assert instance.params == {"order": {"id": 7, "total": 120.5}, "day": "2026-01-01"}
    assert instance.options == {"start": 7}
    assert instance.setup == [
        {"call": "add", "with": {"id": 7}},
        {"wait": "is_idle", "with": {}, "timeout_s": 2},
        {"expect": {"db.orders[7].status": "late"}},
    ]
    assert instance.spec == {
        "expect": {
            "changed": {"db.orders[7].status": "refunded"},
            "added": {"db.refunds": [{"order_id": 7, "amount": 120.5, "on": "2026-01-01"}]},
        },
        "accept_answers": ["late", 120.5],
        "infeasible": False,
        "checks": [
            {"ref": "shop.checks:polite", "with": {}, "weight": 1.0},
            {"ref": "shop.checks:why", "with": {"word": "2026-01-01"}, "weight": 2.0},
        ],
        "combine": "or",
        "may_change": False,
        "incidental": [],
    }


def test_an_instance_survives_json(tmp_path):
    instance = fill(suite_of(tmp_path, WHOLE).task("refund-late"), 5)

    back = Instance.from_plain(json.loads(json.dumps(instance.to_plain())))

    assert back == instance


def test_one_seed_gives_one_instance_and_its_parameters_one_digest(tmp_path):
    suite = suite_of(tmp_path, 'world = "w"\n[[task]]\nid="a"\ngoal="{n}"\ndraw.n="1..1000000"')

    one, again, other = fill(suite.tasks[0], 1), fill(suite.tasks[0], 1), fill(suite.tasks[0], 2)

    assert one == again
    assert one.params_sha256 != other.params_sha256
    assert len(one.params_sha256) == 64


def test_several_right_answers_stay_apart_and_an_empty_one_stays_a_check(tmp_path):
    text = """
    world = "w"
    [[task]]
    id = "either"
    goal = "Book it."
    [[task.expect]]
    added = { "desk.events" = [{ day = "Fri" }] }
    [[task.expect]]
    added = { "desk.events" = [{ day = "Sat" }] }
    [[task]]
    id = "look"
    goal = "Only look."
    expect = {}
    [[task]]
    id = "unchecked"
    goal = "Do as you like."
    """
    either, look, unchecked = (
        fill(task, 1).spec["expect"] for task in suite_of(tmp_path, text).tasks
    )

    assert [answer["added"]["desk.events"][0]["day"] for answer in either] == ["Fri", "Sat"]
    assert look == {}
    assert unchecked is None


def test_an_answer_that_is_one_blank_over_a_list_stands_for_each_of_its_values(tmp_path):
    text = """
    world = "w"
    [[task]]
    id = "a"
    goal = "Name one."
    draw.names = { value = ["Bus", "Tea"] }
    answer = "{names}"
    """
    assert fill(suite_of(tmp_path, text).tasks[0], 1).spec["accept_answers"] == ["Bus", "Tea"]


def test_a_date_in_an_expectation_becomes_plain_data(tmp_path):
    text = 'world="w"\n[[task]]\nid="a"\ngoal="g"\nexpect.changed={"db.due"=2026-01-05}'
    spec = fill(suite_of(tmp_path, text).tasks[0], 1).spec

    assert spec["expect"]["changed"]["db.due"] == {"$d": "2026-01-05"}


def test_tasks_of_jsonl_files_take_their_defaults_and_name_their_line(tmp_path):
    text = """
    world = "w"
    [[tasks]]
    from = "tasks/*.jsonl"
    check = "returns"
    limits = { steps = 7, tokens = 5 }
    with = { a = 1, b = 1 }
    """
    suite = suite_of(
        tmp_path,
        text,
        tasks__b='{"id":"b1","goal":"B"}\n',
        **{
            "tasks__b.jsonl": '{"id":"b1","goal":"B","limits":{"steps":9},"with":{"b":2}}\n\n',
            "tasks__a.jsonl": '{"id":"a1","goal":"A","check":"reached"}\n{"id":"a2","goal":"A"}',
        },
    )

    assert [task.id for task in suite.tasks] == ["a1", "a2", "b1"]
    assert [task.checks[0]["ref"] for task in suite.tasks] == ["reached", "returns", "returns"]
    b1 = suite.task("b1")
    assert (b1.limits.steps, b1.limits.tokens, b1.with_) == (9, 5, {"a": 1, "b": 2})
    assert b1.where == "tasks/b.jsonl line 1, task 'b1'"


def test_a_jsonl_file_is_a_suite_by_itself(tmp_path):
    file = tmp_path / "mine [1].jsonl"
    file.write_text('{"id":"a","goal":"A","world":"w"}')

    suite = load_suite(file)

    assert (suite.name, suite.tasks[0].world) == ("mine [1]", "w")


def test_arguments_of_the_caller_stand_above_the_files(tmp_path):
    (tmp_path / "suite.toml").write_text(WHOLE)

    suite = load_suite(str(tmp_path / "suite.toml"), with_args={"rows": 9, "new": "x"})

    assert suite.with_ == {"rows": 9, "warm": False, "new": "x"}
    assert suite.task("refund-late").with_["rows"] == 9


def test_the_digest_covers_every_file_and_its_name(tmp_path):
    text = 'world="w"\n[[tasks]]\nfrom="t/*.jsonl"'
    line = '{"id":"a","goal":"A"}'
    first = suite_of(tmp_path, text, **{"t__a.jsonl": line}).digest
    assert suite_of(tmp_path, text, **{"t__a.jsonl": line}).digest == first
    edited = suite_of(tmp_path, text, **{"t__a.jsonl": line + " "}).digest
    (tmp_path / "t/a.jsonl").rename(tmp_path / "t/b.jsonl")
    renamed = suite_of(tmp_path, text).digest

    assert len({first, edited, renamed}) == 3


def test_a_task_that_is_not_there_is_named_with_those_that_are(tmp_path):
    suite = suite_of(tmp_path, WHOLE)

    with pytest.raises(SuiteError, match="no task 'refund'") as caught:
        suite.task("refund")

    assert "refund-late, sing" in caught.value.do


def test_importing_tasks_and_checkers_is_light():
    code = "import sys, cleandesk.tasks, cleandesk.checkers; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"numpy", "scipy", "rich", "click"} & set(loaded)
