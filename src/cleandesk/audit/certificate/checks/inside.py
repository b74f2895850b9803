"""What the further tests do in a device.

All but ``process`` and ``outside`` want one that was built and not reset yet. Each leaves
the device unfit for anything else, so ask in a fork of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from cleandesk.audit.certificate.checks.aliasing import Keeper
from cleandesk.audit.certificate.checks.beside import beside
from cleandesk.audit.certificate.checks.readers import reads_of
from cleandesk.audit.certificate.device import Device, RigRaisedError
from cleandesk.audit.certificate.guard import inside as guarding
from cleandesk.audit.certificate.recipes import rig_of
from cleandesk.audit.certificate.rig import Outcome
from cleandesk.audit.certificate.surroundings import seed_streams, settled
from cleandesk.audit.certificate.surroundings.outside import loaded, tell
from cleandesk.surfaces.process.streams import moved, states

_OTHER_SEED = 7_919


class Served(Protocol):
    """What an operation is given."""

    @property
    def device(self) -> Device:
        """The device."""


def _alias(served: Served, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Hold what was said, and look after each step and after another reset."""
    rig, rng = served.device.rig, np.random.default_rng(list(plan["rng"]))
    keeper, seed = Keeper(), plan["seed"]

    def keep(outcome: Outcome, step: int) -> bool:
        keeper.look(step)
        keeper.keep("observation", outcome.observation, step)
        keeper.keep("info", outcome.info, step)
        return outcome.is_over

    keep(rig.reset(seed), 0)
    step = 0
    for step in range(1, plan["steps"] + 1):
        if keep(rig.step(rig.action(rng, step - 1)), step):
            break
    rig.reset(seed + 1)
    keeper.look(step + 1)
    return keeper.changes


def _first_reset(served: Served, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Reset, then judge another reset with no step between."""
    served.device.reset(plan["seed"])
    return _said(served.device, plan)


def _first_reset_fields(served: Served, plan: Mapping[str, Any]) -> list[str]:
    """Return the fields in which the second of two resets differs from the first."""
    device = served.device
    device.reset(plan["seed"])
    one = device.look().tokens
    device.reset(plan["seed"])
    other = device.look().tokens
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _neighbour(served: Served, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Trace the rig while another one of its kind takes a step before each of its own."""
    device = served.device
    other = rig_of(device.recipe)
    other.build()
    rng = [*plan["rng"], _OTHER_SEED]
    device.rig = beside(device.rig, other, rng, plan["seed"] + _OTHER_SEED)
    return _said(device, plan)


def _order(served: Served, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Trace one plan after the other."""
    return [_said(served.device, plan) for plan in values["plans"]]


def _global_streams(served: Served, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return which global streams the build, the reset and the steps moved, and by how much."""
    device = served.device
    told: dict[str, Any] = {"build": _moves(settled().streams)}
    before = states()
    device.reset(plan["seed"])
    told["reset"] = _moves(before)
    before = states()
    rng = np.random.default_rng(list(plan["rng"]))
    for k in range(plan["steps"]):
        if device.rig.step(device.rig.action(rng, k)).is_over:
            break
    told["step"] = _moves(before)
    return told


def _moves(before: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: moved(before[name], state) for name, state in states().items() if name in before}
    return {name: how for name, how in found.items() if how is not None}


def _time_readers(served: Served, plan: Mapping[str, Any]) -> list[list[Any]]:
    """Build one more rig and run it, watching who reads a clock or draws entropy."""
    rig = rig_of(served.device.recipe)
    rng = np.random.default_rng(list(plan["rng"]))

    def steps() -> None:
        for k in range(plan["steps"]):
            if rig.step(rig.action(rng, k)).is_over:
                return

    return reads_of({"build": rig.build, "reset": lambda: rig.reset(plan["seed"]), "step": steps})


def _process(served: Served, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Build one more rig in this process, whatever happened in it, and trace that one."""
    device = served.device
    device.rig = rig_of(device.recipe)
    if plan.get("streams") is not None:
        # Held equal on request: whoever builds is to put them there.
        seed_streams(plan["streams"])
    device.build()
    return _said(device, plan)


def _outside(served: Served, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Reset, and tell the state that no object of the rig holds."""
    served.device.reset(plan["seed"])
    noted = settled().noted
    return {"loaded": loaded(noted), "told": tell(noted)}


def _said(device: Device, plan: Mapping[str, Any]) -> dict[str, Any]:
    trace = device.trace(plan)
    return {"raised": trace.raised, "rows": bytes(trace.rows.digests)}


def _guarded(name: str, run: Callable[[Served, Any], Any]) -> Callable[[Any, dict[str, Any]], Any]:
    def operation(served: Any, values: dict[str, Any]) -> Any:
        try:
            return run(served, values)
        except RigRaisedError:
            raise
        except Exception as error:
            raise RigRaisedError(name, error) from error

    return operation


OPERATIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = guarding.OPERATIONS | {
    name: _guarded(name, run)
    for name, run in {
        "alias": _alias,
        "first-reset": _first_reset,
        "first-reset-fields": _first_reset_fields,
        "global-streams": _global_streams,
        "neighbour": _neighbour,
        "order": _order,
        "outside": _outside,
        "process": _process,
        "time-readers": _time_readers,
    }.items()
}
"""Name -> what runs in the device. Values are a plan (``seed``, ``rng``, ``steps``), of
``order`` a list ``plans`` of them."""
