"""The whole change: everything that was asked for, and nothing else.

Each expected entry is claimed by one change and each change by one entry, or by an
incidental pattern of the contract. So an agent that does the task and some damage
beside it fails, and so does one that does half of it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cleandesk.checkers.matching import match_up
from cleandesk.checkers.rows import Free, described, kept_places, same, spelt
from cleandesk.checkers.score import Score, fail, passed
from cleandesk.checkers.tree import Source, Tree, open_tree, table_after, value_at
from cleandesk.checkers.wanted import Want, read_expect
from cleandesk.errors import CheckerError
from cleandesk.state.canon import encode
from cleandesk.state.diff import ABSENT, Change
from cleandesk.state.reference import Named

_LINES = 5


@dataclass(frozen=True, slots=True)
class Account:
    """What was expected and did not happen, and what happened and was not expected.

    Attributes:
        missing: One line for each expected entry that no change claims.
        collateral: The changes that no entry and no pattern claims.
    """

    missing: tuple[str, ...] = ()
    collateral: tuple[Change, ...] = ()

    @property
    def problems(self) -> int:
        """How many there are of both."""
        return len(self.missing) + len(self.collateral)

    def score(self) -> Score:
        """Return 1 if nothing is missing and nothing collateral, else 0 with the lines."""
        if not self.problems:
            return passed("the whole change is what was asked for")
        parts = []
        if self.missing:
            parts.append(f"missing: {_listed(self.missing[:_LINES], len(self.missing))}")
        if self.collateral:
            lines = [described(change) for change in self.collateral[:_LINES]]
            parts.append(f"not asked for: {_listed(lines, len(self.collateral))}")
        return fail("; ".join(parts))


def judge_change(
    changes: Sequence[Change],
    expect: Mapping[str, Any],
    incidental: Sequence[str] = (),
    start: Source | None = None,
) -> Score:
    """Score the whole change: 1 if it is exactly what ``expect`` says, else 0.

    Args:
        changes: All changes of the episode.
        expect: ``changed`` (field to new value, or to ``{from, to}``), ``added`` (table
            to list of rows, or field to value), ``removed`` (table to list of keys or
            rows), ``exact`` (rows leave out no field). Empty: nothing may change.
        incidental: Patterns of fields that are free to change.
        start: The state at the start; needed for tables that are lists, and for
            expected values that are tables or lists themselves.

    Raises:
        CheckerError: CD-509, the start is needed and was not given; CD-511, ``expect``
            is malformed.
        ContractError: CD-203, a key or a pattern does not name a field.
    """
    return account_for(changes, expect, incidental, start).score()


def account_for(
    changes: Sequence[Change],
    expect: Mapping[str, Any],
    incidental: Sequence[str] = (),
    start: Source | None = None,
) -> Account:
    """Compare the whole change with ``expect``; see ``judge_change``."""
    wants = read_expect(expect)
    tree = None if start is None else open_tree(start)
    comparison = _Comparison(tuple(changes), Free.parse(incidental), tree)
    by_place = comparison.account(wants, tuple(changes))
    if not by_place.problems:
        return by_place
    # Where a table is a list, a row that leaves its middle moves all the others.
    relisted = comparison.relisted(wants)
    if relisted is None:
        return by_place
    by_row = comparison.account(*relisted)
    return by_row if by_row.problems < by_place.problems else by_place


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One episode's changes, with what is needed to read them."""

    changes: tuple[Change, ...]
    free: Free
    start: Tree | None

    def account(self, wants: Sequence[Want], pool: Sequence[Change]) -> Account:
        """Let each want claim its change; what is left on either side is wrong."""
        pool = [part for change in pool for part in _unfolded(change, wants)]
        near = _near(pool)
        options = [
            [place for place in near(want) if self._claims(want, pool[place])] for want in wants
        ]
        chosen = match_up(options)
        claimed = {place for place in chosen if place is not None}
        left = [change for place, change in enumerate(pool) if place not in claimed]
        missing: list[str] = []
        for want, place in zip(wants, chosen, strict=True):
            if place is None:
                left = self._settle(want, left, missing)
        # An entry may name an incidental field; only what it leaves is free to change.
        left = [change for change in left if not self.free.covers(change.surface, change.path)]
        return Account(tuple(missing), tuple(left))

    def _claims(self, want: Want, change: Change) -> bool:
        if change.op != want.op or not want.names(change):
            return False
        if want.kind == "changed":
            return want.starts_from(change.before) and same(want.value, change.after)
        if want.kind == "added":
            return same(want.value, change.after)
        held = change.after if want.kind == "row" else change.before
        if want.is_whole:
            held = self.free.without(held, change.surface, change.path)
        return want.is_row(change.path[-1], held)

    def _settle(self, want: Want, left: list[Change], missing: list[str]) -> list[Change]:
        """Say what a want without its change lacks; return the changes still left."""
        if want.kind != "changed":
            missing.append(want.described())
            return left
        own = [change for change in left if want.covers(change)]
        if not own:
            missing.append(want.described())
            return left
        before, after = self._ends(want, own)
        is_there = before is not ABSENT and after is not ABSENT
        wanted, found = (
            self.free.without(value, str(want.parts[0]), want.parts[1:])
            for value in (want.value, after)
        )
        if not (is_there and want.starts_from(before) and same(wanted, found)):
            missing.append(f"{want.described()} (it became {_spelt_or_absent(after)})")
        return [change for change in left if not want.covers(change)]

    def _ends(self, want: Want, own: list[Change]) -> tuple[Any, Any]:
        """The value before and after of a field that holds a table or a list."""
        if len(own) == 1 and want.names(own[0]):
            return own[0].before, own[0].after
        if None in want.parts:
            return ABSENT, ABSENT
        return value_at(self._need_start(want), want.parts), self._after(want)

    def _after(self, want: Want) -> Any:
        surface, table = (str(part) for part in want.parts[:2])
        after = table_after(self._need_start(want), surface, table, self.changes)
        return value_at(after, want.parts[2:])

    def _need_start(self, want: Want) -> Tree:
        if self.start is None:
            raise CheckerError(
                "CD-509",
                "without the start it can't be told what became of a whole table or list",
                where=f"expect, {want.text}",
                do="hand over the start's state with the changes",
            )
        return self.start

    def relisted(self, wants: Sequence[Want]) -> tuple[list[Want], list[Change]] | None:
        """Read each list that rows are expected in by row; None if there is none."""
        pool = list(self.changes)
        containers = {want.parts: want for want in wants if want.kind in {"row", "gone"}}
        rest = list(wants)
        is_any = False
        for parts, want in containers.items():
            moved = [change for change in pool if want.covers(change)]
            if None in parts or not any(_is_placed(change, len(parts)) for change in moved):
                continue
            before = value_at(self._need_start(want), parts)
            after = self._after(want) if isinstance(before, list) else ABSENT
            if not (isinstance(before, list) and isinstance(after, list)):
                continue
            is_any = True
            before, rest = self._with_edits(before, rest, parts)
            pool = [change for change in pool if not want.covers(change)]
            pool += self._rows(before, after, want)
        return (rest, pool) if is_any else None

    def _with_edits(
        self, before: list[Any], wants: list[Want], parts: tuple[str | None, ...]
    ) -> tuple[list[Any], list[Want]]:
        """Make the expected edits inside a list's rows, so that rows compare as a whole."""
        edited = copy.deepcopy(before)
        rest: list[Want] = []
        for want in wants:
            is_edit = want.kind == "changed" and want.parts[: len(parts)] == parts
            # Incidental fields are left out when rows are compared: an edit of one
            # would be believed without having been seen.
            is_edit = is_edit and not self.free.covers(str(want.parts[0]), want.parts[1:])
            if not (is_edit and _edit(edited, want, want.parts[len(parts) :])):
                rest.append(want)
        return edited, rest

    def _rows(self, before: list[Any], after: list[Any], want: Want) -> Iterator[Change]:
        surface, *path = (str(part) for part in want.parts)

        def texts(rows: list[Any]) -> list[bytes]:
            return [
                encode(self.free.without(row, surface, (*path, place)))
                for place, row in enumerate(rows)
            ]

        stayed, remained = kept_places(texts(before), texts(after))
        for place, row in enumerate(before):
            if place not in stayed:
                yield Change(surface, (*path, place), "removed", row, ABSENT)
        for place, row in enumerate(after):
            if place not in remained:
                yield Change(surface, (*path, place), "added", ABSENT, row)


def _near(pool: Sequence[Change]) -> Callable[[Want], Sequence[int]]:
    """Return a function from a want to the places of the changes that could claim it."""
    by_field: dict[tuple[str, ...], list[int]] = {}
    by_table: dict[tuple[str, ...], list[int]] = {}
    for place, change in enumerate(pool):
        field = (change.op, change.surface, *map(str, change.path))
        by_field.setdefault(field, []).append(place)
        by_table.setdefault(field[:-1], []).append(place)

    def near(want: Want) -> Sequence[int]:
        if None in want.parts:
            return range(len(pool))
        held = by_table if want.kind in {"row", "gone"} else by_field
        return held.get((want.op, *(str(part) for part in want.parts)), ())

    return near


def _unfolded(change: Change, wants: Sequence[Want]) -> Iterator[Change]:
    """Split what came or went as a whole, where an entry names something inside it."""
    parts = list(_parts(change)) if any(want.is_inside(change) for want in wants) else []
    if not parts:
        yield change
    for part in parts:
        yield from _unfolded(part, wants)


def _parts(change: Change) -> Iterator[Change]:
    if change.op == "changed":
        yield from _members(change)
        return
    held = change.after if change.op == "added" else change.before
    held = held.fields if isinstance(held, Named) else held
    items: list[tuple[Any, Any]] = []
    if isinstance(held, Mapping):
        items = list(held.items())
    elif isinstance(held, list):
        items = list(enumerate(held))
    for key, item in items:
        path = (*change.path, key)
        if change.op == "added":
            yield replace(change, path=path, after=item)
        else:
            yield replace(change, path=path, before=item)


def _members(change: Change) -> Iterator[Change]:
    # diff/1 compares a set as a whole; its members are the rows that come and go.
    before = {encode(member): member for member in change.before}
    after = {encode(member): member for member in change.after}
    for key in sorted(before.keys() - after.keys()):
        member = before[key]
        yield Change(change.surface, (*change.path, member), "removed", member, ABSENT)
    for key in sorted(after.keys() - before.keys()):
        member = after[key]
        yield Change(change.surface, (*change.path, member), "added", ABSENT, member)


def _is_placed(change: Change, depth: int) -> bool:
    # ``depth`` counts the surface; the segment below the container is its place.
    return len(change.path) >= depth and type(change.path[depth - 1]) is int


def _edit(rows: list[Any], want: Want, inner: tuple[str | None, ...]) -> bool:
    *above, last = inner or (None,)
    holder = value_at(rows, above)
    old = value_at(holder, (last,))
    if old is ABSENT or last is None or not want.starts_from(old):
        return False
    holder = holder.fields if isinstance(holder, Named) else holder
    if isinstance(holder, list):
        holder[int(last)] = want.value
    elif isinstance(holder, dict):
        key = last if last in holder else next(key for key in holder if str(key) == last)
        holder[key] = want.value
    return isinstance(holder, (list, dict))


def _listed(lines: Sequence[str], count: int) -> str:
    more = f"; and {count - len(lines)} more" if count > len(lines) else ""
    return "; ".join(lines) + more


def _spelt_or_absent(value: Any) -> str:
    return "absent" if value is ABSENT else spelt(value)
