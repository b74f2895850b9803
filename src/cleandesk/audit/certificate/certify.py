"""``certify``: does the world's own reset leave an empty delta?

Two servers are started, a fresh reference is built for every boundary in one of them, and
the judged rig runs its sequence in the other, so that the two sides share nothing. What
is a finding becomes part of the certificate; only what can't be asked for is an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from cleandesk.audit.certificate import sentences
from cleandesk.audit.certificate.anchor import FRESH, Anchor, Anchors, other_of
from cleandesk.audit.certificate.assemble import assembled, failed, judged, refused
from cleandesk.audit.certificate.certificate import Cause, Certificate, Check, Class, Profile
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.evidence import Shown, divergence_of
from cleandesk.audit.certificate.explain.scenario import Explained, Scenario
from cleandesk.audit.certificate.judge import Judgement
from cleandesk.audit.certificate.links import LIMIT_S, Bench, DeviceError, Link
from cleandesk.audit.certificate.rig import Declared, Recipe
from cleandesk.audit.certificate.rows import first_unequal
from cleandesk.audit.certificate.seen import Seen
from cleandesk.audit.certificate.sequence import Judged, References, judge_all
from cleandesk.audit.certificate.settings import PINS, Settings
from cleandesk.errors import shown

Progress = Callable[[str], None]

_APART_S = 1.0
"""Two builds that read the clock by the second must see two different ones."""

_EXPLAIN_S = 30.0
_FIRST_STEPS = 200
_ORDERS = 6
_JUDGED_SHARE = 0.5
UNSEEDED = "unseeded"


def certify(reference: str, *, on_progress: Progress | None = None, **settings: Any) -> Certificate:
    """Judge the reset of a world, and name what it leaves behind.

    Args:
        reference: ``gym:ID``, ``pettingzoo:FAMILY.NAME``, ``dm_control:DOMAIN.TASK``,
            ``module:factory``, ``file.py:factory`` or a registered world.
        on_progress: Told in a few words what is done now.
        settings: See ``Settings``: arguments, episodes, steps, seeds, reset, declare, ...

    Returns:
        The certificate; a leak, or a rig that raises, is in it and is not raised.

    Raises:
        UsageError: CD-831 or CD-832, the settings do not fit.
        CleandeskError: There is no such rig, or a declaration can't be read.

    Example:
        >>> certify("gym:CartPole-v1", steps=200).cls
        <Class.BIT_IDENTICAL: 'BIT-IDENTICAL'>
    """
    started = time.monotonic()
    chosen = Settings(**settings)
    recipe = chosen.recipe(reference)
    limit_s = LIMIT_S if chosen.budget_s is None else max(1.0, chosen.budget_s)
    with Bench(recipe, limit_s=limit_s, clock=chosen.clock) as bench:
        try:
            found = _Work(bench, chosen, on_progress or (lambda _: None)).certificate()
        except DeviceError as error:
            found = _failed(recipe, chosen, error)
    return replace(found, took_s=round(time.monotonic() - started, 3))


class _Work:
    """One certificate in the making."""

    def __init__(self, bench: Bench, settings: Settings, progress: Progress) -> None:
        self._bench = bench
        self._settings = settings
        self._horizon = settings.horizon
        self._pinned = settings.pinned
        self._declared = settings.declared
        self._kept = Declaring((), self._declared).kept
        self._progress = progress
        self._begun = time.monotonic()
        bench.ends = self._until(1.0)

    def certificate(self) -> Certificate:
        """Judge, explain and assemble.

        Raises:
            DeviceError: The rig raised where nothing can be judged, or ended, or hangs.
        """
        self._progress("importing")
        for key in (FRESH, other_of(self._pinned)):
            self._bench.start(*key)
        self._progress("two fresh builds")
        start, link = self._at_start()
        if start.is_refused:
            about = Judged(link, about=link.about)
            return refused(self._seen(about, start, self._stamp(link)))
        with ThreadPoolExecutor(1) as pool:
            fresh = References(self._bench, self._horizon, pool, self._kept)
            try:
                return self._judged(fresh, pool)
            except BaseException:
                # Nobody waits for the rest; ending the processes ends the waiting too.
                fresh.cancel()
                self._bench.stop()
                raise

    def _at_start(self) -> tuple[Anchor, Link]:
        """Compare two fresh builds right after the reset: the rest may take long.

        Later on the streams of an unseeded rig, the global ones too, stand alike in both. So
        here it takes steps: whoever draws from what no reset ever seeded is seen by these.
        """
        plan = self._horizon.judged(1)
        most = _FIRST_STEPS if self._bench.recipe.reset == UNSEEDED else 0
        plan["steps"] = min(plan["steps"], most)
        with ThreadPoolExecutor(1) as pool:
            early = pool.submit(self._bench.device, *FRESH)
            other_link = self._bench.device(*other_of(self._pinned))
            link = early.result()
        rigs = self._declaring(link.about)
        anchors = Anchors(self._bench, plan, rigs, self._pinned)
        one = Shown(link, link.call("judge", plan))
        other = Shown(other_link, other_link.call("judge", plan))
        anchor = anchors.judge(one, other)
        other_link.kill()
        return anchor, link

    def _seen(self, sequence: Judged, anchor: Anchor, stamp: Mapping[str, Any]) -> Seen:
        return Seen(
            recipe=self._bench.recipe,
            horizon=self._horizon,
            sequence=sequence,
            declaring=self._declaring(sequence.about),
            anchor=anchor,
            stamp=stamp,
            condition=_condition(self._pinned, self._kept),
            budget_s=self._settings.budget_s,
        )

    def _until(self, share: float) -> float | None:
        """Return the time at which ``share`` of the budget is spent."""
        budget_s = self._settings.budget_s
        return None if budget_s is None else self._begun + share * budget_s

    def _judged(self, fresh: References, pool: ThreadPoolExecutor) -> Certificate:
        built = time.monotonic()
        if self._bench.recipe.reset != UNSEEDED and not self._kept:
            fresh.begin()
        sequence = judge_all(
            self._bench,
            self._horizon,
            fresh,
            pinned=self._pinned,
            deadline=self._until(_JUDGED_SHARE),
            on_progress=self._progress,
        )
        if sequence.cut:
            # What comes next would wait for references that nobody asks for any more.
            fresh.cancel()
        one = fresh.of(1).result()
        plan = {**self._horizon.judged(1), **sequence.before.get(1, {})}
        unseen = pool.submit(self._unseen, plan)
        self._progress("a second fresh build")
        time.sleep(max(0.0, built + _APART_S - time.monotonic()))
        anchors = Anchors(self._bench, plan, self._declaring(sequence.about), self._pinned)
        anchor = self._anchor(anchors, one, unseen)
        seen = self._seen(sequence, anchor, self._stamp(one.link))
        if seen.raised:
            return failed(seen, sentences.ERROR_PLAY(stage="a fresh build", error=seen.raised))
        if seen.anchor.is_refused:
            return refused(seen)
        judgement = judged(seen)
        self._progress("further tests")
        checks = self._checks(seen)
        explained = None
        if self._settings.explain and judgement.cls is Class.FAIL:
            explained = self._explained(seen, judgement)
        return assembled(seen, judgement, checks, explained)

    def _checks(self, seen: Seen) -> tuple[Check, ...]:
        from cleandesk.audit.certificate.checks import Basis, run_checks

        plan = {
            **self._horizon.judged(1),
            **seen.sequence.before.get(1, {}),
            "streams": FRESH[1] if Cause.GLOBAL_RNG in self._pinned else None,
        }
        basis = Basis(
            fresh=lambda: self._bench.device(*FRESH),
            judged=seen.sequence.link,
            plan=plan,
            rows=bytes(seen.passages[0].fresh["rows"]),
            references={},
            resets_alike=self._bench.recipe.reset != UNSEEDED,
            # Rows of a rig that jitters by itself show nothing of what they are compared for.
            has_rows=seen.anchor.jitter is None and self._horizon.has_trace,
        )
        return run_checks(basis, orders=_ORDERS if self._settings.order else 0)

    def _explained(self, seen: Seen, judgement: Judgement) -> Explained:
        from cleandesk.audit.certificate.explain.explaining import explain

        first = next(each for each in judgement.boundaries if each.cls is Class.FAIL)
        passage = seen.passages[first.number - 1]
        kept, _ = seen.declaring.split_off(passage.apart)
        ends = time.monotonic() + _EXPLAIN_S
        until = min(ends, self._until(1.0) or ends)
        fresh_rows = bytes(passage.fresh["rows"]) if self._horizon.has_trace else b""
        first_row = first_unequal(fresh_rows, bytes(passage.judged["rows"])) if fresh_rows else None
        return explain(
            Scenario(
                bench=self._bench,
                recipe=self._bench.recipe,
                # What came before its own judged reset.
                history=tuple(seen.sequence.history[: 2 * first.number - 1]),
                judged={
                    **self._horizon.judged(first.number),
                    **seen.sequence.before.get(first.number, {}),
                },
                fresh_rows=fresh_rows,
                fresh_leaves={path: sides[0] for path, sides in kept.items()},
                judged_leaves={path: sides[1] for path, sides in kept.items()},
                first_row=first_row,
                deadline=until,
                on_progress=self._progress,
                fresh_key=FRESH,
                judged_key=other_of(self._pinned),
            )
        )

    def _unseen(self, plan: Mapping[str, Any]) -> Shown:
        """Return a fresh trace during which nothing was looked at."""
        link = self._bench.device(*FRESH)
        return Shown(link, link.call("judge", {**plan, "look": False}))

    def _anchor(self, anchors: Anchors, one: Shown, unseen: Future[Shown]) -> Anchor:
        other = anchors.other()
        anchor = anchors.judge(one, other)
        if anchor.divergence is None and not anchor.varies:
            apart = divergence_of(one, unseen.result(), 0)
            if apart is not None:
                return Anchor((), apart, Cause.WALK)
        other.link.kill()
        return anchor

    def _declaring(self, about: Mapping[str, Any]) -> Declaring:
        rigs = [Declared(*each) for each in about["declared"]]
        return Declaring(rigs, self._declared)

    def _stamp(self, link: Link) -> dict[str, Any]:
        said = link.call("stamp")
        recipe = self._bench.recipe
        return {
            "arguments": dict(recipe.arguments),
            "harness": link.about["harness"],
            "machine": said["machine"],
            "model": said["model"],
            "packages": said["packages"],
            "reference": recipe.reference,
            "reset": recipe.reset,
            "settings": self._settings.to_plain(),
        }


def _condition(pinned: frozenset[Cause], kept: Sequence[str]) -> str:
    names = [name for name, cause in PINS.items() if cause in pinned]
    said = [sentences.CONDITION(pins=", ".join(names))] if names else []
    said += [sentences.CARRIED_OVER(names=", ".join(kept))] if kept else []
    return "; ".join(said)


def _failed(recipe: Recipe, settings: Settings, error: DeviceError) -> Certificate:
    """Return the certificate of a rig that raised, ended, or did not answer."""
    said = shown(error.said, 400)
    horizon = settings.horizon
    if error.kind == "slow" and settings.budget_s is not None:
        asked = len(horizon.seeds)
        reason = sentences.OVER_BUDGET(budget=settings.budget_s, done=0, asked=asked)
    elif error.stage in {"build", "import"}:
        reason = sentences.ERROR_BUILD(error=said)
    elif error.kind in {"crashed", "slow"}:
        reason = sentences.ERROR_ENDED(stage=error.stage, how=said)
    else:
        reason = sentences.ERROR_PLAY(stage=error.stage, error=said)
    profile = Profile(0, 0, horizon.seeds, horizon.episode_seeds, "")
    stamp = {
        "arguments": dict(recipe.arguments),
        "reference": recipe.reference,
        "reset": recipe.reset,
        "settings": settings.to_plain(),
    }
    return Certificate(recipe.reference, recipe.reset, Class.ERROR, reason, profile, stamp=stamp)
