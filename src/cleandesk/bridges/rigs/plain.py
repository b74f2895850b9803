"""Drivers of what has ``reset`` and ``step`` and is none of the known interfaces.

That is the old Gym (``step`` returns four values, ``seed`` is a method), and any object.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from cleandesk.audit.certificate.rig import Declared, Outcome, Script
from cleandesk.audit.certificate.streams import named, seed_all, seeding_lines, streams
from cleandesk.bridges.rigs.driver import PLAIN, Written, wrapped
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.parts import Fixed, Part
from cleandesk.bridges.rigs.provenance import made_of
from cleandesk.bridges.rigs.spaces import generators, part_of
from cleandesk.errors import WorldError, shown


class PlainDriver:
    """Any object with ``reset`` and ``step``.

    The seed goes where there is room for it: ``reset(seed=s)``, ``seed(s)`` before
    ``reset()``, or into each generator that the object owns.
    """

    def __init__(self, env: Any) -> None:
        """Drive ``env``."""
        self._env = env
        self._roots = wrapped(env, "env")
        self._part = _part(env)
        self._excitation = Excitation(self._part)
        self._way = _way_of_seeding(env)
        self.harness = _WAYS[self._way]
        if self._way == "streams":
            self.harness += f" ({named(streams(self._roots))})"
        self.policy = POLICY
        self.own_stream = ""

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        if seed is None:
            said = self._env.reset()
        elif self._way == "argument":
            said = self._env.reset(seed=seed)
        else:
            if self._way == "method":
                self._env.seed(seed)
            else:
                seed_all(streams(self._roots), seed)
            said = self._env.reset()
        if isinstance(said, tuple) and len(said) == 2 and isinstance(said[1], dict):
            return Outcome(said[0], info=said[1])
        return Outcome(said)

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        said = self._env.step(action)
        held = said if isinstance(said, tuple) else (said,)
        if len(held) == 5:
            is_over = bool(held[2]) or bool(held[3])
            return Outcome(*held, is_over)
        if len(held) == 4:
            observation, reward, done, info = held
            is_cut = isinstance(info, Mapping) and bool(info.get("TimeLimit.truncated", False))
            ended = bool(done)
            return Outcome(observation, reward, ended and not is_cut, ended and is_cut, info, ended)
        return Outcome(said)

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._excitation.action(rng, k)

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
        if self._way == "argument":
            reset: tuple[str, ...] = ("said = env.reset(seed=seed)",)
        elif self._way == "method":
            reset = ("env.seed(seed)", "said = env.reset()")
        else:
            reset = (*(seeding_lines(streams({"env": self._env})) or ()), "said = env.reset()")
        return Script(
            imports=(*written.imports, "import numpy as np", PLAIN),
            make=written.make,
            reset=(*reset, "seen = plain(said)"),
            step=(
                f"said = env.step({self._part.expression('action')})",
                "seen = plain(said)",
                "over = isinstance(said, tuple) and (bool(said[2]) or "
                "(len(said) == 5 and bool(said[3])))",
            ),
        )

    def close(self) -> None:
        """Release it."""
        close = getattr(self._env, "close", None)
        if callable(close):
            close()


_WAYS = {
    "argument": "reset(seed=s)",
    "method": "seed(s), then reset()",
    "streams": "reset() takes no seed: each generator that it owns is put in the state of "
    "a new one seeded with s, then reset()",
}


def _way_of_seeding(env: Any) -> str:
    try:
        parameters = inspect.signature(env.reset).parameters
    except (TypeError, ValueError):
        return "streams"
    takes_any = any(item.kind is item.VAR_KEYWORD for item in parameters.values())
    if "seed" in parameters or takes_any:
        return "argument"
    return "method" if callable(getattr(env, "seed", None)) else "streams"


def _part(env: Any) -> Part:
    space = getattr(env, "action_space", None)
    if space is not None:
        return part_of(space)
    actions = getattr(env, "actions", None)
    if isinstance(actions, list | tuple) and actions:
        return Fixed(list(actions))
    if not _takes_action(env):
        return Fixed([None])
    raise WorldError(
        "CD-295",
        f"nothing says which actions {shown(type(env).__qualname__, 80)} takes",
        where="it has neither action_space nor a list `actions`",
        do="give it one of these, or return a rig of your own with the twelve members",
    )


def _takes_action(env: Any) -> bool:
    try:
        inspect.signature(env.step).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
