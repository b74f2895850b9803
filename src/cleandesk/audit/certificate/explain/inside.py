"""What runs in the device's process: lives relived, fields put back, rows compared.

Each operation gives up by ending its process when its time is over: a rig that was
written into may do anything, and whoever asked waits no longer than that.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cleandesk.audit.certificate.device import Device, RigRaisedError
from cleandesk.audit.certificate.explain.scenario import AFTER, BEFORE
from cleandesk.audit.certificate.explain.watching import bytes_at, lines_of, watched
from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.rig import Outcome
from cleandesk.audit.certificate.rows import ROW_BYTES, Rows
from cleandesk.audit.certificate.walk import write
from cleandesk.errors import text_of

if TYPE_CHECKING:
    from cleandesk.audit.certificate.serve import Operation, Served


class Given:
    """Actions by place, each a copy of its own: an environment may write into one."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> Any:
        return deepcopy(self._values[place])


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """End this process by a signal if the block takes longer."""
    before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(0.05, limit_s))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def relive(device: Device, history: Sequence[Mapping[str, Any]]) -> None:
    """Play what a rig did, entry for entry.

    Raises:
        RigRaisedError: It raised.
    """
    for entry in map(plan_of, history):
        if entry.get("op") == "trace":
            device.trace(entry)
        else:
            device.play(entry)


def plan_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with its actions as the device takes them."""
    given = entry.get("actions")
    return {**entry, "actions": Given(given)} if given is not None else dict(entry)


@dataclass(frozen=True, slots=True)
class Compared:
    """A trace beside expected rows.

    Attributes:
        first: The number of the first row that differs or that only one side has, or None.
        rows: The rows so far.
        raised: The name of what the rig raised, or empty.
    """

    first: int | None
    rows: Rows
    raised: str = ""


def compared(
    device: Device, plan: Mapping[str, Any], said: Outcome | None, expected: bytes
) -> Compared:
    """Trace until a row differs.

    Args:
        device: The device.
        plan: Reset and steps, as ``trace`` takes them; with ``once`` up to an episode's end.
        said: What the reset said, where it was carried out already; None to reset now.
        expected: The digests of the rows to compare with; empty to compare nothing.
    """
    rows, raised = Rows(), ""
    try:
        for outcome, step in _outcomes(device, plan, said):
            rows.add(outcome, step)
            if expected and not _is_equal(rows, expected):
                return Compared(len(rows) - 1, rows)
    except RigRaisedError as error:
        rows.add_error(error.error, rows.steps[-1] if rows.steps else 0)
        raised = type(error.error).__name__
        if expected and not _is_equal(rows, expected):
            return Compared(len(rows) - 1, rows, raised)
    is_whole = not expected or len(rows.digests) == len(expected)
    return Compared(None if is_whole else len(rows), rows, raised)


def _outcomes(
    device: Device, plan: Mapping[str, Any], said: Outcome | None
) -> Iterator[tuple[Outcome, int]]:
    """Do as ``Device.trace`` does, one outcome at a time."""
    import numpy as np

    rig, given, ends = device.rig, plan.get("actions"), 0
    rng = None if given is not None else np.random.default_rng(list(plan["rng"]))
    yield (device.reset(plan["seed"]) if said is None else said), 0
    for k in range(plan["steps"]):
        action = rig.action(rng, k) if given is None else given[k % len(given)]
        try:
            outcome = rig.step(action)
        except Exception as error:
            raise RigRaisedError(f"step {k + 1}", error) from error
        yield outcome, k + 1
        if outcome.is_over:
            if plan.get("once"):
                return
            ends += 1
            yield device.reset(plan["seed"] + ends), k + 1


def _is_equal(rows: Rows, expected: bytes) -> bool:
    return rows.digests[-ROW_BYTES:] == expected[len(rows.digests) - ROW_BYTES : len(rows.digests)]


def _relive(served: Served, values: dict[str, Any]) -> None:
    with within(values["limit_s"]):
        relive(served.device, values["history"])
        # Classes, modules and functions are found again by the walk before.
        served.device.look()


def _episodes(served: Served, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Relive a history and return it as plain episodes with their actions."""
    found: list[dict[str, Any]] = []
    with within(values["limit_s"]):
        for number, entry in enumerate(map(plan_of, values["history"])):
            plan = {**entry, "keep": True}
            if entry.get("op") == "trace":
                trace = served.device.trace(plan)
                parts = _parts(trace.actions, trace.rows.steps, entry["seed"])
            else:
                parts = [{"actions": served.device.play(plan)["actions"], "seed": entry["seed"]}]
            found += [{**part, "entry": number} for part in parts]
    return found


def _parts(actions: Sequence[Any], steps: Sequence[int], seed: int) -> list[dict[str, Any]]:
    """Cut the actions of a trace where it was reset: there a number of steps stands twice."""
    ends = [one for one, other in pairwise(steps) if one == other]
    starts = [0, *ends]
    return [
        {"actions": list(actions[low:high]), "seed": seed + place}
        for place, (low, high) in enumerate(zip(starts, [*ends, len(actions)], strict=True))
    ]


def _trial(served: Served, values: dict[str, Any]) -> dict[str, Any]:
    """Relive a history, reset, and compare rows or read fields."""
    with within(values["limit_s"]):
        relive(served.device, values["history"])
        judged = plan_of(values["judged"])
        found = compared(served.device, judged, None, values["expected"] or b"")
        if values["paths"]:
            served.device.look()
        return {
            "digests": bytes(found.rows.digests) if values["expected"] is None else b"",
            "first": found.first,
            "held": _read(served, values),
            "raised": found.raised,
        }


def _read(served: Served, values: dict[str, Any]) -> dict[str, bytes | None]:
    return {path: bytes_at(served.device, path) for path in values["paths"]}


def _restore(served: Served, values: dict[str, Any]) -> dict[str, Any]:
    """Put fields back and carry out the judged reset; see ``Explained.how``."""
    device, plan, how = served.device, plan_of(values["plan"]), values["how"]
    unwritable: dict[str, str] = {}
    with within(values["limit_s"]):
        said = None
        if how != BEFORE:
            said = device.reset(plan["seed"])
        put_back(device, values["writes"], unwritable)
        if how == AFTER:
            settle = getattr(device.rig, "settle", None)
            if callable(settle):
                settle()
        else:
            said = device.reset(plan["seed"])
        tokens = dict(device.look().tokens) if values["look"] else {}
        held = _read(served, values)
        first: int | None = None
        if values["expected"]:
            first = compared(device, plan, said, values["expected"]).first
    return {"first": first, "held": held, "tokens": tokens, "unwritable": unwritable}


def put_back(device: Device, writes: Sequence[Sequence[Any]], unwritable: dict[str, str]) -> None:
    """Write leaves into a rig.

    Args:
        device: The device.
        writes: Pairs of a path and its leaf's bytes, or None where nothing is to be there.
        unwritable: Takes the paths that could not be written, with the reason.
    """
    gone = [path for path, data in writes if data is None]
    for path, data in writes:
        if data is not None:
            _put(device, path, Leaf.from_bytes(data), unwritable)
    # From the end: what is taken out of a list moves all behind it.
    for path in reversed(gone):
        _put(device, path, None, unwritable)


def _put(device: Device, path: str, leaf: Leaf | None, unwritable: dict[str, str]) -> None:
    why = _written(device, path, leaf)
    if why and leaf is not None and leaf.value is not None:
        # The roots of a rig of somebody's own may be copies; it knows how to write.
        try:
            device.rig.write(path, leaf.value)
            why = ""
        except Exception:  # noqa: BLE001, S110 - why the walk could not is what is told
            pass
    if why:
        unwritable[path] = why


def _written(device: Device, path: str, leaf: Leaf | None) -> str:
    """Write into what the roots hold; return why that was not done, or nothing."""
    try:
        write(device.rig.roots(), path, leaf)
    except Exception as error:  # noqa: BLE001 - writing private fields may raise anything
        return text_of(error)
    wanted = leaf.to_bytes() if leaf is not None else None
    return "" if bytes_at(device, path) == wanted else "it reads back as something else"


def _prepare(served: Served, values: dict[str, Any]) -> None:
    """Have the next reset go on from ``state``."""
    rig: Any = served.device.rig
    rig.prepare_reset(values["state"])


def _watch(served: Served, values: dict[str, Any]) -> dict[str, list[int] | None]:
    with within(values["limit_s"]):
        return watched(
            served.device, values["history"], values["seed"], values["paths"], values["fresh"]
        )


def _lines(served: Served, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    at = values["episode"], values["step"]
    with within(values["limit_s"]):
        return lines_of(served.device, values["history"], values["seed"], values["paths"], at)


def _script(served: Served, _: dict[str, Any]) -> dict[str, Any] | None:
    make = getattr(served.device.rig, "script", None)
    written = make() if callable(make) else None
    return asdict(written) if written is not None else None


OPERATIONS: dict[str, Operation] = {
    "explain_episodes": _episodes,
    "explain_lines": _lines,
    "explain_prepare": _prepare,
    "explain_read": _read,
    "explain_relive": _relive,
    "explain_restore": _restore,
    "explain_script": _script,
    "explain_trial": _trial,
    "explain_watch": _watch,
}
