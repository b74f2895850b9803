"""Rigs over whatever a factory returns: ``module:factory``, ``file.py:factory``, worlds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Rig, Script
from cleandesk.bridges.rigs import world
from cleandesk.bridges.rigs.driven import DrivenRig, take_optional
from cleandesk.bridges.rigs.driver import Driver, Written, written_call
from cleandesk.bridges.rigs.quiet import headless, quiet
from cleandesk.errors import WorldError, shown
from cleandesk.finding import registered
from cleandesk.state.contract import Contract
from cleandesk.worlds.importer import find_world, prepare_world
from cleandesk.worlds.serve import arguments_of

_MEMBERS = (
    "model_hash",
    "build",
    "reset",
    "step",
    "action",
    "roots",
    "clock",
    "declared",
    "write",
    "close",
)
_WORDS = ("name", "harness")
_OF_RIGS_ALONE = ("model_hash", "roots")


class ObjectMaker:
    """Makes rigs of factories, of worlds and of contracts."""

    def prepare(self, rest: str, recipe: Recipe) -> None:
        """Import the module of the factory.

        Raises:
            WorldError: CD-201, there is no such factory, or its import raised.
        """
        headless()
        with quiet():
            factory, leading = find_world(rest, recipe.path)
            if _is_world(factory, leading):
                world.load(factory)
            if not isinstance(factory, Contract):
                prepare_world(factory, leading)
                arguments_of(factory)

    def make(self, rest: str, recipe: Recipe) -> Rig:
        """Return the rig of a world, a contract, or of what a factory returns.

        Raises:
            WorldError: CD-201, there is no such factory; CD-213, it takes no such argument.
        """
        factory, leading = find_world(rest, recipe.path)
        if _is_world(factory, leading):
            return world.rig(factory, leading, recipe)
        require_arguments(factory, recipe)
        return FoundRig(factory, recipe, _written(factory, rest, recipe))

    def catalogue(self) -> list[str]:
        """Return the registered worlds."""
        return list(registered("world"))


class FoundRig:
    """What a factory returns, driven as what it turns out to be once it is built.

    Attributes:
        name: The reference, and the stack of wrappers once it is built.
        harness: How it is reset.
        policy: Which actions are tried.
        is_forkable: Whether a fork of its process has a rig of its own.
    """

    def __init__(
        self, factory: Callable[..., Any], recipe: Recipe, written: Written | None
    ) -> None:
        """Call nothing yet."""
        self._factory = factory
        self._recipe = recipe
        self._written = written
        self._rig: Any = None
        self.name = recipe.reference
        self.harness = recipe.reset
        self.policy = ""
        self.is_forkable = True

    def model_hash(self) -> str:
        """Return a digest of what it is made of."""
        return str(self._built.model_hash())

    def build(self) -> None:
        """Call the factory and find out what it returned.

        Raises:
            WorldError: CD-295, it can't be driven.
        """
        headless()
        with quiet():
            made = self._factory(**self._recipe.arguments)
        if is_rig(made):
            made.build()
            self._rig = made
        else:
            rig = DrivenRig(self._recipe, lambda: made, driver_of, written=self._written)
            rig.build()
            self._rig = rig
        take_optional(self, self._rig)
        self.name, self.harness = str(self._rig.name), str(self._rig.harness)
        said = getattr(self._rig, "policy", "")
        self.policy = said if isinstance(said, str) and said else "the rig's own"
        self.is_forkable = bool(getattr(self._rig, "is_forkable", True))

    def reset(self, seed: int) -> Outcome:
        """Reset it."""
        said: Outcome = self._built.reset(seed)
        return said

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        said: Outcome = self._built.step(action)
        return said

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._built.action(rng, k)

    def roots(self) -> Mapping[str, object]:
        """Return the owners of state."""
        found: Mapping[str, object] = self._built.roots()
        return found

    def clock(self) -> tuple[int, float]:
        """Return the steps since the last reset and the simulated time."""
        if self._rig is None:
            return 0, 0.0
        steps, seconds = self._rig.clock()
        return int(steps), float(seconds)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        found: Sequence[Declared] = self._built.declared()
        return found

    def write(self, path: str, value: Any) -> None:
        """Put ``value`` into the field at ``path``."""
        self._built.write(path, value)

    def close(self) -> None:
        """Release it."""
        if self._rig is not None:
            self._rig.close()
            self._rig = None

    def script(self) -> Script | None:
        """Return how a person writes it, or None."""
        found: Script | None = self._optional("script")
        return found

    def before_reset(self) -> bytes | None:
        """Return what an unseeded reset goes on from; see ``DrivenRig``."""
        found: bytes | None = self._optional("before_reset")
        return found

    def prepare_reset(self, state: bytes) -> None:
        """Have the next reset go on from ``state``; see ``DrivenRig``."""
        self._built.prepare_reset(state)

    def _optional(self, name: str) -> Any:
        member = getattr(self._built, name, None)
        return member() if callable(member) else None

    @property
    def _built(self) -> Any:
        if self._rig is None:
            raise WorldError(
                "CD-297",
                "the rig is used before it is built",
                where=f"rig {shown(self._recipe.reference, 80)!r}",
                do="call build() first",
            )
        return self._rig


def is_rig(made: Any) -> bool:
    """Tell whether a factory returned a rig of its own: it has the twelve members.

    Raises:
        WorldError: CD-295, it can only have been meant as one, and lacks some of them.
    """
    missing = [name for name in _MEMBERS if not callable(getattr(made, name, None))]
    missing += [name for name in _WORDS if not hasattr(made, name)]
    if not missing:
        return True
    # No environment has these; whoever wrote them wrote a rig.
    if any(callable(getattr(made, name, None)) for name in _OF_RIGS_ALONE):
        raise WorldError(
            "CD-295",
            f"a {type(made).__qualname__} has {12 - len(missing)} of the twelve members of a rig",
            where=f"a {type(made).__module__}.{type(made).__qualname__}",
            do=f"give it these too: {', '.join(missing)}",
        )
    return False


def driver_of(made: Any) -> Driver:
    """Return the driver for what a factory returned.

    Raises:
        WorldError: CD-295, it is nothing that can be driven.
    """
    for module, attribute, driver in _INTERFACES:
        kind = getattr(sys.modules.get(module), attribute, None)
        # Its module is imported by whoever has one; if it isn't, this is none.
        if kind is not None and isinstance(made, kind):
            return _driver(driver)(made)
    if callable(getattr(made, "reset", None)) and callable(getattr(made, "step", None)):
        return _driver(_shape(made))(made)
    raise WorldError(
        "CD-295",
        f"the factory returned {shown(repr(made), 80)}, which has no reset and step",
        where=f"a {type(made).__module__}.{type(made).__qualname__}",
        do="return an environment, or a rig of your own with the twelve members",
    )


_INTERFACES = (
    ("gymnasium.vector", "VectorEnv", "vector:VectorDriver"),
    ("gymnasium", "Env", "gymnasium:GymDriver"),
    ("pettingzoo.utils.env", "AECEnv", "pettingzoo:AecDriver"),
    ("pettingzoo.utils.env", "ParallelEnv", "pettingzoo:ParallelDriver"),
    ("dm_env", "Environment", "dm_env:DmEnvDriver"),
)


def _driver(text: str) -> Callable[[Any], Driver]:
    import importlib

    module, _, name = text.partition(":")
    found: Callable[[Any], Driver] = getattr(
        importlib.import_module(f"cleandesk.bridges.rigs.{module}"), name
    )
    return found


def _shape(made: Any) -> str:
    """Return the driver for what inherits from none of the known classes."""
    if hasattr(made, "agent_iter") and hasattr(made, "last"):
        return "pettingzoo:AecDriver"
    if hasattr(made, "possible_agents") and callable(getattr(made, "action_space", None)):
        return "pettingzoo:ParallelDriver"
    if callable(getattr(made, "action_spec", None)):
        return "dm_env:DmEnvDriver"
    return "plain:PlainDriver"


def require_arguments(factory: Any, recipe: Recipe) -> None:
    """Check that a factory takes the arguments of a recipe.

    Raises:
        WorldError: CD-213, it does not take one of them.
    """
    names, takes_any = arguments_of(factory)
    unknown = [name for name in recipe.arguments if name not in names and not takes_any]
    if unknown:
        raise WorldError(
            "CD-213",
            f"the factory takes no argument {unknown[0]!r}",
            where=f"rig {shown(recipe.reference, 80)!r}",
            do=f"it takes: {', '.join(names) or 'no argument'}",
        )


def _is_world(factory: Any, leading: tuple[Any, ...]) -> bool:
    if isinstance(factory, Contract) or leading:
        return True
    is_early = isinstance(getattr(factory, "contract", None), Contract)
    return is_early or "at" in arguments_of(factory)[0]


def _written(factory: Any, rest: str, recipe: Recipe) -> Written | None:
    where, _, name = rest.rpartition(":")
    if not where:
        return None
    call = written_call(name, recipe.arguments)
    top = name.partition(".")[0]
    if not where.endswith(".py"):
        return Written((f"from {where} import {top}",), call)
    path = Path(getattr(sys.modules.get(factory.__module__), "__file__", None) or where)
    return Written(
        (
            "import sys",
            f"sys.path.insert(0, {str(path.parent)!r})",
            f"from {path.stem} import {top}",
        ),
        call,
    )
