"""The harness's end of a checker process: pure questions about captured evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cleandesk.channel import ChannelClosedError, ChannelTimeoutError, FrameTooLargeError
from cleandesk.errors import CheckerError
from cleandesk.processes import Role, start_role
from cleandesk.run.blame import Blame, Fault
from cleandesk.state import decode, encode

_LOAD_SECONDS = 300.0


class CheckerLink:
    """A process that judges episodes; it holds what neither agent nor world may see."""

    def __init__(
        self,
        path: Sequence[str],
        *,
        limit_s: float,
        output: Path | None,
        debug: bool,
        bases: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Keep what the process needs; it starts with ``start`` or the first question.

        Args:
            path: Where modules and files of checkers are looked for.
            limit_s: Seconds that one question may take.
            output: File that takes what checkers print.
            debug: Open the debugger where a checker raises; no time limit.
            bases: Object -> file of each base that states are kept over.
        """
        self._path = list(path)
        self._bases = dict(bases)
        self._limit_s = None if debug else limit_s
        self._output = output
        self._is_debugging = debug
        self._role: Role | None = None
        self._has_loaded = False
        self._needs: dict[bytes, dict[str, Any]] = {}

    def start(self) -> None:
        """Start the process if there is none; the first question would do so too."""
        with contextlib.suppress(ChannelClosedError):
            self._started()

    def load(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Load the functions of ``spec``; return what evidence they ask for, and digests.

        Returns:
            ``needs`` (names of evidence), ``digests`` (reference -> source digest).

        Raises:
            CheckerError: A function can't be loaded, uses ``assert``, or asks for what
                does not exist.
        """
        key = encode(
            [
                spec["checks"],
                spec["expect"] is None,
                spec["accept_answers"] is None,
                spec["infeasible"],
            ]
        )
        if key not in self._needs:
            answer, parts = self._ask(b"L", encode(dict(spec)))
            if answer == b"X":
                code, message, where, do = decode(parts[0])
                raise CheckerError(code, message, where=where, do=do)
            self._needs[key] = decode(parts[0])
        return self._needs[key]

    def premises(self, spec: Mapping[str, Any], start: bytes) -> list[str]:
        """Return what ``spec`` takes for granted and the start does not hold."""
        answer, parts = self._ask(b"R", encode(dict(spec)), start)
        if answer == b"X":
            raise _fault(decode(parts[0]))
        found: list[str] = decode(parts[0])
        return found

    def judge(self, spec: Mapping[str, Any], evidence: Mapping[str, bytes]) -> dict[str, Any]:
        """Return the verdict on one episode: score, metric, unscored, explanation, parts.

        Raises:
            Fault: The checker raised, did not answer or ended; that is the checker's.
        """
        names = sorted(evidence)
        answer, parts = self._ask(
            b"J", encode(dict(spec)), encode(names), *(evidence[name] for name in names)
        )
        if answer == b"X":
            raise _fault(decode(parts[0]))
        judged: dict[str, Any] = decode(parts[0])
        return judged

    def stop(self) -> None:
        """End the process."""
        if self._role is not None:
            self._role.stop()
            self._role = None
            self._has_loaded = False

    def _ask(self, kind: bytes, spec: bytes, *parts: bytes) -> tuple[bytes, list[bytes]]:
        if kind != b"L" and not self._has_loaded:
            # A new process imports the checkers first, which is no part of judging.
            self._ask(b"L", spec)
        self._has_loaded = True
        limit_s = _LOAD_SECONDS if kind == b"L" and self._limit_s else self._limit_s
        try:
            channel = self._started().channel
            channel.send(kind, spec, *parts, timeout_s=limit_s)
            return channel.receive(limit_s)
        except ChannelTimeoutError as error:
            self.stop()
            raise Fault(
                Blame.CHECKER, "CD-742", f"the checker did not answer within {limit_s:g} s"
            ) from error
        except (ChannelClosedError, FrameTooLargeError) as error:
            self.stop()
            raise Fault(Blame.CHECKER, "CD-743", "the checker's process ended") from error

    def _started(self) -> Role:
        if self._role is None:
            self._role = start_role(
                "cleandesk.checkers.serve",
                output=self._output,
                environment={"PYTHONHASHSEED": "0"},
                terminal=self._is_debugging,
            )
            hello = {"bases": self._bases, "debug": self._is_debugging, "path": self._path}
            self._role.channel.send(b"H", encode(hello))
        return self._role


def _fault(failure: list[str]) -> Fault:
    code, message, detail = failure
    return Fault(Blame.CHECKER, code, message, detail)
