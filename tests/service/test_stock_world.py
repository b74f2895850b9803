"""The stock world: a cache in a real program's memory, caught by name, and its clean twin."""

from __future__ import annotations

import pytest

from cleandesk.finding import registered

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(
        "stock" not in registered("world"), reason="the world stock is not registered yet"
    ),
]

COUNTS = ["count-a", "count-b"]


def ran(suites, tmp_path, **chosen):
    settings = {"log_dir": tmp_path, "tasks": COUNTS, "isolation": "shared"}
    return suites.run_file("stock", "scripted", **settings | chosen)


def test_every_task_is_scored_and_proven_where_the_app_is_restarted(suites, tmp_path):
    result = ran(suites, tmp_path, tasks=()).result

    assert (result.score["mean"], result.proven, result.status()) == (1.0, True, 0)


def test_a_clean_reset_of_one_world_leaves_nothing_of_the_cache(suites, tmp_path):
    result = ran(suites, tmp_path, trials=2).result

    assert result.starts["wrong"] == 0
    assert (result.score["mean"], result.proven) == (1.0, True)


def test_a_kept_cache_makes_a_wrong_start_and_is_named(suites, tmp_path):
    held = ran(suites, tmp_path, arguments={"cache": "keep"}, trials=2, on_wrong_start="record")
    starts = [held.kinds(f"{task}/1-{trial}", "start")[0] for task in COUNTS for trial in (1, 2)]
    wrong = [start for start in starts if not start["verified"]]

    assert len(wrong) == 3
    for start in wrong:
        fields = [(change["surface"], change["pointer"]) for change in start["changes"]]
        assert fields == [("app", "/cache/HZ bolt")]


def test_a_kept_cache_tells_one_task_the_stock_of_another(suites, tmp_path):
    held = ran(suites, tmp_path, arguments={"cache": "keep"}, on_wrong_start="record")
    scores = [held.verdict(f"{task}/1-1")["score"] for task in COUNTS]

    assert sorted(scores) == [0.0, 1.0]
    assert held.result.proven is False
