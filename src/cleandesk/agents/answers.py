"""How an agent ends an episode: that it is done, or that the task can't be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """The agent says that it has finished.

    Attributes:
        answer: What it answers, a plain value, or None where nothing was asked.
    """

    answer: Any = None


@dataclass(frozen=True, slots=True)
class Infeasible:
    """The agent says that the task can't be done; right only where that is so.

    Attributes:
        reason: Why, in the agent's words; logged and never scored.
    """

    reason: str = ""


def done(answer: Any = None) -> Done:
    """Return the answer that ends an episode; ``act`` returns it in place of an action."""
    return Done(answer)


def infeasible(reason: str = "") -> Infeasible:
    """Return the answer FAIL; ``act`` returns it in place of an action."""
    return Infeasible(reason)
