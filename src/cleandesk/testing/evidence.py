"""What a rule saw: files byte for byte, and changes in words."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.errors import shown
from cleandesk.state.delta import Delta
from cleandesk.state.diff import Change, changes_between

_MOST = 5


def digest(paths: Sequence[str]) -> dict[str, Any]:
    """Return path -> mode, size and SHA-256 of everything at and below ``paths``."""
    return {text: _look(Path(text)) for path in paths for text in _below(path)}


def _below(path: str) -> Iterator[str]:
    if not os.path.lexists(path):
        return
    yield path
    if not Path(path).is_symlink():
        for folder, folders, files in os.walk(path):
            yield from (f"{folder}/{name}" for name in (*folders, *files))


def _look(path: Path) -> list[Any]:
    found = path.lstat()
    mode = stat.filemode(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return [mode, path.readlink().as_posix().encode("utf-8", "surrogateescape")]
    if not stat.S_ISREG(found.st_mode):
        return [mode]
    return [mode, found.st_size, hashlib.sha256(path.read_bytes()).hexdigest()]


def moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what differs between two digests, in words."""
    lines = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            lines.append(f"{shown(path)}: {_said(old)} -> {_said(new)}")
    return few(lines)


def _said(found: Sequence[Any] | None) -> str:
    if found is None:
        return "absent"
    if len(found) < 3:
        return " ".join(map(str, found))
    mode, size, sha256 = found
    return f"{mode}, {size} bytes, sha256 {sha256[:12]}"


def changes(surface: str, before: Delta, after: Delta) -> list[str]:
    """Return the fields that differ between two states of one base, in words."""
    try:
        found = changes_between(surface, before, after)
    except Exception as error:  # noqa: BLE001 - a delta that is out of order may raise anything
        return [f"(it can't be put in words: {shown(error)}) {shown(after)}"]
    return few([_line(change) for change in found]) or [shown(after)]


def _line(change: Change) -> str:
    sides = f"{shown(repr(change.before), 60)} -> {shown(repr(change.after), 60)}"
    return f"{shown(change.field)}: {sides}"


def few(lines: Iterable[str]) -> list[str]:
    """Return the first lines, and how many there are more."""
    held = list(lines)
    return held if len(held) <= _MOST else [*held[:_MOST], f"+{len(held) - _MOST} more"]
