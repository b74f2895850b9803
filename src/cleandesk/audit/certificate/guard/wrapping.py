"""The wrappers: each has the interface of what it wraps, and lets a guard see the resets."""

from __future__ import annotations

import functools
import importlib
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from cleandesk.audit.certificate.guard.asking import Referee
from cleandesk.audit.certificate.guard.findings import GuardReport
from cleandesk.audit.certificate.guard.reference import recipe_for
from cleandesk.audit.certificate.guard.watch import Guard, OnLeak, Terms
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.errors import UsageError, shown


def guard(
    env: Any,
    every: int = 100,
    *,
    reference: str | Recipe | None = None,
    on_leak: OnLeak = "warn",
    budget_share: float = 0.02,
    declare: Sequence[str] = (),
) -> Any:
    """Return ``env`` with every ``every``-th of its resets compared with a fresh build.

    Wrap it before its first reset. What the loop sees is what it would see without. The
    guard itself is ``env.guard``: ``report()``, ``collect(wait_s)`` and ``close()``.

    Args:
        env: An environment of Gymnasium (also a vector of them), PettingZoo or dm_env.
        every: How many resets there are from one that is checked to the next.
        reference: How a fresh one is built, as for ``certify``: ``gym:ID``,
            ``module:factory``, or a recipe. Read from the environment's spec where it has one.
        on_leak: ``warn`` (a ``LeakWarning``), ``raise``, or a function that is called with
            what was found.
        budget_share: The largest share of wall time taken from the loop; checks are fewer
            where they would take more.
        declare: Patterns of fields that are meant to vary.

    Raises:
        UsageError: CD-862, it is not known how a fresh one is built; CD-864, it can't be
            guarded from here.
    """
    if every < 1 or not 0 < budget_share <= 1:
        raise UsageError(
            "CD-864",
            f"every={shown(every, 20)}, budget_share={shown(budget_share, 20)} make no sense",
            where="guard(env)",
            do="give a number of resets from 1 on, and a share above 0 and up to 1",
        )
    terms = Terms(every, on_leak, budget_share)
    if _is_a(env, "gymnasium.vector", "VectorEnv"):
        return _guarded_vector(env, reference, terms, declare)
    recipe = recipe_for(env, reference)
    kind = _wrapper_of(env)
    referee = Referee(recipe, declare)
    made = kind(env, Guard(env, recipe.reference, referee, terms))
    weakref.finalize(made, referee.stop)
    return made


class Guards:
    """The guards of the slots of a vector environment."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        """Take one for each slot."""
        self.slots = tuple(guards)

    def report(self) -> tuple[GuardReport, ...]:
        """Return what each has done so far."""
        return tuple(each.report() for each in self.slots)

    def collect(self, wait_s: float = 0.0) -> None:
        """Take what has been answered, and tell of leaks."""
        for each in self.slots:
            each.collect(wait_s)

    def close(self) -> None:
        """Check no more."""
        for each in self.slots:
            each.close()


def _guarded_vector(
    env: Any, reference: str | Recipe | None, terms: Terms, declare: Sequence[str]
) -> Any:
    slots = getattr(env.unwrapped, "__dict__", {}).get("envs")
    if not isinstance(slots, list):
        raise UsageError(
            "CD-864",
            f"the slots of a {type(env.unwrapped).__name__} are not objects of this process",
            where="guard(env)",
            do="guard each where it is made: AsyncVectorEnv([lambda: guard(make()), ...])",
        )
    recipe = recipe_for(slots[0], reference)
    referee = Referee(recipe, declare)
    guards = []
    for number, slot in enumerate(slots):
        watching = Guard(slot, f"slot {number} of {recipe.reference}", referee, terms)
        guards.append(watching)
        # In its place: a slot that has ended is reset by the vector itself.
        slots[number] = _wrapper_of(slot)(slot, watching)
    env.guard = Guards(guards)
    weakref.finalize(env, referee.stop)
    return env


def _is_a(env: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(env, kind)


def _wrapper_of(env: Any) -> Any:
    for module, name, make in _KINDS:
        if _is_a(env, module, name):
            return make()
    if callable(getattr(env, "reset", None)) and callable(getattr(env, "step", None)):
        return _Plain
    raise UsageError(
        "CD-864",
        f"a {shown(type(env).__qualname__, 80)} has no reset and step",
        where="guard(env)",
        do="give an environment of Gymnasium, PettingZoo or dm_env",
    )


@functools.cache
def _of_gymnasium() -> Any:
    gymnasium: Any = importlib.import_module("gymnasium")

    class Guarded(gymnasium.Wrapper):  # type: ignore[misc]
        """An environment whose resets are watched."""

        def __init__(self, env: Any, guard: Guard) -> None:
            super().__init__(env)
            self.guard = guard

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return _through(
                self.guard,
                lambda: self.env.reset(seed=seed, options=options),
                seed,
                options,
            )

        def close(self) -> Any:
            _closed(self.guard)
            return super().close()

    return Guarded


@functools.cache
def _of_parallel() -> Any:
    utils: Any = importlib.import_module("pettingzoo.utils")
    return _of_many(utils.BaseParallelWrapper)


@functools.cache
def _of_aec() -> Any:
    utils: Any = importlib.import_module("pettingzoo.utils")
    return _of_many(utils.BaseWrapper)


def _of_many(kind: Any) -> Any:
    class Guarded(kind):  # type: ignore[misc]
        """An environment of many agents whose resets are watched."""

        def __init__(self, env: Any, guard: Guard) -> None:
            super().__init__(env)
            self.guard = guard

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            return _through(
                self.guard,
                lambda: super(Guarded, self).reset(seed=seed, options=options),
                seed,
                options,
            )

        def close(self) -> Any:
            _closed(self.guard)
            return super().close()

    return Guarded


@functools.cache
def _of_dm_env() -> Any:
    dm_env: Any = importlib.import_module("dm_env")

    class Guarded(_Plain, dm_env.Environment):  # type: ignore[misc]
        """An environment of dm_env whose resets are watched."""

        def step(self, action: Any) -> Any:
            return self._env.step(action)

        def observation_spec(self) -> Any:
            return self._env.observation_spec()

        def action_spec(self) -> Any:
            return self._env.action_spec()

        def reward_spec(self) -> Any:
            return self._env.reward_spec()

        def discount_spec(self) -> Any:
            return self._env.discount_spec()

    return Guarded


class _Plain:
    """Anything else with ``reset``: what is not said here is asked of what it wraps."""

    def __init__(self, env: Any, guard: Guard) -> None:
        self._env = env
        self.guard = guard

    def reset(self, *arguments: Any, **named: Any) -> Any:
        seed = named.get("seed")
        options = named.get("options") or arguments
        return _through(self.guard, lambda: self._env.reset(*arguments, **named), seed, options)

    def close(self) -> Any:
        _closed(self.guard)
        return self._env.close()

    def __getattr__(self, name: str) -> Any:
        if name == "_env":
            # Not set yet, as in a copy that is being made.
            raise AttributeError(name)
        return getattr(self._env, name)


def _through(watching: Guard | None, call: Any, seed: int | None, options: Any) -> Any:
    if watching is None:
        return call()
    return watching.reset(call, seed=seed, options=options)


def _closed(watching: Guard | None) -> None:
    if watching is not None:
        watching.close()


_KINDS = (
    ("gymnasium", "Env", _of_gymnasium),
    ("pettingzoo.utils.env", "ParallelEnv", _of_parallel),
    ("pettingzoo.utils.env", "AECEnv", _of_aec),
    ("dm_env", "Environment", _of_dm_env),
)
