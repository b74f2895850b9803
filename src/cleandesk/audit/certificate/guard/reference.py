"""How a fresh one of a live environment is built: as it was said, or as its spec has it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from cleandesk.audit.certificate.rig import Recipe
from cleandesk.errors import CleandeskError, UsageError, shown
from cleandesk.state import encode

_UNSEEDED = "unseeded"


def recipe_for(env: Any, reference: str | Recipe | None) -> Recipe:
    """Return the recipe of a fresh build of ``env``.

    Raises:
        UsageError: CD-862, it is not known.
    """
    if isinstance(reference, str):
        return Recipe(reference, reset=_UNSEEDED)
    if isinstance(reference, Recipe):
        return Recipe(reference.reference, reference.arguments, _UNSEEDED, reference.path)
    spec = getattr(env, "spec", None) if "gymnasium" in sys.modules else None
    if spec is None:
        raise _unknown("it has no spec from which a fresh one could be built")
    arguments = dict(_arguments(env, spec))
    try:
        encode(arguments)
    except CleandeskError as error:
        raise _unknown(f"it was made with arguments that can't be sent: {error}") from error
    return Recipe(f"gym:{_package(spec)}{spec.id}", arguments, _UNSEEDED)


def _package(spec: Any) -> str:
    if not isinstance(spec.entry_point, str):
        raise _unknown("it was registered with an object, which no other process can import")
    package = spec.entry_point.partition(":")[0].partition(".")[0]
    if package == "__main__":
        raise _unknown("it was registered by the program itself, which no other process imports")
    return "" if package == "gymnasium" else f"{package}:"


def _arguments(env: Any, spec: Any) -> Iterator[tuple[str, Any]]:
    import gymnasium

    for name, value in spec.kwargs.items():
        # A window for a copy that nobody looks at would be opened and never closed.
        if name != "render_mode" or value != "human":
            yield name, value
    registered = gymnasium.registry.get(spec.id)
    usual = registered.max_episode_steps if registered is not None else None
    if spec.max_episode_steps != usual:
        limit = spec.max_episode_steps
        yield "max_episode_steps", -1 if limit is None else limit
    if "PassiveEnvChecker" in _layers(env):
        yield "disable_env_checker", False


def _layers(env: Any) -> set[str]:
    names = set()
    while env is not None:
        names.add(type(env).__name__)
        env = getattr(env, "__dict__", {}).get("env")
    return names


def _unknown(why: str) -> UsageError:
    return UsageError(
        "CD-862",
        f"a guard needs to build a fresh one of this environment: {shown(why, 300)}",
        where="guard(env)",
        do='pass reference="gym:ID", reference="module:factory" (a function that returns one), '
        "or a recipe with its arguments",
    )
