"""Rigs over worlds of cleandesk's own kind, and over a contract's surfaces alone.

The question is whether the world's own reset restores it. The harness does between two
episodes what it does for a world that is shared: stop what is served, put the private
copies back, start it again, ``reset``. No fork and no fresh world hides a leak. With the
reset ``own`` the copies are not put back either: then the world has to do it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Rig, Script
from cleandesk.audit.certificate.walk.plans import is_a, own_of
from cleandesk.bridges.rigs.driven import SEEDED, DrivenRig
from cleandesk.bridges.rigs.driver import Written
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.keeper import Keeper
from cleandesk.bridges.rigs.parts import Part
from cleandesk.bridges.rigs.provenance import made_of
from cleandesk.bridges.rigs.spaces import generators, part_of
from cleandesk.bridges.rigs.tools import ToolCalls
from cleandesk.bridges.rigs.writes import Writes, writer_of
from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import Contract
from cleandesk.state.reference import spelled
from cleandesk.surfaces.copies import needs_copies
from cleandesk.worlds.apps import App
from cleandesk.worlds.at import At
from cleandesk.worlds.capture import Inside, contract_of, inside_of, require_early, reset_services
from cleandesk.worlds.importer import load_readers
from cleandesk.worlds.serve import build

OWN = "own"
MODES = (SEEDED, OWN)
_PLACE = "where this build's private copies and programs are; no state of a world"
_CLOCK = "clock"


def load(factory: Any) -> None:
    """Import what the contract of ``factory`` needs."""
    early = factory if isinstance(factory, Contract) else getattr(factory, "contract", None)
    load_readers(early if isinstance(early, Contract) else None)


def rig(factory: Any, leading: tuple[Any, ...], recipe: Recipe) -> Rig:
    """Return the rig of a world's class, or of a contract.

    Raises:
        WorldError: CD-294, there is no such reset; CD-295, the contract can't be driven alone.
    """
    if isinstance(factory, Contract):
        for surface in factory.surfaces.values():
            writer_of(surface.kind, "")
        return DrivenRig(
            recipe,
            lambda: _Home(factory, _folders(None, recipe)),
            lambda home: SurfacesDriver(factory, home),
            modes=(SEEDED,),
        )

    def make() -> WorldDriver:
        return WorldDriver(factory, leading, recipe)

    return DrivenRig(recipe, make, lambda driver: driver, modes=MODES)


class _Home:
    """What a world is given: its place, its copies, and the process that holds them."""

    def __init__(self, early: Contract | None, folders: Sequence[str]) -> None:
        self.at = At()
        self.inside = Inside(self.at)
        self.keeper: Keeper | None = None
        self.has_run = False
        self._owner = os.getpid()
        if early is None:
            return
        if needs_copies(early):
            self.keeper = Keeper(early, folders)
            self.at.places.update(self.keeper.places)
            if self.keeper.holder is not None:
                from cleandesk.surfaces.mounts import enter

                enter(self.keeper.holder)
        # A world may ask for the time in its constructor already.
        self.at.pin(early.clock)
        self.inside = inside_of(self.at, early, self.keeper.folders if self.keeper else {})

    def require_owner(self) -> None:
        """Check that this is the process that the copies were made for.

        Raises:
            WorldError: CD-298, it is a fork, which would write into its parent's copies.
        """
        if os.getpid() != self._owner and (self.keeper or self.at.served):
            raise WorldError(
                "CD-298",
                "this rig's copies and programs are those of the process it was forked from",
                where="a fork of a rig over a world",
                do="replay on a rig that is built anew",
            )

    def restore(self) -> None:
        """Put back what the harness puts back before a reset, but before the first one."""
        if self.keeper is not None and self.has_run:
            if self.at.served is not None:
                self.at.served.stop_for_restore()
            self.keeper.restore()

    def look(self) -> dict[str, Any]:
        """Return what the copies hold, surface by surface."""
        return dict(self.keeper.look()) if self.keeper is not None else {}

    def close(self) -> None:
        """End the programs and release the copies."""
        if os.getpid() != self._owner:
            return
        if self.at.served is not None:
            self.at.served.close()
        if self.keeper is not None:
            self.keeper.close()


class WorldDriver:
    """A world, its copies, and the harness's way of resetting both."""

    def __init__(self, factory: Any, leading: tuple[Any, ...], recipe: Recipe) -> None:
        """Make the copies and build the world on them."""
        early = getattr(factory, "contract", None)
        early = early if isinstance(early, Contract) else None
        self._restores = recipe.reset != OWN
        self._home = _Home(early, _folders(factory, recipe))
        try:
            self._world = build(factory, leading, self._home.at, recipe.arguments)
            self._terms = contract_of(self._world)
            require_early(self._terms, early)
            self._home.at.pin(self._terms.clock)
            self._part = _part(self._world)
        except BaseException:
            self._home.close()
            raise
        self._excitation = Excitation(self._part)
        what = "copies put back, programs restarted, " if self._home.keeper else ""
        restored = what if self._restores else "nothing put back, "
        self.harness = f"{restored}world.reset(seed=s), as of a world that is shared"
        self.policy = POLICY
        self.own_stream = ""
        self.is_forkable = self._home.keeper is None and self._home.at.served is None
        self.read_only = frozenset({*self._terms.surfaces, _CLOCK})

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        home = self._home
        home.require_owner()
        if self._restores:
            home.restore()
        is_again, home.has_run = home.has_run, True
        if home.at.served is not None:
            home.at.served.start_after_restore()
        reset_services(home.at, self._terms)
        home.at.begin(seed or 0, instance="", rules=())
        observation, info = self._world.reset(seed=seed, options=None)
        home.at.settle()
        if self._restores and is_again and home.keeper is not None:
            home.keeper.require_let_go()
        self._show(observation)
        return Outcome(observation, info=info)

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        self._home.require_owner()
        observation, reward, terminated, truncated, info = self._world.step(action)
        self._show(observation)
        is_over = bool(terminated) or bool(truncated)
        return Outcome(observation, reward, terminated, truncated, info, is_over)

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._excitation.action(rng, k)

    def roots(self) -> dict[str, object]:
        """Return the world as ``env``, and each surface that lies outside it as read now."""
        self._home.at.settle()
        found: dict[str, object] = {"env": self._world, **self._home.look()}
        found.update(self._services())
        if self._terms.clock is not None:
            found[_CLOCK] = {"now": self._home.at.clock.now()}
        return found

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        return float(steps)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        found = generators({"env": self._world})
        return [*found, *(Declared(path, "any", _PLACE) for path in self._places())]

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        return {**made_of([self._world]), "contract": self._terms.identity}

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        del written
        return None

    def close(self) -> None:
        """Release it."""
        close = getattr(self._world, "close", None)
        if callable(close):
            close()
        self._home.close()

    def _show(self, observation: Any) -> None:
        if isinstance(self._part, ToolCalls):
            self._part.show(observation)

    def _services(self) -> Iterator[tuple[str, Any]]:
        """Yield what the other surfaces hold that are not attributes of the world."""
        inside = self._home.inside
        for name, surface in self._terms.surfaces.items():
            if surface.kind == "http":
                from cleandesk.surfaces.http.reading import read_http

                yield name, read_http(inside.at.apps.url_of, name, surface)[0]
            elif surface.kind == "process" and inside.baseline is not None:
                from cleandesk.surfaces.process.reading import read_process

                served = inside.at.served
                apps = served.own() if served is not None else None
                yield name, read_process(inside.baseline, name, surface, apps)[0]

    def _places(self) -> Iterator[str]:
        """Yield the fields that say where copies and programs of this build are."""
        at = self._home.at
        folders = [str(Path(place).parent) for place in at.places.values() if place[:1] == "/"]
        for name, value in own_of(self._world).items():
            path = ("env", name)
            if value is at:
                yield from (spelled((*path, part)) for part in ("places", "_apps", "_shown"))
            elif type(value) is App or _is_at(value, folders, at.places):
                yield spelled(path)


class SurfacesDriver:
    """A contract's surfaces without a world: written at random, put back by the harness."""

    def __init__(self, terms: Contract, home: _Home) -> None:
        """Drive the copies that ``home`` has."""
        self._terms = terms
        self._home = home
        places = home.at.places
        self._writers = {
            name: writer_of(surface.kind, places[name]) for name, surface in terms.surfaces.items()
        }
        self._excitation = Excitation(Writes(sorted(self._writers)))
        self.harness = "copies put back to their bases"
        self.policy = "writes/1: rows and files added, changed and deleted at random"
        self.own_stream = ""
        self.is_forkable = False
        self.read_only = frozenset(terms.surfaces)

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        del seed
        self._home.require_owner()
        self._home.restore()
        is_again, self._home.has_run = self._home.has_run, True
        if is_again and self._home.keeper is not None:
            self._home.keeper.require_let_go()
        return Outcome(None, info={})

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        self._home.require_owner()
        said = self._writers[action["surface"]](action["do"], action["number"])
        return Outcome(said, 0.0, info={})

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._excitation.action(rng, k)

    def roots(self) -> dict[str, object]:
        """Return the owners of state."""
        return self._home.look()

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        return float(steps)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        return []

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        return {"contract": self._terms.identity}

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        del written
        return None

    def close(self) -> None:
        """Release it."""
        self._home.close()


def _folders(factory: Any, recipe: Recipe) -> list[str]:
    """Return where the sources of a world are looked for: beside its file, then the path."""
    home = getattr(factory, "__module__", "")
    if factory is None:
        # A contract is made of a class of ours; where it was written down is what counts.
        home, _, _ = recipe.reference.rpartition(":")
    file = getattr(sys.modules.get(home), "__file__", None) or (home if ".py" in home else "")
    return [*([str(Path(file).resolve().parent)] if file else []), *recipe.path]


def _part(world: Any) -> Part:
    space = getattr(world, "action_space", None)
    if space is not None:
        return part_of(space)
    tools = getattr(world, "tools", None)
    if tools:
        return ToolCalls(tools)
    raise WorldError(
        "CD-295",
        f"nothing says which actions {shown(type(world).__qualname__, 80)} takes",
        where="it has neither action_space nor tools",
        do="give it one of these, or write a rig of your own with the twelve members",
    )


def _is_at(value: Any, folders: Sequence[str], places: Mapping[str, str]) -> bool:
    if not is_a(value, str, Path):
        return False
    text = str(value)
    return any(text.startswith(folder) for folder in folders) or text in places.values()
