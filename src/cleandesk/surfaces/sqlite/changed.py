"""Saying what differs from the pages that were written: the cost of the change.

A table is touched exactly when a page that it owned at the base is not as it was: each
of its pages is reached from its root, which stays. In a touched table the leaves that
are not the same leaf in both trees hold every row that can differ; these rows are read
from both sides and compared as records. What pages can't tell is compared as a whole,
table by table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.sqlite.btree import INTERIOR, Cells, cells, children, kind_of, leaves
from cleandesk.surfaces.sqlite.comparing import (
    Edits,
    compare_special,
    compare_table,
    edits_of,
    groups_at,
)
from cleandesk.surfaces.sqlite.layout import SqlTable
from cleandesk.surfaces.sqlite.places import Places, Touched, rows_at
from cleandesk.surfaces.sqlite.reading import Side
from cleandesk.surfaces.sqlite.rows import Stem, exact, spell
from cleandesk.surfaces.sqlite.wal import Pages

_FEW_LEAVES = 50
_SHARE = 0.2
"""Where more of a table's leaves were written than this, it is read as a whole."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What stays the same between two looks at one copy.

    Attributes:
        base: The base, open.
        places: Where its rows lie.
        usable_bytes: What of a page holds data.
        leaving: What the contract ignores.
        below: Interior page of the base -> its children, as far as they were needed.
    """

    base: Side
    places: Places
    usable_bytes: int
    leaving: Leaving
    below: dict[int, list[int]] = field(default_factory=dict)


def delta_of(ground: Ground, now: Side, pages: Pages) -> Delta | CannotTell:
    """Say what differs, or that it can't be told.

    Args:
        ground: The base.
        now: The copy, inside a transaction.
        pages: The pages at the base and in that same transaction.

    Raises:
        PageError: The pages are not as the file format has them.
    """
    if any(_asked(ground.base, text) != _asked(now, text) for text in _SCHEMA):
        return CannotTell("the schema was changed")
    changed = pages.changed()
    edits = compare_special(ground.base, now, ground.leaving)
    tables: dict[str, list[Touched]] = {}
    for tree in ground.places.touched(changed):
        home = ground.base.layout.homes.get(tree.name)
        if home is not None and not ground.leaving.table(home):
            tables.setdefault(home, []).append(tree)
    for name, trees in tables.items():
        table = ground.base.layout.tables[name]
        found = None
        if table.is_paged and len(trees) == 1:
            found = _by_pages(ground, now, pages, (table, trees[0], changed))
        if found is None:
            found = compare_table((ground.base, table), (now, table), ground.leaving)
        edits[name] = found
    return Delta.of(edits)


_SCHEMA = (
    "PRAGMA schema_version",
    "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema",
)


def _asked(side: Side, text: str) -> bytes:
    return exact(side.held.execute(text).fetchall())


def _by_pages(
    ground: Ground, now: Side, pages: Pages, asked: tuple[SqlTable, Touched, set[int]]
) -> Edits | None:
    """Compare the rows that lie in changed leaves; None where all rows are better compared."""
    table, tree, changed = asked
    if tree.is_whole:
        return None
    old_leaves, new_leaves = _dirty(ground, pages, tree, changed)
    if _is_much(max(len(old_leaves), len(new_leaves)), tree):
        return None
    old = cells(old_leaves, pages.old, ground.usable_bytes)
    new = cells(new_leaves, pages.new, ground.usable_bytes)
    numbers = _differing(old, new) | _continued(ground, pages, tree)
    sides = tuple(
        spell(table, rows_at(side, table, numbers), ground.leaving) for side in (ground.base, now)
    )
    return edits_of(table, (sides[0], sides[1]), _alike(ground, table))


def _is_much(count: int, tree: Touched) -> bool:
    return count > _FEW_LEAVES and count > tree.leaves * _SHARE


def _dirty(
    ground: Ground, pages: Pages, tree: Touched, changed: set[int]
) -> tuple[set[int], set[int]]:
    """Return the leaves of both trees that are not the same leaf in both."""
    touched = {number for number, (role, _) in tree.pages.items() if role == "leaf"}
    is_same_shape = all(role != "internal" for role, _ in tree.pages.values())
    if tree.root in touched and kind_of(pages.new(tree.root), tree.root) == INTERIOR:
        is_same_shape = False
    if is_same_shape:
        return touched, touched
    old = leaves(tree.root, pages.old, lambda number: _below(ground, pages, number))
    new = leaves(
        tree.root,
        pages.new,
        lambda number: (
            children(pages.new(number), number)
            if number in changed
            else _below(ground, pages, number)
        ),
    )
    return (old - new) | touched, (new - old) | (new & changed)


def _below(ground: Ground, pages: Pages, number: int) -> list[int]:
    found = ground.below.get(number)
    if found is None:
        found = ground.below[number] = children(pages.old(number), number)
    return found


def _differing(old: Cells, new: Cells) -> set[int]:
    nothing = b""
    return {
        row
        for row in old.by_row.keys() | new.by_row.keys()
        if old.by_row.get(row, nothing) != new.by_row.get(row, nothing)
    }


def _continued(ground: Ground, pages: Pages, tree: Touched) -> set[int]:
    """Return the rows whose cell may be as it was while what continues it is not."""
    numbers = {leaf for role, leaf in tree.pages.values() if role == "overflow" and leaf}
    return cells(numbers, pages.old, ground.usable_bytes).split


def _alike(ground: Ground, table: SqlTable) -> Callable[[set[Stem]], Mapping[Stem, list[bytes]]]:
    def groups(stems: set[Stem]) -> Mapping[Stem, list[bytes]]:
        found = ground.places.alike(ground.base, table, ground.leaving, stems)
        if found is None:
            return groups_at(ground.base, table, ground.leaving, stems)
        return found

    return groups
