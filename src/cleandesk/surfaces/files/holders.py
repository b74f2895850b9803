"""Which files and folders living processes hold: open for writing, mapped, or as their place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_SHARED = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ ...s [0-9a-f]+ \S+ (\d+)", re.MULTILINE)


def held_in(device: int) -> set[int] | None:
    """Return the inode numbers on ``device`` that somebody holds, or None if it can't be told.

    A file counts where it is open for writing or mapped and shared, a folder where it is
    open or the place of a process. Processes of others, which we may not look into, can
    only have what their permissions give them.
    """
    mapped = mapped_files()
    if mapped is None:
        return None
    held = set(mapped)
    for process in _processes():
        for name in ("cwd", "root"):
            held.update(_inode(f"{process}/{name}", device))
        for way in _descriptors(process):
            held.update(_inode(way, device))
    return held


def mapped_files() -> set[int] | None:
    """Return the inode numbers of files that are mapped and shared; None if it can't be told.

    Of whichever device: a mapping names it in another way than ``stat`` does on some
    file systems, and one number too many costs a reading only.
    """
    if not (_PROC / "self" / "maps").exists():
        return None
    found: set[int] = set()
    for process in _processes():
        try:
            maps = Path(f"{process}/maps").read_bytes()
        except OSError:
            continue
        # Most processes share nothing, and looking for two texts is fast.
        if b"-s " in maps or b"xs " in maps:
            found.update(int(number) for number in _SHARED.findall(maps))
    return found


def _processes() -> Iterator[str]:
    return (f"/proc/{name}" for name in os.listdir(_PROC) if name.isdigit())  # noqa: PTH208 - fast


def _descriptors(process: str) -> Iterator[str]:
    try:
        names = os.listdir(f"{process}/fd")  # noqa: PTH208 - fast
    except OSError:
        return iter(())
    return (f"{process}/fd/{name}" for name in names)


def _inode(way: str, device: int) -> Iterator[int]:
    try:
        held = os.stat(way)  # noqa: PTH116 - fast
        if held.st_dev != device:
            return
        is_folder = held.st_mode & 0o170000 == 0o040000
        # The link's own permissions say how it was opened.
        if is_folder or os.lstat(way).st_mode & 0o200:
            yield held.st_ino
    except OSError:
        return
