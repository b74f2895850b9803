"""What a guard found, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cleandesk.errors import CleandeskError, shown

_MOST_NAMED = 5


class LeakWarning(UserWarning):
    """A reset left state behind that a later step read; or it can't be told any more."""


class LeakError(CleandeskError):
    """As the warning, where ``on_leak="raise"`` asked for an error."""


@dataclass(frozen=True, slots=True)
class Found:
    """State that a reset left behind and that the steps after it read.

    Attributes:
        rig: What was guarded.
        reset: Number of the reset, from 1, after which the steps differed.
        first: Number of the first reset that was seen to leave one of the fields.
        step: The first step that said something else than a fresh build.
        fields: (Path, what a fresh build has, what was found here) of each field.
        opaque: Handles that can't be read, in one of which it lies where no field differs.
    """

    rig: str
    reset: int
    first: int
    step: int
    fields: tuple[tuple[str, str, str], ...] = ()
    opaque: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = (
            f"reset {self.reset} of {shown(self.rig, 80)} left state behind: after it the same "
            f"actions give something else than in a fresh build, from step {self.step} on"
        )
        lines = [f"  {path}: {fresh} -> {here}" for path, fresh, here in self.fields]
        if not lines:
            where = ", ".join(self.opaque[:_MOST_NAMED]) or "outside all that was read"
            lines = [f"  no field that can be read differs; handles that can't be: {where}"]
        elif self.first < self.reset:
            lines.append(f"  first seen after reset {self.first}")
        return "\n".join([head, *lines[:_MOST_NAMED], *_rest(lines)])


@dataclass(frozen=True, slots=True)
class GuardReport:
    """What a guard has done so far, and what it costs.

    Attributes:
        resets: Resets that it saw.
        checked: Those whose fields were compared.
        traced: Those after which steps were compared too.
        pending: Those whose answer is still to come.
        skipped: Those that were due and not compared, since they were given options.
        findings: The leaks.
        inert: Fields that differed and were provably not read by the steps that followed.
        untold: Fields that differed where no steps could be compared.
        cost_s: Seconds that the loop lost to it.
        elapsed_s: Seconds since it began.
        problem: Why it has stopped, or empty.
        not_checked: What it does not look at.
    """

    resets: int
    checked: int
    traced: int
    pending: int
    skipped: int
    findings: tuple[Found, ...]
    inert: tuple[str, ...]
    untold: tuple[str, ...]
    cost_s: float
    elapsed_s: float
    problem: str
    not_checked: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of the wall time that it took from the loop."""
        return self.cost_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def __str__(self) -> str:
        each = 1000 * self.cost_s / self.checked if self.checked else 0.0
        lines = [
            f"{self.resets} resets, {self.checked} compared with a fresh build, "
            f"{self.traced} of them by steps too; "
            f"{len(self.findings)} {'leak' if len(self.findings) == 1 else 'leaks'}",
            f"cost {self.cost_s:.3f} s ({100 * self.share:.2f} % of {self.elapsed_s:.0f} s, "
            f"{each:.2f} ms for each comparison)",
            *([f"stopped: {self.problem}"] if self.problem else []),
            *map(str, self.findings),
            *(f"inert: {path}" for path in self.inert),
            *(f"differs, leak or inert: {path}" for path in self.untold),
            *(f"not checked: {text}" for text in self.not_checked),
        ]
        return "\n".join(lines)


def _rest(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MOST_NAMED
    return [f"  and {more} more"] if more > 0 else []
