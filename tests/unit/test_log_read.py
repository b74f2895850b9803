from __future__ import annotations

from hashlib import sha256

import pytest

from cleandesk.errors import LogError
from cleandesk.log import (
    EpisodeWriter,
    canonical,
    episode_file,
    find_episode,
    iter_verdicts,
    read_episode,
    seal,
)

PLAN = sha256(b"{}\n").hexdigest()


def write(folder, episode: str, *more: dict) -> tuple[str, str, int, str]:
    file = episode_file(episode)
    with EpisodeWriter(folder / file, PLAN) as writer:
        for entry in ({"episode": episode, "kind": "open"}, *more):
            writer.append(canonical(entry))
    return episode, writer.head, writer.entries, file


@pytest.fixture
def run(tmp_path):
    (tmp_path / "plan.json").write_bytes(b"{}\n")
    return tmp_path


def test_entries_come_back_as_they_were_given(run):
    write(run, "a/7-0", {"kind": "step", "text": '},"index":1'})

    assert read_episode(run / episode_file("a/7-0"))[1] == {"kind": "step", "text": '},"index":1'}


def test_verdicts_of_a_sealed_run_come_in_the_order_of_the_plan(run):
    long = {"kind": "step", "text": "x" * 200_000}
    first = write(run, "b/7-0", long, {"kind": "verdict", "score": 1.0})
    second = write(run, "a/7-0", {"kind": "verdict", "score": 0.0, "text": "y" * 200_000})
    seal(run, PLAN, [first, second])

    assert [(name, entry["score"]) for name, entry in iter_verdicts(run)] == [
        ("b/7-0", 1.0),
        ("a/7-0", 0.0),
    ]


def test_episodes_that_did_not_end_have_no_verdict(run):
    write(run, "a/7-0", {"kind": "verdict", "score": 1.0})
    write(run, "b/7-0", {"kind": "step"})
    EpisodeWriter(run / episode_file("c/7-0"), PLAN).close()
    torn = run / write(run, "d/7-0", {"kind": "verdict", "score": 1.0})[3]
    torn.write_bytes(torn.read_bytes()[:-1])

    assert [name for name, _ in iter_verdicts(run)] == ["a/7-0"]


def test_episode_is_found_by_its_name(run):
    write(run, "add one/7-0")

    assert find_episode(run, "add one/7-0") == run / "episodes" / "add%20one" / "7-0.jsonl"


def test_episode_that_is_not_there_is_named_with_its_nearest_neighbours(run):
    write(run, "refund-late/7-0")

    with pytest.raises(LogError, match="refund-early") as caught:
        find_episode(run, "refund-early/7-0")
    assert "refund-late/7-0" in caught.value.do


def test_episode_in_a_run_without_any_is_named(run):
    with pytest.raises(LogError, match="CD-606 there is no episode"):
        find_episode(run, "a/7-0")


def test_line_that_is_no_entry_is_named_with_its_place(run):
    path = run / write(run, "a/7-0")[3]
    path.write_bytes(path.read_bytes() + b"\x1b[2Jgarbage\n")

    with pytest.raises(LogError) as caught:
        read_episode(path)
    assert caught.value.where.endswith("entry 1")
    assert "\x1b" not in str(caught.value)


def test_file_that_is_not_there_is_named(run):
    with pytest.raises(LogError, match="CD-606 can't read"):
        read_episode(run / "no.jsonl")
