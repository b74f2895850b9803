"""Rigs over environments of PettingZoo: ``pettingzoo:FAMILY.NAME``, by turns or in parallel."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Rig, Script
from cleandesk.bridges.rigs.driven import DrivenRig
from cleandesk.bridges.rigs.driver import PLAIN, Written, wrapped, written_call
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.parts import Part
from cleandesk.bridges.rigs.provenance import made_of, version_of
from cleandesk.bridges.rigs.quiet import headless, quiet
from cleandesk.bridges.rigs.spaces import generators, part_of
from cleandesk.errors import WorldError, shown, text_of

_NAME = re.compile(r"[a-z0-9_]+_v\d+")
_APIS = {"aec": "env", "parallel": "parallel_env"}


class Crowd:
    """The agents of an environment: what each may do, and what it does next."""

    def __init__(self, env: Any) -> None:
        """Ask ``env`` for the space of an agent when it first acts."""
        self._env = env
        self._parts: dict[Any, Part] = {}
        self._excitations: dict[Any, Excitation] = {}

    def begin(self) -> None:
        """Let every agent begin anew."""
        self._excitations.clear()

    def part(self, agent: Any) -> Part:
        """Return what ``agent`` may do."""
        if agent not in self._parts:
            self._parts[agent] = part_of(self._env.action_space(agent))
        return self._parts[agent]

    def action(self, agent: Any, rng: Any, mask: Any) -> Any:
        """Return what ``agent`` does next."""
        if agent not in self._excitations:
            self._excitations[agent] = Excitation(self.part(agent))
        return self._excitations[agent].action(rng, 1, mask)

    def expression(self, name: str) -> str:
        """Return Python that makes an action of its plain form; of all agents the same."""
        agents = list(getattr(self._env, "possible_agents", ()) or self._env.agents)
        found = {self.part(agent).expression(name) for agent in agents}
        return found.pop() if len(found) == 1 else name


class AecDriver:
    """Agents that act by turns; a step is one turn."""

    def __init__(self, env: Any) -> None:
        """Drive ``env``, with whatever wraps it."""
        self._env = env
        self._roots = _roots(env)
        self._crowd = Crowd(env)
        self._mask: Any = None
        self._flags: tuple[dict[str, bool], dict[str, bool]] = ({}, {})
        self.harness = f"env.reset(seed=s), by turns, pettingzoo {version_of('pettingzoo')}"
        self.policy = f"{POLICY}, masks kept"
        self.own_stream = ""

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        if seed is None:
            self._env.reset()
        else:
            self._env.reset(seed=seed)
        outcome = self._turn()
        return Outcome(outcome.observation, info=outcome.info, is_over=outcome.is_over)

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        if self._is_out():
            action = None
        elif action is None:
            # Actions that were drawn in another course of events.
            action = self._crowd.part(self._env.agent_selection).null()
        self._env.step(action)
        return self._turn()

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        if k == 0:
            self._crowd.begin()
        if self._is_out():
            return None
        return self._crowd.action(self._env.agent_selection, rng, self._mask)

    def roots(self) -> dict[str, object]:
        """Return the owners of state."""
        return self._roots

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        return float(steps)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        return generators(self._roots)

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        return made_of(self._roots.values())

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        act = self._crowd.expression("action")
        return Script(
            imports=(*written.imports, "import numpy as np", PLAIN),
            make=written.make,
            reset=(
                "env.reset(seed=seed)",
                "seen = plain((env.agent_selection, *env.last()))",
            ),
            step=(
                "is_out = any(env.last()[2:4])",
                f"env.step(None if is_out else {act})",
                "over = not env.agents",
                "seen = () if over else plain((env.agent_selection, *env.last()))",
            ),
        )

    def close(self) -> None:
        """Release it."""
        self._env.close()

    def _is_out(self) -> bool:
        return any(self._flags[0].values()) or any(self._flags[1].values())

    def _turn(self) -> Outcome:
        if not self._env.agents:
            # The flags of whoever left last say how it ended.
            return Outcome({"agent": None}, None, *self._flags, {}, is_over=True)
        agent = self._env.agent_selection
        observation, reward, terminated, truncated, info = self._env.last()
        self._mask = mask_of(observation, info)
        self._flags = ({str(agent): bool(terminated)}, {str(agent): bool(truncated)})
        return Outcome({"agent": agent, "observation": observation}, reward, *self._flags, info)


class ParallelDriver:
    """Agents that act all at once; a step is an action of each that is still there."""

    def __init__(self, env: Any) -> None:
        """Drive ``env``, with whatever wraps it."""
        self._env = env
        self._roots = _roots(env)
        self._crowd = Crowd(env)
        self._masks: dict[Any, Any] = {}
        self.harness = f"env.reset(seed=s), in parallel, pettingzoo {version_of('pettingzoo')}"
        self.policy = f"{POLICY}, masks kept"
        self.own_stream = ""

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        said = self._env.reset() if seed is None else self._env.reset(seed=seed)
        observations, infos = said if isinstance(said, tuple) else (said, {})
        self._note(observations, infos)
        return Outcome(observations, info=infos, is_over=not self._env.agents)

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        given = {
            agent: action[agent] if agent in action else self._crowd.part(agent).null()
            for agent in self._env.agents
        }
        observations, rewards, terminated, truncated, infos = self._env.step(given)
        self._note(observations, infos)
        is_over = not self._env.agents
        return Outcome(observations, rewards, terminated, truncated, infos, is_over)

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        if k == 0:
            self._crowd.begin()
        return {
            agent: self._crowd.action(agent, rng, self._masks.get(agent))
            for agent in self._env.agents
        }

    def roots(self) -> dict[str, object]:
        """Return the owners of state."""
        return self._roots

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        return float(steps)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        return generators(self._roots)

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        return made_of(self._roots.values())

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        act = self._crowd.expression("action[agent]")
        return Script(
            imports=(*written.imports, "import numpy as np", PLAIN),
            make=written.make,
            reset=("seen = plain(env.reset(seed=seed))",),
            step=(
                f"seen = plain(env.step({{agent: {act} for agent in env.agents}}))",
                "over = not env.agents",
            ),
        )

    def close(self) -> None:
        """Release it."""
        self._env.close()

    def _note(self, observations: Mapping[Any, Any], infos: Mapping[Any, Any]) -> None:
        self._masks = {
            agent: mask
            for agent in self._env.agents
            if (mask := mask_of(observations.get(agent), infos.get(agent))) is not None
        }


class PettingZooMaker:
    """Makes rigs of what PettingZoo ships: ``.env()``, or with ``api="parallel"`` the other."""

    def prepare(self, rest: str, recipe: Recipe) -> None:
        """Import the module of the environment.

        Raises:
            WorldError: CD-291, it is not there, or its import raised.
        """
        headless()
        _factory(rest, recipe)

    def make(self, rest: str, recipe: Recipe) -> Rig:
        """Return the rig; the argument ``api`` is ``aec`` or ``parallel``, others are for it.

        Raises:
            WorldError: CD-291, there is no such environment or no such interface of it.
        """
        factory = _factory(rest, recipe)
        arguments = {key: value for key, value in recipe.arguments.items() if key != "api"}
        family, _, name = rest.rpartition(".")
        call = f"{name}.{_APIS[_api(recipe)]}"
        return DrivenRig(
            recipe,
            lambda: factory(**arguments),
            ParallelDriver if _api(recipe) == "parallel" else AecDriver,
            written=Written(
                (f"from pettingzoo.{family} import {name}",), written_call(call, arguments)
            ),
        )

    def catalogue(self) -> list[str]:
        """Return every environment of every family, whether or not its import works."""
        with quiet():
            package = importlib.import_module("pettingzoo")
        return sorted(
            f"pettingzoo:{family.name}.{module.name}"
            for family in pkgutil.iter_modules(package.__path__)
            if family.ispkg
            for module in pkgutil.iter_modules([f"{package.__path__[0]}/{family.name}"])
            if _NAME.fullmatch(module.name)
        )


def mask_of(observation: Any, info: Any) -> Any:
    """Return which actions are allowed now, where the environment says it, or None."""
    for said in (observation, info):
        if isinstance(said, Mapping) and "action_mask" in said:
            return said["action_mask"]
    return None


def _roots(env: Any) -> dict[str, object]:
    links = ("env", "aec_env", "par_env")
    return wrapped(env, *links, innermost=getattr(env, "unwrapped", None))


def _api(recipe: Recipe) -> str:
    return str(recipe.arguments.get("api", "aec"))


def _factory(rest: str, recipe: Recipe) -> Any:
    where = f"rig 'pettingzoo:{shown(rest, 80)}'"
    try:
        with quiet():
            module = importlib.import_module(f"pettingzoo.{rest}")
    except Exception as error:
        near = difflib.get_close_matches(rest, _names(), n=1)
        raise WorldError(
            "CD-291",
            f"{shown(rest, 80)} can't be imported: {text_of(error, 300)}",
            where=where,
            do=f"did you mean {near[0]}?" if near and near[0] != rest else "install what it needs",
        ) from error
    factory = getattr(module, _APIS.get(_api(recipe), ""), None)
    if factory is None:
        raise WorldError(
            "CD-291",
            f"it has no interface {shown(repr(_api(recipe)), 40)}",
            where=f"{where}, argument api",
            do=f"write {' or '.join(api for api, name in _APIS.items() if hasattr(module, name))}",
        )
    return factory


def _names() -> list[str]:
    try:
        found = PettingZooMaker().catalogue()
    except ImportError:
        return []
    return [text.partition(":")[2] for text in found]
