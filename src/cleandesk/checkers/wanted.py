"""The entries of an ``expect`` table, each to be claimed by one change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cleandesk.checkers.rows import fits, same, spelt
from cleandesk.errors import CheckerError, StateError, shown
from cleandesk.state.canon import encode
from cleandesk.state.diff import ABSENT, Change
from cleandesk.state.pattern import Pattern
from cleandesk.state.reference import untag

Kind = Literal["changed", "added", "row", "gone"]
_OPS = {"changed": "changed", "added": "added", "row": "added", "gone": "removed"}
_KEYS = frozenset({"changed", "added", "removed", "exact"})


@dataclass(frozen=True, slots=True)
class Want:
    """One entry.

    Attributes:
        kind: ``changed`` (a field takes a value), ``added`` (a field appears), ``row``
            (a record appears in a table), ``gone`` (a record leaves a table).
        text: The field or the table, as written.
        parts: Its segments as text, surface first; None stands for any one segment.
        value: The value, the row, or the key.
        before: The value that ``changed`` starts from, or ABSENT for any.
        is_whole: A row leaves out no field.
    """

    kind: Kind
    text: str
    parts: tuple[str | None, ...]
    value: Any
    before: Any = ABSENT
    is_whole: bool = False

    @property
    def op(self) -> str:
        """The kind of change that can claim this."""
        return _OPS[self.kind]

    def names(self, change: Change) -> bool:
        """Tell whether ``change`` is of the field, or of a record of the table."""
        deeper = 1 if self.kind in {"row", "gone"} else 0
        return len(change.path) + 1 == len(self.parts) + deeper and self.covers(change)

    def covers(self, change: Change) -> bool:
        """Tell whether ``change`` is of the field or table, or below it."""
        full = (change.surface, *change.path)
        return len(full) >= len(self.parts) and _agree(self.parts, full)

    def is_inside(self, change: Change) -> bool:
        """Tell whether this is of something inside what came or went as a whole."""
        full = (change.surface, *change.path)
        if not _agree(self.parts, full) or len(full) > len(self.parts):
            return False
        is_of_rows = self.kind in {"row", "gone"}
        if len(full) == len(self.parts) and not is_of_rows:
            return False
        if change.op == "changed":
            sets = (set, frozenset)
            is_set = isinstance(change.before, sets) and isinstance(change.after, sets)
            return is_of_rows and is_set
        return change.op == self.op

    def starts_from(self, before: Any) -> bool:
        """Tell whether the value before is the one that was named, if one was."""
        return self.before is ABSENT or (before is not ABSENT and same(self.before, before))

    def is_row(self, key: Any, record: Any) -> bool:
        """Tell whether the record at ``key`` is the one to be added or to leave.

        A number names the key or place that reads so; a text names the key that is
        this text, or an item of a list; a table names a record with these fields.
        """
        if self.kind == "gone" and not isinstance(self.value, Mapping):
            if type(self.value) is int:
                return str(key) == str(self.value)
            if isinstance(self.value, str) and isinstance(key, str):
                # Another field that holds this text is not the field of this name.
                return self.value == key
            return encode(self.value) == encode(key) or same(self.value, record)
        return fits(self.value, record, is_whole=self.is_whole)

    def described(self) -> str:
        """Return the entry as a line for a person."""
        field = shown(self.text, 120)
        if self.kind == "changed":
            was = "" if self.before is ABSENT else f"{spelt(self.before)} -> "
            return f"{field} should become {was}{spelt(self.value)}"
        if self.kind == "gone":
            return f"{field} should lose {spelt(self.value)}"
        verb = "gain" if self.kind == "row" else "be added as"
        return f"{field} should {verb} {spelt(self.value)}"


def _agree(parts: tuple[str | None, ...], full: tuple[Any, ...]) -> bool:
    return all(
        part is None or part == str(segment) for part, segment in zip(parts, full, strict=False)
    )


def read_expect(expect: Mapping[str, Any]) -> list[Want]:
    """Return the entries of ``expect``.

    Raises:
        CheckerError: CD-511, a key or a table that ``expect`` can't hold.
        ContractError: CD-203, a key that names no field.
    """
    unknown = sorted(set(map(str, expect)) - _KEYS)
    if unknown:
        raise _malformed(f"there is no key {shown(repr(unknown[0]), 60)}", "expect")
    is_whole = expect.get("exact") is True
    wants: list[Want] = []
    for key in ("changed", "added", "removed"):
        table = expect.get(key) or {}
        if not isinstance(table, Mapping):
            raise _malformed(f"{key} is {shown(repr(table), 60)}, not a table", f"expect.{key}")
        for text, value in table.items():
            wants.extend(_wants(key, text, value, is_whole=is_whole))
    return wants


def _wants(key: str, text: str, value: Any, *, is_whole: bool) -> Iterator[Want]:
    parts = Pattern.parse(text).parts
    if len(parts) < 2:
        raise _malformed(f"{shown(repr(text), 60)} names no field of a surface", f"expect.{key}")
    if key == "changed":
        if isinstance(value, Mapping) and set(value) == {"from", "to"}:
            before, after = (meant(value[side], text) for side in ("from", "to"))
            yield Want("changed", text, parts, after, before)
        else:
            yield Want("changed", text, parts, meant(value, text))
    elif key == "removed":
        for entry in value if isinstance(value, list) else [value]:
            yield Want("gone", text, parts, meant(entry, text), is_whole=is_whole)
    elif isinstance(value, list):
        for row in value:
            yield Want("row", text, parts, meant(row, text), is_whole=is_whole)
    else:
        yield Want("added", text, parts, meant(value, text))


def meant(value: Any, field: str) -> Any:
    """Return what ``value`` stands for: a table of one key that begins with ``$`` is a tag.

    Tags are those of canon/1 (section 4), so ``{"$dec": "5.50"}`` is a decimal; and for
    what TOML has no word or another meaning, ``{"$null": true}`` and ``{"$list": [..]}``,
    a list that is one value.

    Raises:
        CheckerError: CD-511, a tag that does not exist, or a value that does not fit it.
    """
    try:
        return untag(_plainer(value))
    except (StateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        do = 'a tag is one of canon/1, $null or $list; a key that begins so is written {"$map" = '
        raise CheckerError(
            "CD-511",
            f"{shown(repr(value), 80)} has a tag that can't be read",
            where=f"expect, {shown(field, 120)}",
            do=f"{do}[[key, value]]}}",
        ) from error


def _plainer(value: Any) -> Any:
    """Take the tags away that canon/1 does not have."""
    if type(value) is list:
        return [_plainer(item) for item in value]
    if type(value) is not dict:
        return value
    tag, held = next(iter(value.items())) if len(value) == 1 else ("", None)
    if tag == "$null":
        if held is not True:
            raise ValueError(tag)
        return None
    if tag == "$list" and type(held) is not list:
        raise ValueError(tag)
    if tag == "$dec" and type(held) is not str:
        # A float has lost the digits that tell 5.5 from 5.50.
        raise ValueError(tag)
    inner = {key: _plainer(item) for key, item in value.items()}
    return inner[tag] if tag == "$list" else inner


def _malformed(message: str, where: str) -> CheckerError:
    return CheckerError(
        "CD-511",
        message,
        where=where,
        do='write changed = {"surface.table[key].field" = value}, added = {"surface.table" = '
        '[{..}]}, removed = {"surface.table" = [key or {..}]}, exact = true',
    )
