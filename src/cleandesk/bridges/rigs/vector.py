"""Rigs over vector environments of Gymnasium: every slot is stepped, and named by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cleandesk.audit.certificate.rig import Declared, Outcome, Script
from cleandesk.bridges.rigs.driver import PLAIN, Written, held, wrapped
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.provenance import made_of, version_of
from cleandesk.bridges.rigs.spaces import generators, part_of


class VectorDriver:
    """A vector environment; where its slots are objects of this process, each is a root."""

    def __init__(self, env: Any) -> None:
        """Drive ``env``."""
        self._env = env
        self._roots = _roots(env)
        self._part = part_of(env.action_space)
        self._excitation = Excitation(self._part)
        mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
        self._autoreset = str(getattr(mode, "value", mode or "unknown"))
        self._resets_itself = self._autoreset != "Disabled"
        self.harness = (
            f"vector reset(seed=s) of {env.num_envs} slots, autoreset {self._autoreset}, "
            f"gymnasium {version_of('gymnasium')}"
        )
        self.policy = POLICY
        self.own_stream = "" if self._is_here else "each slot's process"
        self.is_forkable = self._is_here

    @property
    def _is_here(self) -> bool:
        return not any(name.startswith("Async") for name in _kinds(self._env))

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        observation, info = self._env.reset() if seed is None else self._env.reset(seed=seed)
        return Outcome(observation, info=info)

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        ended = np.logical_or(terminated, truncated)
        is_over = not self._resets_itself and bool(ended.any())
        return Outcome(observation, reward, terminated, truncated, info, is_over)

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
                f"over = {'False' if self._resets_itself else 'bool((terminated | truncated).any())'}",
            ),
        )

    def close(self) -> None:
        """Release it."""
        self._env.close()


def slots_of(env: Any) -> list[Any]:
    """Return the environments in the slots, or an empty list where they are not objects here."""
    inner = wrapped(env, "env")["env"]
    found = held(inner, "envs")
    return list(found) if isinstance(found, list | tuple) else []


def _roots(env: Any) -> dict[str, object]:
    roots = wrapped(env, "env")
    roots = {("vector" if name == "env" else name): owner for name, owner in roots.items()}
    for number, slot in enumerate(slots_of(env)):
        for name, owner in wrapped(slot, "env").items():
            roots[f"slot{number}" if name == "env" else f"slot{number}_{name}"] = owner
    return roots


def _kinds(env: Any) -> list[str]:
    return [type(owner).__name__ for owner in wrapped(env, "env").values()]
