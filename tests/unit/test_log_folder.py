from __future__ import annotations

from pathlib import Path

import pytest

from cleandesk.log import RunFolder, episode_file, episode_path, rerun_path

RUN = Path("/runs/one")


@pytest.mark.parametrize(
    ("episode", "file"),
    [
        ("shop/refund/7-0", "episodes/shop/refund/7-0.jsonl"),
        ("add one item/7-0", "episodes/add%20one%20item/7-0.jsonl"),
        ("../../etc/7-0", "episodes/%2E./%2E./etc/7-0.jsonl"),
        ("./7-0", "episodes/%2E/7-0.jsonl"),
        ("/etc/7-0", "episodes/%/etc/7-0.jsonl"),
        ("a//7-0", "episodes/a/%/7-0.jsonl"),
        ("a%2Fb/7-0", "episodes/a%252Fb/7-0.jsonl"),
        ("a\\b\0\n/7-0", "episodes/a%5Cb%00%0A/7-0.jsonl"),
        ("été/7-0", "episodes/%C3%A9t%C3%A9/7-0.jsonl"),
        ("a/1-0.jsonl/7-0", "episodes/a/1-0%2Ejsonl/7-0.jsonl"),
        ("\ud800/7-0", "episodes/%ED%A0%80/7-0.jsonl"),
    ],
)
def test_episode_name_becomes_a_safe_file_name(episode, file):
    assert episode_file(episode) == file


def test_long_names_are_cut_and_stay_apart():
    one, other = episode_file("x" * 300 + "/7-0"), episode_file("x" * 301 + "/7-0")

    assert one != other
    assert max(len(part) for part in one.split("/")) < 200


def test_paths_are_below_the_run_folder():
    run = RunFolder(RUN)

    assert episode_path(RUN, "a/7-0") == run.episodes / "a" / "7-0.jsonl"
    assert rerun_path(RUN, "a/7-0", 2) == run.reruns / "a" / "7-0.2.jsonl"
    assert run.relative(run.objects / "x.zst") == "objects/x.zst"
    assert {run.plan.name, run.record.name, run.root.name, run.report.name} == {
        "plan.json",
        "record.json",
        "root.json",
        "report.html",
    }
