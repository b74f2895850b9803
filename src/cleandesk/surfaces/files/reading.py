"""From an entry of a folder to its record: type, mode, owner, content, attributes, links."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cleandesk.errors import StateError
from cleandesk.state.canon import encode
from cleandesk.surfaces.files.content import SQLITE_MAGIC, Content, plain
from cleandesk.surfaces.files.database import COMPANIONS, Databases
from cleandesk.surfaces.files.walk import (
    Folder,
    MovedError,
    Seen,
    folders,
    linked,
    readable,
    seen,
)

TABLE = "files"
_TYPES = {
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "fifo",
    stat.S_IFLNK: "link",
    stat.S_IFREG: "file",
    stat.S_IFSOCK: "socket",
}
_LABELS = frozenset({"security.evm", "security.ima", "security.selinux"})
"""Attributes that the machine gives by its own rules."""

_NO_ATTRIBUTES = frozenset({errno.ENOTSUP, errno.ENODATA, errno.ENOSYS})
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class Options:
    """How the files of one surface are read.

    Attributes:
        readers: Glob of a path or name -> reader.
        mtime: Whether the modification time of all but folders counts.
        unlock: Whether what is ours may be made readable for a moment.
    """

    readers: Mapping[str, str] = field(default_factory=dict)
    mtime: bool = False
    unlock: bool = False

    @classmethod
    def of(cls, source: Mapping[str, Any], *, unlock: bool) -> Options:
        """Read what a contract says."""
        return cls(source.get("readers", {}), bool(source.get("mtime")), unlock)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that is to be read.

    Attributes:
        path: From the root, with slashes.
        name: Its name in the folder.
        fd: The open folder.
        seen: What was seen of it.
        beside: The folder's other entries, by name; None where there is none.
    """

    path: str
    name: str
    fd: int
    seen: Seen
    beside: Callable[[str], Seen | None]


class Reading:
    """One reading of a folder.

    Attributes:
        content: The readers, and which of them were used.
        seen: Path -> what ``tree`` saw of it.
    """

    def __init__(self, options: Options) -> None:
        """Take the options.

        Raises:
            WorldError: CD-281, they name a reader that does not exist.
        """
        self._options = options
        self.content = Content(options.readers)
        self.seen: dict[str, Seen] = {}
        self._databases = Databases(self._opened)

    def tree(
        self, root: int, links: Mapping[str, str] | None = None
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every entry below ``root``, and the root as ``.``, with its record.

        Args:
            root: The root folder.
            links: The links, where the inode numbers that are seen do not tell them.

        Raises:
            MovedError: Somebody writes meanwhile.
            TooDeepError: Folders are nested too deep.
        """
        own = seen(os.fstat(root))
        self.seen["."] = own
        yield ".", self._record(Entry(".", ".", root, own, lambda _: None))
        # Names of one file may be anywhere, so they are known at the end alone.
        several: list[tuple[str, Seen, Any]] = []
        for folder in folders(root, unlock=self._options.unlock):
            for entry in entries_of(folder):
                self.seen[entry.path] = entry.seen
                record = self.record(entry)
                if record is None:
                    continue
                if entry.seen.nlink > 1 and not entry.seen.is_folder:
                    several.append((entry.path, entry.seen, record))
                else:
                    yield entry.path, record
            self._databases.forget()
        if links is None:
            links = linked((path, held) for path, held, _ in several)
        for path, _, record in several:
            yield path, with_link(record, links.get(path))

    def record(self, entry: Entry) -> dict[str, Any] | None:
        """Return the record of an entry, or None where it is a part of a database beside it.

        Raises:
            MovedError: Somebody writes meanwhile.
        """
        try:
            if entry.seen.is_file and entry.name.endswith(COMPANIONS) and self._is_part(entry):
                return None
            return self._record(entry)
        except FileNotFoundError as error:
            raise MovedError(entry.path) from error

    def _is_part(self, entry: Entry) -> bool:
        name = next(entry.name.removesuffix(end) for end in COMPANIONS if entry.name.endswith(end))
        held = entry.beside(name)
        if held is None or not held.is_file:
            return False
        path = entry.path[: len(entry.path) - len(entry.name)] + name
        main = Entry(path, name, entry.fd, held, entry.beside)
        return self._database(main) is not None

    def _record(self, entry: Entry) -> dict[str, Any]:
        held = entry.seen
        kind = stat.S_IFMT(held.mode)
        record: dict[str, Any] = {
            "mode": f"{stat.S_IMODE(held.mode):04o}",
            "owner": f"{held.uid}:{held.gid}",
            "type": _TYPES.get(kind, "unknown"),
        }
        if self._options.mtime and not held.is_folder:
            record["mtime"] = held.mtime
        if kind == stat.S_IFREG:
            record |= self._content(entry)
        elif kind == stat.S_IFLNK:
            record["target"] = _text(os.readlink(entry.name, dir_fd=entry.fd))
        elif kind in {stat.S_IFCHR, stat.S_IFBLK}:
            record["device"] = _device(entry)
        attributes = self.attributes(entry.name, entry.fd)
        if attributes:
            record["xattrs"] = attributes
        return record

    def _content(self, entry: Entry) -> dict[str, Any]:
        fd = self._opened(entry.name, entry.fd)
        try:
            # Asked here too, because one more opening of each file would be dear.
            if os.pread(fd, len(SQLITE_MAGIC), 0) == SQLITE_MAGIC:
                database = self._database(entry)
                if database is not None:
                    return {"sqlite": database}
            before = os.fstat(fd)
            known = entry.seen
            if (before.st_ino, before.st_size, before.st_mtime_ns) != (
                known.ino,
                known.size,
                known.mtime,
            ):
                raise MovedError(entry.path)
            read = self.content.of_file(entry.path, fd, known.size)
            if "json" in read or "office" in read:
                read = _encodable(read, fd)
            if seen(os.fstat(fd)) != seen(before):
                raise MovedError(entry.path)
        finally:
            os.close(fd)
        return read

    def _database(self, entry: Entry) -> Any:
        if self.content.chosen(entry.path) not in {None, "sqlite"}:
            return None
        found = self._databases.read(entry.path, entry.name, entry.fd, entry.seen, entry.beside)
        if found is not None:
            self.content.used.add("sqlite")
        return found

    def _opened(self, name: str, dir_fd: int) -> int:
        try:
            return os.open(name, _READ, dir_fd=dir_fd)
        except PermissionError:
            if not self._options.unlock:
                raise
            with readable(name, dir_fd) as way:
                return os.open(way, _READ & ~os.O_NOFOLLOW)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                # It was a file a moment ago.
                raise MovedError(name) from error
            raise

    def attributes(self, name: str, dir_fd: int) -> dict[str, bytes]:
        """Return the extended attributes of an entry, without the machine's own labels."""
        # The descriptor's path holds the folder, and the last name is not followed.
        way = f"/proc/self/fd/{dir_fd}/{name}"
        try:
            return attributes_of(way, follow=False)
        except PermissionError:
            if not self._options.unlock:
                raise
            with readable(name, dir_fd) as unlocked:
                return attributes_of(unlocked)


def entries_of(folder: Folder) -> Iterator[Entry]:
    """Return the entries of a folder, ready to be read."""
    beside = dict(folder.entries).get
    return (
        Entry(folder.prefix + name, name, folder.fd, held, beside) for name, held in folder.entries
    )


def with_link(record: dict[str, Any], link: str | None) -> dict[str, Any]:
    """Add the smallest path of a file with several names to its record."""
    return record if link is None else record | {"hardlinks": _text(link)}


def key_of(path: str) -> bytes:
    """Return the canonical key of a path."""
    return encode(_text(path))


def _text(path: str) -> str | bytes:
    # What is no UTF-8 comes from the system with lone surrogates.
    return path if path.isascii() or _is_text(path) else os.fsencode(path)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _device(entry: Entry) -> str:
    number = os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False).st_rdev
    kind = "block" if stat.S_ISBLK(entry.seen.mode) else "character"
    return f"{kind} {os.major(number)}:{os.minor(number)}"


def attributes_of(way: str, *, follow: bool = True) -> dict[str, bytes]:
    """Return the extended attributes at a path of a descriptor, without the machine's labels."""
    try:
        names = os.listxattr(way, follow_symlinks=follow)
        return {
            name: os.getxattr(way, name, follow_symlinks=follow)
            for name in names
            if name not in _LABELS
        }
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return {}
        raise


def _encodable(read: dict[str, Any], fd: int) -> dict[str, Any]:
    """Return what was read, or the plain content where canon/1 can't hold that."""
    try:
        encode(read)
    except StateError:
        os.lseek(fd, 0, os.SEEK_SET)
        with os.fdopen(os.dup(fd), "rb") as held:
            return plain(held.read())
    return read
