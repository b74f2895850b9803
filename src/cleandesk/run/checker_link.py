"""The harness's end of a checker process: pure questions about captured evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.channel import ChannelClosedError, ChannelTimeoutError
from cleandesk.errors import CheckerError
from cleandesk.processes import Role, start_role
from cleandesk.run.blame import Blame, Fault
from cleandesk.state import decode, encode

_LIMIT_SECONDS = 120.0


class CheckerLink:
    """A process that judges episodes; it holds what neither agent nor world may see."""

    def __init__(self, path: Sequence[str], *, output: Path | None, debug: bool) -> None:
        self._path = list(path)
        self._output = output
        self._is_debugging = debug
        self._role: Role | None = None
        self._needs: dict[bytes, dict[str, Any]] = {}

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

    def _ask(self, kind: bytes, *parts: bytes) -> tuple[bytes, list[bytes]]:
        if self._role is None:
            self._role = start_role(
                "cleandesk.checkers.serve",
                output=self._output,
                environment={"PYTHONHASHSEED": "0"},
                terminal=self._is_debugging,
            )
            hello = {"debug": self._is_debugging, "path": self._path}
            self._role.channel.send(b"H", encode(hello))
        try:
            self._role.channel.send(kind, *parts)
            return self._role.channel.receive(None if self._is_debugging else _LIMIT_SECONDS)
        except ChannelTimeoutError as error:
            self.stop()
            raise Fault(
                Blame.CHECKER, "CD-742", f"the checker did not answer within {_LIMIT_SECONDS:g} s"
            ) from error
        except ChannelClosedError as error:
            self.stop()
            raise Fault(Blame.CHECKER, "CD-743", "the checker's process ended") from error


def _fault(failure: list[str]) -> Fault:
    code, message, detail = failure
    return Fault(Blame.CHECKER, code or "CD-741", message, detail)
