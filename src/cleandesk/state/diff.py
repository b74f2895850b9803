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
from cleandesk.state.reference import Named, Path, spelled
from cleandesk.state.snapshot import Snapshot, Table

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
        StateError: CD-105, the snapshots were captured under two contracts.
    """
    if before.contract != after.contract:
        raise StateError(
            "CD-105",
            f"cannot compare contract {before.contract} with {after.contract}",
            where="diff",
            do="capture both states under one contract",
        )
    changes: list[Change] = []
    for surface in sorted(before.surfaces.keys() | after.surfaces.keys()):
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
        if one is None:
            found.append((path, "added", ABSENT, decode(other or b"")))
        elif other is None:
            found.append((path, "removed", decode(one), ABSENT))
        else:
            found.extend(diff_values(decode(one), decode(other), path))
    return sorted(found, key=_order)


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


def apply(before: Snapshot, changes: Iterable[Change]) -> Snapshot:
    """Return the snapshot that ``changes`` make of ``before``.

    ``apply(a, diff(a, b)) == b`` for all snapshots of one contract.

    Raises:
        StateError: CD-106, a change does not fit ``before``.
    """
    tree = before.tree()
    for change in sorted(changes, key=_tail_first):
        try:
            tree[change.surface] = _applied(tree.get(change.surface, {}), change.path, change)
        except (KeyError, IndexError, TypeError) as error:
            raise StateError(
                "CD-106",
                f"a recorded change does not fit the state it is applied to: {change.op}",
                where=f"field {change.field}",
                do="apply it to the start that it was recorded from",
            ) from error
    return Snapshot.of(before.contract, tree)


def _tail_first(change: Change) -> tuple[bool, int]:
    # What leaves a list leaves from its end, so that places stay true meanwhile. It
    # leaves before others come: to Python, 1 and True are one key.
    last = change.path[-1]
    is_removed = change.op == "removed"
    return not is_removed, -last if is_removed and type(last) is int else 0


def _applied(holder: Any, path: Path, change: Change) -> Any:
    """Return ``holder`` with ``change`` made at ``path`` below it, in place if it can be."""
    if isinstance(holder, Named):
        return Named(holder.name, _applied(dict(holder.fields), path, change))
    if type(holder) is tuple:
        return tuple(_applied(list(holder), path, change))
    if change.op == "added" and len(path) == 1:
        if type(holder) is not list:
            holder[path[0]] = change.after
        elif path[0] == len(holder):
            holder.append(change.after)
        else:
            raise IndexError(path[0])
        return holder
    key = _held_key(holder, path[0])
    inner = holder[key]
    if len(path) > 1:
        holder[key] = _applied(inner, path[1:], change)
    elif change.op == "removed":
        del holder[key]
    else:
        holder[key] = change.after
    return holder


def _held_key(holder: Any, key: Any) -> Any:
    # A NaN is found only by how it is spelled.
    if type(holder) is not dict or key in holder:
        return key
    return next((held for held in holder if encode(held) == encode(key)), key)
