"""What the instrument is pointed at: a world together with the harness's way of resetting it.

A rig is made from a recipe in a process of its own and builds nothing until it is
asked to. Twelve members; four more are looked for and need not be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

CHANNELS = ("observation", "reward", "terminated", "truncated", "info")
"""What a step says, kept apart: each is hashed and compared by itself."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a rig is made from, in whichever process.

    Attributes:
        reference: ``gym:ID``, ``pettingzoo:FAMILY.NAME``, ``dm_control:DOMAIN.TASK``,
            ``module:factory``, ``file.py:factory`` or a registered world.
        arguments: Keyword arguments of what is built; plain values.
        reset: How the harness resets: ``seeded``, ``unseeded``, or a rig's own.
        path: Folders in which references are looked for.
    """

    reference: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reset: str = "seeded"
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one reset or step said.

    Attributes:
        observation: The observation.
        reward: The reward (None after a reset); a dict per agent where there are many.
        terminated: As the environment said it; a dict per agent where there are many.
        truncated: As ``terminated``.
        info: The info.
        is_over: Whether the episode has ended and a reset is due.
    """

    observation: Any
    reward: Any = None
    terminated: Any = False
    truncated: Any = False
    info: Any = None
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """State that the design means to vary from episode to episode.

    Attributes:
        pattern: Names fields of the walk, ``*`` for any one part of a path.
        sampler: What the value is drawn from: ``any``, ``choice a b``, ``uniform 0 1``,
            ``integers 0 9``, or words of a rig's own (then nothing is checked).
        why: A sentence.
    """

    pattern: str
    sampler: str
    why: str


class Rig(Protocol):
    """The twelve members. No base class is needed.

    Optional members: ``opaque(path) -> bytes | None`` (an engine's own dump of a handle
    that the walk can't read), ``outside() -> {probe: bytes}`` (state that no object
    holds), ``settle()`` (derive computed quantities again, without a step), and
    ``script() -> Script`` (how a person would write this rig down).

    Attributes:
        name: A stable id of the environment and what wraps it.
        harness: How it is reset, and by which version of what.
    """

    name: str
    harness: str

    def model_hash(self) -> str:
        """Return a digest of what a build is made of; after ``build``."""

    def build(self) -> None:
        """Construct it."""

    def reset(self, seed: int) -> Outcome:
        """Reset it exactly as the evaluation does."""

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action of an episode, drawn from ``rng`` alone.

        Args:
            rng: The instrument's own ``numpy.random.Generator``; never the rig's.
            k: Its number, from 0.
        """

    def roots(self) -> Mapping[str, object]:
        """Return the owners of state from which the walk begins, by name."""

    def clock(self) -> tuple[int, float]:
        """Return (steps since the last reset, simulated seconds)."""

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""

    def write(self, path: str, value: Any) -> None:
        """Put ``value`` into the field at ``path`` of the walk.

        It is asked where the walk itself can't put a field back; see ``Leaf.value``.

        Raises:
            LookupError: There is no such field now, or it can't be written.
        """

    def close(self) -> None:
        """Release what it holds."""


@dataclass(frozen=True, slots=True)
class Script:
    """How a person would write a rig down, for the script that reproduces a leak.

    Attributes:
        imports: Lines that import what the others need.
        make: An expression that builds one, such as ``gym.make("CartPole-v1")``.
        reset: Lines with ``env`` and ``seed``; they set ``seen`` to what the reset says.
        step: Lines with ``env`` and ``action``; they set ``seen``, a tuple of the
            channels, and ``over``, whether the episode ended.
    """

    imports: tuple[str, ...]
    make: str
    reset: tuple[str, ...]
    step: tuple[str, ...]
