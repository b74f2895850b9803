from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from cleandesk.errors import WorldError
from cleandesk.worlds.apps import Apps
from cleandesk.worlds.clocks import GAPS, TIERS, begin, find_library, zone_of

pytestmark = pytest.mark.service


START = datetime(2024, 3, 30, 23, 59, 30, tzinfo=UTC)
ZONES = ["UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"]

needs_time_machine = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("time_machine") is None,
    reason="time-machine is not installed",
)
needs_libfaketime = pytest.mark.skipif(
    find_library() is None, reason="libfaketime is not installed"
)

# A world that files what it is told under the day and hour that it sees, across midnight
# and, where the machine's zone has one that night, across a change of clocks.
WORLD = """
import json, sys, time
from datetime import datetime, timedelta
from cleandesk.worlds.at import At
from cleandesk.worlds.clocks import begin
from cleandesk.state.contract import parse_time
tier, start = sys.argv[1:]
at = At()
at.pin(start)
clock = begin(tier, parse_time(start))
seen = []
for _ in range(4):
    if tier == "virtual":
        seen.append(at.clock.now().isoformat())
    else:
        seen.append([time.time(), datetime.now().isoformat(), str(datetime.today().date()),
                     time.strftime("%d %H:%M %Z"), datetime.now().astimezone().isoformat()])
    at.clock.advance(5400)
    clock.move(at.clock.now())
clock.stop()
print(json.dumps(seen))
"""


def seen_in(zone, tier, start):
    result = subprocess.run(
        [sys.executable, "-c", WORLD, tier, start],
        capture_output=True,
        text=True,
        env={**os.environ, "TZ": zone},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@needs_time_machine
@pytest.mark.parametrize("tier", ["virtual", "in-process"])
def test_a_task_across_midnight_and_a_clock_change_sees_the_same_in_every_zone(tier):
    # Berlin's clocks change at 2024-03-31 01:00 UTC.
    start = "2024-03-30T23:59:30+00:00"
    first, *others = [seen_in(zone, tier, start) for zone in ZONES]

    assert others == [first] * len(others)


@needs_time_machine
def test_the_local_time_is_that_of_the_contracts_offset():
    times = seen_in("Asia/Tokyo", "in-process", "2024-03-30T23:59:30+05:30")

    assert times[0][:4] == [
        datetime(2024, 3, 30, 18, 29, 30, tzinfo=UTC).timestamp(),
        "2024-03-30T23:59:30",
        "2024-03-30",
        "30 23:59 +0530",
    ]
    assert times[1][2] == "2024-03-31"


@needs_time_machine
def test_time_stands_still_until_it_is_moved_and_is_the_machines_again_after():
    before, zone = time.time(), os.environ.get("TZ")
    held = begin("in-process", START)
    try:
        assert time.time() == time.time() == START.timestamp()
        held.move(START + timedelta(microseconds=1))
        assert datetime.now(UTC) == START + timedelta(microseconds=1)
        held.move(START)
        assert datetime.now(UTC) == START
    finally:
        held.stop()
        held.stop()

    assert before <= time.time() < before + 60
    assert os.environ.get("TZ") == zone


@needs_time_machine
def test_timeouts_run_on_while_time_stands_still():
    held = begin("in-process", START)
    try:
        before = time.monotonic()
        threading.Event().wait(0.001)
        passed_s = time.monotonic() - before
    finally:
        held.stop()

    assert passed_s > 0


@needs_time_machine
@needs_libfaketime
def test_a_served_program_sees_the_worlds_time_and_its_moves(tmp_path):
    held = begin("libc", START, tmp_path)
    apps = Apps({}, clock=held)
    script = "while read go; do date '+%s %Y-%m-%d %H:%M'; done < $GATE"
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    lines = tmp_path / "lines"
    try:
        app = apps.serve(
            ["sh", "-c", f"echo up; ({script}) > {lines}"],
            ready="line:up",
            env={"GATE": str(gate), "TZ": "Asia/Tokyo"},
        )
        with gate.open("w", buffering=1) as pipe:
            pipe.write("go\n")
            _await(lambda: lines.read_text().count("\n") == 1)
            held.move(START + timedelta(seconds=31))
            pipe.write("go\n")
        assert app._running.has_ended(20)
    finally:
        apps.close()
        held.stop()

    # The program's own zone is its own business; the moment is the world's.
    assert lines.read_text().splitlines() == [
        f"{int(START.timestamp())} 2024-03-31 08:59",
        f"{int(START.timestamp()) + 31} 2024-03-31 09:00",
    ]


def _await(holds):
    from cleandesk.worlds.serve import await_condition

    await_condition(holds, "a line", 20)


@needs_time_machine
@needs_libfaketime
def test_sqlites_now_in_a_served_program_is_the_worlds(tmp_path):
    held = begin("libc", START)
    apps = Apps({}, clock=held)
    code = (
        "import sqlite3, threading, time; now = sqlite3.connect(':memory:').execute('select datetime()');"
        "before = time.monotonic(); sum(range(10000));"
        "print('now', *now.fetchone(), time.monotonic() > before); threading.Event().wait()"
    )
    try:
        apps.serve(["python", "-c", code], ready="line:now 2024-03-30 23:59:30 True", timeout_s=20)
    finally:
        apps.close()
        held.stop()


@needs_time_machine
@needs_libfaketime
def test_nothing_of_the_library_is_left_in_shared_memory(tmp_path):
    before = set(os.listdir("/dev/shm"))  # noqa: PTH208
    held = begin("libc", START, tmp_path)
    apps = Apps({}, clock=held)
    try:
        app = apps.serve(["sh", "-c", "echo up; date; sleep 30"], ready="line:up")
        pid = str(app.pid)
    finally:
        apps.close()
        held.stop()

    left = set(os.listdir("/dev/shm")) - before  # noqa: PTH208
    assert [name for name in left if pid in name] == []


def test_a_tier_that_pins_nothing_gives_programs_no_variables():
    for tier in ("none", "virtual"):
        held = begin(tier, START)
        held.move(START)
        held.stop()

        assert held.environment() == {}


def test_every_tier_says_what_it_does_not_reach():
    assert set(GAPS) == set(TIERS)
    for lines in GAPS.values():
        assert any("times of files" in line for line in lines)
    assert any("SQLite" in line for line in GAPS["in-process"])
    assert any("static" in line for line in GAPS["libc"])


def test_an_unknown_tier_is_refused_with_those_there_are():
    with pytest.raises(WorldError, match=r"CD-276 .*'frozen'"):
        begin("frozen", START)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "time_machine", None)
    zone = os.environ.get("TZ")

    with pytest.raises(WorldError, match=r"CD-277 .*time-machine"):
        begin("in-process", START)
    assert os.environ.get("TZ") == zone


@pytest.mark.parametrize(
    ("hours", "zone"),
    [(0, "UTC0"), (2, "<+0200>-02:00"), (-3.5, "<-0330>+03:30"), (5.75, "<+0545>-05:45")],
)
def test_an_offset_is_written_as_the_kernel_reads_it(hours, zone):
    moment = START.astimezone(timezone(timedelta(hours=hours)))

    assert zone_of(moment) == zone
