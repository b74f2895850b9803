"""Small rigs of another shape: an environment and a policy that has state of its own.

``stub:clean`` resets both. ``stub:leaky`` leaves the policy's memory, so that an episode
is still wearing the last one. ``stub:jitter`` adds to every step a push of the size of
its argument ``jitter`` that comes from the machine's entropy; pushes die out, so that two
builds end close to one another. With ``jitter=0`` it is its own control.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Rig, Script
from cleandesk.bridges.rigs.driven import SEEDED, DrivenRig
from cleandesk.bridges.rigs.driver import Written
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.parts import Grid
from cleandesk.bridges.rigs.provenance import made_of
from cleandesk.errors import WorldError, shown

VARIANTS = ("clean", "leaky", "jitter")
_JITTER = 1e-8
_SIZE = 4
_EPISODE_STEPS = 120


class Plant:
    """What is controlled: a point that comes to rest where it is not pushed.

    Attributes:
        place: Where it is.
        goal: Where it should be; drawn at each reset.
        steps: Steps of this episode.
    """

    def __init__(self, jitter: float) -> None:
        self.place = np.zeros(_SIZE)
        self.goal = np.zeros(_SIZE)
        self.steps = 0
        self._jitter = jitter

    def reset(self, seed: int) -> None:
        """Draw a place and a goal."""
        rng = np.random.default_rng(seed)
        self.place = rng.uniform(-1.0, 1.0, _SIZE)
        self.goal = rng.uniform(-1.0, 1.0, _SIZE)
        self.steps = 0

    def step(self, push: Any) -> float:
        """Move, and return minus the distance to the goal."""
        self.place = 0.5 * self.place + 0.5 * push
        if self._jitter:
            drawn = np.frombuffer(os.urandom(_SIZE), np.uint8) / 255.0 - 0.5
            self.place += self._jitter * drawn
        self.steps += 1
        return -float(np.abs(self.place - self.goal).sum())


class Policy:
    """A controller with a memory.

    Attributes:
        memory: A running mean of what it saw.
    """

    def __init__(self) -> None:
        self.memory = np.zeros(_SIZE)

    def reset(self) -> None:
        """Forget."""
        self.memory = np.zeros(_SIZE)

    def act(self, error: Any) -> Any:
        """Return a push towards the goal."""
        self.memory = 0.8 * self.memory + 0.2 * error
        return 0.4 * error + 0.3 * self.memory


class StubDriver:
    """Environment and policy in a loop; an action is a disturbance of the policy's push."""

    def __init__(self, variant: str, jitter: float) -> None:
        self._env = Plant(jitter)
        self._policy = Policy()
        self._forgets = variant != "leaky"
        self._excitation = Excitation(Grid(-np.ones(_SIZE), np.ones(_SIZE), np.float64))
        self.harness = "env.reset(s), policy.reset()" if self._forgets else "env.reset(s) alone"
        self.policy = f"{POLICY}, over a policy with state of its own"
        self.own_stream = ""

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        self._env.reset(seed or 0)
        if self._forgets:
            self._policy.reset()
        return Outcome(self._env.place.copy(), info={})

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        push = self._policy.act(self._env.goal - self._env.place)
        reward = self._env.step(push + 0.1 * action)
        is_over = self._env.steps >= _EPISODE_STEPS
        return Outcome(self._env.place.copy(), reward, truncated=is_over, info={}, is_over=is_over)

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._excitation.action(rng, k)

    def roots(self) -> dict[str, object]:
        """Return the owners of state."""
        return {"env": self._env, "policy": self._policy}

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        return float(steps)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        return []

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        return made_of([self._env, self._policy])

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        del written
        return None

    def close(self) -> None:
        """Release nothing."""


class StubMaker:
    """Makes the stubs."""

    def prepare(self, rest: str, recipe: Recipe) -> None:
        """Check the name.

        Raises:
            WorldError: CD-291, there is no such stub.
        """
        del recipe
        if rest not in VARIANTS:
            raise WorldError(
                "CD-291",
                f"there is no stub {shown(repr(rest), 40)}",
                where="rigs of the scheme stub",
                do=f"there are: {', '.join(VARIANTS)}",
            )

    def make(self, rest: str, recipe: Recipe) -> Rig:
        """Return the rig; ``stub:jitter`` takes the argument ``jitter``.

        Raises:
            WorldError: CD-291 or CD-213, there is no such stub or argument.
        """
        self.prepare(rest, recipe)
        given = dict(recipe.arguments)
        jitter = given.pop("jitter", _JITTER) if rest == "jitter" else 0.0
        is_number = isinstance(jitter, int | float) and jitter >= 0
        if given or not is_number:
            raise WorldError(
                "CD-213",
                f"the rig takes no argument {next(iter(given), f'jitter={jitter!r}')}",
                where=f"rig 'stub:{rest}'",
                do="it takes: jitter, a number" if rest == "jitter" else "it takes: no argument",
            )
        size = float(jitter)
        return DrivenRig(recipe, lambda: None, lambda _: StubDriver(rest, size), modes=(SEEDED,))

    def catalogue(self) -> list[str]:
        """Return every stub."""
        return [f"stub:{variant}" for variant in VARIANTS]
