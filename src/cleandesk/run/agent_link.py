"""The harness's end of an agent process: turns, time, and whose failure it was."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.agents.command import LIMIT_BYTES
from cleandesk.channel import (
    ChannelClosedError,
    ChannelTimeoutError,
    FrameTooLargeError,
)
from cleandesk.errors import AgentError
from cleandesk.processes import Role, start_role
from cleandesk.run.blame import Blame, Fault
from cleandesk.state import decode, encode

_LOAD_SECONDS = 300.0
_STOP_SECONDS = 5.0


class AgentTimeoutError(Exception):
    """The agent did not answer within its limit; that ends the episode, scored."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the agent.

    Attributes:
        kind: ``A`` an action, ``D`` done, ``F`` infeasible.
        payload: The action, answer or reason, as canon/1.
        usage: What it reports to have used since its last turn, or nothing.
        seconds: Wall time that it took.
    """

    kind: bytes
    payload: bytes
    usage: bytes
    seconds: float


class AgentLink:
    """An agent process that plays one episode after the other.

    Attributes:
        source: Digest of the agent's source.
    """

    def __init__(self, hello: Mapping[str, Any], output: Path | None) -> None:
        """Start the process and have it load the agent.

        Args:
            hello: reference, path, network, core, debug.
            output: File that takes what the agent prints.

        Raises:
            AgentError: CD-301 or CD-302, the agent can't be loaded.
        """
        self._hello = dict(hello)
        self._output = output
        self._role: Role | None = None
        self._is_busy = False
        self.source = ""
        self.start()

    def start(self) -> None:
        """Start the process if there is none."""
        if self._role is not None:
            return
        role = start_role(
            "cleandesk.agents.serve",
            output=self._output,
            environment={"PYTHONHASHSEED": "0"},
            terminal=self._hello["debug"],
        )
        role.channel.limit_bytes = LIMIT_BYTES
        try:
            role.channel.send(b"H", encode(self._hello))
            kind, parts = role.channel.receive(_LOAD_SECONDS)
        except (ChannelClosedError, ChannelTimeoutError) as error:
            role.stop()
            raise AgentError(
                "CD-307",
                "the agent's process ended while it loaded the agent",
                where=f"agent {self._hello['reference']!r}",
                do="import the agent's module by hand",
            ) from error
        if kind == b"X":
            role.stop()
            code, message, where, do = decode(parts[0])
            raise AgentError(code, message, where=where, do=do)
        self.source = parts[0].decode()
        self._role = role

    def begin(self, settings: Mapping[str, Any], observation: bytes, info: bytes) -> None:
        """Begin an episode; the first turn is then waiting to be read."""
        self.start()
        self._is_busy = True
        self._send(b"G", encode(dict(settings)), observation, info)

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
        except ChannelClosedError as error:
            status = self._role.wait(_STOP_SECONDS) if self._role else None
            self.stop()
            raise Fault(
                Blame.AGENT, "CD-303", f"the agent's process ended (status {status})"
            ) from error
        if kind == b"X":
            self._is_busy = False
            raise _fault(decode(parts[0]))
        if kind == b"K":
            # It returned without a word after its last action: it is done, with no answer.
            self._is_busy = False
            return Turn(b"D", b"null", b"", time.monotonic() - begun)
        return Turn(kind, parts[0], parts[1], time.monotonic() - begun)

    def tell(self, kind: bytes, outcome: list[bytes]) -> None:
        """Say what the last action led to: ``O``, or ``T`` if that was the last."""
        self._send(kind, *outcome)

    def dismiss(self, last: list[bytes] | None = None) -> None:
        """End the agent's episode and wait until it has stopped.

        Args:
            last: What its last action led to, if it is still to be told.
        """
        if not self._is_busy or self._role is None:
            return
        try:
            # Where it has said its last word already, it skips this one.
            self._channel.send(*((b"T", *last) if last is not None else (b"Q",)))
            kind = b""
            while kind not in {b"K", b"X"}:
                kind, _ = self._channel.receive(_STOP_SECONDS)
                if kind == b"A":
                    self._channel.send(b"Q")
            self._is_busy = False
        except (ChannelClosedError, ChannelTimeoutError, FrameTooLargeError):
            # It does not stop by itself; the next episode gets a new process.
            self.stop()

    def stop(self) -> None:
        """End the process; the next episode starts a new one."""
        if self._role is not None:
            self._role.stop()
            self._role = None
        self._is_busy = False

    @property
    def _channel(self) -> Any:
        if self._role is None:
            raise Fault(Blame.AGENT, "CD-303", "the agent's process is gone")
        return self._role.channel

    def _send(self, kind: bytes, *parts: bytes) -> None:
        try:
            self._channel.send(kind, *parts)
        except ChannelClosedError:
            # The turn that follows finds the channel closed and says so.
            return


def _fault(failure: Mapping[str, Any]) -> Fault:
    blame = Blame(failure["blame"])
    code = {Blame.PROVIDER: "CD-722", Blame.UNCLASSIFIED: "CD-721"}.get(blame, "")
    message = failure["message"]
    if failure["blocked"]:
        code = "CD-725"
        message = f"{message} [blocked: {', '.join(failure['blocked'])}]"
    return Fault(blame, failure["code"] or code, message, failure["traceback"])
