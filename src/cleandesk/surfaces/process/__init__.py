"""State in the world's own process: what it changed there since just before its build.

``reading`` reads it, inside that process. Linux only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cleandesk.errors import ContractError, shown
from cleandesk.state.contract import SurfaceTerms

PARTS = (
    "children",
    "cwd",
    "descriptors",
    "environment",
    "locale",
    "logging",
    "modules",
    "random",
    "shared_memory",
    "signals",
    "sockets",
    "temp_files",
    "threads",
    "umask",
    "warnings",
)
"""What can be read of a process; each part is a table of the surface."""


def process(
    *parts: str,
    ignore: Mapping[str, str] | None = None,
    incidental: Sequence[str] = (),
    declared: Mapping[str, str] | None = None,
) -> SurfaceTerms:
    """Name the parts of the world's own process that hold its state.

    Each part holds what differs from the moment just before the world was built; where
    nothing does, it is empty.

    Args:
        parts: Of ``PARTS``; without any, all of them.
        ignore: Pattern below the surface -> reason; such a field is never compared.
        incidental: Patterns verified at the start and free to change.
        declared: Pattern -> sampler; such a field varies per episode.

    Raises:
        ContractError: CD-202, there is no such part.

    Example:
        >>> process("environment", "threads", "children", incidental=["threads"])
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ContractError(
            "CD-202",
            f"a process has no part {shown(repr(unknown[0]), 60)}",
            where="process(..) of a contract",
            do=f"write one of: {', '.join(PARTS)}",
        )
    return SurfaceTerms(
        "process",
        {"parts": sorted(set(parts or PARTS))},
        dict(ignore or {}),
        tuple(incidental),
        dict(declared or {}),
    )
