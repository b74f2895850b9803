"""One rig in a process of its own: built, reset, played, traced and looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.recipes import rig_of
from cleandesk.audit.certificate.rig import Outcome, Recipe, Rig
from cleandesk.audit.certificate.rows import Rows
from cleandesk.audit.certificate.walk import Walk, walk, write

_UNFIT = frozenset({"CD-294", "CD-295", "CD-296"})
Action = Callable[[int], Any]


class RigRaisedError(Exception):
    """The rig itself raised; the cause is what it raised."""

    def __init__(self, stage: str, error: BaseException) -> None:
        super().__init__(stage)
        self.stage = stage
        self.error = error


@dataclass(frozen=True, slots=True)
class Trace:
    """A judged reset and the steps after it.

    Attributes:
        rows: What was said.
        returned: Sum of the rewards.
        endings: How the episodes of the trace ended: terminated, truncated, cut.
        actions: The actions, where they were asked for.
        raised: What was raised, as text, or empty.
        not_given: What should have been given to the rig before its reset and could not.
    """

    rows: Rows
    returned: float
    endings: Mapping[str, int]
    actions: tuple[Any, ...] = ()
    raised: str = ""
    not_given: tuple[str, ...] = ()


class Device:
    """A rig and what the instrument does with it.

    Attributes:
        recipe: What it is made from.
        rig: The rig.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.rig: Rig = rig_of(recipe)

    def build(self) -> None:
        """Build the rig.

        Raises:
            RigRaisedError: It raised.
            WorldError: CD-294, 295 or 296, what was asked for does not fit the rig.
        """
        try:
            self.rig.build()
        except Exception as error:
            if getattr(error, "code", "") in _UNFIT:
                raise
            raise RigRaisedError("build", error) from error

    def look(self) -> Walk:
        """Walk over all that is reachable."""
        return walk(self.rig.roots())

    def reset(self, seed: int) -> Outcome:
        """Reset as the harness resets.

        Raises:
            RigRaisedError: The rig raised.
        """
        try:
            return self.rig.reset(seed)
        except Exception as error:
            raise RigRaisedError(f"reset(seed={seed})", error) from error

    def play(self, episode: Mapping[str, Any]) -> dict[str, Any]:
        """Play one episode, to its end or to the number of steps.

        Args:
            episode: ``seed``, ``rng`` (ints that seed the instrument's generator), ``steps``,
                and ``actions`` where they are given and not drawn; ``keep`` to have the
                actions returned.

        Returns:
            ``steps``, ``ended`` (terminated, truncated or cut), ``return`` and ``actions``.

        Raises:
            RigRaisedError: The rig raised.
        """
        draw = self._actions(episode)
        self.reset(episode["seed"])
        total, taken, ended = 0.0, [], "cut"
        done = 0
        for done in range(1, episode["steps"] + 1):
            action = draw(done - 1)
            if episode.get("keep"):
                taken.append(action)
            outcome = self._step(action, done)
            total += _number(outcome.reward)
            if outcome.is_over:
                ended = ending(outcome)
                break
        return {"actions": taken, "ended": ended, "return": total, "steps": done}

    def trace(
        self, plan: Mapping[str, Any], after_reset: Callable[[], None] | None = None
    ) -> Trace:
        """Reset, and go on for a number of steps; ended episodes are reset and go on.

        Args:
            plan: ``seed``, ``rng``, ``steps``, and ``actions`` or ``keep`` as in ``play``;
                ``state``, where the streams of this rig are first to be put where those
                of another one stood before its reset; ``kept``, fields that it is given.
            after_reset: Called between the judged reset and the first step.

        Returns:
            The trace. Where the rig raises, the last row says so.
        """
        rows, endings = Rows(), Counter[str]()
        draw, taken = self._actions(plan), []
        total, raised, done = 0.0, "", 0
        not_given: list[str] = []
        try:
            if plan.get("state") is not None:
                # Where a rig tells its streams it takes them too.
                self.rig.prepare_reset(plan["state"])  # type: ignore[attr-defined]
            not_given = self._give(plan.get("kept") or {})
            rows.add(self.reset(plan["seed"]), 0)
            if after_reset is not None:
                after_reset()
            for done in range(1, plan["steps"] + 1):
                action = draw(done - 1)
                if plan.get("keep"):
                    taken.append(action)
                outcome = self._step(action, done)
                rows.add(outcome, done)
                total += _number(outcome.reward)
                if outcome.is_over:
                    endings[ending(outcome)] += 1
                    rows.add(self.reset(plan["seed"] + endings.total()), done)
        except RigRaisedError as error:
            raised = f"{error.stage}: {type(error.error).__name__}: {error.error}"
            rows.add_error(error.error, done)
        return Trace(rows, total, dict(endings), tuple(taken), raised, tuple(not_given))

    def _give(self, kept: Mapping[str, bytes]) -> list[str]:
        """Put fields of another rig into this one; return those that can't be put."""
        left: list[str] = []
        roots = self.rig.roots() if kept else {}
        for path, data in sorted(kept.items()):
            try:
                write(roots, path, Leaf.from_bytes(data))
            except LookupError:
                left.append(path)
        return left

    def _step(self, action: Any, number: int) -> Outcome:
        try:
            return self.rig.step(action)
        except Exception as error:
            raise RigRaisedError(f"step {number}", error) from error

    def _actions(self, plan: Mapping[str, Any]) -> Action:
        given = plan.get("actions")
        if given is not None:
            return lambda k: given[k % len(given)]
        rng = np.random.default_rng(list(plan["rng"]))
        return lambda k: self.rig.action(rng, k)


def ending(outcome: Outcome) -> str:
    """Return how an episode ended: ``terminated`` or ``truncated``."""
    said = outcome.truncated
    is_truncated = any(said.values()) if isinstance(said, Mapping) else bool(said)
    return "truncated" if is_truncated and not _is_true(outcome.terminated) else "terminated"


def _is_true(said: Any) -> bool:
    return any(said.values()) if isinstance(said, Mapping) else bool(said)


def _number(reward: Any) -> float:
    """Return a reward as one number: of many agents the sum."""
    if reward is None:
        return 0.0
    if isinstance(reward, Mapping):
        return float(sum(map(_number, reward.values())))
    try:
        return float(np.sum(reward))
    except (TypeError, ValueError):
        return 0.0
