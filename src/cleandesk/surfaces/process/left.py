"""What a process leaves where others can see it: temporary files and shared memory."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from cleandesk.surfaces.process import proc
from cleandesk.surfaces.process.look import Look

_MOST_BYTES = 1 << 26
_RACY_NS = 50_000_000
"""A folder's time may stand still for a clock tick: one that is fresher proves nothing."""


def temp_files_now(look: Look) -> dict[str, Any]:
    """Return what lies in the world's folder for temporary files."""
    return _folder(look.temp_folder, "") if look.temp_folder else {}


def _folder(folder: str, above: str) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            facts = entry.stat(follow_symlinks=False)
            name = f"{above}{entry.name}"
            found[name] = (facts.st_mode, facts.st_size, facts.st_ino, facts.st_ctime_ns)
            if stat.S_ISDIR(facts.st_mode):
                found |= _folder(entry.path, f"{name}/")
    return found


def temp_files(look: Look, before: Mapping[str, Any]) -> dict[str, list[str]]:
    """Tell which temporary files were made, changed or deleted, each by its contents."""
    now = temp_files_now(look)
    told: dict[str, list[str]] = {}
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) == now.get(name):
            continue
        text = f"{look.temp_folder}/{name}"
        told.setdefault(look.wording.say(name), []).append(_entry(text, now.get(name)))
    # Two names drawn at random may be told as one: in an order that does not depend on them.
    return {name: sorted(entries) for name, entries in told.items()}


def _entry(path: str, facts: tuple[int, ...] | None) -> str:
    if facts is None:
        return "gone"
    mode, size = facts[:2]
    if not stat.S_ISREG(mode):
        return "folder" if stat.S_ISDIR(mode) else f"special {stat.filemode(mode)[0]}"
    if size > _MOST_BYTES:
        return f"file of {size} bytes, not read"
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            return f"file of {size} bytes, sha256 {hashlib.sha256(file.read()).hexdigest()}"
    return f"file of {size} bytes, can't be read"


def shared_now(look: Look) -> tuple[set[str], tuple[int, bool]]:
    """Return the names that are held, and how fresh the last change of them all is."""
    facts = os.stat(proc.SHARED) if os.path.isdir(proc.SHARED) else None  # noqa: PTH112, PTH116
    changed = facts.st_mtime_ns if facts else 0
    return proc.shared_memory(look.descriptors.values()), (
        changed,
        time.time_ns() - changed < _RACY_NS,
    )


def shared_memory(look: Look, before: Any) -> dict[str, int]:
    """Tell which shared memory is held, or was held at an earlier look and is left behind."""
    held_before, (changed_before, was_racy) = before
    seen = look.memory.setdefault("shared memory", set())
    if not seen and not was_racy and _changed(proc.SHARED) == changed_before:
        # Nothing was made there since, by whomever: the costly look is spared.
        return {}
    held = proc.shared_memory(look.descriptors.values()) - held_before
    # What was held at an earlier look and is still there was left behind.
    left = {name for name in seen if _changed(f"{proc.SHARED}/{name}")}
    seen |= held
    return dict(Counter(map(look.wording.say, held | left)))


def _changed(path: str) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    return 0
