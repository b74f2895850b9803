"""Reading the state of a world under its contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleandesk.errors import ContractError
from cleandesk.state.contract import VIRTUAL, Contract
from cleandesk.state.snapshot import Snapshot
from cleandesk.surfaces.objects import read_objects
from cleandesk.worlds.at import At

if TYPE_CHECKING:
    from cleandesk.surfaces.process.reading import Baseline
    from cleandesk.worlds.clocks import Pinned

_LATE = frozenset({"objects", "http"})
"""Kinds that a contract may name only once the world is there."""

CLOCK_SURFACE = "clock"
"""The surface that a pinned clock adds; its one field, ``now``, is incidental."""

UNREAD_HOMES = (
    "attributes that the contract does not name",
    "module globals and class attributes",
    "files, databases and other processes that the contract does not name",
)
"""Where state may live that a contract over Python objects does not read (law 15)."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What a reading needs to know of the process that it happens in.

    Attributes:
        at: The world's place: its clock, its apps.
        baseline: The process as it was before the world was built, where that is read.
        clock: The clock tier, where the contract pins a clock.
    """

    at: At
    baseline: Baseline | None = None
    clock: Pinned | None = None


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


def require_early(terms: Contract, early: object) -> None:
    """Check that a contract was known before the world was built, if that is needed.

    Raises:
        ContractError: CD-207, it was not: nobody could have made the copies, noted how
            the process was, or pinned its clock.
    """
    needing = [name for name, held in terms.surfaces.items() if held.kind not in _LATE]
    what = f"the surface {needing[0]!r}" if needing else "its clock tier"
    is_known = isinstance(early, Contract) and early.identity == terms.identity
    if (needing or terms.tier != VIRTUAL) and not is_known:
        raise ContractError(
            "CD-207",
            f"{what} must be known before the world is built, and the contract is not",
            where=f"contract {terms.name}/{terms.version}",
            do="make the contract an attribute of the class: contract = cleandesk.contract(...)",
        )


def capture(world: object, inside: Inside, terms: Contract) -> Capture:
    """Read the state that ``terms`` name and that can be read from inside.

    Surfaces with a base are left to the harness, which holds them.

    Raises:
        WorldError: CD-211, a named attribute does not exist; CD-272 to CD-274, a service
            can't be read.
        StateError: CD-101, a value that canon/1 does not know (the path is named).
    """
    tree: dict[str, dict[str, Any]] = {}
    ignored: set[str] = set()
    unread: list[str] = [*UNREAD_HOMES, *map(str, getattr(world, "not_read", ()))]
    for name, surface in terms.surfaces.items():
        if surface.kind == "objects":
            tree[name], matched = read_objects(world, name, surface)
        elif surface.kind == "http":
            from cleandesk.surfaces.http import reading as service

            tree[name], matched = service.read_http(inside.at.apps.url_of, name, surface)
            unread += service.unread(surface)
        elif surface.kind == "process" and inside.baseline is not None:
            from cleandesk.surfaces.process import reading as own

            held, served = inside.baseline, inside.at.served
            apps = served.own() if served is not None else None
            tree[name], matched = own.read_process(held, name, surface, apps)
            unread += own.unread(held, surface)
        else:
            continue
        ignored |= matched
    if terms.clock is not None:
        tree[CLOCK_SURFACE] = {"now": inside.at.clock.now()}
    unread += inside.clock.gaps if inside.clock is not None else ()
    return Capture(Snapshot.of(terms.identity, tree), frozenset(ignored), tuple(unread))


def inside_of(at: At, terms: Contract, folders: Mapping[str, str]) -> Inside:
    """Pin the clock and note how this process is, just before its world is built."""
    temp_folder = folders.get("temp")
    pinned = held = None
    if terms.clock is not None:
        from cleandesk.worlds.clocks import begin

        place = Path(folders["clock"]) if "clock" in folders else None
        pinned = begin(terms.tier, at.clock.now(), place)
        at.show(pinned)
    if any(surface.kind == "process" for surface in terms.surfaces.values()):
        from cleandesk.surfaces.process.reading import baseline, private_temp

        if temp_folder is not None:
            private_temp(temp_folder)
        held = baseline(at.places, temp_folder)
    return Inside(at, held, pinned)


def reset_services(at: At, terms: Contract) -> None:
    """Make the calls that reset the services of a contract."""
    for name, surface in terms.surfaces.items():
        if surface.kind == "http":
            from cleandesk.surfaces.http.reading import reset_http

            reset_http(at.apps.url_of, name, surface)
