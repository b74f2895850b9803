"""The harness's end of an agent process: turns, time, and whose failure it was."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cleandesk.agents.command import LIMIT_BYTES
from cleandesk.channel import (
    Channel,
    ChannelClosedError,
    ChannelTimeoutError,
    FrameBrokenError,
    FrameTooLargeError,
)
from cleandesk.errors import AgentError, CleandeskError
from cleandesk.processes import Role, start_role
from cleandesk.run.blame import Blame, Fault
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES

_LOAD_SECONDS = 300.0
_STOP_SECONDS = 5.0
_TELL_SECONDS = 60.0
_MALFORMED = (ValueError, LookupError, TypeError, RecursionError, CleandeskError)
_TURNS = frozenset({b"A", b"D", b"F"})
_ITS_BLAMES = frozenset({Blame.AGENT, Blame.PROVIDER, Blame.UNCLASSIFIED})
"""Whose failure the agent's process may say that its failure was."""


class AgentTimeoutError(Exception):
    """The agent did not answer within its limit; that ends the episode, scored."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the agent.

    Attributes:
        kind: ``A`` an action, ``D`` done, ``F`` infeasible.
        payload: The action, answer or reason, as canon/1.
        usage: What it reports to have used since its last turn: tokens, usd; or nothing.
        blocked: Connections of its process that were blocked since its last turn.
        seconds: Wall time that it took.
    """

    kind: bytes
    payload: bytes
    usage: dict[str, Any] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    seconds: float = 0.0


class AgentLink:
    """An agent process that plays one episode after the other.

    Attributes:
        source: Digest of the agent's source.
    """

    def __init__(self, hello: Mapping[str, Any], output: Path | None) -> None:
        """Start the process; it loads the agent while ``ready`` is not yet called.

        Args:
            hello: reference, path, network, core, debug.
            output: File that takes what the agent prints.
        """
        self._hello = dict(hello)
        self._output = output
        self._role: Role | None = None
        self._is_busy = False
        self._is_loaded = False
        self.source = ""
        self._start()

    def _start(self) -> None:
        role = start_role(
            "cleandesk.agents.serve",
            output=self._output,
            environment={"PYTHONHASHSEED": "0"},
            terminal=self._hello["debug"],
        )
        role.channel.limit_bytes = LIMIT_BYTES
        self._role, self._is_loaded = role, False
        # One that is gone already is found when its answer is read.
        with contextlib.suppress(ChannelClosedError):
            role.channel.send(b"H", encode(self._hello))

    def ready(self) -> None:
        """Wait until there is a process that has loaded the agent.

        Raises:
            AgentError: CD-301 or CD-302, the agent can't be loaded; CD-307, its process
                ended.
        """
        if self._role is None:
            self._start()
        if self._is_loaded:
            return
        try:
            kind, parts = self._channel.receive(_LOAD_SECONDS)
        except (ChannelClosedError, ChannelTimeoutError, FrameTooLargeError) as error:
            self.stop()
            raise AgentError(
                "CD-307",
                "the agent's process ended while it loaded the agent, or took too long",
                where=f"agent {self._hello['reference']!r}",
                do="import the agent's module by hand",
            ) from error
        if kind == b"X":
            self.stop()
            code, message, where, do = decode(parts[0])
            raise AgentError(code, message, where=where, do=do)
        self.source = parts[0].decode()
        self._is_loaded = True

    def begin(self, settings: Mapping[str, Any], observation: bytes, info: bytes) -> None:
        """Begin an episode; the first turn is then waiting to be read.

        Raises:
            Fault: The agent could be loaded once and can't be any more.
        """
        try:
            self.ready()
        except AgentError as error:
            raise Fault(Blame.AGENT, error.code, error.message, error.where) from error
        self._is_busy = True
        self.tell(b"G", [encode(dict(settings)), observation, info])

    def turn(self, limit_s: float | None) -> Turn:
        """Wait for the agent's next answer.

        Raises:
            AgentTimeoutError: It did not answer in time; its process was ended.
            Fault: It failed; the fault says whose that is.
        """
        begun = time.monotonic()
        try:
            kind, parts = self._channel.receive(limit_s)
        except ChannelTimeoutError as error:
            self.stop()
            raise AgentTimeoutError from error
        except FrameTooLargeError as error:
            self.stop()
            raise Fault(
                Blame.AGENT,
                "CD-304",
                f"the agent answered {error.size_bytes / 1e6:.0f} MB; "
                f"{LIMIT_BYTES >> 20} MB is the limit",
            ) from error
        except FrameBrokenError as error:
            self.stop()
            raise _no_message() from error
        except ChannelClosedError as error:
            status = self._role.wait(_STOP_SECONDS) if self._role else None
            self.stop()
            raise _ended(status) from error
        return self._read(kind, parts, time.monotonic() - begun)

    def _read(self, kind: bytes, parts: list[bytes], seconds: float) -> Turn:
        """Read an answer. The agent's process may send anything, so all of it is checked."""
        try:
            if kind == b"X":
                fault = _fault(decode(parts[0]))
                self._is_busy = False
                raise fault
            if kind == b"K":
                # It returned without a word after its last action: done, without an answer.
                self._is_busy = False
                kind, parts = b"D", [b"null", *parts]
            payload, usage, blocked = parts
            # It is put into the log as it is: what is no canon/1 text would break that.
            if kind not in _TURNS or encode(decode(payload), inline_bytes=ALL_BYTES) != payload:
                raise ValueError("no turn")
            return Turn(kind, payload, _usage(usage), _hosts(blocked), seconds)
        except _MALFORMED as error:
            self.stop()
            raise _no_message() from error

    def tell(self, kind: bytes, parts: list[bytes]) -> None:
        """Tell the agent something: ``G`` begin, ``O`` and ``T`` what its action led to."""
        try:
            self._channel.send(kind, *parts, timeout_s=_TELL_SECONDS)
        except ChannelClosedError:
            # The turn that follows finds the channel closed and says so.
            return
        except ChannelTimeoutError as error:
            self.stop()
            raise Fault(
                Blame.AGENT, "CD-303", "the agent's process does not read what it is told"
            ) from error

    def dismiss(self, last: list[bytes] | None = None) -> dict[str, Any]:
        """End the agent's episode and wait until it has stopped.

        Args:
            last: What its last action led to, if it is still to be told.

        Returns:
            What it reports to have used since its last turn.
        """
        if not self._is_busy or self._role is None:
            return {}
        deadline = time.monotonic() + _STOP_SECONDS
        try:
            # Where it has said its last word already, it skips this one.
            first = (b"T", *last) if last is not None else (b"Q",)
            self._channel.send(*first, timeout_s=_STOP_SECONDS)
            kind, parts = b"", [b""]
            while kind not in {b"K", b"X"}:
                left = deadline - time.monotonic()
                kind, parts = self._channel.receive(left)
                if kind == b"A":
                    self._channel.send(b"Q", timeout_s=left)
            self._is_busy = False
            return _usage(parts[0]) if kind == b"K" else {}
        except (ChannelClosedError, ChannelTimeoutError, FrameTooLargeError, *_MALFORMED):
            # It does not stop by itself; the next episode gets a new process.
            self.stop()
            return {}

    def stop(self) -> None:
        """End the process; the next episode starts a new one."""
        if self._role is not None:
            self._role.stop()
            self._role = None
        self._is_busy = False

    @property
    def _channel(self) -> Channel:
        if self._role is None:
            raise Fault(Blame.AGENT, "CD-303", "the agent's process is gone")
        return self._role.channel


def _no_message() -> Fault:
    return Fault(Blame.AGENT, "CD-305", "the agent's process sent what is no message of an agent")


def _usage(text: bytes) -> dict[str, Any]:
    if not text:
        return {}
    tokens, usd = (decode(text)[name] for name in ("tokens", "usd"))
    if type(tokens) is not int or type(usd) is not float or tokens < 0 or not 0 <= usd < math.inf:
        raise ValueError("no usage")
    return {"tokens": tokens, "usd": usd}


def _hosts(text: bytes) -> list[str]:
    return [str(host) for host in decode(text)] if text else []


def _ended(status: int | None) -> Fault:
    if status == -signal.SIGKILL:
        return Fault(
            Blame.UNCLASSIFIED,
            "CD-723",
            "the agent's process was killed (signal 9), perhaps because memory ran out",
        )
    return Fault(Blame.AGENT, "CD-303", f"the agent's process ended (status {status})")


def _fault(failure: Mapping[str, Any]) -> Fault:
    blame = Blame(failure["blame"])
    if blame not in _ITS_BLAMES:
        raise ValueError(f"an agent can't tell that it was the {blame}'s")
    code = {Blame.PROVIDER: "CD-722", Blame.UNCLASSIFIED: "CD-721"}.get(blame, "")
    message, blocked = str(failure["message"]), _hosts(failure["blocked"])
    reported = {"blocked": blocked, "usage": _usage(failure["usage"])}
    if blocked:
        code = "CD-725"
        message = f"{message} [blocked: {', '.join(blocked)}]"
    return Fault(
        blame, failure["code"] or code or "CD-306", message, str(failure["traceback"]), reported
    )
