"""What a task takes for granted about its start; where that fails, the task is at fault.

An agent that is asked to delete a row which was never there cannot be scored on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cleandesk.checkers.matching import match_up
from cleandesk.checkers.rows import same, spelt
from cleandesk.checkers.tree import Source, Tree, open_tree, value_at
from cleandesk.checkers.wanted import Want, read_expect
from cleandesk.errors import shown
from cleandesk.state.diff import ABSENT
from cleandesk.state.reference import Named, untag


def premises(spec: Mapping[str, Any], start: Source) -> list[str]:
    """Return what the start lacks for the task to be doable, one line for each.

    Of several right answers one that can be given is enough.

    Args:
        spec: The check of the task, as ``Task.spec`` builds it.
        start: The verified state at the start of the episode.

    Raises:
        CheckerError: CD-511, a malformed ``expect``.
    """
    answers = expected_answers(spec)
    tree = open_tree(start)
    faults = [_faults(read_expect(answer), tree) for answer in answers]
    # Infeasible tasks and answers that are texts take nothing for granted.
    return min(faults, key=len, default=[])


def expected_answers(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the right answers of ``spec``, each an ``expect`` table, dates as dates."""
    expect = spec.get("expect")
    if expect is None:
        return []
    return [untag(answer) for answer in (expect if isinstance(expect, list) else [expect])]


def _faults(wants: Sequence[Want], tree: Tree) -> list[str]:
    lines = [line for want in wants for line in _fault(want, tree)]
    tables = {want.parts: want for want in wants if want.kind == "gone" and None not in want.parts}
    for parts in tables:
        own = [want for want in wants if want.kind == "gone" and want.parts == parts]
        lines.extend(_not_there(own, value_at(tree, parts)))
    return lines


def _fault(want: Want, tree: Tree) -> list[str]:
    field = shown(want.text, 120)
    if None in want.parts:
        return []
    if value_at(tree, want.parts[:2]) is ABSENT and len(want.parts) > 1:
        # Whatever is done to it could never be seen.
        held = ", ".join(tree.get(str(want.parts[0]), ())) or "none"
        return [f"{field} is of no table at the start; there is: {shown(held, 200)}"]
    if want.kind in {"gone", "row"}:
        return []
    found = value_at(tree, want.parts)
    if want.kind == "added":
        if found is ABSENT:
            return []
        return [f"{field} should be added and is there at the start: {spelt(found)}"]
    if found is ABSENT:
        return [f"{field} should change and is not there at the start"]
    if not want.starts_from(found):
        return [f"{want.described()}, and is {spelt(found)} at the start"]
    if same(want.value, found):
        return [f"{field} should become {spelt(found)} and is that at the start"]
    return []


def _not_there(wants: list[Want], table: Any) -> list[str]:
    records = _records(table)
    options = [
        [place for place, (key, record) in enumerate(records) if want.is_row(key, record)]
        for want in wants
    ]
    lines = []
    for want, choice, places in zip(wants, match_up(options), options, strict=True):
        if choice is None:
            held = "has it once only" if places else "does not have it"
            lines.append(f"{want.described()}, and {held} at the start")
    return lines


def _records(table: Any) -> list[tuple[Any, Any]]:
    table = table.fields if isinstance(table, Named) else table
    if isinstance(table, Mapping):
        return list(table.items())
    if isinstance(table, (list, tuple)):
        return list(enumerate(table))
    if isinstance(table, (set, frozenset)):
        return [(member, member) for member in table]
    return []
