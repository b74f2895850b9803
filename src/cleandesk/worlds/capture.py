"""Reading the state of a world under its contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cleandesk.errors import ContractError, WorldError
from cleandesk.state.contract import Contract
from cleandesk.state.snapshot import Snapshot
from cleandesk.surfaces.objects import read_objects
from cleandesk.worlds.at import At

CLOCK_SURFACE = "clock"
"""The surface that a pinned clock adds; its one field, ``now``, is incidental."""

UNREAD_HOMES = (
    "attributes that the contract does not name",
    "module globals and class attributes",
    "files, databases and other processes",
)
"""Where state may live that a contract over Python objects does not read (law 15)."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One reading of a world.

    Attributes:
        snapshot: What was read, without the ignored fields.
        ignored: The ignored patterns that named something.
        not_read: What was not looked at.
    """

    snapshot: Snapshot
    ignored: frozenset[str]
    not_read: tuple[str, ...]


def contract_of(world: object) -> Contract:
    """Return the contract of a built world.

    Raises:
        ContractError: CD-206, it has none.
    """
    found = getattr(world, "contract", None)
    if not isinstance(found, Contract):
        raise ContractError(
            "CD-206",
            f"{type(world).__qualname__} has no contract",
            where="its attribute `contract`",
            do="run `cleandesk contract WORLD --propose` and paste the first one",
        )
    return found


def capture(world: object, at: At, terms: Contract) -> Capture:
    """Read the state that ``terms`` name.

    Raises:
        WorldError: CD-211, a named attribute does not exist; CD-212, a kind of surface
            that this version can't read.
        StateError: CD-101, a value that canon/1 does not know (the path is named).
    """
    tree: dict[str, dict[str, Any]] = {}
    ignored: set[str] = set()
    for name, surface in terms.surfaces.items():
        if surface.kind != "objects":
            raise WorldError("CD-212", f"no reader for surfaces of kind {surface.kind!r}")
        tree[name], matched = read_objects(world, name, surface)
        ignored |= matched
    if terms.clock is not None:
        tree[CLOCK_SURFACE] = {"now": at.clock.now()}
    own: Any = getattr(world, "not_read", ())
    return Capture(
        Snapshot.of(terms.identity, tree), frozenset(ignored), (*UNREAD_HOMES, *map(str, own))
    )
