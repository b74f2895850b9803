from __future__ import annotations

from hashlib import sha256

import pytest

from cleandesk.errors import LogError
from cleandesk.log import append_classification, read_classifications, seal, walk

PLAN = sha256(b"{}").hexdigest()
WHEN = "2024-05-01T10:00:00Z"


@pytest.fixture
def run(tmp_path):
    seal(
        tmp_path,
        PLAN,
        [("a/7-0", "1" * 64, 9, "episodes/a/7-0.jsonl")],
        [("b/7-0", "2" * 64, 4, "reruns/b/7-0.1.jsonl")],
    )
    return tmp_path


def refuse(call) -> LogError:
    with pytest.raises(LogError) as caught:
        call()
    return caught.value


def test_classifications_are_chained_from_the_root_in_order(run):
    root = seal(
        run,
        PLAN,
        [("a/7-0", "1" * 64, 9, "episodes/a/7-0.jsonl")],
        [("b/7-0", "2" * 64, 4, "reruns/b/7-0.1.jsonl")],
    )
    append_classification(run, "a/7-0", "world", "the page was slow", WHEN)
    head = append_classification(run, "b/7-0", "agent", "it gave up", WHEN)

    held = walk((run / "classified.jsonl").read_bytes(), root)

    assert (held.entries, held.head, held.fault) == (2, head, None)
    assert [entry["blame"] for entry in read_classifications(run)] == ["world", "agent"]


def test_run_without_classifications_has_none(run):
    assert read_classifications(run) == []


@pytest.mark.parametrize(
    ("episode", "blame", "why"),
    [("a/7-0", "nobody", "because"), ("a/7-0", "world", " "), ("c/7-0", "world", "because")],
)
def test_unknown_blame_or_episode_or_missing_reason_is_refused(run, episode, blame, why):
    error = refuse(lambda: append_classification(run, episode, blame, why, WHEN))

    assert error.code == "CD-610"
    assert error.do
    assert not (run / "classified.jsonl").exists()


@pytest.mark.parametrize("junk", [b"garbage\n", b"torn"])
def test_classifications_that_do_not_hold_are_not_continued(run, junk):
    append_classification(run, "a/7-0", "world", "the page was slow", WHEN)
    path = run / "classified.jsonl"
    path.write_bytes(path.read_bytes() + junk)
    before = path.read_bytes()

    error = refuse(lambda: append_classification(run, "a/7-0", "agent", "it gave up", WHEN))

    assert error.code == "CD-610"
    assert path.read_bytes() == before


def test_run_that_is_not_sealed_is_refused(tmp_path):
    error = refuse(lambda: append_classification(tmp_path, "a/7-0", "agent", "why", WHEN))

    assert error.code == "CD-609"
    (tmp_path / "root.json").write_text("{}")
    error = refuse(lambda: append_classification(tmp_path, "a/7-0", "agent", "why", WHEN))
    assert error.code == "CD-609"
