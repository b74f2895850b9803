"""What a device's process is like before its rig is built.

Two fresh builds must differ in everything that a rig has no right to depend on (global
random states, addresses, the time), and must not meet in any folder. What can't be
arranged on a machine is said.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cleandesk.audit.certificate.surroundings.clock import STANDING_AT, freeze, shift
from cleandesk.audit.certificate.surroundings.entropy import hold_entropy
from cleandesk.audit.certificate.surroundings.folders import hide
from cleandesk.audit.certificate.surroundings.outside import Noted, note
from cleandesk.errors import UsageError, shown
from cleandesk.surfaces.process.streams import states

__all__ = ["Settled", "Surroundings", "settle_in", "settled"]

CLOCKS = ("real", "shifted", "frozen")
_LARGEST_BLOCK = 40_000
_BLOCKS = 257
_SMALL = 3001


@dataclass(frozen=True, slots=True)
class Surroundings:
    """How a process is to be; plain values, so that they can be sent to it.

    Attributes:
        variant: Number of the layout of the heap; 0 leaves it.
        streams: Number from which the global random streams are seeded; None leaves them.
        clock: ``real``; ``shifted``, by a large odd number of seconds; or ``frozen``.
        entropy: ``real``; or ``held``: the same in every process.
        at: Seconds since 1970 at which a frozen clock stands.
        folder: An existing folder that is removed after the device, for temporary files
            where nothing may be mounted; empty for none.
        hides: Whether folders are hidden by mounts, where that may be done.
    """

    variant: int = 0
    streams: int | None = None
    clock: str = "real"
    entropy: str = "real"
    at: float = STANDING_AT
    folder: str = ""
    hides: bool = True


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of it.

    Attributes:
        noted: State outside the rig, just before it is built.
        streams: States of the global random streams then.
        not_checked: What could not be arranged.
    """

    noted: Noted
    streams: Mapping[str, Any]
    not_checked: tuple[str, ...] = ()


class _Process:
    """What this process keeps as long as it lives."""

    settled: Settled | None = None
    padding: list[Any]


def settle_in(wanted: Surroundings) -> Settled:
    """Make this process as ``wanted``; once, just before the rig is built.

    Raises:
        UsageError: CD-861, there is no such clock.
    """
    if wanted.clock not in CLOCKS:
        said = f"a device has no clock {shown(repr(wanted.clock), 40)}"
        raise _unknown(said, f"write one of: {', '.join(CLOCKS)}")
    hidden = hide(wanted.folder, by_mounts=wanted.hides)
    if wanted.variant:
        _Process.padding = _padding(wanted.variant)
    if wanted.streams is not None:
        seed_streams(wanted.streams)
    if wanted.entropy == "held":
        hold_entropy()
    gaps: tuple[str, ...] = ()
    if wanted.clock != "real":
        gaps = (shift() if wanted.clock == "shifted" else freeze(wanted.at)).gaps
    not_checked = (*hidden.not_checked, *gaps)
    _Process.settled = Settled(note(hidden.places), states(), not_checked)
    return _Process.settled


def settled() -> Settled:
    """Return what came of settling this process in.

    Raises:
        UsageError: CD-861, nobody did.
    """
    if _Process.settled is None:
        raise _unknown("this process was never settled in", "call settle_in before the build")
    return _Process.settled


def _unknown(said: str, do: str) -> UsageError:
    return UsageError("CD-861", said, where="surroundings of a device", do=do)


def seed_streams(number: int) -> None:
    """Seed every global stream there is.

    numpy loads its own when it is first asked for, seeded by the system: so it is asked.
    """
    random.seed(f"stream {number}")
    np.random.seed((number * 2_654_435_761 + 97) % 2**32)
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "manual_seed"):
        torch.manual_seed(number * 1_000_003 + 11)


def _padding(variant: int) -> list[Any]:
    """Return blocks of odd sizes; what is allocated next lies elsewhere, in another order."""
    # Its own generator: the global ones are part of what differs, and are set apart.
    draw = random.Random(variant)  # noqa: S311 - a layout, not a secret
    large = [bytearray(draw.randrange(1, _LARGEST_BLOCK) | 1) for _ in range(_BLOCKS)]
    small = [(number, object()) for number in range(_SMALL * (1 + variant % 7))]
    draw.shuffle(small)
    # Freed in an order of its own, so that small objects fill the gaps in that order.
    del small[: len(small) // 2]
    return [large, small]
