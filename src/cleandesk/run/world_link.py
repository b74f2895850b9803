"""The harness's end of a world process: every call has a time limit and a blame."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from cleandesk.channel import (
    Channel,
    ChannelClosedError,
    ChannelTimeoutError,
    FrameTooLargeError,
)
from cleandesk.errors import CleandeskError, WorldError, remade
from cleandesk.processes import kill_group
from cleandesk.run.blame import Blame, Fault
from cleandesk.state import Snapshot, decode, encode

_FAILURES = frozenset({"CD-711", "CD-712", "CD-713", "CD-715", "CD-725"})
_STAGES = {
    b"B": "build",
    b"R": "reset",
    b"S": "step",
    b"E": "capture",
    b"V": "capture",
    b"N": "reset",
}
_START_SECONDS = 120.0
"""A new interpreter (isolation ``spawn``) imports the world first."""


class WorldLink:
    """A world process, as seen from outside.

    Attributes:
        limit_s: Seconds that one call may take; reaching it is the world's failure.
        seconds: Wall time spent in the world so far.
    """

    def __init__(self, channel: Channel, *, limit_s: float, patient: bool = False) -> None:
        """Take the channel of a freshly forked child.

        Raises:
            Fault: The child did not say hello.
        """
        channel.limit_sends()
        self._channel = channel
        self.limit_s = limit_s
        self.seconds = 0.0
        self._is_patient = patient
        self._pid = 0
        self._pid = int(self._call(b"P", (), _START_SECONDS)[0])

    def build(self, values: Mapping[str, Any], *, core: int | None, debug: bool) -> dict[str, Any]:
        """Build the world; return its description (contract, action space, tools)."""
        settings = encode({"core": core, "debug": debug, "with": dict(values)})
        described: dict[str, Any] = decode(self._call(b"B", (settings,))[0])
        return described

    def reset(self, instance: Mapping[str, Any], *, snapshot: bool) -> list[bytes]:
        """Reset, set up and capture: observation, info, facts, snapshot (or nothing)."""
        settings = {
            "disturb": instance["disturb"],
            "events": instance["events"],
            "instance": f"{instance['task_id']}/{instance['seed']}",
            "options": instance["options"],
            "seed": instance["seed"],
            "setup": instance["setup"],
            "snapshot": snapshot,
        }
        return self._call(b"R", (encode(settings),))

    def step(self, action: bytes) -> list[bytes]:
        """Step: observation, reward, two flags, info, extra (or nothing)."""
        return self._call(b"S", (action,))

    def end(self, *, state: bool) -> list[bytes]:
        """Read the change: changes, fingerprint, and the end if ``state``, else nothing."""
        return self._call(b"E", (b"1" if state else b"0",))

    def view(self) -> Snapshot:
        """Read the state as it is."""
        return Snapshot.from_bytes(self._call(b"V", ())[0])

    def attributes(self, values: Mapping[str, Any], seed: int) -> list[bytes]:
        """Build and reset a world without a contract: snapshot, and [name, not read]."""
        return self._call(b"N", (encode({"seed": seed, "with": dict(values)}),))

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
        self._channel.close()
        if self._pid:
            kill_group(self._pid)
            self._pid = 0

    def _call(self, kind: bytes, parts: tuple[bytes, ...], limit_s: float = 0.0) -> list[bytes]:
        stage = _STAGES.get(kind, "start")
        limit = None if self._is_patient else limit_s or self.limit_s
        begun = time.monotonic()
        try:
            if kind != b"P":
                self._channel.send(kind, *parts, timeout_s=limit)
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
