"""Role processes: fresh interpreters that talk over a channel, and how they end.

Each role (importer, worker, agent, checker) is ``python -m MODULE READ WRITE`` with
two inherited descriptors. Nothing of the parent's memory reaches it. Each carries a
mark in its environment, which whatever it starts inherits, so that nothing that was
started here outlives the run, even where it left its group.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from cleandesk.channel import Channel, ChannelClosedError

_PR_SET_PDEATHSIG = 1
MARK = "CLEANDESK_ROLE"
_PROC = Path("/proc")
_SWEEPS = 20
"""One that was killed may be seen for a moment, and one that forks may have forked again."""

_THREADED = ("torch", "jax", "tensorflow")
_libc = ctypes.CDLL(None, use_errno=True)


class Role:
    """A started role process.

    Attributes:
        channel: Our end of the connection to it; its sends keep their time limits.
        pid: Its process id.
    """

    def __init__(self, process: subprocess.Popen[bytes], channel: Channel, mark: str) -> None:
        self._process = process
        self._mark = mark
        self.channel = channel
        self.pid = process.pid

    def stop(self) -> None:
        """End the role and everything that it started; ending twice is fine."""
        self.channel.close()
        if self._process.returncode is None:
            kill_group(self.pid)
            self._process.wait()
        sweep(self._mark)

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the role to end by itself; return its status, or None if it did not."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None


def start_role(
    module: str,
    *,
    output: Path | IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    extra: Sequence[int] = (),
    terminal: bool = False,
) -> Role:
    """Start ``module`` as a role.

    Args:
        module: Its name, run as ``python -m``.
        output: File that takes what it prints; None drops it.
        environment: Variables over those of this process.
        extra: Further descriptors that it inherits; their numbers follow on its
            command line.
        terminal: Leave the terminal to it, for a debugger.
    """
    ours, theirs = Channel.pair()
    ours.limit_sends()
    handed = (*theirs.descriptors, *extra)
    mark = f"{os.environ.get(MARK, '')}/{secrets.token_hex(8)}"
    with contextlib.ExitStack() as stack:
        stack.callback(theirs.close)
        sink = None if terminal else stack.enter_context(_sink(output))
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            # -P: a file of the user's that is named like a module must not stand in for it.
            [sys.executable, "-P", "-m", module, *map(str, handed)],
            stdin=None if terminal else subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env={**os.environ, **(environment or {}), MARK: mark},
            pass_fds=handed,
            # A group of its own, so that what it starts ends with it; a debugger needs ours.
            start_new_session=not terminal,
        )
    return Role(process, ours, mark)


def mark_own() -> str:
    """Give what this process starts from now on a mark of its own, below the one that it has."""
    mark = f"{os.environ.get(MARK, '')}/{secrets.token_hex(8)}"
    os.environ[MARK] = mark
    return mark


def _sink(output: Path | IO[bytes] | None) -> contextlib.AbstractContextManager[IO[bytes]]:
    if output is None or isinstance(output, Path):
        return open(output or os.devnull, "ab")  # noqa: PTH123 - closed by the stack
    return contextlib.nullcontext(output)


def channel_of_arguments() -> Channel:
    """Return the channel that ``start_role`` put on this process's command line."""
    die_with_parent()
    for descriptor in map(int, sys.argv[1:]):
        # What a role starts must not hold its channel open after it.
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no names
    # A role is ended by a signal, which would take what it printed last with it.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    channel = Channel(int(sys.argv[1]), int(sys.argv[2]))
    poll = select.poll()
    poll.register(channel.descriptors[0], select.POLLIN)
    if any(event & select.POLLHUP for _, event in poll.poll(0)):
        # The parent ended before the kernel knew that this process is to end with it.
        os._exit(1)
    return channel


def serve_forks(
    channel: Channel, requests: socket.socket, serve: Callable[[Channel], None]
) -> NoReturn:
    """Fork a child for each request, until the requests end; then end this process.

    The child's channel comes with the request, so that whoever asked talks to the child
    alone. It ends when ``serve`` returns.

    Args:
        channel: This process's own; a child closes it.
        requests: Takes datagrams, each with the two descriptors of a channel.
        serve: Runs in the child.
    """
    # A child must not write what its parent's buffers hold.
    sys.stdout.flush()
    # What exists now is never collected again, so that a child's pages stay shared.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # From here on this process runs no code but ours.
    tidy_with_parent()
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, 64, 2)
        if not data:
            end_all()
        own = os.getpid()
        if os.fork() == 0:
            requests.close()
            channel.close()
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no names
            _serve_child(Channel(*descriptors), serve, own)
        for descriptor in descriptors:
            os.close(descriptor)


def _serve_child(channel: Channel, serve: Callable[[Channel], None], parent: int) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with_parent()
        os.setsid()
        # The parent may have ended before the kernel knew that this child ends with it.
        if os.getppid() == parent:
            serve(channel)
            status = 0
    except ChannelClosedError:
        pass
    except BaseException:  # noqa: BLE001 - nothing may leave this function but by the next line
        traceback.print_exc()
    finally:
        # Not sys.exit: a fork must not run what its parent registered for its own end.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def die_with_parent(signal_number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when the one that started it ends.

    Without it a kill -9 of the harness would leave a hung world running for ever.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal_number)


def tidy_with_parent() -> None:
    """Have this role end everything that it started, then itself, when its parent ends.

    For roles that run our code alone, so that the signal is always heard.
    """
    signal.signal(signal.SIGTERM, lambda _number, _frame: end_all())
    die_with_parent(signal.SIGTERM)


def end_all() -> NoReturn:
    """End everything that this role started, then this process."""
    sweep(os.environ.get(MARK, ""))
    os._exit(0)


def kill_group(pid: int) -> None:
    """Kill a process, its group and its descendants; one that is gone already is fine."""
    descendants = list(_descendants(pid))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for each in (pid, *descendants):
        _kill(each)


def sweep(mark: str) -> None:
    """Kill every process, but this one, whose environment carries ``mark`` or one below it."""
    needle = f"{MARK}={mark}".encode()
    for _ in range(_SWEEPS if mark else 0):
        found = [pid for pid in _processes() if _carries(pid, needle)]
        if not found:
            return
        for pid in found:
            _kill(pid)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - 10x
    except OSError:
        # Not a system with /proc: then groups and descendants have to do.
        return []


def _carries(pid: int, needle: bytes) -> bool:
    if pid == os.getpid():
        return False
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    # Of one that is dead already nothing is left to read.
    return needle in variables and any(
        item == needle or item.startswith(needle + b"/") for item in variables.split(b"\0")
    )


def _descendants(pid: int) -> Iterator[int]:
    # Once per episode: plain calls cost a fifth of what pathlib's do.
    tasks = f"{_PROC}/{pid}/task"
    with contextlib.suppress(OSError):
        # A thread's children are listed under that thread.
        for thread in os.listdir(tasks):  # noqa: PTH208
            with open(f"{tasks}/{thread}/children", "rb") as listed:  # noqa: PTH123
                children = listed.read().split()
            for child in map(int, children):
                yield child
                yield from _descendants(child)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def pin_to(core: int | None) -> None:
    """Keep this process on one core, or let it use all (None).

    Roles that take turns never run at the same time; on one core a turn costs a sixth
    (docs/decisions/0004). Libraries with threads of their own are never pinned.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    with contextlib.suppress(OSError):
        if core is None or any(name in sys.modules for name in _THREADED):
            os.sched_setaffinity(0, range(os.cpu_count() or 1))
        else:
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {cores[core % len(cores)]})
