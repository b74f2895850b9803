"""What two sides of a reset say, judged: the class of a boundary and of a sequence.

Pure: it is given what was seen and returns what that means. The rules, in this order:

1. rows equal, and at least one step among them: BIT-IDENTICAL. What differs after the
   reset was provably not read: it is inert, at this boundary only;
2. something differs after the reset: FAIL. Where rows differ, or none were played, none
   of it can be shown to be unread;
3. nothing differs and no step was played: STATE-ONLY;
4. nothing differs, rows do, and so do those of two fresh builds (the rig jitters), while
   the final states are within the tolerance in all that a number can tell: STATE-CLEAN;
5. else FAIL, and it names no field.

Why 4 asks for jitter: the class exists for rigs whose own steps jitter. Where fresh
builds agree row by row, the one thing that is not the same for the judged rig is its
past. Then the reset made the difference, however close the final states come to lie.

A declared field outside its sampler is a finding whatever the rows say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cleandesk.audit.certificate import sentences
from cleandesk.audit.certificate.certificate import (
    Boundary,
    Class,
    Deviation,
    Divergence,
    Inert,
    Leak,
    Opaque,
)
from cleandesk.audit.certificate.declaring import Declaring, Sides
from cleandesk.audit.certificate.deviation import price
from cleandesk.audit.certificate.fields import fold

TOLERANCE = 1e-6
"""How far final states may be apart for STATE-CLEAN."""

_ROW_BYTES = 32
_SHOWN = 3

_BADNESS = {
    Class.BIT_IDENTICAL: 0,
    Class.STATE_CLEAN: 1,
    Class.STATE_ONLY: 2,
    Class.REFUSED: 3,
    Class.ERROR: 4,
    # What was found stands, whatever could not be judged beside it.
    Class.FAIL: 5,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of one boundary.

    Attributes:
        number: From 1.
        seed: Of the judged reset.
        episode_seed: Of the episode before it.
        episode_steps: How many steps that had.
        fields: How many fields were read, on either side.
        apart: Both sides of each leaf that differs after the reset; packed ones opened.
        rows_fresh: Digests of the fresh build's rows, 32 bytes each, row 0 of the reset;
            None where no trace was played.
        rows_judged: Those of the judged rig.
        final: Both sides of each leaf that differs in the final states.
        divergence: The first row that differs, or None.
        nodes: How many objects the walk of the judged rig met.
        jitter: How far two fresh builds end apart, where their rows differ; else None.
    """

    number: int
    seed: int
    episode_seed: int
    episode_steps: int
    fields: int
    apart: Mapping[str, Sides]
    rows_fresh: bytes | None = None
    rows_judged: bytes | None = None
    final: Mapping[str, Sides] = field(default_factory=dict)
    divergence: Divergence | None = None
    nodes: int = 0
    jitter: Deviation | None = None

    @property
    def are_rows_equal(self) -> bool:
        """Whether no row differs from that of the fresh build; also where none was played."""
        return self.rows_fresh == self.rows_judged

    @property
    def are_unread(self) -> bool:
        """Whether what differs was provably not read: steps were played, and no row differs."""
        return self.are_rows_equal and self.steps > 0

    @property
    def steps(self) -> int:
        """How many rows come after the reset's own."""
        return max(0, len(self.rows_judged or b"") // _ROW_BYTES - 1)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a sequence of boundaries says.

    Attributes:
        cls: The worst class of all boundaries.
        boundaries: Each of them.
        leaks: Fields that differed where no rows show that they were not read.
        inert: Fields that only ever differed where every row was equal.
        divergence: The first row that differs, at the earliest boundary that fails.
        deviation: Of the boundary whose final states are farthest apart.
    """

    cls: Class
    boundaries: tuple[Boundary, ...]
    leaks: tuple[Leak, ...] = ()
    inert: tuple[Inert, ...] = ()
    divergence: Divergence | None = None
    deviation: Deviation | None = None


def judge_boundary(evidence: Evidence, declaring: Declaring) -> Boundary:
    """Return the class of one boundary, with what differs there."""
    kept, _ = declaring.split_off(evidence.apart)
    has_trace = evidence.rows_judged is not None
    deviation = _deviation(evidence, declaring) if has_trace else None
    is_diverged = not evidence.are_rows_equal
    if declaring.outside(evidence.apart):
        cls = Class.FAIL
    elif evidence.are_unread:
        cls = Class.BIT_IDENTICAL
    elif kept:
        cls = Class.FAIL
    elif not is_diverged:
        # The reset's own row alone shows nothing of what later steps read.
        cls = Class.STATE_ONLY
    else:
        cls = _class_of_diverged(evidence.jitter, deviation)
    return Boundary(
        number=evidence.number,
        seed=evidence.seed,
        episode_seed=evidence.episode_seed,
        episode_steps=evidence.episode_steps,
        cls=cls,
        fields=evidence.fields,
        differing=tuple(sorted(kept)),
        divergence=_divergence(evidence) if is_diverged else None,
        deviation=deviation,
        rows=hashlib.sha256(evidence.rows_judged or b"").hexdigest() if has_trace else "",
        nodes=evidence.nodes,
    )


def _class_of_diverged(jitter: Deviation | None, deviation: Deviation | None) -> Class:
    """Return the class where nothing differs after the reset, and rows do."""
    if jitter is None or deviation is None:
        return Class.FAIL
    return Class.STATE_CLEAN if is_within(jitter) and is_within(deviation) else Class.FAIL


def is_within(deviation: Deviation) -> bool:
    """Tell whether the final states lie within the tolerance, as far as numbers can tell.

    What is compared by its bytes alone is named beside it and is no bar.
    """
    is_bounded = not deviation.is_unbounded
    return is_bounded and not deviation.bits_only and deviation.largest <= TOLERANCE


def worst(boundaries: Sequence[Boundary]) -> Boundary:
    """Return the earliest of the boundaries with the worst class; there is at least one."""
    return max(boundaries, key=lambda each: (_BADNESS[each.cls], -each.number))


def judge_sequence(evidences: Sequence[Evidence], declaring: Declaring) -> Judgement:
    """Judge each boundary, and say of each field over all of them what it is.

    Args:
        evidences: One per boundary, at least one, in order.
        declaring: What is meant to vary.
    """
    boundaries = tuple(judge_boundary(each, declaring) for each in evidences)
    leaks, inert = fold(boundaries, evidences, declaring)
    diverged = [each for each in boundaries if each.divergence is not None]
    # That of a boundary which is clean but for the rig's jitter shows no leak.
    failed = [each for each in diverged if each.cls is Class.FAIL]
    return Judgement(
        worst(boundaries).cls,
        boundaries,
        leaks,
        inert,
        (failed or diverged)[0].divergence if diverged else None,
        farthest([each.deviation for each in boundaries if each.deviation is not None]),
    )


def farthest(deviations: Sequence[Deviation]) -> Deviation | None:
    """Return the deviation of the states that are farthest apart; an unbounded one is."""
    if not deviations:
        return None

    def size(deviation: Deviation) -> tuple[bool, float, int]:
        named = len(deviation.bits_only) + len(deviation.not_measurable)
        return deviation.is_unbounded, deviation.largest, named

    return max(deviations, key=size)


def unnamed_line(
    boundary: Boundary, opaque: Sequence[Opaque], *, declared: Sequence[str] = ()
) -> str:
    """Return why a FAIL names no field, or empty where it does.

    The line stands down where the final states name a field that carries the divergence:
    one that can't be ordered or is on one side only. Names of tokens alone do not count.

    Args:
        boundary: The boundary that failed.
        opaque: Handles that can't be read.
        declared: Fields that differed and were taken out of the comparison.
    """
    if boundary.cls is not Class.FAIL or boundary.differing:
        return ""
    deviation = boundary.deviation or Deviation()
    carried = sorted({*deviation.one_sided, *deviation.not_orderable})
    if carried:
        return sentences.FAIL_UNNAMED_BUT_CARRIED(fields=_listed(carried))
    names = [f"{each.path} ({each.about})" if each.about else each.path for each in opaque]
    count = f"{len(opaque)} opaque {'handle' if len(opaque) == 1 else 'handles'} recorded"
    said = f"{count}: {_listed(names)}" if names else count
    if declared:
        said += f"; or in what is declared to vary: {_listed(declared)}"
    return sentences.FAIL_UNNAMED(opaque=said)


def _deviation(evidence: Evidence, declaring: Declaring) -> Deviation:
    kept, _ = declaring.split_off(evidence.final)
    return price(
        {path: sides[0] for path, sides in kept.items()},
        {path: sides[1] for path, sides in kept.items()},
    )


def _divergence(evidence: Evidence) -> Divergence:
    """Return the first row that differs; where nobody read it, at least its number."""
    if evidence.divergence is not None:
        return evidence.divergence
    one, other = evidence.rows_fresh or b"", evidence.rows_judged or b""
    places = range(0, max(len(one), len(other)), _ROW_BYTES)
    unlike = (at for at in places if one[at : at + _ROW_BYTES] != other[at : at + _ROW_BYTES])
    step = next(unlike, 0) // _ROW_BYTES
    return Divergence(evidence.number, step, "unknown", "", "")


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more
