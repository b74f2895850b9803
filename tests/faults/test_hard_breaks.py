"""What breaks from outside: killed processes, full disks, a person who has seen enough.

Nothing that was logged is lost, nothing is scored wrongly, and nothing goes on running.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from cleandesk.audit.record import verify
from cleandesk.errors import LogError, RunError
from cleandesk.verdict import Status

pytestmark = pytest.mark.service

MAKE_RUN = """
import json, pathlib, resource, signal, sys
from cleandesk.run.conduct import run

# A shell has the programs that it starts in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

given = json.loads(sys.argv[1])
if given.pop("small_files", None):
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))
if __name__ == "__main__":
    result = run(given.pop("suite"), given.pop("agent"), **given)
    print("ended", result.proven)
"""


def tasks(suites, *names, **more):
    world = {"world": f"{suites.planted / 'starts.py'}:Honest"}
    check = {"expect": None, "check": f"{suites.planted / 'checkers.py'}:passes"}
    return [{"id": name, **world, **check, **more} for name in names]


def agent(suites, name):
    return f"{suites.planted / 'agents.py'}:{name}"


def start(tmp_path, mark, **given):
    """Make a run in a process of its own, which can be killed."""
    program = tmp_path / "make_run.py"
    program.write_text(MAKE_RUN)
    given = {"log_dir": str(tmp_path / "runs"), **given}
    return subprocess.Popen(
        [sys.executable, str(program), json.dumps(given)],
        env={**os.environ, **mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def only_folder(tmp_path):
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def test_a_worker_that_is_killed_in_an_episode_loses_nothing(suites, tmp_path):
    names = tasks(suites, "one", "two", goal=str(tmp_path / "marker"))
    ran = suites.run(names, agent(suites, "KillsItsWorker"))

    assert ran.result.episodes == {"planned": 2, "scored": 2, "unscored": 0}
    assert (ran.result.score["mean"], ran.result.proven, ran.result.reruns) == (1.0, True, 1)
    kept = (ran.folder / "reruns" / "one" / "1-1.1.jsonl").read_text().splitlines()
    verdict = json.loads(kept[-1])["entry"]
    assert (verdict["blame"], verdict["code"]) == ("harness", "CD-731")
    assert "the worker's process ended (status -9)" in verdict["message"]
    assert verify(ran.folder, root=ran.result.root).status is Status.PASS


def test_a_worker_that_is_killed_between_two_episodes_loses_nothing_and_heads_leave_one_by_one(
    suites, tmp_path, kill_roles
):
    apart = tmp_path / "heads.jsonl"
    killed, left = [], []

    def kill_workers(item, result):
        left.append(len(apart.read_text().splitlines()))
        if not killed:
            killed.extend(kill_roles("cleandesk.run.worker"))

    names = tasks(suites, "one", "two", "three")
    chosen = {"on_result": kill_workers, "heads_to": str(apart)}
    ran = suites.run(names, agent(suites, "AddsTwice"), **chosen)

    assert len(killed) == 1
    assert ran.result.episodes == {"planned": 3, "scored": 3, "unscored": 0}
    assert left == sorted(set(left))
    assert verify(ran.folder, root=ran.result.root, heads=apart).status is Status.PASS


def test_a_worker_that_is_killed_every_time_stops_the_run(suites, tmp_path):
    names = tasks(suites, "one", goal=str(tmp_path / "marker"))
    with pytest.raises(RunError) as caught:
        suites.run(names, agent(suites, "AlwaysKillsItsWorker"), reruns=1)

    assert caught.value.code == "CD-732"
    assert caught.value.where == "one/1-1"


@pytest.fixture
def heads(tmp_path):
    """A pipe for heads: whoever reads it knows that an episode has ended."""
    path = tmp_path / "heads"
    os.mkfifo(path)
    # Open for as long as the test: a program that can't write its heads would stop the run.
    with os.fdopen(os.open(path, os.O_RDWR), "r+b", buffering=0) as file:
        yield file


def hung_run(suites, tmp_path, marked, heads, **given):
    """Start a long run of which one world hangs; return it after three episodes."""
    hang = {"fails": "step hangs", "pids": str(tmp_path / "pids.txt")}
    hanging = {"world": f"{suites.planted / 'failing.py'}:Failing", "with": hang}
    suite = suites.write(
        [*tasks(suites, "hangs", **hanging), *tasks(suites, "long", seeds="1-900")]
    )
    process = start(
        tmp_path,
        marked.environment,
        suite=str(suite),
        agent=agent(suites, "StartsPrograms"),
        workers=2,
        heads_to=f"cmd:tee {tmp_path / 'heads'}",
        **given,
    )
    for _ in range(3):
        assert json.loads(heads.readline())["entries"] == 6
    return process


def test_a_run_that_is_killed_verifies_as_far_as_it_goes_and_leaves_nothing_running(
    suites, tmp_path, marked, heads
):
    process = hung_run(suites, tmp_path, marked, heads)
    running = marked.alive()
    process.kill()
    process.communicate()

    assert any("sleep 600" in words for words in running)
    assert marked.all_gone(), marked.alive()
    verdict = verify(only_folder(tmp_path))
    assert verdict.status is Status.UNKNOWN
    assert "no root: the run did not finish" in verdict.not_checked
    assert verdict.facts["entries"] >= 18


def test_a_person_who_stops_a_run_is_told_where_it_is_and_nothing_is_left_running(
    suites, tmp_path, marked, heads
):
    process = hung_run(suites, tmp_path, marked, heads)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()

    folder = only_folder(tmp_path)
    assert f"what was logged is kept: cleandesk verify {folder}" in said
    assert marked.all_gone(), marked.alive()
    assert verify(folder).status is Status.UNKNOWN


def test_a_file_that_cannot_grow_stops_the_run_with_its_name(suites, tmp_path, marked):
    process = start(
        tmp_path,
        marked.environment,
        suite=str(suites.write(tasks(suites, "long"))),
        agent=agent(suites, "AddsTwice"),
        small_files=True,
        trials=100,
    )
    out, said = process.communicate()

    assert process.returncode == 1
    assert "ended" not in out
    assert "LogError: CD-602 can't write: File too large" in said
    assert "heads.jsonl" in said
    assert marked.all_gone(), marked.alive()
    assert verify(only_folder(tmp_path)).status is Status.UNKNOWN


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "none", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can't be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_stops_the_run_and_what_was_logged_verifies(suites, small_disk):
    with pytest.raises(LogError) as caught:
        suites.run(tasks(suites, "long"), agent(suites, "AddsTwice"), trials=60, log_dir=small_disk)

    assert caught.value.code == "CD-601"
    (folder,) = small_disk.iterdir()
    assert str(folder) in caught.value.where
    verdict = verify(folder)
    assert verdict.status is Status.UNKNOWN
    assert verdict.facts["entries"] > 20


def test_a_folder_that_cannot_be_written_stops_the_run_before_its_first_episode(suites, tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("no folder")
    with pytest.raises(LogError) as caught:
        suites.run(tasks(suites, "one"), agent(suites, "AddsTwice"), log_dir=occupied)

    assert caught.value.code == "CD-602"
    assert str(occupied) in caught.value.where


def test_a_clean_run_is_proven_and_leaves_nothing_running(suites, tmp_path, marked):
    process = start(
        tmp_path,
        marked.environment,
        suite=str(suites.write(tasks(suites, "one"))),
        agent=agent(suites, "StartsPrograms"),
    )
    out, _ = process.communicate()

    assert out == "ended True\n"
    assert marked.all_gone(), marked.alive()
    assert verify(only_folder(tmp_path)).status is Status.PASS


def test_a_program_for_heads_that_ends_stops_the_run(suites):
    with pytest.raises(LogError) as caught:
        suites.run(tasks(suites, "one"), agent(suites, "AddsTwice"), heads_to="cmd:false")

    assert caught.value.code == "CD-605"
