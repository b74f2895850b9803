"""The harness's end of a world process: every call has a time limit and a blame."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from cleandesk.channel import (
    Channel,
    ChannelClosedError,
    ChannelTimeoutError,
    FrameTooLargeError,
)
from cleandesk.errors import CleandeskError, WorldError, remade
from cleandesk.processes import kill_group, sweep
from cleandesk.run.blame import Blame, Fault
from cleandesk.state import Pattern, Snapshot, decode, diff, encode
from cleandesk.state.contract import Contract
from cleandesk.state.diff import to_json
from cleandesk.state.fingerprint import combined, surface_digests
from cleandesk.state.over import Over
from cleandesk.surfaces.copies import Copies

_Answer = TypeVar("_Answer")
_FAILURES = frozenset({"CD-711", "CD-712", "CD-713", "CD-715", "CD-725"})
_STAGES = {
    b"B": "build",
    b"Q": "the stop before a reset",
    b"R": "reset",
    b"S": "step",
    b"E": "capture",
    b"V": "capture",
    b"N": "reset",
}
_START_SECONDS = 120.0
"""A new interpreter (isolation ``spawn``) imports the world first."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What a reset gave.

    Attributes:
        observation: As canon/1.
        info: As canon/1.
        facts: fingerprint (of the start view), blocked, ignored, not_read, undeclared.
        snapshot: The start as it is stored, if it was asked for, else nothing.
    """

    observation: bytes
    info: bytes
    facts: dict[str, Any]
    snapshot: bytes


class WorldLink:
    """A world process, as seen from outside.

    Attributes:
        limit_s: Seconds that one call may take; reaching it is the world's failure.
        seconds: Wall time spent in the world so far.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        limit_s: float,
        patient: bool = False,
        copies: Copies | None = None,
    ) -> None:
        """Take the channel of a freshly forked child, and the copies that it will use.

        Raises:
            Fault: The child did not say hello.
        """
        channel.limit_sends()
        self._channel = channel
        self.limit_s = limit_s
        self.seconds = 0.0
        self._is_patient = patient
        self._copies = copies
        self._terms: Contract | None = None
        self._start: dict[str, Over] = {}
        self._has_run = False
        self._pid, self._mark = 0, ""
        pid, mark = self._call(b"P", (), _START_SECONDS)
        self._pid, self._mark = int(pid), mark.decode()

    def build(self, values: Mapping[str, Any], *, core: int | None, debug: bool) -> dict[str, Any]:
        """Build the world on fresh copies; return its contract, action space and tools."""
        settings = {"core": core, "debug": debug, "with": dict(values), **self._place()}
        described: dict[str, Any] = decode(self._call(b"B", (encode(settings),))[0])
        self._terms = Contract.from_plain(described["contract"])
        return described

    def reset(self, instance: Mapping[str, Any], *, snapshot: bool) -> Begun:
        """Put the copies back, reset, set up and capture."""
        settings = {
            "disturb": instance["disturb"],
            "events": instance["events"],
            "instance": f"{instance['task_id']}/{instance['seed']}",
            "options": instance["options"],
            "seed": instance["seed"],
            "setup": instance["setup"],
            "snapshot": snapshot,
        }
        is_again = self._copies is not None and self._has_run
        if self._copies is not None and is_again:
            # What the world serves must not be at work while its state is put back.
            self._call(b"Q", ())
            self._held(self._copies.restore)
        self._has_run = True
        observation, info, facts_text, shot = self._call(b"R", (encode(settings),))
        facts = decode(facts_text)
        if self._copies is not None and is_again:
            self._held(self._copies.require_let_go)
        self._start = self._look()
        terms = self._terms_known()
        state = Snapshot(terms.identity, {}, self._start)
        at_start = terms.start_view(state)
        digests = facts.pop("digests") | surface_digests(at_start)
        facts["fingerprint"] = combined(at_start.contract, digests)
        if self._copies is not None:
            facts["undeclared"] += self._copies.undeclared(self._start)
            facts["ignored"] += self._copies.ignored
            facts["not_read"] += self._copies.not_read
        whole = self._whole(shot, self._start).to_bytes() if snapshot else b""
        return Begun(observation, info, facts, whole)

    def step(self, action: bytes) -> list[bytes]:
        """Step: observation, reward, two flags, info, extra (or nothing)."""
        return self._call(b"S", (action,))

    def end(self, *, state: bool) -> list[bytes]:
        """Read the change: changes, fingerprint, and the end if ``state``, else nothing."""
        changes, digests, shot = self._call(b"E", (b"1" if state else b"0",))
        over = self._look()
        terms = self._terms_known()
        if over:
            before = Snapshot(terms.identity, {}, self._start or over)
            written = to_json(diff(before, Snapshot(terms.identity, {}, over)))
            rows = sorted([*decode(changes), *written], key=lambda row: str(row["surface"]))
            changes = encode(rows)
        nodes = decode(digests) | surface_digests(Snapshot(terms.identity, {}, over))
        whole = self._whole(shot, over).to_bytes() if state else b""
        return [changes, combined(terms.identity, nodes).encode(), whole]

    def view(self) -> Snapshot:
        """Read the state as it is."""
        return self._whole(self._call(b"V", ())[0], self._look())

    def _place(self) -> dict[str, Any]:
        """Put the copies back and say where they are."""
        if self._copies is None:
            return {"folders": {}, "holder": None, "places": {}}
        self._held(self._copies.restore)
        return {
            "folders": self._copies.fresh_folders(),
            "holder": self._copies.holder(),
            "places": self._copies.places,
        }

    def _whole(self, own: bytes, over: Mapping[str, Over]) -> Snapshot:
        """Put what the world read of itself and what the harness read together."""
        read = Snapshot.from_bytes(own)
        return Snapshot(read.contract, read.surfaces, over)

    def _look(self) -> dict[str, Over]:
        return self._held(self._copies.look) if self._copies is not None else {}

    def _told(self, asked: bytes) -> bytes:
        """Answer a world that asks, while it is set up, what fields of its copies hold."""
        state = self._look()
        found: dict[str, list[Any]] = {}
        for text in decode(asked):
            surface, *parts = Pattern.parse(text).parts
            over = [held for name, held in state.items() if surface in {None, name}]
            found[text] = [value for held in over for value in held.pick(tuple(parts))]
        return encode(found)

    def _held(self, ask: Callable[[], _Answer]) -> _Answer:
        """Do something with the copies; where it can't be done, that is the world's."""
        begun = time.monotonic()
        try:
            return ask()
        except WorldError as error:
            said = f"{error.message} ({error.where})" if error.where else error.message
            raise Fault(Blame.WORLD, error.code, said, error.do) from error
        finally:
            self.seconds += time.monotonic() - begun

    def _terms_known(self) -> Contract:
        if self._terms is None:
            raise RuntimeError("a world is reset before it is built")
        return self._terms

    def attributes(self, values: Mapping[str, Any], seed: int) -> list[bytes]:
        """Build and reset a world without a contract: snapshot, and [name, not read]."""
        settings = {"seed": seed, "with": dict(values), **self._place()}
        return self._call(b"N", (encode(settings),))

    def debug(self, why: str) -> None:
        """Open the debugger inside the world and say why."""
        self._call(b"D", (why.encode(),))

    def close(self) -> None:
        """Let the world close itself; end it if it does not."""
        with contextlib.suppress(Fault):
            self._call(b"C", (), min(self.limit_s, 5.0))
        self.kill()

    def kill(self) -> None:
        """End the world's process and what it started."""
        if self._pid:
            # Before its channel ends, and with it the world: then its children are no more its own.
            kill_group(self._pid)
            self._pid = 0
            if self._copies is not None:
                # What left its group would write into the next world's state.
                sweep(self._mark)
        self._channel.close()

    def _call(self, kind: bytes, parts: tuple[bytes, ...], limit_s: float = 0.0) -> list[bytes]:
        stage = _STAGES.get(kind, "start")
        limit = None if self._is_patient else limit_s or self.limit_s
        begun = time.monotonic()
        try:
            if kind != b"P":
                self._channel.send(kind, *parts, timeout_s=limit)
            answer, received = self._channel.receive(limit)
            while answer == b"K":
                self._channel.send(b"K", self._told(received[0]), timeout_s=limit)
                answer, received = self._channel.receive(limit)
        except ChannelTimeoutError as error:
            self.kill()
            raise Fault(
                Blame.WORLD, "CD-712", f"the world did not answer within {limit:g} s in {stage}"
            ) from error
        except FrameTooLargeError as error:
            self.kill()
            said = f"the world answered {error.size_bytes / 1e6:.0f} MB in {stage}"
            raise Fault(Blame.WORLD, "CD-715", said) from error
        except ChannelClosedError as error:
            self.kill()
            raise Fault(Blame.WORLD, "CD-713", f"the world's process ended in {stage}") from error
        finally:
            self.seconds += time.monotonic() - begun
        if answer == b"X":
            raise _fault(decode(received[0]))
        return received


def _fault(failure: Mapping[str, Any]) -> Fault:
    stage, message = failure["stage"], failure["message"]
    if failure["premise"]:
        return Fault(Blame.TASK, "CD-714", message)
    if failure["code"]:
        where = f" ({failure['where']})" if failure["where"] else ""
        said, detail = f"{message}{where}", failure["do"]
    else:
        said, detail = f"the world raised in {stage}: {message}", failure["traceback"]
    code = failure["code"] or ("CD-725" if failure["blocked"] else "CD-711")
    return Fault(Blame.WORLD, code, said, detail, {"blocked": failure["blocked"]})


def as_error(fault: Fault, reference: str) -> CleandeskError:
    """Turn a fault met before any episode into the error that stops the run."""
    where = f"world {reference!r}, before any episode"
    if fault.code in _FAILURES:
        return WorldError(fault.code, fault.message, where=where, do=_place(fault.detail))
    return remade(fault.code, fault.message, where=where, do=fault.detail)


def _place(trace: str) -> str:
    """Return where a traceback ends, as the next thing to look at."""
    places = [line.strip() for line in trace.splitlines() if line.lstrip().startswith('File "')]
    return f"look at {places[-1].removeprefix('File ')}" if places else ""
