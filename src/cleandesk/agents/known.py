"""Agents whose right score is known before they run.

A checker is trusted once they have shown what it does (law 11): one that does nothing
and one that says of every task that it can't be done must fail; one that acts at random
shows what luck alone earns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from cleandesk.agents.answers import Done, Infeasible, done, infeasible
from cleandesk.errors import AgentError, shown
from cleandesk.seeding import Stream


class Nop:
    """Says at once that it is done."""

    def act(self, observation: Any) -> Done:  # noqa: ARG002 -- it looks at nothing
        """End the episode without an action."""
        return done()


class AlwaysFail:
    """Says at once that the task can't be done."""

    def act(self, observation: Any) -> Infeasible:  # noqa: ARG002 -- it looks at nothing
        """End the episode with the answer FAIL."""
        return infeasible("it says so of every task")


class Random:
    """Takes actions at random from the action space, each equally likely.

    Where the world has no action space there is nothing to draw from: it says that it
    is done. A direction of a box without an end is drawn from the exponential
    distribution beyond the other end, one without both from the normal distribution.
    """

    def __init__(self) -> None:
        self._space: Mapping[str, Any] | None = None
        self._rng = Stream(b"")

    def start(self, action_space: Mapping[str, Any] | None, rng: Stream) -> None:
        """Begin an episode.

        Args:
            action_space: A description as ``worlds/spaces.py`` makes it, or None.
            rng: The agent's own stream.
        """
        self._space = action_space
        self._rng = rng

    def act(self, observation: Any) -> Any:  # noqa: ARG002 -- it looks at nothing
        """Return an action: plain values, or ``done()`` where there is no action space."""
        return done() if self._space is None else sample(self._space, self._rng)


def sample(space: Mapping[str, Any], rng: Stream) -> Any:
    """Return a member of ``space`` as plain values: numbers, texts, lists, dicts.

    Args:
        space: A description as ``worlds/spaces.py`` makes it.
        rng: Where the choices come from.

    Raises:
        AgentError: CD-351, a kind of space that can't be drawn from.
    """
    draw = _DRAWS.get(str(space["kind"]))
    if draw is None:
        raise AgentError(
            "CD-351",
            f"the random agent can't draw from {shown(space.get('text', space['kind']), 80)}",
            where="its action space",
            do="use an agent of your own, or a world whose actions are of another kind",
        )
    return draw(space, rng)


def _discrete(space: Mapping[str, Any], rng: Stream) -> int:
    return int(space["start"]) + rng.integer(0, int(space["n"]) - 1)


def _box(space: Mapping[str, Any], rng: Stream) -> Any:
    is_whole = "int" in space["dtype"] or space["dtype"] == "bool"

    def element(low: float | None, high: float | None) -> float:
        if low is not None and high is not None:
            return rng.integer(int(low), int(high)) if is_whole else rng.uniform(low, high)
        if low is None and high is None:
            drawn = rng.normal()
        else:
            beyond = -math.log(1.0 - rng.random())
            drawn = low + beyond if low is not None else (high or 0.0) - beyond
        return round(drawn) if is_whole else drawn

    return _each(space["shape"], element, space["low"], space["high"])


def _multi_discrete(space: Mapping[str, Any], rng: Stream) -> Any:
    shape = _shape(space["nvec"])
    return _each(
        shape, lambda n, start: start + rng.integer(0, n - 1), space["nvec"], space["start"]
    )


def _multi_binary(space: Mapping[str, Any], rng: Stream) -> Any:
    return _each(space["shape"], lambda: rng.integer(0, 1))


def _text(space: Mapping[str, Any], rng: Stream) -> str:
    length = rng.integer(int(space["min_length"]), int(space["max_length"]))
    return "".join(rng.choice(space["characters"]) for _ in range(length))


def _tuple(space: Mapping[str, Any], rng: Stream) -> list[Any]:
    return [sample(inner, rng) for inner in space["spaces"]]


def _dict(space: Mapping[str, Any], rng: Stream) -> dict[str, Any]:
    # Sorted, so that the order in which the world names its parts moves nothing.
    return {key: sample(inner, rng) for key, inner in sorted(space["spaces"].items())}


_DRAWS: dict[str, Callable[[Mapping[str, Any], Stream], Any]] = {
    "discrete": _discrete,
    "box": _box,
    "multi_discrete": _multi_discrete,
    "multi_binary": _multi_binary,
    "text": _text,
    "tuple": _tuple,
    "dict": _dict,
}


def _shape(nested: Any) -> list[int]:
    return [len(nested), *_shape(nested[0])] if isinstance(nested, list) else []


def _each(shape: list[int], make: Callable[..., Any], *given: Any) -> Any:
    """Call ``make`` for each element of ``shape`` with its part of each of ``given``.

    What is given is nested as the shape is, or one value that all elements share.
    """
    if not shape:
        return make(*given)
    return [
        _each(shape[1:], make, *(part[place] if isinstance(part, list) else part for part in given))
        for place in range(shape[0])
    ]
