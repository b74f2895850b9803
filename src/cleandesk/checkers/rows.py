"""When a value or a row is the one that was expected, and how lists of rows differ."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cleandesk.errors import shown
from cleandesk.state.canon import encode
from cleandesk.state.diff import Change
from cleandesk.state.pattern import Pattern
from cleandesk.state.reference import Named

_MOST_MOVES = 400
_DIGEST_DIGITS = 16


def same(expected: Any, actual: Any) -> bool:
    """Tell whether ``actual`` is the expected value, types included: 1 is not 1.0.

    TOML and JSON have one kind of list and texts as keys. So a list stands for a list,
    a tuple or a set with these members, and a table for a mapping whose keys read so
    or for an object with these fields.
    """
    if isinstance(expected, Mapping):
        return _same_table(expected, actual)
    if isinstance(expected, list):
        if isinstance(actual, (set, frozenset)):
            wanted = [encode(item) for item in expected]
            return sorted(wanted) == sorted(encode(item) for item in actual)
        return (
            isinstance(actual, (list, tuple))
            and len(actual) == len(expected)
            and all(map(same, expected, actual))
        )
    return encode(expected) == encode(actual)


def _same_table(expected: Mapping[Any, Any], actual: Any) -> bool:
    fields = fields_of(actual)
    return (
        fields is not None
        and fields.keys() == {str(key) for key in expected}
        and all(same(item, fields[str(key)]) for key, item in expected.items())
    )


def fields_of(value: Any) -> dict[str, Any] | None:
    """Return the fields of a mapping or an object by name, or None for anything else."""
    if isinstance(value, Named):
        value = value.fields
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return None


@dataclass(frozen=True, slots=True)
class Free:
    """The fields that may change as they like: the contract's incidental patterns."""

    patterns: tuple[Pattern, ...] = ()

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Free:
        """Read the patterns.

        Raises:
            ContractError: CD-203, a text is no pattern.
        """
        return cls(tuple(Pattern.parse(text) for text in texts))

    def covers(self, surface: str, path: tuple[Any, ...]) -> bool:
        """Tell whether the field is incidental, or lies below one that is."""
        return any(pattern.matches(surface, path) for pattern in self.patterns)

    def without(self, value: Any, surface: str, path: tuple[Any, ...]) -> Any:
        """Return ``value`` without the incidental fields in it."""
        if not self.patterns:
            return value
        if isinstance(value, Named):
            return Named(value.name, self.without(dict(value.fields), surface, path))
        if isinstance(value, Mapping):
            return {
                key: self.without(item, surface, (*path, key))
                for key, item in value.items()
                if not self.covers(surface, (*path, key))
            }
        return value


def fits(row: Any, actual: Any, *, is_whole: bool = False) -> bool:
    """Tell whether ``actual`` is the row that was written.

    Args:
        row: A table of fields, of which others may be left out unless ``is_whole``;
            or one value, for lists of plain values.
        actual: The record that was found.
        is_whole: No field may be left out.
    """
    if not isinstance(row, Mapping):
        return same(row, actual)
    fields = fields_of(actual)
    if fields is None or (is_whole and len(fields) != len(row)):
        return False
    return all(str(name) in fields and same(item, fields[str(name)]) for name, item in row.items())


def is_named_by_row(key: Any, record: Any) -> bool:
    """Tell whether a record says its own key, as the rows of a database do.

    The key, or each part of it, is the value of one of the record's fields; or it is the
    digest by which rows of a table without a key are named, ``#2`` for the second one.
    """
    fields = fields_of(record)
    if not fields:
        return False
    parts = key if isinstance(key, tuple) else (key,)
    return all(_is_in(part, fields) or _is_digest(part, record) for part in parts)


def _is_in(part: Any, fields: Mapping[str, Any]) -> bool:
    return any(
        type(item) is type(part) and encode(item) == encode(part) for item in fields.values()
    )


def _is_digest(part: Any, record: Any) -> bool:
    digits = part.partition("#")[0] if isinstance(part, str) else ""
    if len(digits) != _DIGEST_DIGITS:
        return False
    return hashlib.sha256(encode(record)).hexdigest()[:_DIGEST_DIGITS] == str(digits)


def kept_places(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[set[int], set[int]]:
    """Return the places that a longest common subsequence keeps, on each side.

    Lists are compared by place in diff/1, so that a row taken out of the middle shows
    as changes of all that follow. Which rows went and came, in order, is read here.
    Beyond 400 moves the rows between the first and the last difference count as replaced.

    Source:
        Myers, "An O(ND) difference algorithm and its variations" (1986), the greedy
        algorithm of figure 2.
    """
    known = set(before) & set(after)
    # A value that one side lacks can be in no common subsequence.
    left = [place for place, item in enumerate(before) if item in known]
    right = [place for place, item in enumerate(after) if item in known]
    pairs = _common([before[place] for place in left], [after[place] for place in right])
    return {left[one] for one, _ in pairs}, {right[other] for _, other in pairs}


def _common(before: list[bytes], after: list[bytes]) -> list[tuple[int, int]]:
    head = 0
    shortest = min(len(before), len(after))
    while head < shortest and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shortest - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = _greedy(before[head : len(before) - tail], after[head : len(after) - tail])
    return [
        *((place, place) for place in range(head)),
        *((one + head, other + head) for one, other in middle),
        *((len(before) - place, len(after) - place) for place in range(1, tail + 1)),
    ]


def _greedy(before: list[bytes], after: list[bytes]) -> list[tuple[int, int]]:
    furthest = {1: 0}
    trail: list[dict[int, int]] = []
    for moves in range(min(len(before) + len(after), _MOST_MOVES) + 1):
        trail.append(dict(furthest))
        for diagonal in range(-moves, moves + 1, 2):
            x = _entry(furthest, diagonal, moves)
            while (
                x < len(before)
                and 0 <= x - diagonal < len(after)
                and before[x] == after[x - diagonal]
            ):
                x += 1
            furthest[diagonal] = x
            if x >= len(before) and x - diagonal >= len(after):
                return _walk_back(trail, len(before), len(after))
    return []


def _entry(furthest: dict[int, int], diagonal: int, moves: int) -> int:
    is_down = diagonal == -moves or (
        diagonal != moves and furthest[diagonal - 1] < furthest[diagonal + 1]
    )
    return furthest[diagonal + 1] if is_down else furthest[diagonal - 1] + 1


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for moves in range(len(trail) - 1, -1, -1):
        diagonal = x - y
        entered = _entry(trail[moves], diagonal, moves) if moves else 0
        while x > entered:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        if moves:
            is_down = diagonal == -moves or (
                diagonal != moves and trail[moves][diagonal - 1] < trail[moves][diagonal + 1]
            )
            x, y = (x, y - 1) if is_down else (x - 1, y)
    return pairs


def described(change: Change) -> str:
    """Return a change as a line: ``desk.events[3].hour: 15 -> 17``."""
    field = shown(change.field, 120)
    if change.op == "added":
        return f"{field} was added: {spelt(change.after)}"
    if change.op == "removed":
        return f"{field} was removed: {spelt(change.before)}"
    return f"{field}: {spelt(change.before)} -> {spelt(change.after)}"


def spelt(value: Any) -> str:
    """Return ``value`` as canon/1 spells it, cut to fit a line."""
    return shown(encode(value).decode(), 80)
