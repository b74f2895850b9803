"""What a fresh build does for a guard: it is put where the live one stood, reset and stepped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cleandesk.audit.certificate.device import Device, RigRaisedError
from cleandesk.audit.certificate.guard.live import kinds_of, stepped
from cleandesk.audit.certificate.streams import put_global_states
from cleandesk.audit.certificate.texts import text_of_leaf
from cleandesk.audit.certificate.walk import Walk
from cleandesk.state import encode
from cleandesk.state.canon import ALL_BYTES

_ANY_SEED = 0


def _guard(served: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Reset as the live one was reset, compare, and take the steps.

    Args:
        served: Holds a device that was built and never reset.
        values: ``seed`` (None: none was given, ``states`` has the generators, and
            ``first`` the seed that was given last),
            ``globals`` (states of the global streams), ``here`` (tokens of the
            live one; None for all of ours) and ``steps``.
    """
    device: Device = served.device
    try:
        _reset(device, values)
    except LookupError as error:
        raise RigRaisedError("its generators", error) from error
    walk = device.look()
    here = values["here"]
    rng = np.random.default_rng(_ANY_SEED)
    rows, actions = stepped(device.rig, lambda k: device.rig.action(rng, k), values["steps"])
    return {
        "actions": actions,
        "apart": {} if here is None else _apart(walk, here),
        "kinds": kinds_of(device.rig.roots()),
        "rows": rows,
        "tokens": dict(walk.tokens) if here is None else {},
    }


def _reset(device: Device, values: Mapping[str, Any]) -> None:
    seed = values["seed"]
    if seed is None:
        # The first reset of such a rig is seeded whatever its mode is; the next is not.
        past = encode(
            {"first": values["first"], "streams": values["states"]}, inline_bytes=ALL_BYTES
        )
        device.rig.prepare_reset(past)  # type: ignore[attr-defined]
    put_global_states(values["globals"])
    device.reset(_ANY_SEED if seed is None else seed)


def _apart(walk: Walk, here: Mapping[str, bytes]) -> dict[str, str | None]:
    """Return the paths that differ: the text of what is here, or None where nothing is."""
    mine = walk.tokens
    paths = [path for path in mine.keys() | here.keys() if mine.get(path) != here.get(path)]
    return {path: text_of_leaf(walk.leaf(path)) if path in mine else None for path in sorted(paths)}


OPERATIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {"guard": _guard}
"""Name -> what runs in the device."""
