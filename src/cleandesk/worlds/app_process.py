"""One app's program: what it is, how it is started, and how it ends for certain."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cleandesk.errors import WorldError, shown
from cleandesk.processes import MARK, die_with_parent, sweep
from cleandesk.surfaces.process import proc
from cleandesk.surfaces.process.wording import Own
from cleandesk.worlds.app_output import Output
from cleandesk.worlds.clocks import Pinned

Condition = str | Callable[[Any], Any]
"""A path, ``line:REGEX``, or a function that is called with the app."""

_BLANK = re.compile(r"\{(\w+)\}")
_GRACE_S = 2.0
_HOST = "127.0.0.1"
_TERMS = ("name", "env", "cwd", "timeout_s")


@dataclass(frozen=True, slots=True)
class Around:
    """What all apps of one world share.

    Attributes:
        places: Name -> place of the world's private copies.
        allow: Lets connections to an address through the guard.
        clock: The clock tier, or None.
    """

    places: Mapping[str, str]
    allow: Callable[[str, int], None]
    clock: Pinned | None

    def free_port(self, wanted: int) -> int:
        """Return a loopback port that nobody listens on, ``wanted`` if it is one."""
        return wanted if wanted and not self.is_taken(wanted) else _bound(0)

    def is_taken(self, port: int) -> bool:
        """Tell whether somebody listens on a loopback port."""
        try:
            return port != 0 and _bound(port) != port
        except OSError:
            return True


def _bound(port: int) -> int:
    with socket.socket() as probe:
        # As servers do: connections of a former one that are still closing do no harm.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((_HOST, port))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Program:
    """A program that a world serves, as it was asked for; ``{port}`` is still a blank.

    Attributes:
        words: The command.
        ready: Must hold before it is used.
        idle: Must hold before state is read, or None.
    """

    name: str
    words: tuple[str, ...]
    ready: Condition
    idle: Condition | None
    keep: bool
    env: Mapping[str, str]
    cwd: str | None
    timeout_s: float

    @classmethod
    def of(
        cls,
        command: str | Sequence[str],
        conditions: tuple[Condition, Condition | None],
        places: Mapping[str, str],
        *,
        keep: bool,
        how: Mapping[str, Any],
    ) -> Program:
        """Take the arguments of ``serve``.

        Raises:
            WorldError: CD-264, they can't be meant.
        """
        name = str(how.get("name", "app"))
        unknown = sorted(set(how) - set(_TERMS))
        if unknown:
            raise _refused(name, f"serve() takes no argument {unknown[0]!r}", ", ".join(_TERMS))
        try:
            words = shlex.split(command) if isinstance(command, str) else [*map(str, command)]
        except ValueError as error:
            raise _refused(name, f"its command can't be split: {error}", "close quotes") from error
        if not words:
            raise _refused(name, "its command is empty", "name a program")
        if words[0] in {"python", "python3"}:
            words[0] = sys.executable
        known = {**places, "port": "{port}"}
        program = cls(
            name,
            # In a list other braces are the program's own, such as code that it is given.
            tuple(_filled(word, known, name, strict=isinstance(command, str)) for word in words),
            *conditions,
            keep=keep,
            env={
                key: _filled(str(value), known, name, strict=False)
                for key, value in (how.get("env") or {}).items()
            },
            cwd=how.get("cwd"),
            timeout_s=float(how.get("timeout_s", 30.0)),
        )
        program._require_conditions()
        return program

    @property
    def has_port(self) -> bool:
        """Whether it is given a port."""
        return any("{port}" in text for text in (*self.words, *self.env.values()))

    def refused(self, message: str, do: str) -> WorldError:
        """Return the error that it can't be served as asked."""
        return _refused(self.name, message, do)

    def failed(self, code: str, what: str, output: str, do: str) -> WorldError:
        """Return the error that it failed, with what it printed last."""
        printed = f"; it printed:\n{output}" if output else "; it printed nothing"
        where = f"app {self.name}: {shown(shlex.join(self.words), 300)}"
        return WorldError(code, f"the app {self.name} {what}{printed}", where=where, do=do)

    def _require_conditions(self) -> None:
        for word, condition in (("ready", self.ready), ("idle", self.idle)):
            if condition is None or callable(condition):
                continue
            if word == "ready" and condition.startswith("line:"):
                try:
                    re.compile(condition.removeprefix("line:"))
                except re.error as error:
                    raise self.refused(f"{condition!r} is no pattern", str(error)) from error
            elif not re.fullmatch(r"/[!-~]*", condition):
                forms = "a path such as /healthz, or a function"
                also = ", or line:REGEX" if word == "ready" else ""
                raise self.refused(f"{word}={shown(repr(condition), 60)}", f"write {forms}{also}")
            elif not self.has_port:
                raise self.refused(f"{word} is a path and it has no port", "put {port} into it")


def _filled(word: str, known: Mapping[str, str], name: str, *, strict: bool) -> str:
    def place(found: re.Match[str]) -> str:
        if found[1] in known:
            return known[found[1]]
        if strict:
            raise _refused(
                name,
                f"its command has {{{found[1]}}}, and there is no such place",
                f"write {', '.join(f'{{{one}}}' for one in sorted(known))}",
            )
        return found[0]

    return _BLANK.sub(place, word)


def _refused(name: str, message: str, do: str) -> WorldError:
    return WorldError(
        "CD-264", f"the app {name} can't be served: {message}", where="serve()", do=do
    )


class Running:
    """A program that was started; until ``stop`` its process id stays its own.

    Attributes:
        pid: Its process id, and the number of its group.
        handle: A descriptor that becomes readable when it ends.
        output: What it prints.
    """

    def __init__(
        self, program: Program, process: subprocess.Popen[bytes], output: Output, mark: str
    ) -> None:
        self.pid = process.pid
        self.output = output
        self.handle = os.pidfd_open(process.pid)
        self._program = program
        self._process = process
        self._mark = mark
        self._clock: Pinned | None = None

    def with_clock(self, clock: Pinned | None) -> Running:
        """Have ``clock`` tidy up once it has ended."""
        self._clock = clock
        return self

    def has_ended(self, within_s: float = 0) -> bool:
        """Tell whether it has ended, or does so within that time."""
        # Not by waiting for the child: that would give its number away to others.
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(within_s * 1000))

    def listens_at(self, port: int) -> bool:
        """Tell whether it, or what it started, is who listens on a port.

        Another program may have taken the port and answer in its place.
        """
        inodes = proc.listeners(port)
        near = (self.pid, *proc.children(self.pid, ()))
        if any(proc.holds_socket(pid, inodes) for pid in near):
            return True
        needle = f"{MARK}={self._mark}".encode()
        return any(proc.holds_socket(pid, inodes) for pid in proc.carriers(needle))

    def ended(self, code: str, what: str) -> WorldError:
        """Return the error that it ended, with its status and last lines."""
        self.kill()
        status = self._process.wait()
        how = f"status {status}" if status >= 0 else _signal_name(-status)
        do = "run the command by hand; its output is the world's"
        return self._program.failed(code, f"{what} with {how}", self.output.last(), do)

    def output_so_far(self) -> str:
        """End it and return its last lines."""
        self.kill()
        return self.output.last()

    def kill(self) -> None:
        """Kill its group, then whatever else it started and that left the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        sweep(self._mark)

    def stop(self) -> None:
        """Ask it to end, wait a little, and see to it that nothing of it is left."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)
        self.has_ended(_GRACE_S)
        self.kill()
        self._process.wait()
        self.output.close()
        os.close(self.handle)
        if self._clock is not None:
            self._clock.tidy(self.pid)

    def own(self) -> Own:
        """Return what is held for it in this process."""
        thread = self.output.thread
        return Own(
            frozenset({self.handle, *self.output.descriptors}),
            frozenset({thread} if thread is not None else ()),
            frozenset({self.pid}),
        )


def start_program(program: Program, port: int, around: Around) -> Running:
    """Start a program; it may end again at once.

    Raises:
        WorldError: CD-264, there is no such program or it may not be run.
    """
    mark = f"{os.environ.get(MARK, '')}/{secrets.token_hex(8)}"
    filled = {key: value.replace("{port}", str(port)) for key, value in program.env.items()}
    environment = {
        # What it prints is to be here when it fails.
        "PYTHONUNBUFFERED": "1",
        **os.environ,
        **(around.clock.environment() if around.clock else {}),
        **filled,
        MARK: mark,
    }
    ready = program.ready
    is_line = isinstance(ready, str) and ready.startswith("line:")
    output = Output(str(ready).removeprefix("line:") if is_line else None)
    try:
        process = _started(
            [word.replace("{port}", str(port)) for word in program.words],
            cwd=program.cwd,
            env=environment,
            sink=output.write_end,
        )
    except (OSError, ValueError) as error:
        output.never_started()
        message = f"{type(error).__name__}: {shown(error)}"
        raise program.refused(message, "install the program, or correct its command") from error
    output.started()
    return Running(program, process, output, mark).with_clock(around.clock)


def _started(
    words: list[str], *, cwd: str | None, env: dict[str, str], sink: int
) -> subprocess.Popen[bytes]:
    parent = os.getpid()
    # The kernel's signal comes when the thread ends that started it: only the main one stays.
    dies_with_us = threading.current_thread() is threading.main_thread()

    def in_child() -> None:
        if dies_with_us:
            die_with_parent()
            if os.getppid() != parent:
                os._exit(1)

    with warnings.catch_warnings():
        # From Python 3.12 on a fork beside a thread warns; this child only makes two calls.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(  # noqa: S603 - the world's own program, without a shell
            words,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            process_group=0,
            preexec_fn=in_child,  # noqa: PLW1509 - see above
        )


def _signal_name(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
