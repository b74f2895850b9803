"""What a world is given: its clock, its random streams, its disturbances.

A world takes it as the argument ``at`` of its constructor. The harness begins a new
episode in it before each reset, so that clock, streams and counters start anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack

from cleandesk.seeding import Stream, stream
from cleandesk.state.contract import parse_time
from cleandesk.worlds.disturbances import Disturbances
from cleandesk.worlds.network import allow_address

if TYPE_CHECKING:
    from cleandesk.worlds.app_process import Condition
    from cleandesk.worlds.apps import App, Apps, How
    from cleandesk.worlds.clocks import Pinned

_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


class Clock:
    """The world's own time: it stands still until the world moves it.

    Not for a world's use of ``time.time`` or ``datetime.now``: these read the machine.
    A world that does so differs between its two independent builds, which is reported.
    """

    def __init__(self, start: datetime = _EPOCH) -> None:
        self._start = start
        self._now = start
        self._follow: Callable[[datetime], None] = lambda _now: None

    def lead(self, follow: Callable[[datetime], None]) -> None:
        """Tell ``follow`` of every move: a clock tier that shows this time elsewhere."""
        self._follow = follow

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
        self._follow(self._now)

    def pin(self, start: datetime | None = None) -> None:
        """Go back to the start, or to another one that is the start from now on."""
        self._start = start or self._start
        self._now = self._start
        self._follow(self._now)


class At:
    """The place at which a world is built.

    Attributes:
        clock: The virtual clock, pinned where the contract says.
        places: Surface with a base -> its private copy: a path or a URL. The same as an
            attribute: ``at.db``.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.places: dict[str, str] = {}
        self._apps: Apps | None = None
        self._shown: Pinned | None = None
        self._seed = 0
        self._disturbances = Disturbances((), instance="", seed=0)

    def __getattr__(self, name: str) -> str:
        places: dict[str, str] = self.__dict__.get("places", {})
        if name in places:
            return places[name]
        held = f"it has: {', '.join(places)}" if places else "no surface of it has a base"
        raise AttributeError(f"the contract has no surface {name!r} with a private copy; {held}")

    @property
    def apps(self) -> Apps:
        """The programs that the world serves; see ``serve``."""
        if self._apps is None:
            # Most worlds serve none, and need not pay for what starts programs.
            from cleandesk.worlds.apps import Apps

            self._apps = Apps(self.places, allow_address, self._shown)
        return self._apps

    @property
    def served(self) -> Apps | None:
        """The programs, or None where none was ever served."""
        return self._apps

    def settle(self) -> None:
        """Wait until every program that the world serves is idle.

        Raises:
            WorldError: CD-263, one was not idle in time; CD-265, one ended by itself.
        """
        if self._apps is not None:
            self._apps.settle()

    def show(self, shown: Pinned) -> None:
        """Have a clock tier follow this clock, here and in programs served from now on."""
        self._shown = shown
        self.clock.lead(shown.move)

    def serve(
        self,
        command: str | Sequence[str],
        *,
        ready: Condition,
        idle: Condition | None = None,
        keep: bool = False,
        **how: Unpack[How],
    ) -> App:
        """Start a program on the private copies and wait until it is ready.

        It is restarted by the harness at each reset, so that what it keeps in its memory
        dies with the episode, and waited for until it is idle before each reading.

        Args:
            command: Its words; ``{port}`` is a free port, ``{db}`` the copy of ``db``.
            ready: A path that must be answered with 200, a function, or ``line:REGEX``.
            idle: A path or a function: what must hold before state is read.
            keep: Let it live on over resets, with all that it keeps in memory.
            how: ``name``, ``env``, ``cwd``, ``timeout_s``.

        Raises:
            WorldError: CD-261 to CD-264, it can't be started or is not ready in time.

        Example:
            >>> at.serve("python -m shop --db {db} --port {port}", ready="/healthz")
        """
        return self.apps.serve(command, ready=ready, idle=idle, keep=keep, **how)

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
