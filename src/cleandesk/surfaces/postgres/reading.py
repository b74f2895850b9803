"""Reading tables: whole, as the base's records, or two clones in step, for what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from cleandesk.state.canon import encode
from cleandesk.state.delta import Edit
from cleandesk.state.leaving import LEFT_OUT, Leaving
from cleandesk.surfaces.postgres.catalog import Relation
from cleandesk.surfaces.postgres.lines import lines
from cleandesk.surfaces.postgres.rows import fields, keyed, multiset

Edits = dict[bytes, Edit]
_BLOCKS = "SELECT {} FROM {} WHERE ctid >= '({},0)' AND ctid < '({},0)'"
_MOST_KEPT = 4096
_RANGES = 64
"""More of them in one query take longer to plan than to read."""


class Records:
    """Turns lines of one table into keys and records, without the ignored fields."""

    def __init__(self, relation: Relation, leaving: Leaving) -> None:
        self._name = relation.name
        self._layout = relation.layout
        self._leaving = leaving if leaving.concerns(relation.name) else None

    def of(self, line: bytes) -> tuple[bytes, bytes] | None:
        """Return key and record of a line, or None where it is ignored; the key may be empty."""
        found = fields(line) if self._layout.columns else []
        spelled = self._layout.spelled_key(found)
        if self._leaving is None:
            return spelled, self._layout.record(found)
        key = self._layout.key_of(found) if self._layout.key else None
        value = self._leaving.record(self._name, key, self._layout.value(found))
        return None if value is LEFT_OUT else (spelled, encode(value))

    def all(self, lines: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the records of a whole table by key."""
        found = (pair for line in lines if (pair := self.of(line)) is not None)
        if self._layout.key:
            return dict(found)
        return multiset(record for _, record in found)


def whole(connection: Any, relation: Relation) -> Iterator[bytes]:
    """Yield all rows of a table, in the order of its key."""
    query = f"SELECT {relation.selected} FROM {relation.source}{relation.order}"  # noqa: S608 - quoted
    return lines(connection, query)


def read_table(connection: Any, relation: Relation, leaving: Leaving) -> dict[bytes, bytes]:
    """Return all records of a table by key."""
    records = Records(relation, leaving).all(whole(connection, relation))
    if not records:
        leaving.empty(relation.name)
    return records


def read_plain(name: str, table: dict[str, Any], leaving: Leaving) -> dict[bytes, bytes]:
    """Return a small table of plain values, without the ignored fields."""
    if not table:
        leaving.empty(name)
    if not leaving.concerns(name):
        return keyed(table)
    left = {key: leaving.record(name, key, value) for key, value in table.items()}
    return keyed({key: value for key, value in left.items() if value is not LEFT_OUT})


def between(old: dict[bytes, bytes], new: dict[bytes, bytes]) -> Edits:
    """Return what differs of two readings by key."""
    return {
        key: (old.get(key), new.get(key))
        for key in old.keys() | new.keys()
        if old.get(key) != new.get(key)
    }


def in_step(old: Iterable[bytes], new: Iterable[bytes], before: Records, after: Records) -> Edits:
    """Compare two readings that come in one order, holding only what differs.

    A row that was put in moves those after it by one place: each is soon met on the other
    side, and let go.
    """
    waiting_old: dict[bytes, bytes] = {}
    waiting_new: dict[bytes, bytes] = {}
    edits: Edits = {}
    for left, right in zip_longest(old, new):
        if left == right:
            continue
        _meet(left, before, waiting_old, waiting_new, edits, first=True)
        _meet(right, after, waiting_new, waiting_old, edits, first=False)
    edits.update((key, (record, None)) for key, record in waiting_old.items())
    edits.update((key, (None, record)) for key, record in waiting_new.items())
    return edits


def _meet(
    line: bytes | None,
    records: Records,
    ours: dict[bytes, bytes],
    theirs: dict[bytes, bytes],
    edits: Edits,
    *,
    first: bool,
) -> None:
    pair = None if line is None else records.of(line)
    if pair is None:
        return
    key, record = pair
    other = theirs.pop(key, None)
    if other is None:
        ours[key] = record
    elif other != record:
        edits[key] = (record, other) if first else (other, record)


def compare_whole(ours: Any, theirs: Any, now: Relation, base: Relation, leaving: Leaving) -> Edits:
    """Compare all rows of a table with those of the reference."""
    before, after = Records(base, leaving), Records(now, leaving)
    old, new = whole(theirs, base), whole(ours, now)
    # Of other columns the same lines are other records.
    if base.layout.key and now.layout == base.layout:
        return in_step(old, new, before, after)
    return between(before.all(old), after.all(new))


class ReferenceBlocks:
    """The reference's rows by block; kept, since the reference never changes."""

    def __init__(self, connection: Any) -> None:
        """Read from ``connection``."""
        self._connection = connection
        self._kept: dict[tuple[str, int], frozenset[bytes]] = {}

    def of(self, relation: Relation, blocks: Iterable[int]) -> set[bytes]:
        """Return the lines that lie in some blocks of a table."""
        wanted = [(relation.name, block) for block in blocks]
        missing = [block for key in wanted if key not in self._kept for block in key[1:]]
        if missing:
            self._read(relation, missing)
        found: set[bytes] = set()
        for key in wanted:
            found |= self._kept[key]
        return found

    def _read(self, relation: Relation, blocks: Sequence[int]) -> None:
        if len(self._kept) + len(blocks) > _MOST_KEPT:
            self._kept.clear()
        found: dict[int, list[bytes]] = {block: [] for block in blocks}
        for at in range(0, len(blocks), _RANGES):
            some = [(block, block + 1) for block in blocks[at : at + _RANGES]]
            numbered = _union(relation, some, numbered=True)
            for line in lines(self._connection, numbered):
                number, _, rest = line.partition(b"\t")
                found[int(number)].append(rest)
        for block, held in found.items():
            self._kept[relation.name, block] = frozenset(held)


def in_blocks(relation: Relation, blocks: Sequence[int]) -> list[str]:
    """Return the queries that read the rows in some blocks of a table."""
    found = list(ranges(blocks))
    return [_union(relation, found[at : at + _RANGES]) for at in range(0, len(found), _RANGES)]


def compare_lines(relation: Relation, old: set[bytes], new: set[bytes], leaving: Leaving) -> Edits:
    """Compare the rows in the same blocks of two sides of a table with a key."""
    records = Records(relation, leaving)
    return between(records.all(old - new), records.all(new - old))


def _union(relation: Relation, some: Iterable[tuple[int, int]], *, numbered: bool = False) -> str:
    return " UNION ALL ".join(
        _BLOCKS.format(
            f"{first}, {relation.selected}" if numbered else relation.selected,
            relation.source,
            first,
            end,
        )
        for first, end in some
    )


def ranges(blocks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of consecutive numbers in a sorted sequence, as first and end."""
    first = end = -1
    for block in blocks:
        if block != end:
            if first >= 0:
                yield first, end
            first = block
        end = block + 1
    if first >= 0:
        yield first, end
