"""diff/1: the differences of two snapshots, field by field.

One mechanism, many callers: a start is verified by an empty diff, a checker asks
whether the diff is what was wanted, a replay whether it is what was recorded.
Nothing else in cleandesk compares state.

Law 1 (tests/laws/test_state_laws.py):
    diff(a, b) == ()  if and only if  fingerprint(a) == fingerprint(b)

Source: docs/spec/diff-1.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import orjson

from cleandesk.errors import StateError
from cleandesk.state.canon import decode, encode
from cleandesk.state.delta import Delta, Edit
from cleandesk.state.over import Over
from cleandesk.state.reference import Named, Path, spelled
from cleandesk.state.snapshot import Snapshot
from cleandesk.state.table import Table

Op = Literal["added", "removed", "changed"]


class Absent(Enum):
    """Marks the side of a change on which the field does not exist."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent.ABSENT
_EXACT = frozenset({str, int, bool, type(None), bytes})
_MANY = 64
_STRICT = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_WHOLE = frozenset({"numpy.ndarray", "random:Random"})
"""What is one value to people: its parts say nothing alone."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs, with the value on each side.

    Attributes:
        surface: The surface's name.
        path: Typed segments from the table down: names, keys, places in a list.
        op: ``added``, ``removed`` or ``changed``.
        before: The value before, or ABSENT.
        after: The value after, or ABSENT.
    """

    surface: str
    path: Path
    op: Op
    before: Any
    after: Any

    @property
    def field(self) -> str:
        """The field as people write it: ``desk.events[3].title``."""
        return spelled((self.surface, *self.path))

    @property
    def pointer(self) -> str:
        """The path as a JSON Pointer (RFC 6901), below the surface."""
        parts = (part if isinstance(part, str) else encode(part).decode() for part in self.path)
        return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def diff(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """Return every field that differs, sorted by surface and path.

    Args:
        before: The earlier or expected state.
        after: The later or observed state.

    Raises:
        StateError: CD-105, the snapshots were captured under two contracts; CD-109, over
            two bases (``flat()`` ones can be compared).
    """
    if before.contract != after.contract:
        raise StateError(
            "CD-105",
            f"cannot compare contract {before.contract} with {after.contract}",
            where="diff",
            do="capture both states under one contract",
        )
    changes: list[Change] = []
    over = before.over.keys() | after.over.keys()
    for surface in sorted(before.surfaces.keys() | after.surfaces.keys() | over):
        if surface in over:
            changes.extend(_diff_over(surface, before.over.get(surface), after.over.get(surface)))
            continue
        old = before.surfaces.get(surface, {})
        new = after.surfaces.get(surface, {})
        for name in sorted(old.keys() | new.keys()):
            found = _diff_tables(old.get(name), new.get(name), name)
            changes.extend(Change(surface, *rest) for rest in found)
    return tuple(changes)


_Found = tuple[Path, Op, Any, Any]
_Pair = tuple[Any, Any, Any]


def diff_values(before: Any, after: Any, path: Path = ()) -> Iterator[_Found]:
    """Yield (path, op, before, after) for each difference of two plain values.

    Dictionaries are compared by key, objects of one name by field, lists and tuples of
    one length by place; all else as a whole.
    """
    kind = type(before)
    if kind is not type(after) or (kind is tuple and len(before) != len(after)):
        yield (path, "changed", before, after)
    elif kind is dict:
        yield from _diff_maps(before, after, path)
    elif kind is list or kind is tuple:
        yield from _diff_lists(before, after, path)
    elif kind is Named and before.name == after.name and before.name not in _WHOLE:
        yield from _diff_maps(dict(before.fields), dict(after.fields), path)
    elif kind in _EXACT:
        if before != after:
            yield (path, "changed", before, after)
    # Compared as bytes, not with ==: a NaN equals itself, 0.0 and -0.0 differ.
    elif encode(before) != encode(after):
        yield (path, "changed", before, after)


def _diff_maps(before: dict[Any, Any], after: dict[Any, Any], path: Path) -> Iterator[_Found]:
    if _same_keys(before, after):
        keys = [(key, before[key], after[key]) for key in before]
    else:
        old = {encode(key): (key, item) for key, item in before.items()}
        new = {encode(key): (key, item) for key, item in after.items()}
        if len(old) < len(before) or len(new) < len(after):
            # Two NaNs are two keys of one spelling; no path tells them apart.
            if encode(before) != encode(after):
                yield (path, "changed", before, after)
            return
        gone = (None, ABSENT)
        keys = [
            ((old.get(text) or new[text])[0], old.get(text, gone)[1], new.get(text, gone)[1])
            for text in {**old, **new}
        ]
    found: list[_Found] = []
    for key, one, other in _unlike(keys):
        # The identical object, or an equal plain scalar: by far the usual case.
        if one is other or (type(one) in _EXACT and type(one) is type(other) and one == other):
            continue
        if other is ABSENT:
            found.append(((*path, key), "removed", one, ABSENT))
        elif one is ABSENT:
            found.append(((*path, key), "added", ABSENT, other))
        else:
            found.extend(diff_values(one, other, (*path, key)))
    yield from sorted(found, key=_order)


def _same_keys(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    # Only for texts does == mean the same key: 1, 1.0 and True are one key to Python.
    return before.keys() == after.keys() and set(map(type, before)) | set(map(type, after)) <= {str}


def _diff_lists(before: Any, after: Any, path: Path) -> Iterator[_Found]:
    places = [*zip(range(len(before)), before, after, strict=False)]
    for place, old, new in _unlike(places):
        if not (old is new or (type(old) in _EXACT and type(old) is type(new) and old == new)):
            yield from diff_values(old, new, (*path, place))
    shared = min(len(before), len(after))
    for place in range(shared, len(before)):
        yield ((*path, place), "removed", before[place], ABSENT)
    for place in range(shared, len(after)):
        yield ((*path, place), "added", ABSENT, after[place])


def _unlike(pairs: list[_Pair]) -> Iterator[_Pair]:
    """Yield ``pairs`` (key, before, after) without those that are surely the same."""
    if len(pairs) <= _MANY:
        yield from pairs
        return
    for at in range(0, len(pairs), _MANY):
        part = pairs[at : at + _MANY]
        _, before, after = zip(*part, strict=True)
        if not _is_surely_same(before, after):
            yield from part


def _is_surely_same(before: Any, after: Any) -> bool:
    # orjson spells a tuple as a list, a NaN as null and a UUID as its text, which == tells
    # apart; == takes 1, 1.0 and True for one, which orjson spells apart. All other types
    # that canon/1 knows it refuses; then the answer is "not surely".
    try:
        return _dumped(before) == _dumped(after) and bool(before == after)
    except (TypeError, orjson.JSONEncodeError):
        return False


def _dumped(value: Any) -> bytes:
    return orjson.dumps(value, option=_STRICT)


def _diff_over(surface: str, before: Over | None, after: Over | None) -> list[Change]:
    if before is None or after is None or before.fingerprint != after.fingerprint:
        raise StateError(
            "CD-109",
            "the two states are kept as what differs from two bases",
            where=f"surface {surface}",
            do="compare them in full: Snapshot.flat()",
        )
    return changes_between(surface, before.delta, after.delta)


def changes_between(surface: str, before: Delta, after: Delta) -> list[Change]:
    """Return the changes from one state to another over the same base, sorted.

    Args:
        surface: The surface's name.
        before: The earlier state; an empty delta is the base itself.
        after: The later state.
    """
    was, now = _standing(before, after)
    whole: dict[str, dict[Any, Any]] = {name: {} for name in was ^ now}
    found: list[_Found] = []
    for name, key, (old, new) in after.since(before):
        if name in whole:
            whole[name][decode(key)] = decode(old or new or b"")
        else:
            found.extend(_diff_record((name, decode(key)), (old, new)))
    for name, rows in whole.items():
        if name in now:
            found.append(((name,), "added", ABSENT, rows))
        else:
            found.append(((name,), "removed", rows, ABSENT))
    return [Change(surface, *rest) for rest in sorted(found, key=_order)]


def _standing(before: Delta, after: Delta) -> tuple[set[str], set[str]]:
    """Return the tables that stand in each state, of those that came or went since the base."""
    of_base = {*before.dropped, *after.dropped}
    return (
        {*before.created} | of_base - {*before.dropped},
        {*after.created} | of_base - {*after.dropped},
    )


def _diff_tables(old: Table | None, new: Table | None, name: str) -> list[_Found]:
    if old is None or new is None:
        if new is not None:
            return [((name,), "added", ABSENT, new.value())]
        return [((name,), "removed", old.value() if old else ABSENT, ABSENT)]
    if old.kind != new.kind:
        return [((name,), "changed", old.value(), new.value())]
    if old.records == new.records:
        return []
    found: list[_Found] = []
    for key in old.records.keys() | new.records.keys():
        one, other = old.records.get(key), new.records.get(key)
        if one == other:
            continue
        path: Path = (name,) if old.kind == "value" else (name, decode(key))
        found.extend(_diff_record(path, (one, other)))
    return sorted(found, key=_order)


def _diff_record(path: Path, edit: Edit) -> Iterable[_Found]:
    before, after = edit
    if before is None:
        return [(path, "added", ABSENT, decode(after or b""))]
    if after is None:
        return [(path, "removed", decode(before), ABSENT)]
    return diff_values(decode(before), decode(after), path)


def _order(found: _Found) -> tuple[tuple[str, int, str], ...]:
    # Numbers by size, texts by code point, and the kinds of keys apart.
    return tuple(
        ("int", part, "")
        if type(part) is int
        else ("str", 0, part)
        if isinstance(part, str)
        else ("key", 0, encode(part).decode())
        for part in found[0]
    )


def to_json(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return ``changes`` as plain dicts: surface, path, pointer, op, before, after.

    Values stay values of canon/1; a side that does not exist has no key.
    """
    rows = []
    for change in changes:
        row: dict[str, Any] = {
            "op": change.op,
            "path": list(change.path),
            "pointer": change.pointer,
            "surface": change.surface,
        }
        if change.before is not ABSENT:
            row["before"] = change.before
        if change.after is not ABSENT:
            row["after"] = change.after
        rows.append(row)
    return rows


def from_json(rows: Iterable[dict[str, Any]]) -> tuple[Change, ...]:
    """Read what ``to_json`` wrote."""
    return tuple(
        Change(
            row["surface"],
            tuple(row["path"]),
            row["op"],
            row.get("before", ABSENT),
            row.get("after", ABSENT),
        )
        for row in rows
    )
