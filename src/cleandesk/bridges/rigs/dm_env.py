"""Rigs over environments with dm_env's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cleandesk.audit.certificate.rig import Declared, Outcome, Script
from cleandesk.audit.certificate.streams import named, seed_all, seeding_lines, streams
from cleandesk.bridges.rigs.driver import PLAIN, Written, held, wrapped
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.provenance import made_of, model_of, version_of
from cleandesk.bridges.rigs.specs import part_of_spec


class DmEnvDriver:
    """One environment whose ``reset`` and ``step`` return a ``TimeStep``.

    The interface knows no seed: its ``reset()`` goes on drawing from the generators that the
    environment was constructed with. A seeded reset puts each of these first in the state
    of a new one with that seed, and the harness says so.
    """

    def __init__(self, env: Any) -> None:
        """Drive ``env``, with whatever wraps it."""
        self._env = env
        self._roots = wrapped(env, "_env", "env", "_environment")
        self._part = part_of_spec(env.action_spec())
        self._excitation = Excitation(self._part)
        self.harness = (
            "the generators that the environment owns "
            f"({named(streams(self._roots))}) in the state of new ones seeded with s, then "
            f"env.reset(), dm_env {version_of('dm_env')}"
        )
        self.policy = POLICY
        self.own_stream = ""

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        if seed is not None:
            seed_all(streams(self._roots), seed)
        return _outcome(self._env.reset())

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        return _outcome(self._env.step(action))

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._excitation.action(rng, k)

    def roots(self) -> dict[str, object]:
        """Return the owners of state."""
        return self._roots

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        physics = held(self._roots["env"], "_physics")
        return float(physics.data.time) if physics is not None else float(steps)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        return []

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        inner = self._roots["env"]
        task = held(inner, "_task")
        owners = [*self._roots.values(), *([task] if task is not None else [])]
        model = model_of(held(inner, "_physics"))
        return {**made_of(owners), **({"model": model} if model else {})}

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        lines = seeding_lines(streams({"env": self._env})) or ()
        return Script(
            imports=(*written.imports, "import numpy as np", PLAIN),
            make=written.make,
            reset=(*lines, "said = env.reset()", _SEEN),
            step=(
                f"said = env.step({self._part.expression('action')})",
                _SEEN,
                "over = said.last()",
            ),
        )

    def close(self) -> None:
        """Release it."""
        close = getattr(self._env, "close", None)
        if callable(close):
            close()


_SEEN = "seen = plain((said.observation, said.reward, said.discount, int(said.step_type)))"


def _outcome(said: Any) -> Outcome:
    observation = said.observation
    if isinstance(observation, Mapping):
        observation = dict(observation)
    ended = bool(said.last())
    is_terminal = ended and said.discount is not None and not bool(_largest(said.discount))
    info = {"discount": said.discount, "step_type": int(said.step_type)}
    return Outcome(observation, said.reward, is_terminal, ended and not is_terminal, info, ended)


def _largest(discount: Any) -> Any:
    # One for each agent, in some environments.
    return discount.max() if getattr(discount, "shape", ()) else discount
