"""Comparing two databases as a whole, a chunk of each at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.delta import Delta, Edit
from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.sqlite.layout import SqlTable
from cleandesk.surfaces.sqlite.reading import NO_TERMS, Side, opened, special_tables
from cleandesk.surfaces.sqlite.rows import (
    Row,
    RowReader,
    Spelled,
    Stem,
    add_by_key,
    batch_size,
    exact,
    number,
    spell,
)

Edits = dict[bytes, Edit]
Groups = Callable[[set[Stem]], Mapping[Stem, Sequence[bytes]]]
"""Stems -> all records at the base that share each."""


def compare(
    before: str | Path, after: str | Path, surface: str = "db", terms: SurfaceTerms | None = None
) -> Delta:
    """Say what differs between two database files; neither is held in memory.

    Nothing is written to them or beside them.

    Raises:
        WorldError: CD-242, one can't be read or was being written; CD-243, there is none.
    """
    terms = terms or NO_TERMS
    with opened(Path(before), terms) as old, opened(Path(after), terms) as new:
        return compare_sides(old, new, Leaving(surface, terms))


def compare_sides(old: Side, new: Side, leaving: Leaving) -> Delta:
    """Say what differs between two open databases, each inside a transaction."""
    here, there = old.layout.tables, new.layout.tables
    names = [name for name in here.keys() | there.keys() if not leaving.table(name)]
    edits: dict[str, Edits] = {}
    for name in names:
        if name in here and name in there:
            edits[name] = compare_table((old, here[name]), (new, there[name]), leaving)
        elif name in here:
            edits[name] = _all_of(old, here[name], leaving, is_gone=True)
        else:
            edits[name] = _all_of(new, there[name], leaving, is_gone=False)
    edits |= compare_special(old, new, leaving)
    return Delta.of(
        edits,
        [name for name in names if name not in here],
        [name for name in names if name not in there],
    )


def compare_special(old: Side, new: Side, leaving: Leaving) -> dict[str, Edits]:
    """Compare the schemas and the settings that the files carry."""
    found = Delta.between(special_tables(old, leaving), special_tables(new, leaving))
    return {name: dict(edits) for name, edits in found.tables.items()}


def compare_table(
    old: tuple[Side, SqlTable], new: tuple[Side, SqlTable], leaving: Leaving
) -> Edits:
    """Compare one table of two databases, all rows of it."""
    (side, table), (other_side, other) = old, new
    if _shape(table) == _shape(other):
        gone, come = differing(side.rows(table), other_side.rows(other))
        if not gone and not come:
            return {}
        sides = spell(table, gone, leaving), spell(other, come, leaving)
        return edits_of(table, sides, lambda stems: groups_at(side, table, leaving, stems))
    sides = _spelled(side, table, leaving), _spelled(other_side, other, leaving)
    return edits_of(table, sides, lambda stems: _grouped(sides[0], stems))


def _shape(table: SqlTable) -> tuple[object, ...]:
    return table.columns, table.key, table.by_rowid


def differing(old: RowReader, new: RowReader) -> tuple[list[Row], list[Row]]:
    """Return the rows that only one of two readings has, equal to the type.

    Both are read once, side by side. What is in one and not yet in the other waits until
    it comes; so rows in about the same order need little memory, and any order is right.
    """
    gone: dict[bytes, list[Row]] = {}
    come: dict[bytes, list[Row]] = {}
    count, ahead = 64, 0
    while True:
        rows = old.take(count + max(0, -ahead))
        others = new.take(count + max(0, ahead))
        if not rows and not others:
            break
        # One of two that are out of step reads more: then the next chunks fit again.
        ahead = 0 if exact(rows) == exact(others) else _cancel(rows, others, gone, come)
        count = batch_size(rows or others)
    return [row for held in gone.values() for row in held], [
        row for held in come.values() for row in held
    ]


def _cancel(
    rows: list[Row], others: list[Row], gone: dict[bytes, list[Row]], come: dict[bytes, list[Row]]
) -> int:
    """Let equal rows of both sides go; return by how many rows the first is ahead."""
    marks, other_marks = [exact(row) for row in rows], [exact(row) for row in others]
    for row, mark in zip(rows, marks, strict=True):
        _meet(row, mark, come, gone)
    for row, mark in zip(others, other_marks, strict=True):
        _meet(row, mark, gone, come)
    return _tail(marks, gone) - _tail(other_marks, come)


def _meet(
    row: Row, mark: bytes, waiting: dict[bytes, list[Row]], kept: dict[bytes, list[Row]]
) -> None:
    found = waiting.get(mark)
    if found is None:
        kept.setdefault(mark, []).append(row)
    else:
        found.pop()
        if not found:
            del waiting[mark]


def _tail(marks: list[bytes], kept: Mapping[bytes, list[Row]]) -> int:
    place = len(marks)
    while place and marks[place - 1] in kept:
        place -= 1
    return len(marks) - place


def edits_of(table: SqlTable, sides: tuple[Spelled, Spelled], groups: Groups) -> Edits:
    """Turn the rows that differ into edits.

    Args:
        table: Whose rows they are.
        sides: The rows at the base and now; a row that is on both is on neither.
        groups: Answers for rows without a key what else is alike at the base.
    """
    (keyed, loose), (other_keyed, other_loose) = sides
    old: dict[bytes, bytes] = {}
    new: dict[bytes, bytes] = {}
    add_by_key(table, old, keyed)
    add_by_key(table, new, other_keyed)
    edits = {key: (old.get(key), new.get(key)) for key in old.keys() | new.keys()}
    stems = {stem for stem, _ in loose} | {stem for stem, _ in other_loose}
    if stems:
        at_base = groups(stems)
        now = {stem: Counter(at_base.get(stem, ())) for stem in stems}
        for stem, record in loose:
            now[stem][record] -= 1
        for stem, record in other_loose:
            now[stem][record] += 1
        for stem, records in now.items():
            before = sorted(at_base.get(stem, ()))
            edits |= _renumbered(stem, before, sorted(records.elements()))
    return {key: edit for key, edit in edits.items() if edit[0] != edit[1]}


def _renumbered(stem: Stem, before: Sequence[bytes], now: Sequence[bytes]) -> Edits:
    return {
        number(stem, place): (
            before[place] if place < len(before) else None,
            now[place] if place < len(now) else None,
        )
        for place in range(max(len(before), len(now)))
    }


def groups_at(
    side: Side, table: SqlTable, leaving: Leaving, stems: set[Stem]
) -> dict[Stem, list[bytes]]:
    """Read a table once more for all records that share one of ``stems``."""
    found: dict[Stem, list[bytes]] = {}
    for rows in side.rows(table).batches():
        for stem, record in spell(table, rows, leaving)[1]:
            if stem in stems:
                found.setdefault(stem, []).append(record)
    return found


def _grouped(spelled: Spelled, stems: set[Stem]) -> dict[Stem, list[bytes]]:
    found: dict[Stem, list[bytes]] = {}
    for stem, record in spelled[1]:
        if stem in stems:
            found.setdefault(stem, []).append(record)
    return found


def _spelled(side: Side, table: SqlTable, leaving: Leaving) -> Spelled:
    keyed: list[tuple[bytes, bytes]] = []
    loose: list[tuple[Stem, bytes]] = []
    for rows in side.rows(table).batches():
        some, others = spell(table, rows, leaving)
        keyed += some
        loose += others
    return keyed, loose


def _all_of(side: Side, table: SqlTable, leaving: Leaving, *, is_gone: bool) -> Edits:
    nothing: Spelled = ([], [])
    spelled = _spelled(side, table, leaving)
    sides = (spelled, nothing) if is_gone else (nothing, spelled)
    return edits_of(table, sides, lambda stems: _grouped(sides[0], stems))
