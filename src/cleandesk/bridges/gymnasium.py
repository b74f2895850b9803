"""Published environments of Gymnasium as worlds: ``gym:ID`` and ``gym:module:ID``.

The default contract reads what is plain: the latest observation and info, the state of
the generator, and the plain attributes of the unwrapped environment and its wrappers.
Everything else is listed under ``not_read``.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from cleandesk.errors import WorldError, shown
from cleandesk.state.canon import encode
from cleandesk.state.contract import Contract, contract
from cleandesk.surfaces.objects import flatten, objects
from cleandesk.worlds.at import At
from cleandesk.worlds.spaces import describe_space

__all__ = ["GymWorld", "describe_space"]

# The wrapper's link to what it wraps, and what it was made from; no state of a run.
_WRAPPER_FIELDS = frozenset({"env", "_metadata", "_cached_spec", "_saved_kwargs"})
_ENGINES = {"box2d": "Box2D", "mujoco": "mujoco"}

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class GymWorld:
    """One environment, made by ``gymnasium.make``.

    Attributes:
        env: The environment, as it was made.
        contract: Its default contract; the version names the packages it comes from.
        observation: The latest observation.
        info: The latest info, as far as it can be read.
    """

    def __init__(
        self, id: str, at: At | None = None, *, unseeded_resets: int = 0, **kwargs: Any
    ) -> None:
        """Make the environment; it is not reset yet.

        Args:
            id: As ``gymnasium.make`` takes it: ``CartPole-v1`` or ``module:ID``.
            at: The place; an environment knows nothing of it.
            unseeded_resets: How many resets without a seed follow the seeded one.
            kwargs: For ``gymnasium.make``.

        Raises:
            WorldError: CD-221, Gymnasium is not installed; CD-222, there is no such
                environment; CD-223, it could not be made.
        """
        if type(unseeded_resets) is not int or unseeded_resets < 0:
            raise WorldError(
                "CD-223",
                f"{shown(repr(unseeded_resets), 40)} is no number of resets",
                where=f"world 'gym:{shown(id, 80)}', with.unseeded_resets",
                do="write 0 or more",
            )
        self.at = at
        self.env = _made(id, kwargs)
        self.contract = _default_contract(id, self.env)
        self.action_space = self.env.action_space
        self.observation_space = self.env.observation_space
        self.observation: Any = None
        self.info: dict[str, Any] = {}
        self._unseeded_resets = unseeded_resets
        self._is_misfit_noted = False
        self._unread_info: list[str] = []
        self._unread: list[str] | None = None

    @staticmethod
    def prepare(id: str) -> None:
        """Import what ``id`` needs, so that a fork of this process need not.

        Raises:
            WorldError: CD-221, CD-222 or CD-223, as the constructor.
        """
        point = _spec(_gymnasium(), id).entry_point
        if isinstance(point, str):
            with _quiet():
                importlib.import_module(point.partition(":")[0])
        importlib.import_module("cleandesk.bridges.fitting")

    def spaces(self) -> dict[str, Any] | None:
        """Return the description of the actions, for agents; see ``worlds/spaces.py``."""
        return describe_space(self.action_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset with ``seed``, then as often without one as ``unseeded_resets`` says."""
        observation, info = self.env.reset(seed=seed, options=options)
        for _ in range(self._unseeded_resets):
            observation, info = self.env.reset(options=options)
        self._is_misfit_noted = False
        return self._shown(observation, info)

    def step(self, action: Any) -> Step:
        """Carry out ``action``.

        Returns:
            observation, reward, terminated, truncated, info. An action outside the action
            space is not carried out: ``info["action_error"]`` says why, and the reward
            is 0. ``info["observation_error"]`` says, once an episode, that an
            observation lies outside the observation space.
        """
        # Imported here because it imports Gymnasium, which the constructor has found.
        from cleandesk.bridges.fitting import MisfitError, fitted, plain_copy

        try:
            taken = fitted(self.action_space, action)
        except MisfitError as error:
            return plain_copy(self.observation), 0.0, False, False, {"action_error": str(error)}
        observation, reward, terminated, truncated, info = self.env.step(taken)
        observation, info = self._shown(observation, info)
        return observation, float(reward), bool(terminated), bool(truncated), info

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    @property
    def generator(self) -> Any:
        """The state of the environment's generator, or None as long as it has none."""
        # By __dict__: asking for np_random would make and seed one (law 2).
        held = vars(self.env.unwrapped).get("_np_random")
        state = getattr(getattr(held, "bit_generator", None), "state", None)
        return state if state is None or _is_readable(state) else None

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that can be read as a whole, those of wrappers after their class."""
        return self._sorted_out()[0]

    @property
    def not_read(self) -> tuple[str, ...]:
        """What is known to be there and is not read."""
        unread = self._unread if self._unread is not None else self._sorted_out()[1]
        return (*unread, *self._unread_info, "the spaces' own generators (the agent's side)")

    def _sorted_out(self) -> tuple[dict[str, Any], list[str]]:
        """Return the attributes that can be read, and the names of the others."""
        readable: dict[str, Any] = {}
        self._unread = []
        for name, value in self._attributes():
            if _is_readable(value):
                readable[name] = value
            else:
                owner = "env" if "." in name else "env.unwrapped"
                self._unread.append(f"{owner}.{name} ({_kind(value)})")
        return readable, self._unread

    def _attributes(self) -> Iterator[tuple[str, Any]]:
        inner = self.env.unwrapped
        for name, value in vars(inner).items():
            if name != "_np_random" and not _is_space(value):
                yield name, value
        state = _mujoco_state(inner)
        if state is not None:
            yield "data (integration state)", state
        seen: set[str] = set()
        wrapper = self.env
        while wrapper is not inner:
            kind = type(wrapper).__name__
            place = f"{kind}#{len(seen)}" if kind in seen else kind
            seen.add(place)
            for name, value in vars(wrapper).items():
                if name not in _WRAPPER_FIELDS and not _is_space(value):
                    yield f"{place}.{name}", value
            wrapper = wrapper.env

    def _shown(self, observation: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Keep the observation and info, and return copies that the caller may change."""
        from cleandesk.bridges.fitting import misfit, plain_copy

        self.observation = plain_copy(observation)
        self.info, self._unread_info = {}, []
        for key, value in info.items():
            try:
                held = plain_copy(value)
                encode(held)
            except Exception:  # noqa: BLE001 -- a foreign object may refuse in any way
                self._unread_info.append(f"info[{key!r}] ({_kind(value)})")
            else:
                self.info[key] = held
        given = plain_copy(self.info)
        if not self._is_misfit_noted:
            problem = misfit(self.observation_space, observation, "the observation")
            if problem:
                self._is_misfit_noted = True
                given["observation_error"] = problem
        return plain_copy(self.observation), given


def _gymnasium() -> Any:
    # pygame, which many environments import, greets on stdout unless told not to.
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        return importlib.import_module("gymnasium")
    except ModuleNotFoundError as error:
        raise WorldError(
            "CD-221",
            f"worlds named gym:ID need the module {error.name!r}, which is not installed",
            where="bridge 'gym'",
            do="pip install 'cleandesk[gym]'",
        ) from error


def _spec(gymnasium: Any, id: str) -> Any:
    """Return the registered spec of ``id``, importing the module that it names."""
    try:
        with _quiet():
            module, _, name = id.rpartition(":")
            if module:
                importlib.import_module(module)
            return gymnasium.spec(name)
    except gymnasium.error.UnregisteredEnv as error:
        raise _no_environment(gymnasium, id) from error
    except Exception as error:
        raise _not_made(id, error) from error


def _made(id: str, kwargs: dict[str, Any]) -> Any:
    gymnasium = _gymnasium()
    _spec(gymnasium, id)
    # The spaces are checked here, with words; the passive checker would only warn.
    settings = {"disable_env_checker": True, **kwargs}
    try:
        with _quiet():
            return gymnasium.make(id, **settings)
    except gymnasium.error.UnregisteredEnv as error:
        raise _no_environment(gymnasium, id) from error
    except Exception as error:
        raise _not_made(id, error) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out warnings about rendering, which nothing here does, and those of SWIG."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*render", category=UserWarning)
        # Box2D's import crashes the interpreter where this warning is an error.
        warnings.filterwarnings("ignore", message="builtin type .* has no __module__ attribute")
        yield


def _no_environment(gymnasium: Any, id: str) -> WorldError:
    name = id.rpartition(":")[2]
    # Near enough to be a slip: names of one package are all a little alike.
    near = difflib.get_close_matches(name, list(gymnasium.registry), n=3, cutoff=0.75)
    package = shown(name.rpartition("/")[0] or "MODULE", 80)
    module = "" if ":" in id else f" (an id of another package is written gym:{package}:ID)"
    return WorldError(
        "CD-222",
        f"Gymnasium knows no environment {shown(repr(name), 80)}",
        where=f"world 'gym:{shown(id, 80)}'",
        do=f"did you mean {', '.join(near)}?" if near else f"check the id{module}",
    )


def _not_made(id: str, error: Exception) -> WorldError:
    module = id.rpartition(":")[0]
    is_absent = bool(module) and isinstance(error, ModuleNotFoundError) and error.name == module
    make = "make `gymnasium.make` of it work first, with the same arguments"
    return WorldError(
        "CD-223",
        f"the environment could not be made: {type(error).__name__}: {shown(error, 300)}",
        where=f"world 'gym:{shown(id, 80)}'",
        do="check the module's name and the folder" if is_absent else make,
    )


def _default_contract(id: str, env: Any) -> Contract:
    package = sys.modules.get(type(env.unwrapped).__module__.partition(".")[0])
    home = str(Path(getattr(package, "__file__", None) or os.devnull).parent)
    # Where a package lies differs between two machines and is not state.
    ignore = {
        f"attributes.{name}": "where the package is installed"
        for name, value in vars(env.unwrapped).items()
        if type(value) is str and value.startswith(home + os.sep)
    }
    tables = ("observation", "info", "generator", "attributes")
    return contract(f"gym:{id}", _versions(env), env=objects(*tables, ignore=ignore))


def _versions(env: Any) -> str:
    path = type(env.unwrapped).__module__.split(".")
    names = ["gymnasium", path[0], *(name for part, name in _ENGINES.items() if part in path)]
    return ", ".join(f"{name} {_version(name)}" for name in dict.fromkeys(names))


def _version(module: str) -> str:
    held = getattr(sys.modules.get(module), "__version__", None)
    if isinstance(held, str):
        return held
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _mujoco_state(env: Any) -> Any:
    """Return everything that MuJoCo's next step depends on, or None elsewhere."""
    mujoco: Any = sys.modules.get("mujoco")
    model, data = getattr(env, "model", None), getattr(env, "data", None)
    if mujoco is None or not isinstance(data, mujoco.MjData):
        return None
    import numpy as np

    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    return state


def _is_space(value: Any) -> bool:
    gymnasium: Any = sys.modules["gymnasium"]
    return isinstance(value, gymnasium.Space)


def _is_readable(value: Any) -> bool:
    try:
        encode(flatten(value))
    except Exception:  # noqa: BLE001 -- foreign objects raise anything when they are looked at
        return False
    return True


def _kind(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return f"{type(value).__name__} of {_kind(value[0])}"
    # Types that SWIG makes have no module.
    package = getattr(type(value), "__module__", "builtins").partition(".")[0]
    return type(value).__name__ if package == "builtins" else f"{package} {type(value).__name__}"
