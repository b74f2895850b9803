from __future__ import annotations

import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from cleandesk.audit.certificate.surroundings import Surroundings, settle_in, settled
from cleandesk.audit.certificate.surroundings.clock import OFFSET_S, STANDING_AT
from cleandesk.errors import UsageError


def in_fork(what):
    """Return what ``what`` says in a fork, which is thrown away."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = json.dumps(what())
        except Exception as error:  # noqa: BLE001 - the test is to see it
            said = json.dumps(f"raised {error!r}")
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as held:
        said = json.loads(held.read())
    os.waitpid(child, 0)
    return said


def clocks():
    return [
        time.time(),
        time.time_ns() / 1e9,
        time.monotonic(),
        time.monotonic_ns() / 1e9,
        time.perf_counter(),
        time.perf_counter_ns() / 1e9,
        datetime.datetime.now(tz=datetime.UTC).timestamp(),
    ]


# certificate: C-20
def test_a_shifted_clock_moves_every_clock_of_python_by_one_constant():
    """Also under a name that was imported before, as this one was."""
    early = time.perf_counter
    before = clocks()

    def look():
        settle_in(Surroundings(clock="shifted"))
        return [*clocks(), early()]

    after = in_fork(look)
    moved = [now - then for then, now in zip([*before, before[4]], after, strict=True)]

    assert all(abs(one - OFFSET_S) < 5 for one in moved), moved
    assert datetime.datetime.fromtimestamp(after[0], datetime.UTC).year > datetime.date.today().year  # noqa: DTZ011


def test_what_waits_and_measures_is_not_disturbed_by_a_shifted_clock():
    def look():
        settle_in(Surroundings(clock="shifted"))
        begun = time.monotonic()
        was_set = threading.Event().wait(0.02)
        return was_set, time.monotonic() - begun

    was_set, took = in_fork(look)

    assert not was_set
    assert 0.02 <= took < 2


def test_a_frozen_clock_shows_the_same_instant_in_every_process():
    def look():
        settle_in(Surroundings(clock="frozen"))
        first = clocks()
        return [first, clocks()]

    one, other = in_fork(look), in_fork(look)

    assert one == other
    assert one[0] == one[1] == pytest.approx([STANDING_AT] * 7, abs=1e-6)


def test_whoever_waits_for_a_frozen_clock_is_let_go_in_the_end():
    def look():
        settle_in(Surroundings(clock="frozen"))
        until = time.monotonic() + 5
        while time.monotonic() < until:
            pass
        return "let go"

    assert in_fork(look) == "let go"


def test_a_changed_clock_says_what_it_does_not_reach():
    gaps = in_fork(lambda: settle_in(Surroundings(clock="shifted")).not_checked)

    assert any("compiled code" in gap for gap in gaps)
    assert not any("clock" in gap for gap in in_fork(lambda: settle_in(Surroundings()).not_checked))


def test_a_clock_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(UsageError, match="CD-861") as caught:
        settle_in(Surroundings(clock="sundial"))
    assert "real, shifted, frozen" in caught.value.do


# certificate: C-20
def test_global_streams_differ_from_number_to_number_and_repeat_for_one_number():
    def look(number):
        def drawn():
            settle_in(Surroundings(streams=number))
            return [random.random(), float(np.random.random())]

        return in_fork(drawn)

    assert look(1) == look(1)
    assert not set(look(1)) & set(look(2))


# certificate: C-20
def test_padding_moves_what_is_allocated_next_and_draws_from_no_global_stream():
    def look(variant):
        def where():
            state = random.getstate()
            settle_in(Surroundings(variant=variant))
            things = [object() for _ in range(200)]
            return [[id(thing) - id(things[0]) for thing in things], random.getstate() == state]

        return in_fork(where)

    assert look(1)[1] is True
    assert look(1)[0] != look(2)[0]


def written(place, folder, **more):
    def look():
        settle_in(Surroundings(folder=folder, **more))
        path = Path(place)
        before = path.read_text() if path.exists() else None
        path.write_text(f"{before} and more")
        return [before, path.read_text()]

    return look


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as made:
        yield made


def may_mount(folder):
    return not in_fork(
        lambda: [e for e in settle_in(Surroundings(folder=folder)).not_checked if "both see" in e]
    )


def test_two_devices_never_meet_in_a_file_whose_path_is_written_down(folder):
    """For temporary files, below the working folder, in memory, anywhere; there before or not."""
    if not may_mount(folder):
        pytest.skip("this process may not mount")
    with tempfile.NamedTemporaryFile("w", dir="/tmp") as held:
        held.write("base")
        held.flush()
        for place, was in (
            ("/tmp/cleandesk-meeting", None),
            (held.name, "base"),
            ("meeting.txt", None),
            ("/dev/shm/cleandesk-meeting", None),
            ("/var/cleandesk-meeting", None),
            (str(Path(os.__file__).with_name("cleandesk-meeting")), None),
        ):
            if not os.access(Path(place).absolute().parent, os.W_OK):
                continue
            look = written(place, folder)
            assert in_fork(look) == in_fork(look) == [was, f"{was} and more"], place
            assert (Path(place).read_text() if was else Path(place).exists()) == (was or False)


def test_what_a_device_wrote_is_found_apart_from_what_was_there(folder):
    if not may_mount(folder):
        pytest.skip("this process may not mount")

    def look():
        settle_in(Surroundings(folder=folder))
        Path("/tmp/cleandesk-of-mine").write_text("x")
        return {
            place: [e.name for e in Path(held).iterdir()]
            for place, held in settled().noted.folders.items()
        }

    assert in_fork(look)["/tmp"] == ["cleandesk-of-mine"]


# certificate: C-87
def test_without_mounts_each_device_has_temporary_files_of_its_own_and_the_rest_is_said(folder):
    def look():
        said = settle_in(Surroundings(folder=folder, hides=False)).not_checked
        return [tempfile.gettempdir(), said]

    one, other = in_fork(look), in_fork(look)

    assert one[0] != other[0]
    assert Path(one[0]).parent == Path(folder)
    assert "both see" in one[1][0]


def test_what_a_device_starts_sees_its_folders_too(folder):
    def look():
        settle_in(Surroundings(folder=folder))
        path = Path(tempfile.gettempdir(), "cleandesk-for-a-child")
        path.write_text("seen")
        return subprocess.run(
            [sys.executable, "-S", "-c", f"print(open({str(path)!r}).read())"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert in_fork(look) == "seen\n"
