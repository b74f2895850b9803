"""Copying a folder as it is: content, mode, owner, attributes, links, times."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable

from cleandesk.surfaces.files.reading import attributes_of
from cleandesk.surfaces.files.walk import Beneath, MovedError, Seen, folders, pinned, seen

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_CHUNK = 1 << 20
_NOT_GIVEN = frozenset({errno.EPERM, errno.ENOTSUP, errno.EACCES, errno.EINVAL})


class Cloning:
    """Copies entries of one folder into another.

    Attributes:
        lost: What could not be given to the copies, such as ``owner``.
    """

    def __init__(self, source: int, target: int) -> None:
        """Take the two root folders."""
        self._source = source
        self._target = target
        self.lost: set[str] = set()

    def all(self) -> None:
        """Copy everything into the empty target.

        Raises:
            MovedError: Somebody writes to the source.
            OSError: An entry can't be read or made.
        """
        made: list[tuple[str, Seen]] = [(".", seen(os.fstat(self._source)))]
        first: dict[tuple[int, int], str] = {}
        with Beneath(self._target) as beneath:
            for folder in folders(self._source):
                fd, _ = beneath.parent(f"{folder.prefix}.") or (-1, "")
                for name, held in folder.entries:
                    path = folder.prefix + name
                    if held.is_folder:
                        os.mkdir(name, 0o700, dir_fd=fd)
                        made.append((path, held))
                    elif held.nlink > 1 and (held.dev, held.ino) in first:
                        self._link(first[held.dev, held.ino], fd, name)
                    else:
                        if held.nlink > 1:
                            first[held.dev, held.ino] = path
                        self.entry((folder.fd, name), (fd, name), held)
        self.finish(made)

    def finish(self, made: Iterable[tuple[str, Seen]]) -> None:
        """Give folders their attributes, the deepest first: then all can still be reached."""
        deepest = sorted(made, key=lambda item: (item[0] == ".", -item[0].count("/")))
        with Beneath(self._source) as source, Beneath(self._target, unlock=True) as target:
            for path, held in deepest:
                here, there = source.parent(path), target.parent(path)
                if here is None or there is None:
                    raise MovedError(path)
                with pinned(here[1], here[0]) as old, pinned(there[1], there[0]) as new:
                    self._dress(old, new, held)

    def _link(self, first: str, fd: int, name: str) -> None:
        with Beneath(self._target) as beneath:
            held, known = beneath.parent(first) or (-1, "")
            os.link(known, name, src_dir_fd=held, dst_dir_fd=fd, follow_symlinks=False)

    def entry(self, source: tuple[int, str], target: tuple[int, str], held: Seen) -> None:
        """Make a copy of an entry that is no folder; no entry of that name may be there.

        Args:
            source: Folder and name of what is copied.
            target: Folder and name of the copy.
            held: What was seen of the source.

        Raises:
            MovedError: The source is no longer what was seen.
            OSError: It can't be read or made.
        """
        fd, name = target
        kind = stat.S_IFMT(held.mode)
        if kind == stat.S_IFREG:
            self._file(source, target, held)
        elif kind == stat.S_IFLNK:
            os.symlink(os.readlink(source[1], dir_fd=source[0]), name, dir_fd=fd)
        else:
            device = os.stat(source[1], dir_fd=source[0], follow_symlinks=False).st_rdev
            os.mknod(name, kind | 0o600, device, dir_fd=fd)
        if kind != stat.S_IFREG:
            with pinned(source[1], source[0]) as old, pinned(name, fd) as new:
                self._dress(old, new, held)

    def _file(self, source: tuple[int, str], target: tuple[int, str], held: Seen) -> None:
        old = os.open(source[1], _READ, dir_fd=source[0])
        try:
            before = seen(os.fstat(old))
            if before != held:
                raise MovedError(source[1])
            new = os.open(target[1], _NEW, 0o600, dir_fd=target[0])
            try:
                _copy(old, new, held.size)
                self._dress(f"/proc/self/fd/{old}", f"/proc/self/fd/{new}", held)
            finally:
                os.close(new)
            if seen(os.fstat(old)) != before:
                raise MovedError(source[1])
        finally:
            os.close(old)

    def _dress(self, old: str, new: str, held: Seen) -> None:
        """Give ``new`` all but the content of ``old``; both are paths of descriptors."""
        is_link = stat.S_ISLNK(held.mode)
        if not is_link and os.geteuid():
            # Attributes are only for those who may read and write.
            os.chmod(new, 0o700)  # noqa: PTH101 - a descriptor's path
        self._own(new, held)
        self._attributes(old, new)
        if not is_link:
            # Last: a change of owner and of access lists takes and gives bits.
            os.chmod(new, stat.S_IMODE(held.mode))  # noqa: PTH101 - a descriptor's path
        os.utime(new, ns=(held.mtime, held.mtime))

    def _own(self, new: str, held: Seen) -> None:
        now = os.stat(new)  # noqa: PTH116 - a descriptor's path
        if (now.st_uid, now.st_gid) == (held.uid, held.gid):
            return
        try:
            os.chown(new, held.uid, held.gid)
        except PermissionError:
            self.lost.add("owner")
            # Our own group, whatever the folder hands on.
            with contextlib.suppress(PermissionError):
                os.chown(new, -1, os.getegid())

    def _attributes(self, old: str, new: str) -> None:
        wanted, there = attributes_of(old), attributes_of(new)
        for name in there.keys() - wanted.keys():
            os.removexattr(new, name)
        for name, value in wanted.items():
            if there.get(name) == value:
                continue
            try:
                os.setxattr(new, name, value)
            except OSError as error:
                if error.errno not in _NOT_GIVEN:
                    raise
                self.lost.add(f"attribute {name}")


def _copy(old: int, new: int, size: int) -> None:
    data = os.read(old, min(size, _CHUNK) + 1)
    while data:
        view = memoryview(data)
        while view:
            view = view[os.write(new, view) :]
        data = os.read(old, _CHUNK)
