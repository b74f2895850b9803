"""Rigs over environments of Gymnasium: ``gym:ID`` and ``gym:module:ID``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Rig, Script
from cleandesk.bridges.gymnasium import GymWorld
from cleandesk.bridges.rigs.driven import DrivenRig
from cleandesk.bridges.rigs.driver import PLAIN, Written, held, wrapped, written_call
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.provenance import made_of, model_of, version_of
from cleandesk.bridges.rigs.quiet import headless, quiet
from cleandesk.bridges.rigs.spaces import generators, part_of
from cleandesk.errors import WorldError, shown

_KNOWN_PACKAGES = ("ale_py",)
"""Packages that register environments and name Gymnasium as an extra only."""


class GymDriver:
    """One environment with Gymnasium's ``reset`` and ``step``."""

    def __init__(self, env: Any) -> None:
        """Drive ``env``, with whatever wraps it."""
        self._env = env
        self._roots = _roots(env)
        self._part = part_of(env.action_space)
        self._excitation = Excitation(self._part)
        self.harness = f"env.reset(seed=s), gymnasium {version_of('gymnasium')}"
        self.policy = POLICY
        is_arcade = any(
            str(type(owner).__module__).startswith("ale_py") for owner in self._roots.values()
        )
        self.own_stream = "the Arcade Learning Environment" if is_arcade else ""

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        observation, info = self._env.reset() if seed is None else self._env.reset(seed=seed)
        return Outcome(observation, info=info)

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        is_over = bool(terminated) or bool(truncated)
        return Outcome(observation, reward, terminated, truncated, info, is_over)

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._excitation.action(rng, k)

    def roots(self) -> dict[str, object]:
        """Return the owners of state."""
        return self._roots

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        return float(getattr(held(self._roots["env"], "data"), "time", steps))

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        return generators(self._roots)

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        found = made_of(self._roots.values())
        model = model_of(self._roots["env"])
        return {**found, "model": model} if model else found

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        return Script(
            imports=(*written.imports, "import numpy as np", PLAIN),
            make=written.make,
            reset=(
                "observation, info = env.reset(seed=seed)",
                "seen = plain((observation, None, False, False, info))",
            ),
            step=(
                "observation, reward, terminated, truncated, info = env.step("
                f"{self._part.expression('action')})",
                "seen = plain((observation, reward, terminated, truncated, info))",
                "over = bool(terminated or truncated)",
            ),
        )

    def close(self) -> None:
        """Release it."""
        self._env.close()


class GymMaker:
    """Makes rigs of what Gymnasium's registry holds."""

    def prepare(self, rest: str, recipe: Recipe) -> None:
        """Import what the environment needs.

        Raises:
            WorldError: CD-221 to CD-223, it is not there; CD-291, its package can't be imported.
        """
        headless()
        module, _, id = rest.rpartition(":")
        if id == "*":
            _require_import(module)
        try:
            with quiet():
                GymWorld.prepare(rest)
        except WorldError as error:
            if error.code != "CD-222":
                raise
            do = (
                f"{error.do}; what a conftest or a notebook registered is not known in the "
                "spawned process: register it in a module and write gym:MODULE:ID"
            )
            raise WorldError(error.code, error.message, where=error.where, do=do) from error
        if "num_envs" in recipe.arguments:
            importlib.import_module("gymnasium.vector")

    def make(self, rest: str, recipe: Recipe) -> Rig:
        """Return a rig of ``gymnasium.make``, or of ``make_vec`` with an argument ``num_envs``."""
        import gymnasium

        if "num_envs" in recipe.arguments:
            from cleandesk.bridges.rigs.vector import VectorDriver

            return DrivenRig(
                recipe,
                lambda: gymnasium.make_vec(rest, **_vector_settings(rest, recipe)),
                VectorDriver,
                written=_written("gym.make_vec", rest, recipe),
            )
        # The passive checker is no part of an evaluation and has state of its own.
        settings = {"disable_env_checker": True, **recipe.arguments}
        return DrivenRig(
            recipe,
            lambda: gymnasium.make(rest, **settings),
            GymDriver,
            written=_written("gym.make", rest, recipe),
        )

    def catalogue(self) -> list[str]:
        """Return a reference for every registered environment, also those of other packages.

        A package whose import fails is one reference, ``gym:PACKAGE:*``, which says why.
        """
        headless()
        with quiet():
            import gymnasium

            own = set(gymnasium.registry)
            found = [f"gym:{id}" for id in own]
            for module in _packages():
                try:
                    importlib.import_module(module)
                except Exception:  # noqa: BLE001 - a package may raise anything; it becomes a row
                    found.append(f"gym:{module}:*")
                    continue
                found += [f"gym:{module}:{id}" for id in set(gymnasium.registry) - own]
                own |= set(gymnasium.registry)
        return sorted(found)


def _roots(env: Any) -> dict[str, object]:
    inner = getattr(env, "unwrapped", env)
    roots = wrapped(env, "env", innermost=inner)
    if all(inner is not owner for owner in roots.values()):
        roots["unwrapped"] = inner
    return roots


def _vector_settings(rest: str, recipe: Recipe) -> dict[str, Any]:
    import gymnasium

    mode = str(recipe.arguments.get("vectorization_mode", ""))
    has_own = gymnasium.spec(rest.rpartition(":")[2]).vector_entry_point is not None
    is_own = has_own if not mode else mode.endswith("vector_entry_point")
    # What is made of single environments passes this on to each of them.
    settings = {} if is_own else {"disable_env_checker": True}
    return {**settings, **recipe.arguments}


def _written(call: str, rest: str, recipe: Recipe) -> Written:
    module, _, id = rest.rpartition(":")
    imports = ["import gymnasium as gym", *([f"import {module}"] if module else [])]
    if not module and id.startswith("ALE/"):
        imports.append("import ale_py")
    return Written(tuple(imports), written_call(call, recipe.arguments, repr(id)))


def _packages() -> list[str]:
    """Return the modules of installed packages that need Gymnasium."""
    found = {name for name in _KNOWN_PACKAGES if importlib.util.find_spec(name) is not None}
    for package in metadata.distributions():
        needs = [text for text in package.requires or () if "extra ==" not in text]
        if any(text.lower().startswith("gymnasium") for text in needs):
            found |= _modules_of(package)
    return sorted(found - {"gymnasium", "cleandesk"} - set(sys.stdlib_module_names))


def _modules_of(package: metadata.Distribution) -> set[str]:
    named = (package.read_text("top_level.txt") or "").split()
    if not named:
        named = [
            path.parts[0]
            for path in package.files or ()
            if len(path.parts) == 2 and path.name == "__init__.py"
        ]
    return {name for name in named if name.isidentifier()}


def _require_import(module: str) -> None:
    try:
        with quiet():
            importlib.import_module(module)
    except Exception as error:
        raise WorldError(
            "CD-291",
            f"the package {module} can't be imported: {type(error).__name__}: {shown(error)}",
            where=f"rig 'gym:{shown(module, 80)}:*'",
            do=f"make `python -c 'import {shown(module, 80)}'` work first",
        ) from error
