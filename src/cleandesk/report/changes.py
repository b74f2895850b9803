"""Differences at 80 columns: field by field, and as the expectation that claims them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cleandesk.audit.watch import Watched
from cleandesk.errors import shown
from cleandesk.state import ABSENT, Change

WIDTH = 80
_MOST_CHANGES = 200
_MOST_CLAIMED = 40


def render_changes(changes: Iterable[Change], free: Iterable[str] = ()) -> str:
    """Return differences, one field a line; those in ``free`` are marked as incidental."""
    rows, marked = list(changes), frozenset(free)
    if not rows:
        return "no difference\n"
    lines = [f"{len(rows)} {'field differs' if len(rows) == 1 else 'fields differ'}"]
    for change in rows[:_MOST_CHANGES]:
        mark = "  (incidental)" if change.field in marked else ""
        text = f"{shown(change.field)}  {side(change.before)} -> {side(change.after)}{mark}"
        lines += textwrap.wrap(text, WIDTH - 2, initial_indent="  ", subsequent_indent="      ")
    if len(rows) > _MOST_CHANGES:
        lines.append(f"  +{len(rows) - _MOST_CHANGES} more, see --json")
    return "\n".join(lines) + "\n"


def render_watched(watched: Watched) -> str:
    """Return what a program did: every change, the expectation, and what was not looked at."""
    lines = [render_changes(watched.changes, watched.incidental).rstrip("\n")]
    claimed = [change for change in watched.changes if change.field not in watched.incidental]
    expectation = as_expectation(claimed)
    if expectation:
        lines += ["", "as the expectation of a task:", *(f"  {line}" for line in expectation)]
    lines.append("")
    if watched.exit_status:
        lines.append(f"the program ended with status {watched.exit_status}")
    lines += _wrapped("read", watched.readings)
    lines += _wrapped("not read", watched.not_read)
    return "\n".join(lines) + "\n"


def as_expectation(changes: Sequence[Change]) -> list[str]:
    """Return the lines of a suite that claim exactly these changes, or none if TOML can't."""
    if not 0 < len(changes) <= _MOST_CLAIMED:
        return []
    changed: dict[str, Any] = {}
    added: dict[str, list[Any]] = {}
    removed: dict[str, list[Any]] = {}
    for change in changes:
        table = f"{change.surface}.{change.path[0]}"
        if change.op == "changed":
            changed[change.field] = change.after
        elif len(change.path) != 2:
            return []
        elif change.op == "added":
            added.setdefault(table, []).append(change.after)
        else:
            removed.setdefault(table, []).append(change.path[1])
    tables = (("changed", changed), ("added", added), ("removed", removed))
    try:
        return [f"expect.{name} = {_toml(held)}" for name, held in tables if held]
    except ValueError:
        return []


def side(value: Any) -> str:
    """Return one side of a change, cut to fit."""
    return "absent" if value is ABSENT else shown(repr(value), 200)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        # A row may leave fields out, and TOML has no word for nothing.
        held = {key: item for key, item in value.items() if item is not None}
        inner = ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in held.items())
        return f"{{ {inner} }}"
    raise ValueError(type(value).__name__)


def _wrapped(label: str, texts: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for place, text in enumerate(texts):
        head = f"{label:<9}" if place == 0 else " " * 9
        lines += textwrap.wrap(
            shown(text, 400), WIDTH, initial_indent=head, subsequent_indent=" " * 9
        )
    return lines
