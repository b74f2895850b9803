"""certificate/1: the verdict on a reset, with its evidence and its limits.

Source: docs/spec/certificate.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cleandesk.verdict import Status, Verdict

SCHEMA = "certificate/1"


class Class(StrEnum):
    """What a certificate says; no class is ever upgraded."""

    BIT_IDENTICAL = "BIT-IDENTICAL"
    STATE_CLEAN = "STATE-CLEAN"
    STATE_ONLY = "STATE-ONLY"
    REFUSED = "REFUSED-AT-ANCHOR"
    FAIL = "FAIL"
    ERROR = "ERROR"

    @property
    def status(self) -> Status:
        """PASS, FAIL or UNKNOWN."""
        if self in {Class.BIT_IDENTICAL, Class.STATE_CLEAN}:
            return Status.PASS
        return Status.FAIL if self is Class.FAIL else Status.UNKNOWN


class Cause(StrEnum):
    """Why two fresh builds disagree: what, held equal, makes them agree."""

    GLOBAL_RNG = "GLOBAL-RNG"
    HASH_ORDER = "HASH-ORDER"
    WALL_CLOCK = "WALL-CLOCK"
    ENTROPY = "ENTROPY"
    WALK = "WALK"  # looking at the rig changed it


@dataclass(frozen=True, slots=True)
class Write:
    """The write that left a value behind.

    Attributes:
        episode: Number of the episode, from 1, in the shortest history that shows the
            write; the reset that is judged begins the one after the last.
        step: Number of the step in it, from 1; 0 is the reset itself.
        file: Where the line stands, or empty where compiled code wrote.
        line: Its number, or 0.
        source: The line's text.
    """

    episode: int
    step: int
    file: str = ""
    line: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Leak:
    """One field that the reset did not restore.

    Attributes:
        path: The field.
        kind: ``leak`` (a true write that survived) or ``echo`` (clears with the leaks).
        before: What a fresh build has there, as text.
        after: What the judged reset left there, as text.
        boundaries: Numbers of the boundaries at which it differed.
        is_confirmed: Whether restoring the leaks, and nothing else, made the trace equal.
        written: Who wrote it, where that was found.
        ticket: The ticket under which it is known, or empty.
        note: What else is to be said of it (``fused at 3``, ``accumulates``).
    """

    path: str
    kind: str
    before: str
    after: str
    boundaries: tuple[int, ...] = ()
    is_confirmed: bool = False
    written: Write | None = None
    ticket: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Inert:
    """A difference that the judged episode provably did not read.

    Attributes:
        path: The field.
        before: What a fresh build has there, as text.
        after: What the judged reset left there, as text.
        boundaries: At which boundaries it was inert; it is judged anew at each.
        evidence: Which rows were equal.
        note: ``accumulates``, or empty.
    """

    path: str
    before: str
    after: str
    boundaries: tuple[int, ...]
    evidence: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """What was taken out of the comparison on purpose.

    Attributes:
        pattern: As it was declared.
        sampler: What it is drawn from.
        why: A sentence.
        paths: The fields that it named and that did differ.
        problem: Why the declaration itself is wrong (it names nothing, or a value lies
            outside its sampler), or empty.
    """

    pattern: str
    sampler: str
    why: str
    paths: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A handle whose content can't be read: a write inside it can't be named.

    Attributes:
        path: Where it is.
        about: What it is.
        is_new: Whether the judged reset made it anew (None: not known).
    """

    path: str
    about: str
    is_new: bool | None = None


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first row of a trace that differs from that of the fresh build.

    Attributes:
        boundary: Number of the boundary, from 1.
        step: Number of the row: 0 is the reset itself.
        channel: The first of the channels that differs.
        fresh: What the fresh build said, as text.
        judged: What the judged rig said, as text.
    """

    boundary: int
    step: int
    channel: str
    fresh: str
    judged: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far the final states are apart, over the union of both.

    Attributes:
        largest: The largest measured difference of one element.
        is_unbounded: Whether some difference can't be ordered or bounded.
        worst: The field with the largest difference, or empty.
        one_sided: Numeric fields that exist on one side only.
        not_orderable: Fields not measurable in full (NaN, infinities, no float holds it).
        not_measurable: Fields compared by their bytes only, whose bytes differ.
        bits_only: Fields that differ in bits and not in value (0.0 and -0.0).
        beside: Fields not measurable in full, with the largest difference of the elements
            that can be ordered.
    """

    largest: float = 0.0
    is_unbounded: bool = False
    worst: str = ""
    one_sided: tuple[str, ...] = ()
    not_orderable: tuple[str, ...] = ()
    not_measurable: tuple[str, ...] = ()
    bits_only: tuple[str, ...] = ()
    beside: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReturnShift:
    """How far the leak moves the return of the fixed actions of the trace.

    Attributes:
        pairs: Per boundary: (return of the fresh build, of the judged rig), over all steps
            of the trace.
        mean: Mean of the absolute differences.
        largest: The largest absolute difference.
    """

    pairs: tuple[tuple[float, float], ...]
    mean: float
    largest: float


@dataclass(frozen=True, slots=True)
class Boundary:
    """One reset of the sequence, judged.

    Attributes:
        number: From 1.
        seed: The seed of the judged reset.
        episode_seed: That of the episode before it.
        episode_steps: How many steps that episode had.
        cls: Its class.
        fields: How many fields were read.
        differing: Fields that differed after it, without the declared ones.
        divergence: The first row that differs, or None.
        deviation: Of the final states, or None without a trace.
        rows: Digest of the judged rows, or empty.
        nodes: How many objects the walk met.
    """

    number: int
    seed: int
    episode_seed: int
    episode_steps: int
    cls: Class
    fields: int
    differing: tuple[str, ...] = ()
    divergence: Divergence | None = None
    deviation: Deviation | None = None
    rows: str = ""
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """The horizon that the verdict covers.

    Attributes:
        episodes: Boundaries judged.
        steps: Steps of each trace, 0 without one.
        seeds: Seeds of the judged resets.
        episode_seeds: Seeds of the episodes before them.
        policy: The excitation.
        endings: How often episodes ended: terminated, truncated, cut.
        distinct: How many different observations the traces met.
    """

    episodes: int
    steps: int
    seeds: tuple[int, ...]
    episode_seeds: tuple[int, ...]
    policy: str
    endings: Mapping[str, int] = field(default_factory=dict)
    distinct: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """A further test beside the judge: aliasing, neighbour, order, and so on.

    Attributes:
        name: ``first-reset``, ``alias``, ``neighbour``, ``process``, ``order``,
            ``global-streams``, ``outside``.
        status: PASS, FAIL or UNKNOWN.
        says: One sentence with the evidence.
        blocks: Whether a FAIL of it makes the certificate a FAIL.
    """

    name: str
    status: Status
    says: str
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Certificate:
    """A verdict on a reset.

    Attributes:
        rig: What was judged.
        harness: How it was reset.
        cls: The class.
        reason: One sentence.
        cause: Why two fresh builds disagree, or None.
        varies: Fields or channels in which two fresh builds disagree.
        leaks: Leaks and echoes.
        inert: Differences that were provably not read.
        declared: What was taken out of the comparison.
        opaque: Handles that can't be read.
        first_divergence: The first row that differs at the earliest boundary, or None.
        deviation: Of the worst boundary, or None.
        jitter: How far two fresh builds end apart, or None where their rows are equal.
        return_shift: How far the leak moves a return, or None.
        profile: The horizon.
        boundaries: Each reset.
        checks: Further tests.
        not_checked: What was not looked at.
        repro: A script that reproduces the leak, run and confirmed, or None.
        stamp: What the certificate depends on (versions, digests, machine).
        took_s: Wall time in seconds.
        condition: What was held equal in both builds on request, or empty.
    """

    rig: str
    harness: str
    cls: Class
    reason: str
    profile: Profile
    cause: Cause | None = None
    varies: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()
    inert: tuple[Inert, ...] = ()
    declared: tuple[DeclaredField, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    first_divergence: Divergence | None = None
    deviation: Deviation | None = None
    jitter: Deviation | None = None
    return_shift: ReturnShift | None = None
    boundaries: tuple[Boundary, ...] = ()
    checks: tuple[Check, ...] = ()
    not_checked: tuple[str, ...] = ()
    repro: str | None = None
    stamp: Mapping[str, Any] = field(default_factory=dict)
    took_s: float = 0.0
    condition: str = ""

    @property
    def status(self) -> Status:
        """PASS, FAIL or UNKNOWN."""
        return self.cls.status

    @property
    def verdict(self) -> Verdict:
        """The same as a verdict: the witness is the first leak or divergence."""
        first = self.first_divergence
        witness: dict[str, Any] | None = None
        if self.leaks:
            leak = self.leaks[0]
            witness = {"path": leak.path, "before": leak.before, "after": leak.after}
        elif first is not None:
            witness = {"step": first.step, "channel": first.channel}
        return Verdict(self.status, witness, self.not_checked, {"class": str(self.cls)})
