"""One task of a suite file, read and merged with what the suite sets for all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cleandesk.errors import CheckerError, SuiteError, shown
from cleandesk.tasks.blanks import blanks_of, value_of
from cleandesk.tasks.draws import Draw, parse_draw
from cleandesk.tasks.limits import Limits
from cleandesk.tasks.seeds import parse_seeds
from cleandesk.tasks.shape import (
    CheckKeys,
    DisturbKeys,
    EventKeys,
    ExpectKeys,
    LimitKeys,
    SetupKeys,
    TaskKeys,
    convert,
    keys_of,
    plain,
    require_json,
    require_known,
)
from cleandesk.tasks.task import Instance, Task, fill

_STEPS = re.compile(r"\s*(\d{1,9})\s*-\s*(\d{1,9})\s*")
_PARAMETER = re.compile(r"[A-Za-z_]\w*")
_SETUP_WAIT_S = 10.0
_MERGED = frozenset({"with", "options", "limits", "draw"})

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the suite sets for each of its tasks.

    Attributes:
        world: The suite's world, if it names one.
        with_: Keyword arguments of the world.
        with_args: Keyword arguments given by the caller; they stand above all others.
        seeds: The suite's seeds.
        limits: The suite's limits.
        disturb: Faults for all tasks.
        events: Events for all tasks.
    """

    world: str | None = None
    with_: Table = field(default_factory=dict)
    with_args: Table = field(default_factory=dict)
    seeds: tuple[int, ...] = (1,)
    limits: Limits = field(default_factory=Limits)
    disturb: tuple[Table, ...] = ()
    events: tuple[Table, ...] = ()


def read_task(given: Table, defaults: Defaults, *, where: str) -> Task:
    """Return the task that ``given`` describes, with a first instance tried.

    Args:
        given: One ``[[task]]`` table, or one line of a JSONL file.
        defaults: What the suite sets.
        where: The file and the place in it.

    Raises:
        SuiteError: CD-403 to CD-405 and CD-409 to CD-415; it names the file, the task
            and the key.
    """
    where = _named(given, where)
    keys = convert(given, TaskKeys, where=where)
    for key in ("with", "options", "draw", "answer", "check", "disturb", "event"):
        require_json(given.get(key), where=f"{where}, {key}")
    task = Task(
        id=keys.id,
        goal=keys.goal,
        world=_world(keys, defaults, where),
        with_={**defaults.with_, **keys.with_, **defaults.with_args},
        seeds=_seeds(keys, defaults, where),
        draws=_draws(keys.draw, where),
        setup=tuple(_setup_step(step, f"{where}, setup") for step in keys.setup),
        expect=_expected(keys.expect, where),
        answer=_answer(keys, where),
        checks=_checks(keys.check, where),
        combine=keys.combine,
        limits=read_limits(defaults.limits, keys.limits, where=f"{where}, limits"),
        family=keys.family or keys.id,
        infeasible=keys.infeasible,
        may_change=keys.may_change,
        options=keys.options,
        disturb=defaults.disturb + read_disturb(keys.disturb, where=f"{where}, disturb"),
        events=defaults.events + read_events(keys.event, where=f"{where}, event"),
        where=where,
    )
    _require_one_verdict(task)
    _require_values(task)
    # A trial filling finds a malformed field name before any episode runs.
    if not task.asks:
        _require_readable(task, fill(task, task.seeds[0]))
    return task


def merged(defaults: Table, given: Table) -> dict[str, Any]:
    """Return ``given`` over ``defaults``; the tables with, options, limits, draw key by key."""
    both = {**defaults, **given}
    for key in _MERGED & defaults.keys() & given.keys():
        if isinstance(defaults[key], Mapping) and isinstance(given[key], Mapping):
            both[key] = {**defaults[key], **given[key]}
    return both


def read_limits(limits: Limits, given: Table, *, where: str) -> Limits:
    """Return ``limits`` with those that ``given`` sets in their place.

    Raises:
        SuiteError: CD-403 or CD-404, an unknown limit or one that is not positive.
    """
    return limits.narrowed(plain(convert(given, LimitKeys, where=where)))


def read_disturb(given: list[dict[str, Any]], *, where: str) -> tuple[Table, ...]:
    """Return the disturbances as plain dicts of the keys that were set.

    Raises:
        SuiteError: CD-403 or CD-404.
    """
    return tuple(plain(convert(each, DisturbKeys, where=where)) for each in given)


def read_events(given: list[dict[str, Any]], *, where: str) -> tuple[Table, ...]:
    """Return the events as plain dicts of the keys that were set.

    Raises:
        SuiteError: CD-403 or CD-404; CD-413, a step that is no step.
    """
    events = tuple(convert(each, EventKeys, where=where) for each in given)
    for event in events:
        if isinstance(event.step, int):
            fits = event.step >= 1
        else:
            match = _STEPS.fullmatch(event.step)
            fits = match is not None and 1 <= int(match[1]) <= int(match[2])
        if not fits:
            raise SuiteError(
                "CD-413",
                f"step = {shown(repr(event.step), 40)} is no step of an episode, which begins at 1",
                where=f"{where} {event.name!r}",
                do='write a step such as 3, or a range to draw it from such as "2-5"',
            )
    return tuple(plain(event) for event in events)


def _named(given: Table, where: str) -> str:
    name = given.get("id")
    return f"{where}, task {shown(repr(name), 80)}" if isinstance(name, str) else where


def _world(keys: TaskKeys, defaults: Defaults, where: str) -> str:
    world = keys.world or defaults.world
    if world is None:
        raise SuiteError(
            "CD-405",
            "the task names no world, and neither does its suite",
            where=where,
            do='add world = "module:Class", "gym:ID" or a name that `cleandesk list` shows',
        )
    return world


def _seeds(keys: TaskKeys, defaults: Defaults, where: str) -> tuple[int, ...]:
    if keys.seeds is None:
        return defaults.seeds
    return parse_seeds(keys.seeds, where=f"{where}, seeds")


def _draws(given: Table, where: str) -> dict[str, Draw]:
    for name in given:
        if not _PARAMETER.fullmatch(name):
            raise SuiteError(
                "CD-412",
                f"{shown(repr(name), 60)} can't name a parameter",
                where=f"{where}, draw",
                do="use letters, digits and _, and begin with a letter",
            )
    return {name: parse_draw(spec, where=f"{where}, draw.{name}") for name, spec in given.items()}


def _setup_step(given: Table, where: str) -> dict[str, Any]:
    step = convert(given, SetupKeys, where=where)
    held = plain(step)
    verbs = [verb for verb in ("call", "wait", "expect") if verb in held]
    fits = len(verbs) == 1
    fits = fits and not ("with" in held and "expect" in held)
    fits = fits and not ("timeout_s" in held and "wait" not in held)
    if not fits:
        raise SuiteError(
            "CD-413",
            f"a setup step holds {', '.join(held) or 'nothing'}",
            where=where,
            do='write {call = "method", with = {..}}, {wait = "method", timeout_s = 5} '
            'or {expect = {"surface.table[key].field" = value}}',
        )
    require_json(given, where=where)
    if step.expect is not None:
        return {"expect": step.expect}
    wait = {} if step.wait is None else {"timeout_s": step.timeout_s or _SETUP_WAIT_S}
    return {verbs[0]: held[verbs[0]], "with": step.with_ or {}, **wait}


def _expected(given: Any, where: str) -> tuple[Table, ...]:
    if given is None:
        return ()
    answers = given if isinstance(given, list) else [given]
    if not answers:
        raise SuiteError(
            "CD-413",
            "expect lists no right answer, so that nothing could pass",
            where=f"{where}, expect",
            do="leave it out, or write expect = {} where nothing may change",
        )
    return tuple(_right_answer(answer, f"{where}, expect") for answer in answers)


def _right_answer(given: Table, where: str) -> Table:
    convert(given, ExpectKeys, where=where)
    return dict(given)


def _answer(keys: TaskKeys, where: str) -> Any:
    if isinstance(keys.answer, list) and not keys.answer:
        raise SuiteError(
            "CD-413",
            "answer lists no accepted answer, so that nothing could pass",
            where=f"{where}, answer",
            do="leave it out, or list the answers that are right",
        )
    return keys.answer


def _checks(given: Any, where: str) -> tuple[Table, ...]:
    entries = given if isinstance(given, list) else [] if given is None else [given]
    checks = []
    for entry in entries:
        table = {"ref": entry} if isinstance(entry, str) else entry
        check = convert(table, CheckKeys, where=f"{where}, check")
        checks.append({"ref": check.ref, "with": check.with_, "weight": check.weight})
    return tuple(checks)


def _require_one_verdict(task: Task) -> None:
    asked = [
        name
        for name, is_asked in (
            ("expect", bool(task.expect)),
            ("answer", task.answer is not None),
            ("check", bool(task.checks)),
        )
        if is_asked
    ]
    if task.infeasible and asked:
        raise SuiteError(
            "CD-413",
            f"an infeasible task has {', '.join(asked)}, which would never be asked",
            where=task.where,
            do="take it out: of an infeasible task only the answer 'infeasible' is right",
        )


def _require_readable(task: Task, instance: Instance) -> None:
    """Read the expectation as the checker will, long before an episode is judged by it."""
    from cleandesk.checkers.premise import expected_answers
    from cleandesk.checkers.wanted import read_expect

    for answer in expected_answers(instance.spec):
        try:
            read_expect(answer)
        except CheckerError as error:
            where = task.at(error.where or "expect")
            raise CheckerError(error.code, error.message, where=where, do=error.do) from error


def _require_values(task: Task) -> None:
    places: dict[str, Any] = {
        "goal": task.goal,
        "with": task.with_,
        "options": task.options,
        "setup": task.setup,
        "expect": task.expect,
        "answer": task.answer,
        "check": task.checks,
        "disturb": task.disturb,
        "event": task.events,
    }
    for key, value in places.items():
        where = task.at(key)
        for blank in blanks_of(value, where=where):
            name = blank.split(".")[0]
            # What an answer's columns are called is known when it is asked.
            if name not in task.draws and not task.asks:
                value_of(blank, dict.fromkeys(task.draws), where)


def known_task_keys(given: Table, *, where: str) -> None:
    """Refuse defaults of ``[[tasks]]`` that no task has.

    Raises:
        SuiteError: CD-403.
    """
    require_known(given, keys_of(TaskKeys), where=where)
