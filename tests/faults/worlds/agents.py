"""Agents that fail, on each task by one defect, and agents that do not."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import cleandesk as cd
from cleandesk.channel import Channel


class AddsTwice:
    """Clean: adds two notes and is done."""

    def __init__(self):
        self.steps = 0

    def act(self, observation):
        self.steps += 1
        return f"added {self.steps}" if self.steps < 3 else cd.done()


class Spoils(AddsTwice):
    """Clean: empties whatever it is shown."""

    def act(self, observation):
        count = len(observation)
        observation.clear()
        return f"saw {count}" if count < 3 else cd.done()


class RateLimitError(Exception):
    """Shaped like the error of a client library that we do not import."""

    status_code = 429


class Mute:
    """Nothing that canon/1 has a spelling for."""

    __slots__ = ()


def leaves():
    os._exit(5)


def is_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def answers_much():
    return "x" * 50_000_000


def is_silent():
    threading.Event().wait()


def has_a_bug():
    return {}["missing"]


def is_limited():
    raise RateLimitError("slow down")


def says_its_provider_is_gone():
    raise cd.ProviderError("CD-311", "the model is away")


def wraps_its_provider():
    try:
        raise ConnectionResetError("gone")
    except ConnectionResetError as error:
        raise RuntimeError("no answer from the model") from error


def hides_its_provider():
    try:
        raise ConnectionResetError("gone")
    except ConnectionResetError:
        raise ValueError("a bug of its own") from None


def groups_its_providers():
    raise ExceptionGroup("all failed", [RateLimitError("one"), ConnectionError("two")])


def answers_what_cannot_be_sent():
    return Mute()


def reports_what_is_no_usage():
    cd.report_usage(tokens=-5)


def uses_tokens():
    cd.report_usage(tokens=60)
    return "spends"


def uses_dollars():
    cd.report_usage(usd=0.4)
    return "spends"


def is_slow():
    # Each answer well within its limit, all of them together not.
    threading.Event().wait(0.2)
    return "thinks"


def goes_on():
    return "again"


def cannot():
    return cd.infeasible("no way")


def prints_and_leaves_a_child():
    child = subprocess.Popen(["sleep", "600"])
    sys.stdout.write(f"printed by the agent, whose child is {child.pid}\n")
    return cd.done()


def breaks_its_text():
    class UntoldError(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    raise UntoldError


def writes_junk():
    """Writes to the pipe that the harness reads, and in no message's form."""
    os.write(int(sys.argv[2]), b"A\0\0\0\4\0\7junk")
    threading.Event().wait()


def forges_a_message():
    """A message of the right form whose action would break the log."""
    forged = b'{"a":1},"forged":{"b":2}\n'
    Channel(int(sys.argv[1]), int(sys.argv[2])).send(b"A", forged, b"", b"")
    threading.Event().wait()


def blames_the_world():
    """Says of its own failure that it was the world's."""
    failure = {
        "blame": "world",
        "blocked": b"",
        "code": "",
        "message": "",
        "traceback": "",
        "usage": b"",
    }
    Channel(int(sys.argv[1]), int(sys.argv[2])).send(b"X", cd.encode(failure))
    threading.Event().wait()


def connects_out():
    with socket.socket() as reached:
        reached.connect(("192.0.2.1", 80))


def connects_out_and_hides_it():
    with contextlib.suppress(OSError):
        connects_out()
    return cd.done()


class Reaches(AddsTwice):
    """Connects to the port that its goal names before each action."""

    def start(self, goal):
        self.port = int(goal)

    def act(self, observation):
        socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        return super().act(observation)


class ByTask:
    """Does on each task what the task is named after, once it was asked for an action."""

    def start(self, task):
        self.does = globals()[task.partition("-")[0]]

    def act(self, observation):
        return self.does()


class KillsItsWorker(AddsTwice):
    """Ends the worker in the middle of the first episode, as a machine might."""

    once = True

    def start(self, goal):
        self.marker = pathlib.Path(goal)

    def act(self, observation):
        if not self.marker.exists() or not self.once:
            self.marker.touch()
            os.kill(os.getppid(), signal.SIGKILL)
        return super().act(observation)


class AlwaysKillsItsWorker(KillsItsWorker):
    once = False


class StartsPrograms(AddsTwice):
    """Leaves a program behind in each episode, one of them in a session of its own."""

    def act(self, observation):
        if not self.steps:
            for own in (False, True):
                subprocess.Popen(["sleep", "600"], start_new_session=own)
        return super().act(observation)
