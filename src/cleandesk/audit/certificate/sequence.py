"""The sequence judge: every reset of a sequence against its own fresh reference.

Nothing is restored in between: that would launder the state which the next boundary is
to be judged on. The judged reset itself starts the trace.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from cleandesk.audit.certificate.anchor import FRESH, other_of
from cleandesk.audit.certificate.certificate import Cause, Divergence
from cleandesk.audit.certificate.evidence import Shown, Sides, divergence_of, leaves_apart
from cleandesk.audit.certificate.links import Bench, DeviceError, Link

Progress = Callable[[str], None]

_EPISODE, _TRACE = 1, 2
"""First number of the instrument's streams: those of episodes and those of traces."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """What is asked for: how many resets, how long, with which seeds.

    Attributes:
        steps: Steps of each trace; also the most that an episode has.
        seeds: Seeds of the judged resets.
        episode_seeds: Seeds of the episodes before them; as many.
        has_trace: Whether traces are run.
    """

    steps: int
    seeds: tuple[int, ...]
    episode_seeds: tuple[int, ...]
    has_trace: bool = True

    def judged(self, number: int) -> dict[str, Any]:
        """Return the plan of the judged reset of a boundary (from 1), as ``judge`` takes it."""
        return {
            "look": True,
            "rng": [_TRACE, number],
            "seed": self.seeds[number - 1],
            "steps": self.steps if self.has_trace else 0,
        }

    def episode(self, number: int, played: Sequence[int]) -> dict[str, Any]:
        """Return the episode before a boundary.

        Args:
            number: Of the boundary, from 1.
            played: Steps of the episodes before; the last episode is cut mid-way.
        """
        steps = self.steps
        if number == len(self.seeds) and played:
            # A reset out of the middle of an episode is the stronger test.
            steps = max(1, sorted(played)[len(played) // 2] // 2)
        return {
            "rng": [_EPISODE, number],
            "seed": self.episode_seeds[number - 1],
            "steps": steps,
        }


@dataclass(frozen=True, slots=True)
class Passage:
    """One boundary of the sequence, as it was seen.

    Attributes:
        number: From 1.
        fresh: What the fresh reference showed.
        judged: What the judged rig showed.
        played: The episode before it, and how it went.
        apart: Both sides of the leaves that differ after the reset.
        final: Both sides of the leaves that differ at the end of the trace.
        divergence: The first row that differs.
    """

    number: int
    fresh: Mapping[str, Any]
    judged: Mapping[str, Any]
    played: Mapping[str, Any]
    apart: Mapping[str, Sides]
    final: Mapping[str, Sides]
    divergence: Divergence | None


@dataclass
class Judged:
    """What the sequence left behind.

    Attributes:
        link: The device of the judged rig.
        passages: Boundary after boundary.
        history: All that the judged rig did, in order.
        cut: Why it ended early, or empty.
        about: What the build of the judged rig said.
        endings: How the episodes ended.
        before: Per boundary, what a fresh build is given before its own reset: ``state``
            (where the streams stood, or None) and ``kept`` (what persists on purpose).
        kept_handles: Opaque handles that are the same objects after one further reset.
    """

    link: Link
    passages: list[Passage] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    cut: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    endings: Counter[str] = field(default_factory=Counter)
    before: dict[int, dict[str, Any]] = field(default_factory=dict)
    kept_handles: frozenset[str] = frozenset()


class References:
    """The fresh references of a sequence, each in a build of its own.

    They are made beside the judged rig, and before they are needed, where the harness
    resets by a seed. Where it does not, a reset goes on from where the streams of the
    judged rig stand, and its reference can only be made then; also where state is declared
    to be kept from episode to episode.

    Attributes:
        kept: Patterns of what persists on purpose.
    """

    def __init__(
        self,
        bench: Bench,
        horizon: Horizon,
        pool: ThreadPoolExecutor,
        kept: Sequence[str] = (),
    ) -> None:
        self.kept = tuple(kept)
        self._bench = bench
        self._horizon = horizon
        self._pool = pool
        self._made: dict[int, Future[Shown]] = {}

    def begin(self) -> None:
        """Have all of them made."""
        for number in range(1, len(self._horizon.seeds) + 1):
            self._made[number] = self._pool.submit(self._make, self._horizon.judged(number))

    def of(self, number: int, before: Mapping[str, Any] | None = None) -> Future[Shown]:
        """Return the one for a boundary.

        Args:
            number: From 1.
            before: What the judged rig had before its reset and the fresh build is given.
        """
        if any((before or {}).values()) or number not in self._made:
            plan = {**self._horizon.judged(number), **(before or {})}
            self._made[number] = self._pool.submit(self._make, plan)
        return self._made[number]

    def cancel(self) -> None:
        """Make no more."""
        for future in self._made.values():
            future.cancel()

    def _make(self, plan: Mapping[str, Any]) -> Shown:
        link = self._bench.device(*FRESH)
        return Shown(link, link.call("judge", plan))


def judge_all(
    bench: Bench,
    horizon: Horizon,
    fresh: References,
    *,
    pinned: frozenset[Cause] = frozenset(),
    deadline: float | None = None,
    on_progress: Progress,
) -> Judged:
    """Run the sequence in one device, boundary after boundary.

    Args:
        bench: Where the device is made.
        horizon: What is asked for.
        fresh: The references.
        pinned: What is held equal on request.
        deadline: When the boundaries after the first end, on the monotonic clock.
        on_progress: Told what is done now.

    Raises:
        DeviceError: The rig raised in an episode, or its process ended.
    """
    link = bench.device(*other_of(pinned))
    found = Judged(link, about=link.about)
    for number in range(1, len(horizon.seeds) + 1):
        if deadline is not None and found.passages and time.monotonic() > deadline:
            found.cut = f"the budget ended after {number - 1} of {len(horizon.seeds)} boundaries"
            return found
        on_progress(f"reset {number} of {len(horizon.seeds)}")
        if found.passages and deadline is not None:
            link.ends = deadline
        try:
            _pass(found, horizon, fresh, number)
        except (DeviceError, TimeoutError) as error:
            is_late = isinstance(error, TimeoutError) or error.kind == "slow"
            if deadline is None or not found.passages or not is_late:
                raise
            found.cut = f"the budget ended after {number - 1} of {len(horizon.seeds)} boundaries"
        if found.cut:
            return found
    link.ends = bench.ends
    on_progress("one further reset")
    found.kept_handles = _kept_handles(link, horizon.seeds[0])
    return found


def _pass(found: Judged, horizon: Horizon, fresh: References, number: int) -> None:
    """Play an episode, reset, and hold what comes against a fresh build."""
    link = found.link
    episode = horizon.episode(number, [passage.played["steps"] for passage in found.passages])
    played = link.call("play", episode)
    found.endings[played["ended"]] += 1
    found.history.append({"op": "play", **episode})
    before = link.call("before", {"kept": list(fresh.kept)})
    reference = fresh.of(number, before)
    plan = horizon.judged(number)
    found.before[number] = before
    judged = Shown(link, link.call("judge", plan))
    found.history.append({"op": "trace", **plan})
    left_s = None if link.ends is None else max(0.0, link.ends - time.monotonic())
    found.passages.append(_passage(number, (reference.result(left_s), judged), played))
    if judged.said["raised"]:
        found.cut = f"the judged rig raised at boundary {number}: {judged.said['raised']}"


def _passage(number: int, sides: tuple[Shown, Shown], played: Mapping[str, Any]) -> Passage:
    fresh, judged = sides
    return Passage(
        number,
        fresh.said,
        judged.said,
        played,
        leaves_apart(fresh, judged, "reset"),
        leaves_apart(fresh, judged, "final"),
        divergence_of(fresh, judged, number),
    )


def _kept_handles(link: Link, seed: int) -> frozenset[str]:
    """Return the opaque handles that a reset keeps; only now, since looking holds them."""
    before = link.call("look", {"as": "before"})["opaque"]
    link.call("reset", {"seed": seed})
    after = link.call("look", {"as": "after"})["opaque"]
    return frozenset(path for path, held in before.items() if after.get(path) == held)
