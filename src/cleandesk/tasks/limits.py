"""How much one episode may use before it ends, and how a task narrows its suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one episode; a limit of None is not set.

    Attributes:
        steps: Actions that the agent may take.
        agent_seconds: Wall time of one answer of the agent, in seconds.
        episode_agent_seconds: Wall time of all its answers together, in seconds.
        tokens: Tokens that the agent reports in one episode.
        usd: Cost that the agent reports in one episode, in US dollars.
        world_seconds: Wall time of one call to the world, in seconds. Reaching it is
            the world's failure and never the agent's.
    """

    steps: int = 200
    agent_seconds: float = 60.0
    episode_agent_seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None
    world_seconds: float = 60.0

    def narrowed(self, given: Mapping[str, Any]) -> Limits:
        """Return these limits with those of ``given`` in their place.

        Args:
            given: Names of limits to positive numbers, already checked.
        """
        return replace(self, **given)

    def to_plain(self) -> dict[str, Any]:
        """Return the limits as a dict of plain values, those not set included."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
