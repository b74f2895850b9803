"""What a task takes for granted about its start; where that fails, the task is at fault.

An agent that is asked to delete a row which was never there cannot be scored on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from cleandesk.checkers.matching import match_up
from cleandesk.checkers.rows import fields_of, is_named_by_row, same, spelt
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
    forms: dict[tuple[str | None, ...], _Form] = {}

    def form_at(parts: tuple[str | None, ...]) -> _Form:
        if parts not in forms:
            forms[parts] = _form_of(value_at(tree, parts))
        return forms[parts]

    lines = [line for want in wants for line in _fault(want, tree, form_at)]
    tables = {want.parts: want for want in wants if want.kind == "gone" and None not in want.parts}
    for parts in tables:
        if value_at(tree, parts) is ABSENT and len(parts) == 2:
            continue
        own = [want for want in wants if want.kind == "gone" and want.parts == parts]
        lines.extend(_not_there(own, value_at(tree, parts)))
    return lines


def _fault(want: Want, tree: Tree, form_at: Callable[[tuple[str | None, ...]], _Form]) -> list[str]:
    field = shown(want.text, 120)
    if None in want.parts:
        return []
    is_table = want.kind == "added" and len(want.parts) == 2
    if value_at(tree, want.parts[:2]) is ABSENT and not is_table:
        # Whatever is done to it could never be seen.
        held = ", ".join(tree.get(str(want.parts[0]), ())) or "none"
        return [f"{field} is of no table at the start; there is: {shown(held, 200)}"]
    if want.kind == "row":
        return _never_a_row(want, form_at(want.parts))
    if want.kind == "gone":
        return []
    found = value_at(tree, want.parts)
    if want.kind == "added":
        if found is ABSENT:
            return [] if is_table else _never_a_row(want, form_at(want.parts[:-1]))
        return [f"{field} should be added and is there at the start: {spelt(found)}"]
    if found is ABSENT:
        return [f"{field} should change and is not there at the start"]
    if not want.starts_from(found):
        return [f"{want.described()}, and is {spelt(found)} at the start"]
    if same(want.value, found):
        return [f"{field} should become {spelt(found)} and is that at the start"]
    return []


@dataclass(frozen=True, slots=True)
class _Form:
    """What is certain of every row that a table can hold.

    Attributes:
        columns: The fields of each row; none, where rows may differ in them.
        key: The field that holds each part of a row's key; none, where that is not certain.
        table: The rows at the start.
    """

    columns: frozenset[str] = frozenset()
    key: tuple[str, ...] = ()
    table: Any = None

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Tell whether this very row, its key included, is there already."""
        if not self.key or row.keys() != self.columns:
            return False
        parts = tuple(row[name] for name in self.key)
        found = value_at(self.table, [str(parts if len(parts) > 1 else parts[0])])
        return found is not ABSENT and same(row, found)


def _form_of(table: Any) -> _Form:
    records = [(key, fields_of(record)) for key, record in _records(table)]
    forms = set()
    for key, fields in records:
        # Things named by texts that they don't hold, such as files, may each have others.
        if fields is None or (isinstance(key, str) and not is_named_by_row(key, fields)):
            return _Form()
        forms.add(frozenset(fields))
    if len(forms) != 1:
        return _Form()
    rows = [fields or {} for _, fields in records]
    # The places of a list are no keys; one row alone may hold its key by chance.
    is_keyed = isinstance(table, Mapping) and len(rows) > 1
    names = _key_columns([key for key, _ in records], rows) if is_keyed else ()
    return _Form(forms.pop(), names, table)


def _key_columns(keys: list[Any], rows: list[dict[str, Any]]) -> tuple[str, ...]:
    parts = [key if isinstance(key, tuple) else (key,) for key in keys]
    if len({*map(len, parts)}) != 1:
        return ()
    found = [_column_of(column, rows) for column in zip(*parts, strict=True)]
    names = tuple(name for name in found if name is not None)
    return names if len(names) == len(found) else ()


def _column_of(parts: Sequence[Any], rows: list[dict[str, Any]]) -> str | None:
    """Return the one field that holds that part of the key in each row."""
    names = list(rows[0])
    for part, row in zip(parts, rows, strict=True):
        names = [name for name in names if type(row[name]) is type(part) and row[name] == part]
    return names[0] if len(names) == 1 else None


def _never_a_row(want: Want, form: _Form) -> list[str]:
    """Return why no row that could come into the table is the one to be added."""
    row = fields_of(want.value)
    if not (row and form.columns):
        return []
    field = shown(want.text, 120)
    for name in sorted(row.keys() - form.columns):
        held = sorted(form.columns)
        near = shown(", ".join(get_close_matches(name, held) or held), 200)
        which = f"with {shown(repr(name), 60)}, which no row has at the start"
        return [f"{field} should gain a row {which}; there is: {near}"]
    if want.kind == "row" and form.holds(row):
        # The row of that key can change; it can't come.
        return [f"{want.described()}, and has that very row at the start"]
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
