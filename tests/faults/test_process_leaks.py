"""Each kind of leftover in a process, planted and named; a clean twin that leaves none."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import locale
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
import warnings
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path

import numpy.random as np_random
import pytest

from cleandesk.state import decode, encode
from cleandesk.surfaces.process import process
from cleandesk.surfaces.process.reading import baseline, private_temp, read_process

kept = []


def after(folder, world, terms=None):
    """Do ``world`` in a fork of this process; return what then differs, part by part."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(reading)
            private_temp(str(folder))
            held = baseline(temp_folder=str(folder))
            world()
            tables, _ = read_process(held, "desk", terms or process())
            os.write(writing, encode({name: value for name, value in tables.items() if value}))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    assert data, "the fork failed"
    return decode(data)


def sets_a_variable():
    os.environ["PLANTED"] = "1"


def deletes_a_variable():
    del os.environ["PATH"]


def changes_the_folder():
    os.chdir("/")


def changes_the_umask():
    os.umask(0o077)


def changes_the_locale():
    locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")


def leaves_a_file_open():
    kept.append(Path("/dev/null").open())  # noqa: SIM115


def closes_a_descriptor():
    os.close(0)


def leaves_a_thread():
    stop = threading.Event()
    kept.append(stop)
    threading.Thread(target=stop.wait, daemon=True, name="worker-7").start()


def leaves_a_child():
    kept.append(subprocess.Popen(["sleep", "30"], preexec_fn=_dies_with_us))  # noqa: PLW1509


def _dies_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def leaves_a_dead_child():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def leaves_a_temporary_file():
    handle, _ = tempfile.mkstemp()
    os.write(handle, b"left")
    os.close(handle)


def listens():
    held = socket.create_server(("127.0.0.1", 0))
    kept.append(held)


def handles_a_signal():
    signal.signal(signal.SIGUSR1, lambda *_: None)


def blocks_a_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})


def arms_a_timer():
    signal.setitimer(signal.ITIMER_REAL, 1000)


def draws():
    for _ in range(3):
        random.random()


def draws_from_numpy():
    np_random.rand(2000)


def seeds():
    random.seed(5)


def adds_a_filter():
    warnings.simplefilter("ignore", ResourceWarning)


def adds_a_log_handler():
    logging.getLogger("planted").addHandler(logging.NullHandler())


def disables_logging():
    logging.disable(logging.WARNING)


def imports_a_module():
    sys.modules["planted.module"] = sys.modules["os"]


NAMED = [
    (sets_a_variable, {"environment": {"PLANTED": "1"}}),
    (deletes_a_variable, {"environment": {"PATH": None}}),
    (changes_the_folder, {"cwd": "/"}),
    (changes_the_umask, {"umask": "0077"}),
    (changes_the_locale, {"locale": {"LC_NUMERIC": "C.UTF-8"}}),
    (leaves_a_file_open, {"descriptors": {"file /dev/null": {"closed": 0, "opened": 1}}}),
    (leaves_a_thread, {"threads": {"worker-*": 1}}),
    (leaves_a_child, {"children": {"sleep 30": 1}}),
    (
        listens,
        {
            "descriptors": {"socket": {"closed": 0, "opened": 1}},
            "sockets": {"tcp 127.0.0.1:*": 1},
        },
    ),
    (blocks_a_signal, {"signals": {"SIGUSR2": ["blocked"]}}),
    (arms_a_timer, {"signals": {"ITIMER_REAL": ["armed"]}}),
    # Three floats are two words each; two thousand of numpy's as well.
    (draws, {"random": {"python": {"drew": 6}}}),
    (draws_from_numpy, {"random": {"numpy": {"drew": 4000}}}),
    (
        adds_a_log_handler,
        {
            "logging": {
                "planted": {
                    "disabled": False,
                    "handlers": ["logging:NullHandler"],
                    "level": 0,
                    "propagate": True,
                }
            }
        },
    ),
    (disables_logging, {"logging": {"(disabled up to)": 30}}),
    (imports_a_module, {"modules": {"planted.module": "imported"}}),
]


@pytest.mark.parametrize(
    ("leak", "expected"), NAMED, ids=lambda item: getattr(item, "__name__", "")
)
def test_a_leftover_is_named_and_nothing_else_is(tmp_path, leak, expected):
    assert after(tmp_path, leak) == expected


def test_a_closed_descriptor_is_named(tmp_path):
    (told,) = after(tmp_path, closes_a_descriptor)["descriptors"].values()

    assert told == {"closed": 1, "opened": 0}


def test_a_child_that_nobody_waits_for_is_named(tmp_path):
    (name,) = after(tmp_path, leaves_a_dead_child)["children"]

    assert name.startswith("ended and not waited for: ")


def test_a_fork_that_lives_on_is_named_as_one(tmp_path):
    def forks():
        if os.fork() == 0:
            _dies_with_us()
            signal.pause()

    assert after(tmp_path, forks) == {"children": {"a fork of the world": 1}}


def test_a_temporary_file_is_named_by_its_contents(tmp_path):
    digest = hashlib.sha256(b"left").hexdigest()

    assert after(tmp_path, leaves_a_temporary_file) == {
        "temp_files": {"tmp*": [f"file of 4 bytes, sha256 {digest}"]}
    }


def test_a_signal_handler_is_named(tmp_path):
    told = after(tmp_path, handles_a_signal)["signals"]["SIGUSR1"]

    assert told[0].endswith("handles_a_signal.<locals>.<lambda>")


def test_a_stream_seeded_anew_is_told_by_its_state(tmp_path):
    other = after(tmp_path, lambda: random.seed(6))

    assert set(after(tmp_path, seeds)["random"]["python"]) == {"state"}
    assert after(tmp_path, seeds) == after(tmp_path, seeds)
    assert after(tmp_path, seeds) != other


def test_a_warning_filter_is_named(tmp_path):
    told = after(tmp_path, adds_a_filter)["warnings"]["filters"]

    assert told[0] == "ignore::builtins:ResourceWarning::0"


@pytest.fixture
def segment():
    """A name as Python draws them, cleaned up: the forks end as a killed world would."""
    name = f"psm_{uuid.uuid4().hex[:8]}"
    yield name
    Path("/dev/shm", name).unlink(missing_ok=True)


def shared(name):
    held = shared_memory.SharedMemory(name, create=True, size=16)
    # Python's own tidier would be louder about it than this test.
    resource_tracker.unregister(f"/{name}", "shared_memory")
    return held


def test_shared_memory_is_named_while_it_is_held(tmp_path, segment):
    def shares():
        kept.append(shared(segment))

    told = after(tmp_path, shares, process("shared_memory"))

    assert told == {"shared_memory": {"psm_*": 1}}


def test_shared_memory_that_a_reading_saw_and_that_is_left_behind_is_named(tmp_path, segment):
    def leaves():
        before = baseline()
        held = shared(segment)
        read_process(before, "desk", process("shared_memory"))
        held.close()
        tables, _ = read_process(before, "desk", process("shared_memory"))
        os.environ["SEEN"] = repr(tables)

    told = after(tmp_path, leaves, process("environment"))

    assert told == {"environment": {"SEEN": "{'shared_memory': {'psm_*': 1}}"}}


def test_a_clean_twin_that_puts_everything_back_leaves_nothing(tmp_path):
    def tidy():
        os.environ["PLANTED"] = "1"
        del os.environ["PLANTED"]
        here = Path.cwd()
        os.chdir("/")
        os.chdir(here)
        os.umask(os.umask(0o077))
        with Path("/dev/null").open() as file:
            file.read()
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        subprocess.run(["true"], check=True)
        with tempfile.NamedTemporaryFile():
            pass
        with socket.create_server(("127.0.0.1", 0)):
            pass
        former = signal.signal(signal.SIGUSR1, lambda *_: None)
        signal.signal(signal.SIGUSR1, former)
        state = random.getstate()
        random.random()
        random.setstate(state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
        logging.getLogger("planted.clean")

    assert after(tmp_path, tidy) == {}
