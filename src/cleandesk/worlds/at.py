"""What a world is given: its clock, its random streams, its disturbances.

A world takes it as the argument ``at`` of its constructor. The harness begins a new
episode in it before each reset, so that clock, streams and counters start anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cleandesk.seeding import Stream, stream
from cleandesk.state.contract import parse_time
from cleandesk.worlds.disturbances import Disturbances

_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


class Clock:
    """The world's own time: it stands still until the world moves it.

    Not for a world's use of ``time.time`` or ``datetime.now``: these read the machine.
    A world that does so differs between its two independent builds, which is reported.
    """

    def __init__(self, start: datetime = _EPOCH) -> None:
        self._start = start
        self._now = start

    def now(self) -> datetime:
        """Return the time, in UTC unless the contract pins another offset."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass, at once.

        Raises:
            ValueError: ``seconds`` is negative.
        """
        if seconds < 0:
            raise ValueError(f"time does not run back: {seconds} s")
        self._now += timedelta(seconds=seconds)

    def pin(self, start: datetime | None = None) -> None:
        """Go back to the start, or to another one that is the start from now on."""
        self._start = start or self._start
        self._now = self._start


class At:
    """The place at which a world is built.

    Attributes:
        clock: The virtual clock, pinned where the contract says.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self._seed = 0
        self._disturbances = Disturbances((), instance="", seed=0)

    def pin(self, clock: str | None) -> None:
        """Pin the clock where a contract says."""
        # The same clock: a world may have kept it when it was built.
        self.clock.pin(parse_time(clock) if clock else _EPOCH)

    def begin(self, seed: int, *, instance: str, rules: Sequence[Mapping[str, Any]]) -> None:
        """Begin an episode: clock at its start, streams and counters anew.

        Args:
            seed: The episode's seed.
            instance: What the disturbances are keyed by: the task and seed.
            rules: The suite's disturbances.
        """
        self.clock.pin()
        self._seed = seed
        self._disturbances = Disturbances(rules, instance=instance, seed=seed)

    def rng(self, name: str) -> Stream:
        """Return the named random stream of this episode, at its beginning."""
        return stream(self._seed, "world", name)

    def disturbed(self, operation: str, **arguments: Any) -> str | None:
        """Count one call of ``operation`` and say which fault to show, if any.

        The answer depends on the instance, the operation, its arguments and how often
        exactly that was called before; other calls move nothing (law 9).
        """
        return self._disturbances.fault(operation, arguments, self.clock.now())
