"""From what was seen to a certificate: the class, its reason, and every limit beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cleandesk.audit.certificate import sentences
from cleandesk.audit.certificate.anchor import TOGETHER, Anchor
from cleandesk.audit.certificate.certificate import (
    Cause,
    Certificate,
    Check,
    Class,
    DeclaredField,
    Deviation,
    Inert,
    Leak,
    Opaque,
    Profile,
    ReturnShift,
)
from cleandesk.audit.certificate.explain.scenario import Explained
from cleandesk.audit.certificate.judge import (
    TOLERANCE,
    Evidence,
    Judgement,
    judge_sequence,
    unnamed_line,
    worst,
)
from cleandesk.audit.certificate.limits import not_checked
from cleandesk.audit.certificate.seen import Seen, counted, listed
from cleandesk.audit.certificate.sequence import Passage
from cleandesk.audit.certificate.texts import text_of_leaf
from cleandesk.errors import shown
from cleandesk.verdict import Status

_ABSENT = text_of_leaf(None)


def judged(seen: Seen) -> Judgement:
    """Judge the boundaries that were seen."""
    return judge_sequence([_evidence(seen, each) for each in seen.passages], seen.declaring)


def refused(seen: Seen) -> Certificate:
    """Return the certificate of a rig whose fresh builds disagree: no reset is judged."""
    anchor = seen.anchor
    cause = anchor.cause or Cause.ENTROPY
    is_located = cause is Cause.ENTROPY and anchor.says not in {"", TOGETHER}
    sentence = sentences.REFUSED_UNSEEDED if is_located else _REFUSALS[cause]
    reason = sentence(varies=_varies(anchor))
    if anchor.says:
        reason += f"; {shown(anchor.says, 400)}"
    return replace(
        _frame(seen, Class.REFUSED, reason),
        cause=cause,
        varies=anchor.varies or ((anchor.divergence.channel,) if anchor.divergence else ()),
        first_divergence=anchor.divergence,
        declared=seen.declaring.results(seen.paths, [each.apart for each in seen.passages]),
    )


def failed(seen: Seen, reason: str) -> Certificate:
    """Return the certificate of a rig that could not be judged."""
    return _frame(seen, Class.ERROR, reason)


def assembled(
    seen: Seen,
    judgement: Judgement,
    checks: tuple[Check, ...] = (),
    explained: Explained | None = None,
) -> Certificate:
    """Return the certificate of a rig that was judged."""
    apart = [each.apart for each in seen.passages]
    declared = seen.declaring.results(seen.paths, apart, seen.leaf)
    leaks, inert = _explained(judgement, explained)
    leaks = _by_container(_by_handle(leaks, seen.opaque))
    cls, reason = _class(seen, judgement, (leaks, inert), (declared, checks))
    is_failed = judgement.cls is Class.FAIL
    return replace(
        _frame(seen, cls, reason),
        leaks=leaks,
        inert=inert,
        declared=declared,
        first_divergence=judgement.divergence,
        deviation=judgement.deviation,
        jitter=seen.anchor.jitter,
        return_shift=_shift(seen.passages) if is_failed else None,
        boundaries=judgement.boundaries,
        checks=checks,
        repro=explained.repro if explained is not None else None,
        not_checked=not_checked(seen, judgement, explained),
    )


_REFUSALS = {
    Cause.GLOBAL_RNG: sentences.REFUSED_GLOBAL_RNG,
    Cause.HASH_ORDER: sentences.REFUSED_HASH_ORDER,
    Cause.WALL_CLOCK: sentences.REFUSED_WALL_CLOCK,
    Cause.ENTROPY: sentences.REFUSED_ENTROPY,
    Cause.WALK: sentences.REFUSED_WALK,
}


def _class(
    seen: Seen,
    judgement: Judgement,
    fields: tuple[tuple[Leak, ...], tuple[Inert, ...]],
    beside: tuple[tuple[DeclaredField, ...], tuple[Check, ...]],
) -> tuple[Class, str]:
    declared, checks = beside
    if judgement.cls is Class.FAIL:
        reason = _why_failed(seen, judgement, fields[0])
        outside = next((each for each in checks if each.name == "outside"), None)
        if not fields[0] and outside is not None and outside.status is Status.FAIL:
            # No object holds it, and something else does.
            reason += f"; {sentences.SEEN_OUTSIDE(says=outside.says)}"
        return Class.FAIL, reason
    asked = len(seen.horizon.seeds)
    if len(seen.passages) < asked:
        done = len(seen.passages)
        return Class.ERROR, sentences.OVER_BUDGET(budget=seen.budget_s, done=done, asked=asked)
    blocking = next((each for each in checks if each.blocks and each.status is Status.FAIL), None)
    if blocking is not None:
        return Class.FAIL, sentences.FAIL_CHECK(check=blocking.name, says=blocking.says)
    wrong = next((each for each in declared if each.problem), None)
    if wrong is not None:
        said = sentences.FAIL_DECLARED(pattern=wrong.pattern, problem=wrong.problem)
        return Class.FAIL, said
    moved = any(each.judged["has_moved"] or each.fresh["has_moved"] for each in seen.passages)
    if seen.horizon.has_trace and not moved:
        return Class.STATE_ONLY, sentences.NOTHING_MOVED()
    return judgement.cls, _why_passed(judgement, fields[1])


def _why_failed(seen: Seen, judgement: Judgement, leaks: tuple[Leak, ...]) -> str:
    boundary = worst(judgement.boundaries)
    true = [leak.path for leak in leaks if leak.kind == "leak"]
    if not leaks:
        deviation, divergence = boundary.deviation, judgement.divergence
        if seen.anchor.jitter is not None and deviation is not None:
            far = "unbounded" if deviation.is_unbounded else f"{deviation.largest:g}"
            return sentences.FAIL_DEVIATION(deviation=far, tolerance=f"{TOLERANCE:g}")
        if divergence is not None and divergence.channel == "info":
            return sentences.FAIL_INFO()
        _, taken = seen.declaring.split_off(seen.passages[boundary.number - 1].apart)
        return unnamed_line(boundary, seen.opaque, declared=sorted(taken))
    if any(leak.is_confirmed for leak in leaks):
        return sentences.FAIL_LEAKS(leaks=listed(true))
    handles = {each.path: each for each in seen.opaque}
    if len(true) == 1 and true[0] in handles:
        handle = handles[true[0]]
        return sentences.FAIL_HANDLE(handle=f"{handle.path} ({handle.about})")
    if not seen.horizon.has_trace:
        return sentences.FAIL_NO_TRACE(fields=listed(true))
    if len(true) == 1:
        return sentences.FAIL_LEAKS(leaks=true[0])
    return sentences.FAIL_DIFFERS(fields=listed(true))


def _why_passed(judgement: Judgement, inert: tuple[Inert, ...]) -> str:
    boundaries = counted(len(judgement.boundaries), "reset")
    if judgement.cls is Class.STATE_ONLY:
        return sentences.STATE_ONLY()
    if judgement.cls is Class.STATE_CLEAN:
        deviation = judgement.deviation or Deviation()
        return sentences.STATE_CLEAN(deviation=f"{deviation.largest:g}", tolerance=f"{TOLERANCE:g}")
    if inert:
        said = counted(len(inert), "field")
        return sentences.BIT_IDENTICAL_INERT(boundaries=boundaries, inert=said)
    return sentences.BIT_IDENTICAL(boundaries=boundaries)


def _explained(
    judgement: Judgement, explained: Explained | None
) -> tuple[tuple[Leak, ...], tuple[Inert, ...]]:
    """Tell leaks, echoes and what was not read apart, as the restore test showed them."""
    if explained is None:
        return judgement.leaks, judgement.inert
    leaks: list[Leak] = []
    inert = list(judgement.inert)
    for leak in judgement.leaks:
        if leak.path in explained.bystanders and explained.is_confirmed:
            evidence = sentences.INERT_RESTORED()
            sides = (leak.before, leak.after)
            inert.append(Inert(leak.path, *sides, leak.boundaries, evidence, leak.note))
            continue
        is_true = leak.path in explained.true_writes
        leaks.append(
            replace(
                leak,
                kind="echo" if leak.path in explained.echoes else "leak",
                is_confirmed=is_true and explained.is_confirmed,
                written=explained.writes.get(leak.path),
            )
        )
    leaks += _carried(judgement, explained)
    # The true writes first: they are what is to be mended.
    leaks.sort(key=lambda leak: (leak.kind == "echo", not leak.is_confirmed, leak.path))
    return tuple(leaks), tuple(sorted(inert, key=lambda each: each.path))


def _carried(judgement: Judgement, explained: Explained) -> list[Leak]:
    """Return what the reset reads from the last episode and what is overwritten by then."""
    first = next((each.number for each in judgement.boundaries if each.cls is Class.FAIL), 0)
    known = {leak.path for leak in judgement.leaks}
    return [
        Leak(
            path,
            "leak",
            text_of_leaf(fresh),
            text_of_leaf(mine),
            (first,),
            is_confirmed=explained.is_confirmed,
            written=explained.writes.get(path),
            note=sentences.CARRIED(),
        )
        for path, (fresh, mine) in explained.carried.items()
        if path not in known
    ]


def _by_handle(leaks: tuple[Leak, ...], handles: Sequence[Opaque]) -> tuple[Leak, ...]:
    """Fold what differs inside a handle that the reset keeps into one leak: the handle.

    Nothing inside it can be put back by itself, so that no field of it is the true write.
    """
    kept = [each.path for each in handles if each.is_new is False]
    inside: dict[str, list[Leak]] = {}
    rest: list[Leak] = []
    for leak in leaks:
        above = next((path for path in kept if leak.path.startswith((f"{path}.", f"{path}["))), "")
        if above and not leak.is_confirmed:
            inside.setdefault(above, []).append(leak)
        else:
            rest.append(leak)
    for path, each in inside.items():
        first = each[0]
        numbers = sorted({number for leak in each for number in leak.boundaries})
        note = sentences.INSIDE(fields=counted(len(each), "field"), path=first.path)
        # Of one of them, so that there is something to look at.
        before = f"{first.path[len(path) :].lstrip('.')} {first.before}"
        handle = replace(first, path=path, before=before, boundaries=tuple(numbers), note=note)
        rest.insert(0, handle)
    return tuple(rest)


def _by_container(leaks: tuple[Leak, ...]) -> tuple[Leak, ...]:
    """Count what came into a container that leaks itself, instead of naming each part of it."""
    paths = {leak.path for leak in leaks if leak.kind == "leak"}
    parts = Counter[str]()
    kept: list[Leak] = []
    for leak in leaks:
        above = [path for path in paths if leak.path.startswith((f"{path}.", f"{path}["))]
        if above and leak.before == _ABSENT:
            # The outermost holds the others.
            parts[min(above, key=len)] += 1
        else:
            kept.append(leak)
    return tuple(
        replace(leak, note="; ".join(filter(None, (leak.note, _below(parts[leak.path])))))
        for leak in kept
    )


def _below(number: int) -> str:
    return sentences.PARTS(fields=counted(number, "field")) if number else ""


def _frame(seen: Seen, cls: Class, reason: str) -> Certificate:
    about = seen.sequence.about
    return Certificate(
        rig=str(about["name"]),
        harness=str(about["harness"]),
        cls=cls,
        reason=reason,
        profile=_profile(seen),
        opaque=seen.opaque,
        not_checked=not_checked(seen, None, None),
        stamp=seen.stamp,
        condition=seen.condition,
    )


def _profile(seen: Seen) -> Profile:
    endings = Counter(seen.sequence.endings)
    for each in seen.passages:
        endings.update(each.judged["endings"])
    return Profile(
        episodes=len(seen.passages),
        steps=seen.horizon.steps if seen.horizon.has_trace else 0,
        seeds=seen.horizon.seeds,
        episode_seeds=seen.horizon.episode_seeds,
        policy=str(seen.sequence.about["policy"]),
        endings=dict(endings),
        distinct=max((each.judged["distinct"] for each in seen.passages), default=0),
    )


def _evidence(seen: Seen, passage: Passage) -> Evidence:
    fresh, mine = passage.fresh, passage.judged
    walked = mine["reset"] or {"tokens": {}, "nodes": 0}
    return Evidence(
        number=passage.number,
        seed=seen.horizon.seeds[passage.number - 1],
        episode_seed=seen.horizon.episode_seeds[passage.number - 1],
        episode_steps=passage.played["steps"],
        fields=len(walked["tokens"]),
        apart=passage.apart,
        # Without a trace states are compared, and nothing that the rig said.
        rows_fresh=bytes(fresh["rows"]) if seen.horizon.has_trace else None,
        rows_judged=bytes(mine["rows"]) if seen.horizon.has_trace else None,
        final=passage.final,
        divergence=passage.divergence,
        nodes=walked["nodes"],
        jitter=seen.anchor.jitter,
    )


def _shift(passages: Sequence[Passage]) -> ReturnShift | None:
    pairs = [(each.fresh["return"], each.judged["return"]) for each in passages]
    gaps = [abs(one - other) for one, other in pairs]
    if not any(each.divergence is not None for each in passages):
        return None
    return ReturnShift(tuple(pairs), sum(gaps) / len(gaps), max(gaps))


def _varies(anchor: Anchor) -> str:
    if anchor.varies:
        return listed(anchor.varies)
    first = anchor.divergence
    if first is None:
        return "nothing that was read"
    return f"the {first.channel} of step {first.step}"
