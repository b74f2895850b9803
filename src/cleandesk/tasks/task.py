"""A task, and what a seed makes of it."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from cleandesk.errors import CleandeskError, SuiteError, shown
from cleandesk.state.canon import encode
from cleandesk.state.pattern import Pattern
from cleandesk.tasks.blanks import fill_fields, fill_text, fill_value
from cleandesk.tasks.draws import Ask, Draw, draw_all
from cleandesk.tasks.limits import Limits

_FIELD_TABLES = ("changed", "added", "removed")


@dataclass(frozen=True, slots=True)
class Task:
    """A goal with blanks, the parameters that fill them, a check, and limits.

    What the suite sets for all tasks is merged in already.

    Attributes:
        id: Unique in its suite.
        goal: What the agent is told, with blanks.
        world: The world's name, or None where only ``load_suite``'s caller knows it.
        with_: Keyword arguments of the world's constructor.
        seeds: The seeds to draw with.
        draws: Parameter to what it may be.
        setup: Steps before the agent starts; each has ``call``, ``wait`` or ``expect``.
        expect: The right answers, each the whole change that it makes; empty if the
            task has no such check.
        answer: The accepted answer, a list of several, or None if it is not checked.
        checks: Functions to ask: ``{"ref", "with", "weight"}``.
        combine: ``and`` or ``or``.
        limits: What an episode may use.
        family: Tasks of one template share it; the task's id where none was named.
        infeasible: Only the answer "infeasible" is right.
        may_change: The world outside may change under the task.
        options: Handed to ``world.reset``.
        disturb: Faults to inject.
        events: What the world does by itself.
        where: File and task, for messages.
    """

    id: str
    goal: str
    world: str | None = None
    with_: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (1,)
    draws: Mapping[str, Draw] = field(default_factory=dict)
    setup: tuple[Mapping[str, Any], ...] = ()
    expect: tuple[Mapping[str, Any], ...] = ()
    answer: Any = None
    checks: tuple[Mapping[str, Any], ...] = ()
    combine: str = "and"
    limits: Limits = field(default_factory=Limits)
    family: str = ""
    infeasible: bool = False
    may_change: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    disturb: tuple[Mapping[str, Any], ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()
    where: str = ""

    @property
    def asks(self) -> bool:
        """Tell whether a parameter comes out of a base, which is made when a run is planned."""
        return any(draw.asks for draw in self.draws.values())

    def spec(self, params: Mapping[str, Any], *, incidental: Sequence[str] = ()) -> dict[str, Any]:
        """Return the check of this task as plain data, ready for JSON.

        Args:
            params: The drawn parameters.
            incidental: The contract's patterns of fields that are free to change.

        Raises:
            SuiteError: CD-410, a blank without a value; CD-415, a key that names no field.
        """
        expect = [self._expected(answer, params) for answer in self.expect]
        answer = fill_value(self.answer, params, where=self.at("answer"))
        accepted = answer if isinstance(answer, list) else [answer]
        return {
            "expect": expect[0] if len(expect) == 1 else expect or None,
            "accept_answers": None if answer is None else accepted,
            "infeasible": self.infeasible,
            "checks": fill_value(self.checks, params, where=self.at("check")),
            "combine": self.combine,
            "may_change": self.may_change,
            "incidental": list(incidental),
        }

    def at(self, key: str) -> str:
        """Return where ``key`` of this task is, for a message."""
        return f"{self.where or f'task {self.id!r}'}, {key}"

    def _expected(self, answer: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
        filled: dict[str, Any] = {}
        for key, table in answer.items():
            if key not in _FIELD_TABLES:
                filled[key] = table
                continue
            where = self.at(f"expect.{key}")
            filled[key] = fill_fields(table, params, where=where)
            for name in filled[key]:
                require_field(name, where=where)
        # Through canon/1, so that a date of TOML becomes JSON and comes back a date.
        plain: dict[str, Any] = json.loads(encode(filled))
        return plain


def require_field(name: str, *, where: str) -> None:
    """Refuse a key that is no name of a field below a surface.

    Raises:
        SuiteError: CD-415.
    """
    try:
        parts = Pattern.parse(name).parts
    except CleandeskError as error:
        raise SuiteError("CD-415", error.message, where=where, do=error.do) from error
    if len(parts) < 2:
        raise SuiteError(
            "CD-415",
            f"{shown(repr(name), 80)} names a surface and no field of it",
            where=where,
            do="write surface.table[key].field",
        )


@dataclass(frozen=True, slots=True)
class Instance:
    """A task with a seed: every blank filled, all of it plain data.

    Attributes:
        task_id: The task's id.
        seed: The seed that drew the parameters.
        family: The task's family.
        params: Parameter to drawn value.
        params_sha256: Of the canonical bytes of ``params``.
        goal: What the agent is told.
        spec: The check; its ``incidental`` is filled in from the contract by the run.
        world: The world's name.
        with_: Keyword arguments of the world's constructor.
        options: Handed to ``world.reset``.
        setup: Steps before the agent starts.
        disturb: Faults to inject.
        events: What the world does by itself.
        limits: What the episode may use.
    """

    task_id: str
    seed: int
    family: str
    params: dict[str, Any]
    params_sha256: str
    goal: str
    spec: dict[str, Any]
    world: str | None
    with_: dict[str, Any]
    options: dict[str, Any]
    setup: list[dict[str, Any]]
    disturb: list[dict[str, Any]]
    events: list[dict[str, Any]]
    limits: Limits

    def to_plain(self) -> dict[str, Any]:
        """Return this instance as plain data; ``json.dumps`` takes it."""
        held = {each.name: copy.deepcopy(getattr(self, each.name)) for each in fields(self)}
        return {**held, "limits": self.limits.to_plain()}

    @classmethod
    def from_plain(cls, held: Mapping[str, Any]) -> Instance:
        """Read what ``to_plain`` wrote."""
        return cls(**{**copy.deepcopy(dict(held)), "limits": Limits(**held["limits"])})


def fill(task: Task, seed: int, ask: Ask | None = None) -> Instance:
    """Draw the parameters of ``task`` for ``seed`` and fill its blanks.

    Args:
        task: The task.
        seed: The seed.
        ask: Asks the bases of the task's world, for draws from state.

    Raises:
        SuiteError: CD-410 to CD-415, a blank or a key that cannot be filled; it names
            the task and the key.
    """
    params = draw_all(task.draws, seed, task.id, ask)

    def filled(key: str, value: Any) -> Any:
        return fill_value(value, params, where=task.at(key))

    return Instance(
        task_id=task.id,
        seed=seed,
        family=task.family or task.id,
        params=copy.deepcopy(params),
        params_sha256=hashlib.sha256(encode(params)).hexdigest(),
        goal=fill_text(task.goal, params, where=task.at("goal")),
        spec=task.spec(params),
        world=task.world,
        with_=filled("with", task.with_),
        options=filled("options", task.options),
        setup=[_filled_step(task, step, params) for step in task.setup],
        disturb=filled("disturb", task.disturb),
        events=filled("event", task.events),
        limits=task.limits,
    )


def _filled_step(task: Task, step: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    where = task.at("setup")
    if "expect" not in step:
        held: dict[str, Any] = fill_value(step, params, where=where)
        return held
    premise = fill_fields(step["expect"], params, where=where)
    for name in premise:
        require_field(name, where=where)
    return {"expect": premise}
