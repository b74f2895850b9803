"""The nursery and its hands, as a rule sees them: started, asked, killed."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import select
import signal
import socket
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from cleandesk.channel import Channel, ChannelClosedError, ChannelTimeoutError
from cleandesk.errors import CleandeskError, remade
from cleandesk.processes import Role, start_role
from cleandesk.state import decode, encode

_PATIENCE_S = 120.0


class SaidNoError(Exception):
    """A hand could not do what it was asked to.

    Attributes:
        text: What it was asked, and the traceback.
        error: The error of cleandesk's that was raised, or None for any other.
    """

    def __init__(self, text: str, error: CleandeskError | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.error = error


class HandLostError(SaidNoError):
    """A hand ended before it answered."""


class Hand:
    """A process that does as it is told, one thing after the other."""

    def __init__(self, needed: Iterable[Sequence[Any]] = ()) -> None:
        """Fork it from the nursery, which first imports what is ``needed``."""
        self._channel, theirs = Channel.pair()
        self._nursery = _nursery(os.getpid())
        with theirs:
            self._nursery.fork(theirs, needed)
        try:
            pid: int = self._answer("start", _PATIENCE_S)
            self._process: int | None = os.pidfd_open(pid)
        except ProcessLookupError as error:
            raise HandLostError("it ended as it began") from error

    def ask(self, verb: str, *given: Any) -> Any:
        """Have it do something and wait for the answer.

        Raises:
            SaidNoError: It raised something.
            HandLostError: It ended.
        """
        self.tell(verb, *given)
        return self.answer(verb)

    def spare_the_next(self) -> None:
        """Have the nursery import what this one had to import for its surface."""
        self._nursery.modules.update(self.ask("loaded"))

    def tell(self, verb: str, *given: Any) -> None:
        """Have it do something; the answer is to be taken later."""
        with contextlib.suppress(ChannelClosedError):
            self._channel.send(b"q", verb.encode(), encode(list(given)))

    def answer(self, verb: str, timeout_s: float | None = None) -> Any:
        """Wait for the answer to what it was told.

        Raises:
            ChannelTimeoutError: There is none yet, after ``timeout_s`` seconds.
            SaidNoError: It raised something, or has not answered for too long.
            HandLostError: It ended.
        """
        if timeout_s is not None:
            return self._answer(verb, timeout_s)
        try:
            return self._answer(verb, _PATIENCE_S)
        except ChannelTimeoutError as error:
            self.kill()
            raise SaidNoError(f"{verb} did not end within {_PATIENCE_S:.0f} s") from error

    def _answer(self, verb: str, timeout_s: float) -> Any:
        try:
            kind, (data,) = self._channel.receive(timeout_s)
        except ChannelClosedError as error:
            raise HandLostError(f"the process ended during {verb}") from error
        answer = decode(data)
        if kind == b"x":
            code, message, where, do, trace = answer
            said = remade(code, message, where=where, do=do)
            raise SaidNoError(f"{verb} raised {code} {message}\n{trace}", said)
        if kind == b"t":
            raise SaidNoError(f"{verb} raised\n{answer}")
        return answer

    def kill(self) -> None:
        """Kill it with a signal that nobody can hold off, and wait until it is gone."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        self._wait()

    def end(self) -> None:
        """Let it end by itself, as a process does whose work is done."""
        self._channel.close()
        if self._process is not None and not self._is_gone(_PATIENCE_S):
            self.kill()
        self._wait()

    def _wait(self) -> None:
        self._channel.close()
        if self._process is not None:
            self._is_gone(_PATIENCE_S)
            os.close(self._process)
            self._process = None

    def _is_gone(self, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self._process or 0, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))


class _Nursery:
    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._requests, theirs = socket.socketpair()
        with theirs:
            self._role: Role = start_role("cleandesk.testing.nursery", extra=[theirs.fileno()])
        atexit.register(self.stop)

    def fork(self, theirs: Channel, needed: Iterable[Sequence[Any]]) -> None:
        asked = {
            "modules": sorted(self.modules),
            "needed": [list(each) for each in needed],
            "path": sys.path,
        }
        socket.send_fds(self._requests, [encode(asked)], theirs.descriptors)

    def stop(self) -> None:
        self._requests.close()
        self._role.stop()


@functools.cache
def _nursery(_: int) -> _Nursery:
    """Return the nursery of this process: a fork of it needs one of its own."""
    return _Nursery()
