"""What a task takes for granted about its start; where that fails, the task is at fault.

An agent that is asked to delete a row which was never there cannot be scored on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from cleandesk.checkers.matching import match_up
from cleandesk.checkers.rows import fields_of, is_named_by_row, same, spelt
from cleandesk.checkers.tree import Source, Tree, open_tree, value_at
from cleandesk.checkers.wanted import Want, read_expect
from cleandesk.errors import shown
from cleandesk.state.canon import encode
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
        if value_at(tree, parts) is ABSENT and len(parts) == 2:
            continue
        own = [want for want in wants if want.kind == "gone" and want.parts == parts]
        lines.extend(_not_there(own, value_at(tree, parts)))
    return lines


def _fault(want: Want, tree: Tree) -> list[str]:
    field = shown(want.text, 120)
    if None in want.parts:
        return []
    is_table = want.kind == "added" and len(want.parts) == 2
    if value_at(tree, want.parts[:2]) is ABSENT and not is_table:
        # Whatever is done to it could never be seen.
        held = ", ".join(tree.get(str(want.parts[0]), ())) or "none"
        return [f"{field} is of no table at the start; there is: {shown(held, 200)}"]
    if want.kind == "row":
        return _never_a_row(want, value_at(tree, want.parts))
    if want.kind == "gone":
        return []
    found = value_at(tree, want.parts)
    if want.kind == "added":
        if found is ABSENT:
            return _never_a_row(want, value_at(tree, want.parts[:-1]))
        return [f"{field} should be added and is there at the start: {spelt(found)}"]
    if found is ABSENT:
        return [f"{field} should change and is not there at the start"]
    if not want.starts_from(found):
        return [f"{want.described()}, and is {spelt(found)} at the start"]
    if same(want.value, found):
        return [f"{field} should become {spelt(found)} and is that at the start"]
    return []


def _never_a_row(want: Want, table: Any) -> list[str]:
    """Return why no row that could come into ``table`` is the one to be added."""
    records = _records(table)
    row, columns = fields_of(want.value), _columns(records)
    if not (row and columns):
        return []
    for name in sorted(row.keys() - columns):
        near = get_close_matches(name, sorted(columns), n=3) or sorted(columns)
        text = f"{shown(want.text, 120)} should gain a row with {shown(name, 60)}, which no row has"
        return [f"{text} at the start; there is: {shown(', '.join(near), 200)}"]
    key = _key_of(row, records) if want.kind == "row" else None
    if key is None or all(encode(key) != encode(each) for each, _ in records):
        return []
    # A row of that key can change, never come.
    return [f"{want.described()}, and has a row of the key {spelt(key)} at the start"]


def _columns(records: list[tuple[Any, Any]]) -> frozenset[str]:
    """Return the fields of each record of a table whose rows are all of one form.

    Things that are named by texts they don't hold, such as files, may each have others.
    """
    forms = set()
    for key, record in records:
        fields = fields_of(record)
        if fields is None or (isinstance(key, str) and not is_named_by_row(key, record)):
            return frozenset()
        forms.add(frozenset(fields))
    return forms.pop() if len(forms) == 1 else frozenset()


def _key_of(row: Mapping[str, Any], records: list[tuple[Any, Any]]) -> Any:
    """Return the key that ``row`` would have, or None where that is not certain."""
    sizes = {len(key) if isinstance(key, tuple) else 0 for key, _ in records}
    if len(records) < 2 or len(sizes) > 1:
        return None
    size = sizes.pop()
    found = [_column_of(place, records) for place in range(size or 1)]
    if any(name is None or name not in row for name in found):
        return None
    parts = tuple(row[str(name)] for name in found)
    return parts if size else parts[0]


def _column_of(place: int, records: list[tuple[Any, Any]]) -> str | None:
    """Return the one field that holds that part of the key in each record."""
    names: set[str] | None = None
    for key, record in records:
        part = encode(key[place] if isinstance(key, tuple) else key)
        held = {name for name, item in (fields_of(record) or {}).items() if encode(item) == part}
        names = held if names is None else names & held
    return names.pop() if names and len(names) == 1 else None


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
