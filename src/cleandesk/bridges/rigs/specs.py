"""dm_env's specs as parts of an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cleandesk.bridges.rigs.parts import Choice, Fixed, Grid, Part, Row, Table
from cleandesk.errors import WorldError, shown


def part_of_spec(spec: Any) -> Part:
    """Return the part that draws what ``spec`` allows.

    Args:
        spec: A spec of dm_env, or a dict, list or tuple of such.

    Raises:
        WorldError: CD-295, it is none.
    """
    if isinstance(spec, Mapping):
        return Table({key: part_of_spec(inner) for key, inner in spec.items()})
    if isinstance(spec, list | tuple):
        return Row([part_of_spec(inner) for inner in spec], list if type(spec) is list else tuple)
    if hasattr(spec, "num_values"):
        return Choice(int(spec.num_values))
    if hasattr(spec, "minimum") and hasattr(spec, "maximum"):
        low, high = (np.broadcast_to(end, spec.shape) for end in (spec.minimum, spec.maximum))
        return Grid(low, high, spec.dtype)
    if hasattr(spec, "shape") and hasattr(spec, "dtype"):
        return _unbounded(spec)
    raise WorldError(
        "CD-295",
        f"its action_spec is no spec of dm_env but {shown(repr(spec), 80)}",
        where="action_spec()",
        do="return specs of dm_env, or write a rig of your own with the twelve members",
    )


def _unbounded(spec: Any) -> Part:
    dtype = np.dtype(spec.dtype)
    if dtype.kind == "b":
        return Grid(np.zeros(spec.shape), np.ones(spec.shape), dtype)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        low, high = (np.full(spec.shape, end, object) for end in (ends.min, ends.max))
        return Grid(low, high, dtype)
    if dtype.kind == "f":
        return Grid(np.full(spec.shape, -np.inf), np.full(spec.shape, np.inf), dtype)
    return Fixed([spec.generate_value()])
