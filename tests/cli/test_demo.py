"""The demo: the calendar's four scores, its refusal, and the table of a real run.

The figures are those of the planted leak, worked out by hand: of 20 tries 8 do the job,
2 do it and delete Gym, the others do something else or nothing.
"""

from __future__ import annotations

import pytest

import cleandesk as cd
from cleandesk.report.demo import render_demo
from cleandesk.suites.demo import Demo

pytestmark = pytest.mark.service


class EnoughError(Exception):
    """The test has seen what it came for."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    pytest.importorskip("gymnasium")
    parts = {}

    def take(name, so_far):
        parts[name] = render_demo(name, so_far)
        if name == "resets":
            raise EnoughError(so_far)

    with pytest.raises(EnoughError) as stopped:
        cd.demo(tmp_path_factory.mktemp("demo"), on_part=take)
    return stopped.value.args[0], parts


def rows(shown):
    return {(row.reset, row.checker): row for row in shown[0].rows}


@pytest.mark.parametrize(
    ("reset", "checker", "percent", "false_passes", "false_fails", "is_proven"),
    [
        ("reset", "reads what changed", 40, 0, 0, True),
        ("reset", "looks for the event", 50, 2, 0, True),
        ("keep the last world", "reads what changed", 5, 0, 7, False),
        ("keep the last world", "looks for the event", 95, 11, 0, False),
    ],
)
def test_one_agent_has_four_scores(
    shown, reset, checker, percent, false_passes, false_fails, is_proven
):
    row = rows(shown)[reset, checker]

    assert row.result.score["mean"] * 100 == pytest.approx(percent)
    assert sum(row.false_passes.values()) == false_passes
    assert row.false_fails == false_fails
    assert row.result.proven is is_proven


def test_false_passes_are_named_by_what_the_tries_do_in_a_clean_world(shown):
    row = rows(shown)["keep the last world", "looks for the event"]

    assert row.false_passes["did the job and deleted Gym"] == 2
    assert sum(row.false_passes.values()) - 2 == 9


def test_leaky_rows_carry_the_word_unproven(shown):
    lines = [line for line in shown[1]["scores"].splitlines() if line.startswith("keep the last")]

    assert len(lines) == 2
    assert all(line.endswith("  unproven") for line in lines)


def test_refused_run_names_field_episode_and_step_and_has_no_score(shown):
    demo, parts = shown

    assert demo.refused.score is None
    assert demo.refused.status() == 1
    assert "REFUSED at dentist/1-2" in parts["refused"]
    assert "desk.events[4]: expected absent" in parts["refused"]
    assert "written by dentist/1-1, step 1" in parts["refused"]


def test_reset_of_a_published_environment_passes_and_that_of_another_is_named(shown):
    demo, parts = shown

    assert [str(each.cls) for each in demo.resets] == ["BIT-IDENTICAL", "FAIL"]
    assert "leaked       env.world" in parts["resets"]


def test_every_line_fits_80_columns(shown):
    lines = "\n".join(shown[1].values()).splitlines()

    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []


def test_demo_whose_leak_is_not_seen_is_a_finding(shown):
    assert shown[0].status() == 0
    assert Demo(rows=shown[0].rows, refused=shown[0].rows[0].result).status() == 1


def test_table_of_a_real_run_gives_each_mean_its_interval(tmp_path):
    pytest.importorskip("gymnasium")
    tasks = ["CartPole-v1", "FrozenLake-v1", "LunarLander-v3"]
    result = cd.run("gymnasium", "random", tasks=tasks, seeds="1-2", log_dir=tmp_path)
    text = render_demo("real", Demo(real={"random": result}))
    cells = {line.split("  ")[0]: line for line in text.splitlines() if "-v" in line}

    assert "[0." in cells["CartPole-v1"]
    assert "return -" in cells["LunarLander-v3"]
    assert f"--root {result.root}" in text
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80


def test_five_endings_are_judged_two_ways(shown):
    """Seed 001: the worked example of the expense task."""
    endings = shown[0].endings

    assert [row.left for row in endings] == [50, 0, 49, 50, 51]
    assert [row.whole for row in endings] == [1, 0, 0, 0, 0]
    assert [row.targets for row in endings] == [1, 1, 1, 1, 0]
    assert "passes 4 of 5, 3 falsely" in shown[1]["endings"]


def test_a_cache_that_outlives_its_reset_is_named(shown):
    """Seed 003: a cache keyed by item and warehouse only."""
    refused = shown[0].cached.refused

    assert refused["episode"] == "count-b/1-1"
    assert [leak["field"] for leak in refused["fields"]] == ["app.cache[HZ bolt]"]
    assert "written by count-a/1-1, step 1" in shown[1]["cached"]
