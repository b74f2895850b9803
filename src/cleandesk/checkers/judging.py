"""Judge an episode by its task's check.

The order: the rule for infeasible tasks, then the whole change, the answer, and the
functions, combined by ``and`` or ``or``. Everything here is pure: the same check and
the same evidence give the same result (law 10, tests/laws/test_checker_laws.py).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cleandesk.checkers.answers import judge_answer
from cleandesk.checkers.combine import Ask, Part, combine
from cleandesk.checkers.evidence import SENT, Evidence, Handout
from cleandesk.checkers.load import Checker, load_checker
from cleandesk.checkers.premise import expected_answers
from cleandesk.checkers.score import Metric, Score, Unscored, as_score, fail, passed
from cleandesk.checkers.whole import Account, account_for
from cleandesk.errors import CheckerError, CleandeskError, shown

_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of a check; one of ``score``, ``metric`` and ``unscored`` is set.

    Attributes:
        score: In [0, 1].
        metric: A number without bounds, where the check has no range.
        unscored: Why there is no score.
        explanation: Why it is this score, in a line.
        parts: One dict for each check asked: ``name``, ``score``, ``unscored``,
            ``explanation``, ``weight``.
    """

    score: float | None = None
    metric: float | None = None
    unscored: str | None = None
    explanation: str = ""
    parts: tuple[dict[str, Any], ...] = ()


def judge(
    spec: Mapping[str, Any], evidence: Evidence, *, folders: Sequence[str | Path] = ()
) -> Judged:
    """Judge ``evidence`` by ``spec``.

    Args:
        spec: The check of the task, as ``Task.spec`` builds it.
        evidence: What the episode left; at least what ``needs(spec)`` names.
        folders: Where files that hold checkers are looked for, such as the suite's folder.

    Raises:
        CheckerError: A checker can't be loaded, raised, or returned no score; the
            episode is the checker's failure and is not scored.
    """
    if spec.get("infeasible"):
        return _infeasible(evidence)
    if evidence.infeasible_answer:
        return _judged(fail("the agent answered that the task cannot be done"), [])
    checks = [(check, load_checker(check["ref"], folders=folders)) for check in _checks(spec)]
    handout = Handout(evidence, spec.get("incidental") or ())
    if len(checks) == 1 and spec.get("expect") is None and spec.get("accept_answers") is None:
        # Alone a check may give a metric; there is nothing to combine it with.
        result = _asked(*checks[0], handout)
        if isinstance(result, Metric):
            said = f"{result.name} {result.value:g}"
            return Judged(metric=result.value, explanation=shown(said, _LONGEST))
        asks: list[Ask] = [Ask(checks[0][0]["ref"], lambda: result, _weight(checks[0][0]))]
    else:
        asks = list(_asks(spec, checks, handout))
    return _judged(*combine(asks, spec.get("combine") or "and"))


def needs(spec: Mapping[str, Any], *, folders: Sequence[str | Path] = ()) -> frozenset[str]:
    """Return the fields of ``Evidence`` that ``judge`` will read for ``spec``.

    The task's id, goal and parameters, and whether the agent answered "infeasible", are
    small and always wanted; they are not named.

    Raises:
        CheckerError: CD-501 to CD-505 and CD-510, a checker that can't be used.
    """
    if spec.get("infeasible"):
        return frozenset()
    wanted: set[str] = set()
    if spec.get("expect") is not None:
        wanted |= SENT["change"]
    if spec.get("accept_answers") is not None:
        wanted |= SENT["answer"]
    for check in _checks(spec):
        asked = load_checker(check["ref"], folders=folders).asks(check.get("with") or {})
        for name in asked:
            wanted |= SENT.get(name, frozenset())
    return frozenset(wanted)


def _checks(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return spec.get("checks") or ()


def _weight(check: Mapping[str, Any]) -> float:
    return float(check.get("weight", 1.0))


def _infeasible(evidence: Evidence) -> Judged:
    if evidence.infeasible_answer:
        return _judged(passed("the task cannot be done, and the agent said so"), [])
    return _judged(fail("the task cannot be done, and the agent did not say so"), [])


def _asks(
    spec: Mapping[str, Any],
    checks: Sequence[tuple[Mapping[str, Any], Checker]],
    handout: Handout,
) -> Iterator[Ask]:
    if spec.get("expect") is not None:
        yield Ask("expect", lambda: _nearest(spec, handout))
    accepted = spec.get("accept_answers")
    if accepted is not None:
        yield Ask("answer", lambda: judge_answer(handout.give("answer"), accepted))
    for check, checker in checks:
        yield Ask(checker.ref, partial(_scored, check, checker, handout), _weight(check))


def _nearest(spec: Mapping[str, Any], handout: Handout) -> Score:
    """Score 1 if one of the right answers was given; else say what the nearest lacks."""
    best: Account | None = None
    for expect in expected_answers(spec):
        account = account_for(
            handout.changes(), expect, spec.get("incidental") or (), handout.tree("start")
        )
        if best is None or account.problems < best.problems:
            best = account
    if best is None:
        raise CheckerError("CD-511", "expect lists no right answer", do="leave it out, or list one")
    return best.score()


def _scored(check: Mapping[str, Any], checker: Checker, handout: Handout) -> Score | Unscored:
    result = _asked(check, checker, handout)
    if isinstance(result, Metric):
        raise CheckerError(
            "CD-508",
            f"the checker {checker.ref} gives a metric, which has no bounds, and the task has "
            "other checks to combine it with",
            where=f"checker {checker.ref}",
            do="declare its range: with = {low = .., high = ..}",
        )
    return result


def _asked(
    check: Mapping[str, Any], checker: Checker, handout: Handout
) -> Score | Unscored | Metric:
    given = copy.deepcopy(dict(check.get("with") or {}))
    arguments = {name: handout.give(name) for name in checker.asks(given)}
    where = f"checker {checker.ref}"
    try:
        result = checker.function(**arguments, **given)
    except CheckerError as error:
        raise CheckerError(
            error.code, error.message, where=error.where or where, do=error.do
        ) from error
    except (Exception, SystemExit) as error:
        what = error.code if isinstance(error, CleandeskError) else type(error).__name__
        raise CheckerError(
            "CD-506",
            f"the checker {checker.ref} raised {what}: {shown(_text_of(error), 300)}",
            where=_line_of(error, checker) or where,
            do="mend the checker, then run rescore; the episode is set aside, not scored",
        ) from error
    return as_score(result, where=where)


def _text_of(error: BaseException) -> str:
    if isinstance(error, CleandeskError):
        return error.message
    # str() of a KeyError is the repr of its text.
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _line_of(error: BaseException, checker: Checker) -> str:
    trace = error.__traceback__
    code = getattr(checker.function, "__code__", None)
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return f"{trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return ""


def _judged(result: Score | Unscored, parts: list[Part]) -> Judged:
    told = tuple(map(_told, parts))
    if isinstance(result, Unscored):
        reason = shown(result.reason, _LONGEST)
        return Judged(unscored=reason, explanation=reason, parts=told)
    explanation = shown(result.explanation, _LONGEST)
    return Judged(score=result.value, explanation=explanation, parts=told)


def _told(part: Part) -> dict[str, Any]:
    is_scored = isinstance(part.result, Score)
    said = part.result.explanation if isinstance(part.result, Score) else part.result.reason
    return {
        "name": part.name,
        "score": part.result.value if isinstance(part.result, Score) else None,
        "unscored": None if is_scored else shown(said, _LONGEST),
        "explanation": shown(said, _LONGEST),
        "weight": part.weight,
    }
