from __future__ import annotations

import json
import sys

import pytest

from cleandesk.errors import LogError
from cleandesk.log import HeadsSink
from cleandesk.log import heads as module

PLAN, HEAD = "1" * 64, "2" * 64


def keeper(tmp_path, body: str) -> str:
    script = tmp_path / "keeper.py"
    script.write_text(body)
    return f"cmd:{sys.executable} -S {script}"


def send_many(sink: HeadsSink) -> None:
    for index in range(2000):
        sink.send(f"a/{index}-0", HEAD, 9)


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run-1"
    folder.mkdir()
    return folder


def test_head_is_kept_in_the_folder_when_no_other_place_is_given(run):
    with HeadsSink.open(run, PLAN) as sink:
        sink.send("a/7-0", HEAD, 9)

    assert json.loads((run / "heads.jsonl").read_bytes()) == {
        "entries": 9,
        "episode": "a/7-0",
        "head": HEAD,
        "plan": PLAN,
        "run": "run-1",
    }


def test_file_gets_each_head_at_once_and_keeps_those_of_other_runs(run, tmp_path):
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(b"{}\n")
    sink = HeadsSink.open(run, PLAN, str(kept))
    sink.send("a/7-0", HEAD, 9)

    assert kept.read_bytes() == b"{}\n" + (run / "heads.jsonl").read_bytes()
    sink.close()


def test_program_gets_each_head_on_its_input(run, tmp_path):
    body = f"import sys; open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read())"
    with HeadsSink.open(run, PLAN, keeper(tmp_path, body)) as sink:
        sink.send("a/7-0", HEAD, 9)
        sink.send("a/7-1", HEAD, 8)

    assert (tmp_path / "got").read_bytes() == (run / "heads.jsonl").read_bytes()


def test_program_that_is_not_there_is_named(run):
    with pytest.raises(LogError, match=r"CD-605 .*can't be started"):
        HeadsSink.open(run, PLAN, "cmd:/no/such/program")
    with pytest.raises(LogError, match=r"CD-605 .*can't be started"):
        HeadsSink.open(run, PLAN, "cmd:")


def test_program_that_ends_early_is_named_with_its_status(run, tmp_path):
    sink = HeadsSink.open(run, PLAN, keeper(tmp_path, "raise SystemExit(3)"))
    sink._command.wait(30)

    with pytest.raises(LogError, match=r"CD-605 .*ended with status 3"):
        sink.send("a/7-0", HEAD, 9)
    with pytest.raises(LogError, match=r"CD-605 .*ended with status 3"):
        sink.close()
    assert (run / "heads.jsonl").read_bytes().count(b"\n") == 1


def test_program_that_does_not_read_or_end_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_S", 0.2)
    body = "import signal; signal.pause()"
    sink = HeadsSink.open(run, PLAN, keeper(tmp_path, body))

    with pytest.raises(LogError, match=r"CD-605 .*did not read"):
        send_many(sink)
    with pytest.raises(LogError, match=r"CD-605 .*did not end"):
        sink.close()


def test_file_that_can_not_be_written_is_named(run, tmp_path):
    with pytest.raises(LogError, match=r"CD-602 .*"):
        HeadsSink.open(run, PLAN, str(tmp_path / "no" / "such" / "kept.jsonl"))
    with pytest.raises(LogError, match=r"CD-602 .*"):
        HeadsSink.open(tmp_path / "no-run", PLAN)


def test_full_disk_is_named(run):
    with (
        HeadsSink.open(run, PLAN, "/dev/full") as sink,
        pytest.raises(LogError, match="CD-601 the disk is full"),
    ):
        sink.send("a/7-0", HEAD, 9)


def test_half_a_head_in_the_folder_is_cut_before_the_run_goes_on(run):
    with HeadsSink.open(run, PLAN) as sink:
        sink.send("a/7-0", HEAD, 9)
    whole = (run / "heads.jsonl").read_bytes()
    (run / "heads.jsonl").write_bytes(whole + whole[:30])

    HeadsSink.open(run, PLAN).close()

    assert (run / "heads.jsonl").read_bytes() == whole


def stop_midway(run, keeper_program) -> None:
    with HeadsSink.open(run, PLAN, keeper_program) as sink:
        sink.send("a/7-0", HEAD, 9)
        raise KeyboardInterrupt


def test_what_stopped_the_run_is_heard_and_not_the_program_that_died_of_it(run, tmp_path):
    body = "import sys; sys.stdin.readline(); sys.exit(3)"
    with pytest.raises(KeyboardInterrupt):
        stop_midway(run, keeper(tmp_path, body))
