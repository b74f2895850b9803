"""The pin: a reader that stays in the first state of a database in write-ahead mode.

While it reads from before the first frame of the log, no checkpoint can copy a frame
back, whoever asks for one. So the file stays as it was, and the log holds all that was
written since.

No descriptor of the file or of its shared memory is closed while a connection of this
process is open: the kernel would drop the locks of all of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from cleandesk.errors import WorldError, shown
from cleandesk.surfaces.sqlite.btree import PageError
from cleandesk.surfaces.sqlite.reading import connect, signature
from cleandesk.surfaces.sqlite.wal import End, Pages, last_frames, read_end

_TO_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_TRIES = 3


class Pin:
    """One pin on one database file, from its first state until it is closed.

    Attributes:
        seen: (inode, size, times) of the file when it was pinned.
        last: Where the log ended in the last ``moment``.
    """

    def __init__(self, path: Path) -> None:
        """Pin the database at ``path``, which has no log.

        Raises:
            WorldError: CD-241, it is not at its first state.
            apsw.Error: It can't be opened.
        """
        self._path = path
        self._now: apsw.Connection | None = None
        self.last: End | None = None
        self._held = connect(path)
        self._shared = self._log = -1
        try:
            self._held.execute("BEGIN; SELECT 1 FROM sqlite_schema").fetchall()
            self._shared = os.open(f"{path}-shm", _TO_READ)
            self._log = os.open(f"{path}-wal", _TO_READ)
            # A connection to a file that was replaced deletes both by their names when it
            # ends. Then what is open here is not what the next one opens.
            self._beside = (os.fstat(self._log).st_ino, os.fstat(self._shared).st_ino)
            end, stamp = self.end(), signature(path)[0]
            if end is None or end.frames or stamp is None or not self._is_of_this_name():
                raise WorldError(
                    "CD-241",
                    "somebody wrote the copy before it was at hand",
                    where=shown(path),
                    do="stop whatever the last episode started",
                )
            self.seen = stamp
        except BaseException:
            self.close()
            raise

    def end(self) -> End | None:
        """Return where the log ends; None while that is just being written."""
        return read_end(self._shared)

    def disturbed(self) -> str | None:
        """Say what happened to the files that SQLite would not do, or None."""
        found = signature(self._path)
        if found[0] != self.seen:
            return "the database file itself was written, replaced or touched"
        if found[2] is not None:
            return "there is a rollback journal beside the database"
        if self._inodes() != self._beside:
            return "the write-ahead log was deleted or replaced"
        end = self.end()
        if end is not None and end.moved:
            return "the write-ahead log was copied back into the database"
        return None

    def has_lost_log(self) -> bool:
        """Tell whether the log was taken from the file: whoever had it open keeps another."""
        found = signature(self._path)[0]
        return found is not None and found[0] == self.seen[0] and self._inodes() != self._beside

    def _is_of_this_name(self) -> bool:
        """Tell whether the log and the index that are open here are those that lie there."""
        name = f"{self._path}-shm"
        mapped = {
            int(line.split(maxsplit=5)[4])
            for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
            if name in line
        }
        return self._inodes() == self._beside and mapped == {self._beside[1]}

    def _inodes(self) -> tuple[int, ...]:
        found = []
        for suffix in ("-wal", "-shm"):
            try:
                found.append(Path(f"{self._path}{suffix}").stat().st_ino)
            except FileNotFoundError:
                found.append(0)
        return tuple(found)

    @contextlib.contextmanager
    def moment(self) -> Iterator[apsw.Connection | None]:
        """Hold one committed state still and yield a connection that reads it.

        What the log held before the transaction began and after is the same, so it is
        what the transaction sees. None where somebody writes all the time.
        """
        now = self._joined()
        for _ in range(_TRIES):
            before = self.end()
            now.execute("BEGIN; SELECT 1 FROM sqlite_schema").fetchall()
            try:
                self.last = self.end()
                if self.last is not None and before == self.last:
                    yield now
                    return
            finally:
                if now.in_transaction:
                    now.execute("ROLLBACK")
        yield None

    def pages(self, base: int) -> Pages:
        """Return the pages of the current ``moment`` beside those of the base.

        Args:
            base: Descriptor of the base file.

        Raises:
            PageError: No moment is held still, or the log's index is too short.
        """
        end = self.last
        if end is None:
            raise PageError("no state is held still")
        size = int.from_bytes(os.pread(base, 2, 16), "big")
        frames = last_frames(self._shared, end.frames)
        return Pages(base, self._log, 65536 if size == 1 else size, frames, end.salt)

    def _joined(self) -> apsw.Connection:
        if self._now is None:
            self._now = connect(self._path)
        return self._now

    def close(self) -> None:
        """Let go, without copying anything back: the log stays where it is."""
        for held in (self._now, self._held):
            if held is not None:
                held.close()
        for file in (self._shared, self._log):
            if file >= 0:
                os.close(file)
