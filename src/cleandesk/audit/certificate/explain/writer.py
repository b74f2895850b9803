"""The write that left a value behind: episode, step, file and line.

The history is relived twice for each field: once looking at it after every reset and
step, which finds the last that changed it, and once to run that one line by line. Where
nothing changed it, the value is that of the build, and no write is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cleandesk.audit.certificate.certificate import Write
from cleandesk.audit.certificate.explain.scenario import Scenario
from cleandesk.audit.certificate.explain.smallest import Budget
from cleandesk.audit.certificate.links import DeviceError
from cleandesk.errors import CleandeskError, shown

_MOST = 5
_WATCHED = 32
_SHOWN = 200


def writes_of(
    scenario: Scenario,
    histories: Sequence[Callable[[], Sequence[Mapping[str, Any]]]],
    paths: Sequence[str],
    budget: Budget,
    *,
    with_reset: bool = True,
) -> dict[str, Write]:
    """Return who wrote each field last, for at most five of them.

    Args:
        scenario: What failed.
        histories: Return episodes before the judged reset; those of whose writes the first
            shows nothing are looked for in the next.
        paths: Fields.
        budget: Of all replays.
        with_reset: Whether the judged reset may be who wrote; not so for what was carried
            into it.
    """
    seed = scenario.judged["seed"] if with_reset else None
    found: dict[str, Write] = {}
    for history in histories:
        left = [path for path in paths if path not in found]
        if left and len(found) < _MOST and budget.spend():
            plan = {"history": [dict(each) for each in history()], "seed": seed}
            found |= _last_writes(scenario, plan, left[:_WATCHED], budget)
    return found


def _last_writes(
    scenario: Scenario,
    plan: Mapping[str, Any],
    paths: Sequence[str],
    budget: Budget,
) -> dict[str, Write]:
    leaves = {path: scenario.fresh_leaves.get(path) for path in paths}
    fresh = {path: None if leaf is None else leaf.to_bytes() for path, leaf in leaves.items()}
    # What the reset only reads is not there any more afterwards.
    ends = fresh if plan["seed"] is not None else None
    wanted = {**plan, "fresh": ends, "paths": list(paths)}
    watched = _asked(scenario, "explain_watch", wanted, budget) or {}
    last = {path: (int(at[0]), int(at[1])) for path, at in watched.items() if at is not None}
    chosen = dict(list(last.items())[:_MOST])
    found: dict[str, Write] = {}
    for at in dict.fromkeys(chosen.values()):
        together = [path for path, place in chosen.items() if place == at]
        wanted = {**plan, "episode": at[0], "paths": together, "step": at[1]}
        lines = _asked(scenario, "explain_lines", wanted, budget) if budget.spend() else None
        for path in together:
            found[path] = _write(at, (lines or {}).get(path))
    return found


def _write(at: tuple[int, int], line: Mapping[str, Any] | None) -> Write:
    if line is None:
        return Write(at[0], at[1])
    source = shown(line["source"], _SHOWN)
    return Write(at[0], at[1], shown(line["file"], _SHOWN), int(line["line"]), source)


def _asked(scenario: Scenario, name: str, values: Mapping[str, Any], budget: Budget) -> Any:
    """Run an operation in a new judged device; None where it raised or took too long."""
    try:
        link = scenario.judged_device()
    except (DeviceError, CleandeskError):
        return None
    ask: Callable[..., Any] = link.call
    try:
        return ask(name, {**values, "limit_s": budget.left_s})
    except (DeviceError, CleandeskError):
        return None
    finally:
        link.kill()
