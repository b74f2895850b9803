"""Differences at 80 columns: field by field, and as the expectation that claims them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from cleandesk.audit.watch import Watched
from cleandesk.checkers.rows import is_named_by_row
from cleandesk.errors import ContractError, shown
from cleandesk.report.lists import Moved, regrouped
from cleandesk.state import ABSENT, Change, Pattern, encode
from cleandesk.state.diff import to_json
from cleandesk.state.reference import spelled

WIDTH = 80
_MOST_CHANGES = 200
_MOST_CLAIMED = 40
_MOST_ITEMS = 20
_LONGEST = 20_000

_DIGEST = re.compile(r"[0-9a-f]{16}(#\d+)?")
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    # A brace alone would open a blank.
    "{": "{{",
    "}": "}}",
}
_DAY, _HOUR = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(\.\d+)?"
_OWN_WORDS = {
    "$f": re.compile(r"nan|-?inf"),
    "$d": re.compile(_DAY),
    "$tm": re.compile(_HOUR),
    "$dt": re.compile(rf"{_DAY}T{_HOUR}([+-]\d\d:\d\d)?"),
}
"""What TOML has a word for: these tags can go."""


def render_changes(changes: Iterable[Change], free: Iterable[str] = ()) -> str:
    """Return differences, one field a line; those in ``free`` are marked as incidental."""
    rows, marked = list(changes), frozenset(free)
    if not rows:
        return "no difference\n"
    lines = [f"{len(rows)} {'field differs' if len(rows) == 1 else 'fields differ'}"]
    entries = list(regrouped(rows))
    for entry in entries[:_MOST_CHANGES]:
        if isinstance(entry, Moved):
            lines += _moved(entry)
            continue
        mark = "  (incidental)" if entry.field in marked else ""
        text = f"{shown(entry.field)}  {side(entry.before)} -> {side(entry.after)}{mark}"
        lines += textwrap.wrap(text, WIDTH - 2, initial_indent="  ", subsequent_indent="      ")
    if len(entries) > _MOST_CHANGES:
        lines.append(f"  +{len(entries) - _MOST_CHANGES} more, see --json")
    return "\n".join(lines) + "\n"


def _moved(moved: Moved) -> list[str]:
    went, came = len(moved.went), len(moved.came)
    head = f"{shown(moved.field)}  {came} came, {went} went ({moved.by_place} by place)"
    gone = [(place, "-", item) for place, item in moved.went]
    made = [(place, "+", item) for place, item in moved.came]
    items = sorted([*gone, *made], key=lambda row: row[:2])
    lines = [f"{sign} [{place}] {side(item)}" for place, sign, item in items[:_MOST_ITEMS]]
    if len(items) > _MOST_ITEMS:
        lines.append(f"+{len(items) - _MOST_ITEMS} more, see --json")
    return [
        *textwrap.wrap(head, WIDTH - 2, initial_indent="  ", subsequent_indent="      "),
        *(
            each
            for line in lines
            for each in textwrap.wrap(
                line, WIDTH - 2, initial_indent="    ", subsequent_indent="        "
            )
        ),
    ]


def render_watched(watched: Watched) -> str:
    """Return what a program did: every change, the expectation, and what was not looked at."""
    lines = [render_changes(watched.changes, watched.incidental).rstrip("\n")]
    expectation, reason = expectation_of(watched)
    if expectation:
        lines += ["", "as the expectation of a task:", *(f"  {line}" for line in expectation)]
    elif reason:
        lines += ["", f"no expectation: {reason}"]
    lines.append("")
    if watched.exit_status:
        lines.append(f"the program ended with status {watched.exit_status}")
    lines += _wrapped("read", watched.readings)
    lines += _wrapped("not read", watched.not_read)
    return "\n".join(lines) + "\n"


def change_rows(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return the rows that ``--json`` promises for changes.

    ``path`` is a JSON Pointer below the surface, ``segments`` are its typed parts; a side
    that does not exist is null, and has no ``op`` that says otherwise.
    """
    rows = []
    # Values are spelled as canon/1 does, so that 1, 1.0 and bytes can be told apart.
    for row in orjson.loads(encode(to_json(changes))):
        segments, pointer = row.pop("path"), row.pop("pointer")
        rows.append({"before": None, "after": None, **row, "path": pointer, "segments": segments})
    return rows


def expectation_of(watched: Watched) -> tuple[list[str], str]:
    """Return the lines of a suite that claim what a program did; or none, and why.

    What the contract leaves free needs no claim.
    """
    claimed = [change for change in watched.changes if change.field not in watched.incidental]
    if watched.changes and not claimed:
        return ["expect = {}"], ""
    return as_expectation(claimed)


def as_expectation(changes: Sequence[Change]) -> tuple[list[str], str]:
    """Return the lines of a suite that claim exactly these changes; or none, and why.

    Both are empty where there is no change. The lines are TOML, with the braces of texts
    doubled as blanks need it, and nothing in them moves a terminal's cursor.
    """
    if len(changes) > _MOST_CLAIMED:
        return [], f"more than {_MOST_CLAIMED} changes"
    entries: dict[str, dict[str, Any]] = {"changed": {}, "added": {}, "removed": {}}
    try:
        for change in changes:
            _enter(change, entries[change.op])
        lines = [f"expect.{name} = {_table(held)}" for name, held in entries.items() if held]
    except _UnsayableError as error:
        return [], str(error)
    if sum(map(len, lines)) > _LONGEST:
        return [], f"it would be more than {_LONGEST} characters long"
    return lines, ""


class _UnsayableError(Exception):
    """Why no suite can say a change."""


def _enter(change: Change, entries: dict[str, Any]) -> None:
    if len(change.path) == 1 and change.op == "removed":
        raise _UnsayableError(f"the whole table {shown(change.field, 80)} went")
    key = change.path[-1]
    if change.op == "removed":
        entries.setdefault(_name(change, change.path[:-1]), []).append(_leaver(change, key))
    elif change.op == "added" and len(change.path) == 2 and _says_key(key, change.after):
        entries.setdefault(_name(change, change.path[:-1]), []).append(_plain(change.after))
    else:
        name = _name(change, change.path)
        if name in entries:
            raise _UnsayableError(f"two fields read {shown(change.field, 80)}")
        entries[name] = _arrival(change)


def _name(change: Change, path: tuple[Any, ...]) -> str:
    full = (change.surface, *path)
    text = spelled(full)
    try:
        is_read_back = Pattern.parse(text).parts == tuple(map(str, full))
    except ContractError:
        is_read_back = False
    if not is_read_back:
        raise _UnsayableError(f"no key of a suite can name {shown(text, 80)}")
    return text


def _says_key(key: Any, record: Any) -> bool:
    # A text is named even so: in a surface of one's own it may stand in a field by chance.
    is_digest = isinstance(key, str) and _DIGEST.fullmatch(key) is not None
    return (is_digest or not isinstance(key, str)) and is_named_by_row(key, record)


def _leaver(change: Change, key: Any) -> Any:
    """Return the key, or the row where its key says nothing to people."""
    is_table = len(change.path) == 2 and isinstance(change.before, Mapping)
    is_odd = isinstance(key, tuple) or (isinstance(key, str) and _DIGEST.fullmatch(key))
    is_row = is_table and is_odd and is_named_by_row(key, change.before)
    return _plain(change.before if is_row else key)


def _arrival(change: Change) -> Any:
    value = _plain(change.after)
    if change.op == "added" and isinstance(value, list):
        # A list in its place would be rows, one for each entry.
        return {"$list": value}
    if change.op == "changed" and isinstance(value, dict) and set(value) == {"from", "to"}:
        return {"from": _plain(change.before), "to": value}
    return value


def _plain(value: Any) -> Any:
    """Return ``value`` as the JSON of canon/1: what is not plain has a tag."""
    return orjson.loads(encode(value))


def _table(held: Mapping[str, Any]) -> str:
    inner = ", ".join(f"{_text(key)} = {_toml(item)}" for key, item in held.items())
    return f"{{ {inner} }}" if inner else "{}"


def _toml(value: Any) -> str:
    if value is None:
        return '{ "$null" = true }'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if len(value) == 1:
        ((tag, held),) = value.items()
        if tag in _OWN_WORDS and _OWN_WORDS[tag].fullmatch(held):
            return str(held)
    return _table(value)


def _text(text: str) -> str:
    return f'"{"".join(map(_character, text))}"'


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    number = ord(char)
    if 0xD800 <= number <= 0xDFFF:
        raise _UnsayableError("a name has bytes in it that are no UTF-8")
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def side(value: Any) -> str:
    """Return one side of a change, cut to fit."""
    return "absent" if value is ABSENT else shown(repr(value), 200)


def _wrapped(label: str, texts: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for place, text in enumerate(texts):
        head = f"{label:<9}" if place == 0 else " " * 9
        lines += textwrap.wrap(
            shown(text, 400), WIDTH, initial_indent=head, subsequent_indent=" " * 9
        )
    return lines
