"""The stat cache: one tight pass that says which entries are not as they were seen before.

The work of a look that finds nothing is all here: an ``lstat`` an entry, one comparison of
numbers, and no object that lives longer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from typing import NamedTuple

from cleandesk.surfaces.files.walk import (
    FOLDER,
    MAX_DEPTH,
    MovedError,
    Seen,
    TooDeepError,
    folders,
    open_folder,
    seen,
)


class Moved(NamedTuple):
    """What differs from a cache.

    Attributes:
        now: Path -> what is seen, for entries that are new or not as they were.
        gone: Paths of the cache that are no longer there.
        held: Paths of entries whose inode number is among those that were asked for.
    """

    now: dict[str, Seen]
    gone: set[str]
    held: set[str]


def moved(root: int, cache: Mapping[str, Seen], inodes: Set[int]) -> Moved:
    """Compare everything below ``root`` with what was seen of it before.

    Raises:
        MovedError: Somebody changes a folder meanwhile.
        TooDeepError: Folders are nested too deep.
    """
    look = _Look(cache, inodes)
    own = seen(os.fstat(root))
    look.folder(root, "", 0, own)
    if cache.get(".") != own:
        look.now["."] = own
    if own.ino in inodes:
        look.held.add(".")
    gone: set[str] = set()
    # Each entry of the cache was met, or was not: then the names alone are listed again.
    if look.count + 1 - sum(path not in cache for path in look.now) != len(cache):
        gone = cache.keys() - {"."}
        for folder in folders(root, unlock=True):
            gone.difference_update([folder.prefix + name for name, _ in folder.entries])
    return Moved(look.now, gone, look.held)


class _Look:
    def __init__(self, cache: Mapping[str, Seen], inodes: Set[int]) -> None:
        self._cache = cache
        self._inodes = inodes
        self._locks = os.geteuid() != 0
        self.now: dict[str, Seen] = {}
        self.held: set[str] = set()
        self.count = 0

    def folder(self, fd: int, prefix: str, depth: int, own: tuple[int, ...]) -> None:
        below = self._entries(fd, prefix)
        after = os.fstat(fd)
        # Where folders are unlocked to be looked into, that moves the ctime.
        ctime = own[8] if self._locks else after.st_ctime_ns
        if (after.st_ino, after.st_mtime_ns, ctime) != (own[1], own[7], own[8]):
            raise MovedError(prefix or ".")
        if below and depth >= MAX_DEPTH:
            raise TooDeepError(prefix + below[0][0])
        for name, held in below:
            lock: int | None = None
            try:
                if self._locks and held[0] & 0o500 != 0o500:
                    child, lock = open_folder(name, fd, unlock=True)
                else:
                    child = os.open(name, FOLDER, dir_fd=fd)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise MovedError(prefix + name) from error
            try:
                self.folder(child, f"{prefix}{name}/", depth + 1, held)
            finally:
                if lock is not None:
                    os.fchmod(child, lock)
                os.close(child)

    def _entries(self, fd: int, prefix: str) -> list[tuple[str, tuple[int, ...]]]:
        below: list[tuple[str, tuple[int, ...]]] = []
        known, inodes = self._cache.get, self._inodes
        count = 0
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    held = entry.stat(follow_symlinks=False)
                    mode = held.st_mode
                    # In the order of Seen, to which it is equal where nothing moved.
                    now = (
                        mode,
                        held.st_ino,
                        held.st_dev,
                        held.st_nlink,
                        held.st_uid,
                        held.st_gid,
                        held.st_size,
                        held.st_mtime_ns,
                        held.st_ctime_ns,
                    )
                    count += 1
                    path = prefix + entry.name
                    if known(path) != now:
                        self.now[path] = Seen(*now)
                    if mode & 0o170000 == 0o040000:
                        below.append((entry.name, now))
                    if now[1] in inodes:
                        self.held.add(path)
        except FileNotFoundError as error:
            raise MovedError(prefix or ".") from error
        self.count += count
        return below
