"""The anchor: do two independent fresh builds agree, and if not, what makes them?

Only where they agree can a reset be judged against one of them. Where they do not, one
cause after the other is held equal in both builds, until they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cleandesk.audit.certificate.certificate import Cause, Deviation, Divergence
from cleandesk.audit.certificate.checks.running import time_readers
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.deviation import price
from cleandesk.audit.certificate.evidence import Shown, divergence_of, leaves_apart
from cleandesk.audit.certificate.judge import is_within
from cleandesk.audit.certificate.links import Bench, DeviceError, Link
from cleandesk.audit.certificate.rows import first_unequal

_REPEATS, _FEWEST, _CHANCE_STEPS = 12, 4, 3000
"""How often two builds must agree before what was held equal is named as the cause."""

FRESH = (0, 0)
"""Hash seed and global random states of the processes in which references are built."""

JUDGED = (1, 1)
"""Those of the process in which the judged rig lives."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """What two fresh builds show of one seed.

    Attributes:
        varies: Fields that differ after the reset; none where they agree.
        divergence: The first row in which they differ, or None.
        cause: What, held equal, makes them agree; None where they agree or only jitter.
        says: More about the cause, in words.
        jitter: How far their final states are apart, where only their rows differ.
    """

    varies: tuple[str, ...] = ()
    divergence: Divergence | None = None
    cause: Cause | None = None
    says: str = ""
    jitter: Deviation | None = None

    @property
    def is_refused(self) -> bool:
        """Whether no reset can be judged."""
        return self.cause is not None


Build = Callable[..., Link]


class Anchors:
    """Compares fresh builds of one bench at one seed.

    Args:
        bench: Where they are built.
        plan: The judged reset and its trace, as ``judge`` takes it.
        declaring: Which fields are meant to vary.
        pinned: Causes that are held equal on request.
    """

    def __init__(
        self,
        bench: Bench,
        plan: Mapping[str, Any],
        declaring: Declaring,
        pinned: frozenset[Cause] = frozenset(),
    ) -> None:
        self._bench = bench
        self._plan = dict(plan)
        self._declaring = declaring
        self._pinned = pinned

    def other(self) -> Shown:
        """Return what a fresh build shows that differs in all that it may not depend on."""
        return self._shown(other_of(self._pinned), clock=self._clock("shifted"))

    def judge(self, one: Shown, other: Shown) -> Anchor:
        """Compare two fresh builds; look for the cause where they differ."""
        apart = leaves_apart(one, other, "reset")
        kept, _ = self._declaring.split_off(apart)
        divergence = divergence_of(one, other, 0)
        if not kept and divergence is None:
            return Anchor()
        cause, says = self._cause(divergence)
        is_at_start = bool(kept) or (divergence is not None and divergence.step == 0)
        if cause is Cause.ENTROPY and says != TOGETHER and not is_at_start:
            jitter = price(*_sides(leaves_apart(one, other, "final")))
            if is_within(jitter):
                return Anchor((), divergence, None, says, jitter)
        return Anchor(tuple(kept), divergence, cause, says)

    def _shown(
        self,
        key: tuple[int, int],
        *,
        look: bool = True,
        clock: str | None = None,
        entropy: str = "real",
    ) -> Shown:
        link = self._bench.device(*key, clock=clock or self._clock("real"), entropy=entropy)
        return Shown(link, link.call("judge", {**self._plan, "look": look}))

    def _clock(self, otherwise: str) -> str:
        return "frozen" if Cause.WALL_CLOCK in self._pinned else otherwise

    def _cause(self, divergence: Divergence | None) -> tuple[Cause, str]:
        """Hold one cause equal at a time, until the two builds agree."""
        if divergence is not None:
            # What comes after the first row that differs tells nothing more.
            self._plan["steps"] = min(self._plan["steps"], divergence.step + 1)
        differing = {"key": JUDGED, "clock": self._clock("shifted")}
        still = {"key": FRESH, "clock": "frozen"}
        trials: list[tuple[Cause, dict[str, Any], dict[str, Any]]] = [
            (Cause.GLOBAL_RNG, {}, {**differing, "key": (JUDGED[0], FRESH[1])}),
            (Cause.HASH_ORDER, {}, {**differing, "key": (FRESH[0], JUDGED[1])}),
            (Cause.WALL_CLOCK, {"clock": "frozen"}, {**differing, "clock": "frozen"}),
            (Cause.ENTROPY, {"entropy": "held"}, {**differing, "entropy": "held"}),
        ]
        for cause, one, other in trials:
            if self._do_agree({"key": FRESH, **one}, {"key": FRESH, **other}):
                return cause, self._who(cause)
        if self._do_agree({**still}, {**still}):
            return Cause.ENTROPY, TOGETHER
        return Cause.ENTROPY, ""

    def _who(self, cause: Cause) -> str:
        """Name who reads the clock, or who draws the system's entropy."""
        if cause is Cause.WALL_CLOCK:
            readers = time_readers(lambda: self._bench.device(*FRESH), self._plan)
            return "; ".join(each for each in readers if "urandom" not in each)[:_SAID]
        if cause is not Cause.ENTROPY:
            return ""
        shown = self._shown(FRESH, entropy="held")
        said = shown.link.call("drawn")
        shown.link.kill()
        owners = ", ".join(said["owners"])
        places = "; ".join(f"{what} at {where}: {line}" for what, where, line, _ in said["draws"])
        text = f"unseeded: {owners}; {places}" if owners else places
        return text[:_SAID]

    def _do_agree(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        try:
            first, second = self._shown(**one), self._shown(**other)
        except DeviceError:
            if self._bench.is_over:
                raise
            # A rig that can't bear a clock that stands still says nothing about the cause.
            return False
        kept, _ = self._declaring.split_off(leaves_apart(first, second, "reset"))
        is_equal = not kept and first_unequal(first.rows, second.rows) is None
        # What is drawn from few values agrees by chance now and then, and not every time.
        most = _CHANCE_STEPS // max(1, self._plan["steps"])
        for number in range(1, max(_FEWEST, min(_REPEATS, most))):
            plan = {**self._plan, "seed": self._plan["seed"] + number, "look": False}
            rows = [side.link.call("judge", plan)["rows"] for side in (first, second) if is_equal]
            is_equal = is_equal and rows[0] == rows[1]
        first.link.kill()
        second.link.kill()
        return is_equal


_SAID = 400
TOGETHER = "more than one of: global random streams, hash order, wall clock"


def other_of(pinned: frozenset[Cause]) -> tuple[int, int]:
    """Return the hash seed and streams of the judged side, the pinned ones as the fresh side's."""
    return (
        FRESH[0] if Cause.HASH_ORDER in pinned else JUDGED[0],
        FRESH[1] if Cause.GLOBAL_RNG in pinned else JUDGED[1],
    )


def _sides(apart: Mapping[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Turn path -> both sides into the two sides."""
    return (
        {path: sides[0] for path, sides in apart.items()},
        {path: sides[1] for path, sides in apart.items()},
    )
