"""explain(): from a boundary that failed to its true writes, a script and who wrote them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cleandesk.audit.certificate.certificate import Write
from cleandesk.audit.certificate.explain.restore import Restored, restored
from cleandesk.audit.certificate.explain.scenario import Explained, Scenario
from cleandesk.audit.certificate.explain.script import (
    expression_of,
    script_of,
    script_text,
    why_not_confirmed,
)
from cleandesk.audit.certificate.explain.shrink import (
    Shrunk,
    can_shrink,
    plain_episodes,
    shrunk,
)
from cleandesk.audit.certificate.explain.smallest import Budget, most_tries
from cleandesk.audit.certificate.explain.writer import writes_of
from cleandesk.audit.certificate.links import DeviceError
from cleandesk.audit.certificate.rig import Script
from cleandesk.errors import CleandeskError

_RESTORE, _SHRINK = 0.4, 0.6
"""Shares of the time that is left when each of the two begins."""

_SHRINK_TRIES = 400
_WRITE_TRIES = 12
_SCRIPT_S = 20.0

NO_SCRIPT = "no script: the rig has no script() that says how a person writes it down"
NOT_CUT = "no history could be replayed that fails where a fresh build does not"
NO_TEXT = "its actions can't be written down as plain Python"
NO_EXPRESSION = "the field that differs is no plain attribute of the environment"
KEPT_FIELDS = "what is kept from episode to episode can't be given to a build by a script"
UNSEEDED_RESETS = "a reset without a seed depends on all resets before it"
NO_TIME = "the budget ended"


def explain(scenario: Scenario) -> Explained:
    """Explain why a boundary failed, as far as the deadline allows. Nothing is judged here."""
    progress = scenario.on_progress
    progress("leak or echo")
    restoring = Budget(_share(scenario, _RESTORE), most_tries(len(scenario.paths) + 16))
    told = restored(scenario, restoring)
    progress("the shortest history")
    shrinking = Budget(_share(scenario, _SHRINK), _SHRINK_TRIES)
    fields = list(told.true_writes) if scenario.first_row is None else []
    least = shrunk(scenario, fields, shrinking) if can_shrink(scenario) else None
    progress("the write")
    writing = Budget(scenario.deadline, _WRITE_TRIES)
    histories = _histories(scenario, least, writing)
    carried = writes_of(scenario, histories, [*told.carried], writing, with_reset=False)
    writes = carried | writes_of(scenario, histories, told.true_writes, writing)
    progress("the script")
    repro, no_repro = _script(scenario, least)
    return replace(
        _explained(told, writes, least),
        repro=repro,
        no_repro=no_repro,
        spent=_spent(restoring, shrinking, writing),
    )


def _share(scenario: Scenario, share: float) -> float:
    now = time.monotonic()
    return now + share * max(0.0, scenario.deadline - now)


def _histories(
    scenario: Scenario, least: Shrunk | None, budget: Budget
) -> list[Callable[[], Sequence[Mapping[str, Any]]]]:
    """Return the histories in which a write is looked for, the shortest first."""

    def whole() -> Sequence[Mapping[str, Any]]:
        try:
            told = plain_episodes(scenario, scenario.history, budget)
        except (DeviceError, CleandeskError):
            return []
        return [{**each, "steps": len(each["actions"])} for each in told]

    if least is None:
        return [whole]
    return [lambda: [each.to_wire() for each in least.episodes], whole]


def _script(scenario: Scenario, least: Shrunk | None) -> tuple[str | None, str]:
    """Return a script that was run and did fail, or why there is none."""
    if not can_shrink(scenario):
        return None, UNSEEDED_RESETS
    if scenario.judged.get("kept"):
        return None, KEPT_FIELDS
    try:
        written = _written(scenario)
    except (DeviceError, CleandeskError):
        written = None
    if written is None:
        return None, NO_SCRIPT
    if least is None:
        return None, NOT_CUT
    expression = ""
    if least.row is None:
        found = (expression_of(path, scenario.recipe) for path in least.fields)
        expression = next(filter(None, found), "")
        if not expression:
            return None, NO_EXPRESSION
    return _confirmed(scenario, least, written, expression)


def _confirmed(
    scenario: Scenario, least: Shrunk, written: Script, expression: str
) -> tuple[str | None, str]:
    """Run the script; in other forms where the plain one does not fail as it is to."""
    why, is_here = "", False
    for is_apart in (False, False, True):
        if why and not is_apart and not is_here:
            continue
        text = script_text(
            written,
            least,
            scenario.recipe,
            expression=expression,
            is_apart=is_apart,
            is_here=is_here,
        )
        left = scenario.deadline - time.monotonic()
        if text is None or left <= 0:
            return None, NO_TIME if text else NO_TEXT
        why = why_not_confirmed(text, scenario.recipe, least, min(left, _SCRIPT_S))
        if not why:
            return text, ""
        # Some modules are found in the working folder only.
        is_here = is_here or "ModuleNotFoundError" in why
    return None, why


def _written(scenario: Scenario) -> Script | None:
    link = scenario.fresh_device()
    try:
        return script_of(link.call("explain_script"))
    finally:
        link.kill()


def _explained(told: Restored, writes: Mapping[str, Write], least: Shrunk | None) -> Explained:
    episodes = least.episodes if least is not None else ()
    return Explained(
        true_writes=told.true_writes,
        echoes=told.echoes,
        bystanders=told.bystanders,
        carried=told.carried,
        is_confirmed=told.is_confirmed,
        how=told.how,
        outside_note=told.outside_note,
        unwritable=told.unwritable,
        writes=writes,
        smallest=tuple((each.seed, len(each.actions)) for each in episodes),
    )


def _spent(restoring: Budget, shrinking: Budget, writing: Budget) -> dict[str, Any]:
    budgets = {"restore": restoring, "shrink": shrinking, "write": writing}
    return {
        "cut": tuple(name for name, budget in budgets.items() if budget.is_cut),
        **{name: budget.used for name, budget in budgets.items()},
    }
