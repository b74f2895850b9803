"""What a check is judged on, and each part of it as a checker is handed it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cleandesk.checkers.score import Score
from cleandesk.checkers.tree import Source, Tree, open_tree
from cleandesk.checkers.view import View
from cleandesk.checkers.whole import judge_change
from cleandesk.errors import CheckerError
from cleandesk.state.diff import Change


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an episode left to judge it by.

    A part that ``needs`` does not name may be left at its default.

    Attributes:
        task_id: The task's id.
        goal: What the agent was told.
        params: The drawn parameters.
        start: The state before the agent's first action: a snapshot, its stored bytes,
            the canonical bytes of a tree, or a tree; None if it was not sent.
        end: The state after its last action, in the same forms.
        changes: The whole change between the two; None if it was not sent.
        answer: What the agent answered, None if it did not.
        infeasible_answer: The agent answered that the task cannot be done.
        reason: Why the episode ended.
        rewards: The world's reward of each step.
        actions: The agent's action of each step.
        trajectory: The episode's entries.
    """

    task_id: str = ""
    goal: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    start: Source | None = None
    end: Source | None = None
    changes: tuple[Change, ...] | None = None
    answer: Any = None
    infeasible_answer: bool = False
    reason: str = ""
    rewards: tuple[float | None, ...] = ()
    actions: tuple[Any, ...] = ()
    trajectory: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskAsked:
    """The task, as far as a checker may know it.

    Attributes:
        id: The task's id.
        goal: What the agent was told.
        params: The drawn parameters.
    """

    id: str
    goal: str
    params: dict[str, Any]


class Changes(Sequence[Change]):
    """The whole change, in order; ``only`` compares it with what was asked for."""

    __slots__ = ("_changes", "_incidental", "_start")

    def __init__(
        self, changes: Sequence[Change], incidental: Sequence[str] = (), start: Source | None = None
    ) -> None:
        """Hold ``changes``; see ``judge_change`` for the other two."""
        self._changes = tuple(changes)
        self._incidental = tuple(incidental)
        self._start = start

    def __len__(self) -> int:
        return len(self._changes)

    def __getitem__(self, place: Any) -> Any:
        return self._changes[place]

    def __iter__(self) -> Iterator[Change]:
        return iter(self._changes)

    def only(
        self,
        *,
        changed: Mapping[str, Any] | None = None,
        added: Mapping[str, Any] | None = None,
        removed: Mapping[str, Any] | None = None,
        exact: bool = False,
    ) -> Score:
        """Score 1 if these are the changes, all of them and no others, else 0.

        Incidental fields are free to change. Without arguments: nothing else changed.

        Args:
            changed: Field to new value, or to ``{"from": old, "to": new}``.
            added: Table to list of rows, or field to value.
            removed: Table to list of keys or rows.
            exact: The rows leave out no field.
        """
        expect = {
            "changed": changed or {},
            "added": added or {},
            "removed": removed or {},
            "exact": exact,
        }
        return judge_change(self._changes, expect, self._incidental, self._start)


ARGUMENTS: tuple[str, ...] = (
    "task",
    "start",
    "end",
    "change",
    "answer",
    "trajectory",
    "rewards",
    "actions",
    "reason",
    "params",
)
"""The names that a checker may ask for."""

SENT: Mapping[str, frozenset[str]] = {
    "start": frozenset({"start"}),
    "end": frozenset({"end"}),
    "change": frozenset({"changes", "start"}),
    "answer": frozenset({"answer"}),
    "trajectory": frozenset({"trajectory"}),
    "rewards": frozenset({"rewards"}),
    "actions": frozenset({"actions"}),
    "reason": frozenset({"reason"}),
}
"""Argument to the fields of ``Evidence`` that it is made of, beside the task's own."""


class Handout:
    """Hands each argument out; what can be written is a copy for each asking.

    So a checker that changes its arguments changes nothing for the next (law 10).
    """

    def __init__(self, evidence: Evidence, incidental: Sequence[str] = ()) -> None:
        """Hand out from ``evidence``, with the contract's incidental patterns."""
        self._evidence = evidence
        self._incidental = tuple(incidental)
        self._trees: dict[str, Tree] = {}

    def tree(self, side: str) -> Tree | None:
        """Return the state at ``start`` or ``end``, or None if it was not sent."""
        source = getattr(self._evidence, side)
        if source is None:
            return None
        if side not in self._trees:
            self._trees[side] = open_tree(source)
        return self._trees[side]

    def changes(self) -> tuple[Change, ...]:
        """Return the whole change.

        Raises:
            CheckerError: CD-509, it was not sent.
        """
        if self._evidence.changes is None:
            raise _not_sent("change")
        return self._evidence.changes

    def give(self, name: str) -> Any:
        """Return the argument ``name``.

        Raises:
            CheckerError: CD-509, what it is made of was not sent.
        """
        special = self._special().get(name)
        if special is not None:
            return special()
        return copy.deepcopy(getattr(self._evidence, name))

    def _special(self) -> dict[str, Callable[[], Any]]:
        held = self._evidence
        return {
            "task": lambda: TaskAsked(held.task_id, held.goal, copy.deepcopy(dict(held.params))),
            "params": lambda: copy.deepcopy(dict(held.params)),
            "start": lambda: self._view("start"),
            "end": lambda: self._view("end"),
            "change": lambda: Changes(
                copy.deepcopy(self.changes()), self._incidental, self.tree("start")
            ),
        }

    def _view(self, side: str) -> View:
        tree = self.tree(side)
        if tree is None:
            raise _not_sent(side)
        return View(tree)


def _not_sent(name: str) -> CheckerError:
    return CheckerError(
        "CD-509",
        f"the checker asks for {name}, which was not captured or not sent",
        where=f"argument {name}",
        do="send what needs(spec) names",
    )
