"""The run's end of a worker process."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleandesk.channel import ChannelClosedError, ChannelTimeoutError
from cleandesk.errors import RunError, remade
from cleandesk.processes import start_role
from cleandesk.run.plan import Planned
from cleandesk.state import decode, encode

_START_SECONDS = 300.0
_END_SECONDS = 5.0


class WorkerLink:
    """One worker, idle or with a job.

    Attributes:
        number: Which worker, from 0.
        handed: The socket over which world channels are handed to it.
        job: The episode it runs, or None.
        attempt: Which attempt at it, from 1; 0 where only its start is built.
        is_building: It builds an expected start, and runs no episode.
    """

    def __init__(self, number: int, hello: Mapping[str, Any], output: Path | None) -> None:
        """Start the process; ``ready`` waits until its agent is loaded."""
        self.number = number
        self.job: Planned | None = None
        self.attempt = 0
        self.is_building = False
        self.handed, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._role = start_role(
            "cleandesk.run.worker",
            output=output,
            environment={"PYTHONHASHSEED": "0"},
            extra=(theirs.fileno(),),
            terminal=hello["debug"] or hello["verbose"],
        )
        theirs.close()
        self._role.channel.send(b"H", encode({**hello, "core": number}))

    def ready(self) -> None:
        """Wait until the worker is ready.

        Raises:
            AgentError: CD-301, CD-302 or CD-307, the agent can't be loaded.
            RunError: CD-731, the worker ended.
        """
        try:
            kind, parts = self._role.channel.receive(_START_SECONDS)
        except (ChannelClosedError, ChannelTimeoutError) as error:
            raise RunError(
                "CD-731", "a worker ended before its first episode", do="see output/ in the run"
            ) from error
        if kind == b"X":
            code, message, where, do = decode(parts[0])
            raise remade(code, message, where=where, do=do)

    def fileno(self) -> int:
        """The descriptor that becomes readable when the worker has something to say."""
        return self._role.channel.descriptors[0]

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._role.pid

    def assign(self, item: Planned, attempt: int, job: Mapping[str, Any], instance: bytes) -> None:
        """Give it a job; its world channels were handed over ``handed``.

        Args:
            item: The episode.
            attempt: Which attempt at it.
            job: How it is to be run.
            instance: The task with its seed, as canon/1.

        Raises:
            ChannelClosedError: It is gone.
        """
        self.job, self.attempt = item, attempt
        self._role.channel.send(b"J", encode(dict(job)), instance)

    def hear(self) -> tuple[bytes, list[bytes]]:
        """Return what it says.

        Raises:
            ChannelClosedError: It is gone.
        """
        return self._role.channel.receive()

    def status(self) -> int | None:
        """Return the exit status of a worker that is gone, as far as it is known."""
        return self._role.wait(_END_SECONDS)

    def stop(self) -> None:
        """End the worker and its agent and checker."""
        self.handed.close()
        self._role.stop()
