"""Which episodes a run has, and what its settings may be."""

from __future__ import annotations

import json

import pytest

from cleandesk.errors import SuiteError, UsageError
from cleandesk.run.conduct import plan_run
from cleandesk.run.plan import choose, plan_episodes
from cleandesk.run.settings import Settings
from cleandesk.tasks import load_suite


@pytest.fixture(scope="module")
def path(suites):
    tasks = [{"id": "a", "seeds": "1-3"}, {"id": "b", "limits": {"steps": 4}}]
    return suites.write(tasks, world="calendar", trials=2, reruns=1, isolation="shared")


@pytest.fixture(scope="module")
def suite(path):
    return load_suite(path)


def episodes(suite, **chosen):
    settings = Settings(**chosen)
    return [item.episode for item in plan_episodes(suite, settings, choose(suite, settings))]


def test_a_plan_goes_through_tasks_then_seeds_then_trials(suite):
    assert episodes(suite) == [
        "a/1-1",
        "a/1-2",
        "a/2-1",
        "a/2-2",
        "a/3-1",
        "a/3-2",
        "b/1-1",
        "b/1-2",
    ]


@pytest.mark.parametrize(
    ("chosen", "planned"),
    [
        ({"limit": 3}, ["a/1-1", "a/1-2", "a/2-1"]),
        ({"tasks": ["b"]}, ["b/1-1", "b/1-2"]),
        ({"tasks": ("b",), "trials": 1}, ["b/1-1"]),
        ({"seeds": "7", "trials": 1}, ["a/7-1", "b/7-1"]),
        ({"seeds": "2-3", "trials": 1, "tasks": ["a"]}, ["a/2-1", "a/3-1"]),
    ],
)
def test_settings_choose_among_the_episodes(suite, chosen, planned):
    assert episodes(suite, **chosen) == planned


def test_a_step_limit_is_for_every_task(suite):
    settings = Settings(max_steps=9)
    planned = plan_episodes(suite, settings, choose(suite, settings))

    assert {item.instance.limits.steps for item in planned} == {9}


def test_settings_stand_above_the_suite_and_the_suite_above_the_defaults(suite):
    of_suite = choose(suite, Settings())
    of_settings = choose(suite, Settings(isolation="fork", reruns=0, trials=5))

    assert (of_suite.isolation, of_suite.reruns, of_suite.trials) == ("shared", 1, 2)
    assert (of_settings.isolation, of_settings.reruns, of_settings.trials) == ("fork", 0, 5)
    assert of_suite.on_wrong_start == "rerun"


@pytest.mark.parametrize(
    "chosen",
    [
        {"workers": 0},
        {"trials": 0},
        {"trials": True},
        {"limit": -1},
        {"limit": 2.5},
        {"max_steps": 0},
        {"reruns": -1},
        {"isolation": "thread"},
        {"on_wrong_start": "ignore"},
        {"checker_seconds": 0},
        {"tasks": "a"},
        {"failed": "no/such/run"},
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_its_name(suite, chosen):
    with pytest.raises(UsageError) as caught:
        episodes(suite, **chosen)

    assert caught.value.code == "CD-703"
    (name,) = chosen
    assert name in f"{caught.value.message} {caught.value.where} {caught.value.do}"
    assert caught.value.do


def test_a_task_that_is_not_there_is_refused_with_those_that_are(suite):
    with pytest.raises(UsageError) as caught:
        episodes(suite, tasks=["a", "c"])

    assert caught.value.code == "CD-704"
    assert (caught.value.message, caught.value.do) == ("the suite has no task 'c'", "it has: a, b")


@pytest.mark.parametrize("seeds", ["3-1", "x", "1-", ""])
def test_seeds_that_are_none_are_refused(suite, seeds):
    with pytest.raises(SuiteError) as caught:
        episodes(suite, seeds=seeds)

    assert "--seeds" in caught.value.where


def test_a_suite_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(SuiteError) as caught:
        plan_run("no-such-suite", "nop")

    assert caught.value.code == "CD-401"
    assert "calendar" in caught.value.do


def test_a_plan_says_what_the_run_is_and_nothing_of_the_machine(path, tmp_path):
    one = plan_run(path, "nop", log_dir=tmp_path / "one")
    two = plan_run(path, "nop", log_dir=tmp_path / "two", workers=3, heads_to="elsewhere")
    plan = json.loads(one.plan)

    assert one.plan == two.plan
    assert plan["format"] == "plan/1"
    assert plan["episodes"][0] == "a/1-1"
    assert plan["agent"]["reference"] == "nop"
    assert len(plan["agent"]["digest"]) == 64
    assert plan["worlds"][0]["identity"].startswith("calendar/1#")
    assert not (tmp_path / "one").exists()


def test_what_failed_in_a_run_can_be_run_again(suites, path):
    ran = suites.run_file(path, "fail", limit=3)

    assert episodes(load_suite(path), failed=ran.folder) == ["a/1-1", "a/1-2", "a/2-1"]
