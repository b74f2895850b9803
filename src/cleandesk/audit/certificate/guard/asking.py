"""The loop's side of the referee: nothing here ever waits, unless it is told to."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.guard.live import write_file
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.channel import ChannelClosedError, ChannelTimeoutError, FrameTooLargeError
from cleandesk.processes import Role, start_role
from cleandesk.state import decode, encode

Answer = Callable[[Mapping[str, Any]], None]
_GONE = "the process with the fresh builds ended"


class Referee:
    """A process with fresh builds of one recipe; several guards may ask it.

    Attributes:
        folder: Where what is asked lies.
        problem: Why it answers no more, or empty.
        about: What it said of the reference (``kinds``, ``is_unseeded``), None before.
    """

    def __init__(self, recipe: Recipe, declare: Sequence[str]) -> None:
        """Start it; it needs some seconds until it answers."""
        from cleandesk.audit.certificate.serve import plain_of

        self.folder = Path(tempfile.mkdtemp(prefix="cleandesk-guard-"))
        self.problem = ""
        self.about: dict[str, Any] | None = None
        self._asked: dict[int, Answer] = {}
        self._number = 0
        self._users = 0
        self._role: Role = start_role("cleandesk.audit.certificate.guard.referee")
        settings = {
            "declare": list(declare),
            "folder": str(self.folder),
            "recipe": plain_of(recipe),
        }
        self._role.channel.send(b"H", encode(settings))

    def ask(self, asked: Mapping[str, Any], then: Answer) -> int:
        """Ask; ``then`` is called with the answer in some later ``collect``."""
        self._number += 1
        write_file(self.folder / f"{self._number}.asked", dict(asked))
        self._asked[self._number] = then
        with contextlib.suppress(ChannelClosedError, ChannelTimeoutError):
            # A closed channel is met when the answers are collected.
            self._role.channel.send(b"R", b"%d" % self._number, timeout_s=0)
        return self._number

    def collect(self, wait_s: float = 0.0) -> None:
        """Take the answers that have come; wait for those that are due up to ``wait_s``."""
        until = time.monotonic() + wait_s
        while not self.problem and (self._asked or self.about is None):
            try:
                kind, parts = self._role.channel.receive(max(0.0, until - time.monotonic()))
            except ChannelTimeoutError:
                return
            except (ChannelClosedError, FrameTooLargeError):
                self._fail(_GONE)
                return
            self._take(kind, parts)

    def join(self) -> None:
        """Count one guard more that asks."""
        self._users += 1

    def leave(self) -> None:
        """Count one guard less, and end it with the last."""
        self._users -= 1
        if self._users <= 0:
            self.stop()

    def stop(self) -> None:
        """End it; ending twice is fine."""
        if not self.problem:
            self.problem = "it was closed"
        self._asked.clear()
        self._role.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take(self, kind: bytes, parts: Sequence[bytes]) -> None:
        if kind == b"X":
            self._fail(parts[0].decode(errors="replace"))
            return
        said: dict[str, Any] = decode(parts[0])
        if kind == b"I":
            self.about = said
            if said["problem"]:
                self._fail(said["problem"])
            return
        then = self._asked.pop(said["number"], None)
        if then is not None:
            then(said)

    def _fail(self, problem: str) -> None:
        self.problem = problem
        asked, self._asked = self._asked, {}
        for number, then in asked.items():
            then({"differing": [], "number": number, "problem": problem, "step": None})
