"""Looking into a folder without ever leaving it: one pass, by folder descriptors.

No name is followed twice: every folder is opened from its parent's descriptor and no
link is followed, so that whoever swaps a folder for a link meanwhile leads nowhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_DEPTH = 200
"""Folders nested deeper than this are refused: each level holds a descriptor."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened: never by way of a link."""

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class MovedError(Exception):
    """Somebody writes while we read; the message says where."""


class TooDeepError(Exception):
    """Folders are nested deeper than ``MAX_DEPTH``; the message says where."""


class Seen(NamedTuple):
    """What ``lstat`` says of an entry, all but what looking changes.

    Attributes:
        mode: Type and permissions.
        ino: Inode number.
        dev: Device of the file system.
        nlink: Number of names.
        uid: Owner.
        gid: Group.
        size: Bytes.
        mtime: Nanoseconds.
        ctime: Nanoseconds.
    """

    mode: int
    ino: int
    dev: int
    nlink: int
    uid: int
    gid: int
    size: int
    mtime: int
    ctime: int

    @property
    def is_folder(self) -> bool:
        """Tell whether this is a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Tell whether this is a regular file."""
        return stat.S_ISREG(self.mode)


def seen(held: os.stat_result) -> Seen:
    """Return what counts of a stat."""
    return Seen(
        held.st_mode,
        held.st_ino,
        held.st_dev,
        held.st_nlink,
        held.st_uid,
        held.st_gid,
        held.st_size,
        held.st_mtime_ns,
        held.st_ctime_ns,
    )


def stayed(before: Seen, now: Seen | None) -> bool:
    """Tell whether an entry is as it was seen before.

    What had to be unlocked in order to be looked into has got a new ctime by that.
    """
    if now is None or now == before:
        return now is not None
    needed = 0o500 if before.is_folder else 0o400
    return before.mode & needed != needed and before._replace(ctime=0) == now._replace(ctime=0)


class Folder(NamedTuple):
    """One folder while it is open.

    Attributes:
        prefix: Its path with a slash behind it; empty for the root.
        fd: Its descriptor, open until the next folder is asked for.
        own: What was seen of it.
        entries: Its entries: name and what was seen.
    """

    prefix: str
    fd: int
    own: Seen
    entries: list[tuple[str, Seen]]


@contextlib.contextmanager
def root_of(path: str) -> Iterator[int]:
    """Open the folder at ``path``, which is not to be a link, and close it at the end."""
    fd = os.open(path, FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)


class _Level(NamedTuple):
    fd: int
    prefix: str
    below: list[tuple[str, Seen]]
    lock: int | None


def folders(root: int, *, unlock: bool = False) -> Iterator[Folder]:
    """Yield every folder below ``root``, parents first, each with its entries.

    Args:
        root: Descriptor of the root folder; it stays open.
        unlock: Let a folder of our own that forbids us to look be opened for as long
            as it is looked into.

    Raises:
        MovedError: Somebody changes a folder meanwhile.
        TooDeepError: Folders are nested too deep.
        PermissionError: A folder can't be looked into.
    """
    levels: list[_Level] = []
    try:
        found = _look(os.dup(root), "", None, seen(os.fstat(root)))
        while True:
            level, folder = found
            levels.append(level)
            yield folder
            while levels and not levels[-1].below:
                _leave(levels.pop())
            if not levels:
                return
            above = levels[-1]
            name, known = above.below.pop()
            if len(levels) >= MAX_DEPTH:
                raise TooDeepError(above.prefix + name)
            found = _enter(above, name, known, unlock=unlock)
    finally:
        for level in reversed(levels):
            _leave(level)


def _enter(above: _Level, name: str, known: Seen, *, unlock: bool) -> tuple[_Level, Folder]:
    path = above.prefix + name
    try:
        fd, lock = open_folder(name, above.fd, unlock=unlock)
    except OSError as error:
        if error.errno in _GONE:
            raise MovedError(path) from error
        raise
    return _look(fd, f"{path}/", lock, known)


def _look(fd: int, prefix: str, lock: int | None, known: Seen) -> tuple[_Level, Folder]:
    try:
        before = os.fstat(fd)
        with os.scandir(fd) as held:
            entries = [(entry.name, seen(entry.stat(follow_symlinks=False))) for entry in held]
        after = os.fstat(fd)
    except FileNotFoundError as error:
        _leave(_Level(fd, prefix, [], lock))
        raise MovedError(prefix) from error
    except BaseException:
        _leave(_Level(fd, prefix, [], lock))
        raise
    folder = Folder(prefix, fd, known, entries)
    level = _Level(fd, prefix, [entry for entry in entries if entry[1].is_folder], lock)
    # Unlocking moves the ctime, so it is only compared within this look.
    is_same = before.st_ino == known.ino and before.st_mtime_ns == known.mtime
    if not is_same or seen(before) != seen(after):
        _leave(level)
        raise MovedError(prefix or ".")
    return level, folder


def _leave(level: _Level) -> None:
    if level.lock is not None:
        os.fchmod(level.fd, level.lock)
    os.close(level.fd)


def open_folder(
    name: str, dir_fd: int, *, unlock: bool = False, write: bool = False
) -> tuple[int, int | None]:
    """Open a folder of ``dir_fd``; return it, and the mode to put back before it is closed.

    Args:
        name: Its name there.
        dir_fd: Descriptor of its parent.
        unlock: Give ourselves the permissions where we own it and lack them.
        write: Entries are to be made in it, not only looked at.
    """
    if not unlock or os.geteuid() == 0:
        return os.open(name, FOLDER, dir_fd=dir_fd), None
    held = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    needed = 0o700 if write else 0o500
    mode = stat.S_IMODE(held.st_mode)
    if not stat.S_ISDIR(held.st_mode) or mode & needed == needed:
        return os.open(name, FOLDER, dir_fd=dir_fd), None
    with pinned(name, dir_fd) as way:
        os.chmod(way, mode | needed)  # noqa: PTH101 - a descriptor's path
        try:
            # Opened by the pin: the name may be another entry's by now.
            return os.open(f"{way}/.", FOLDER), mode
        except BaseException:
            os.chmod(way, mode)  # noqa: PTH101 - a descriptor's path
            raise


@contextlib.contextmanager
def pinned(name: str, dir_fd: int) -> Iterator[str]:
    """Hold an entry that need not be readable; yields a path that leads to it alone."""
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


@contextlib.contextmanager
def readable(name: str, dir_fd: int) -> Iterator[str]:
    """Let a file or folder of our own be read for a moment; yields a path that leads to it alone.

    Raises:
        PermissionError: It is not ours.
    """
    with pinned(name, dir_fd) as way:
        held = os.stat(way)  # noqa: PTH116 - a descriptor's path
        mode = stat.S_IMODE(held.st_mode)
        is_known = stat.S_ISREG(held.st_mode) or stat.S_ISDIR(held.st_mode)
        if not is_known or held.st_uid != os.geteuid():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        os.chmod(way, mode | 0o400)  # noqa: PTH101 - a descriptor's path
        try:
            yield way
        finally:
            os.chmod(way, mode)  # noqa: PTH101 - a descriptor's path


class Beneath:
    """Finds entries below a root by path, one open folder a level."""

    def __init__(self, root: int, *, unlock: bool = False, write: bool = False) -> None:
        """Take the descriptor of the root; see ``open_folder`` for the rest."""
        self._unlock = unlock
        self._write = write
        self._root = root
        self._folder: str | None = ""
        self._names: list[str] = []
        self._open: list[tuple[int, int | None]] = []

    def __enter__(self) -> Beneath:
        return self

    def __exit__(self, *_: object) -> None:
        self._cut(0)

    def parent(self, path: str) -> tuple[int, str] | None:
        """Return the folder that holds ``path`` and the name in it; None if there is none.

        The descriptor stays open until another path is asked for. ``.`` is the root.
        """
        folder, _, name = path.rpartition("/")
        if folder == self._folder:
            return self.fd, name
        self._folder = None
        names = folder.split("/") if folder else []
        if len(names) > MAX_DEPTH:
            raise TooDeepError(path)
        shared = 0
        while shared < min(len(names), len(self._names)) and names[shared] == self._names[shared]:
            shared += 1
        self._cut(shared)
        for below in names[shared:]:
            try:
                opened = open_folder(below, self.fd, unlock=self._unlock, write=self._write)
            except OSError as error:
                if error.errno in _GONE:
                    return None
                raise
            self._open.append(opened)
            self._names.append(below)
        self._folder = folder
        return self.fd, name

    def seen(self, path: str) -> Seen | None:
        """Return what is seen of ``path``, or None if there is no such entry."""
        found = self.parent(path)
        if found is None:
            return None
        fd, name = found
        try:
            return seen(os.stat(name, dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError:
            return None

    @property
    def fd(self) -> int:
        """The folder of the path that was asked for last."""
        return self._open[-1][0] if self._open else self._root

    def _cut(self, length: int) -> None:
        while len(self._open) > length:
            fd, lock = self._open.pop()
            self._names.pop()
            if lock is not None:
                os.fchmod(fd, lock)
            os.close(fd)


def linked(entries: Iterable[tuple[str, Seen]]) -> dict[str, str]:
    """Return the hard links: path -> the smallest path of the same file, where it has several."""
    groups: dict[tuple[int, int], list[str]] = {}
    for path, held in entries:
        if held.nlink > 1 and not held.is_folder:
            groups.setdefault((held.dev, held.ino), []).append(path)
    return {
        path: min(paths, key=os.fsencode)
        for paths in groups.values()
        if len(paths) > 1
        for path in paths
    }
