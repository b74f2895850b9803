"""Private copies of a base: in write-ahead mode under a pin, or plain."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from cleandesk.errors import WorldError, shown, text_of
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.protocol import Copy
from cleandesk.surfaces.sqlite.btree import PageError
from cleandesk.surfaces.sqlite.changed import Ground, delta_of
from cleandesk.surfaces.sqlite.comparing import compare_sides
from cleandesk.surfaces.sqlite.lone import alone
from cleandesk.surfaces.sqlite.pin import Pin
from cleandesk.surfaces.sqlite.places import Places
from cleandesk.surfaces.sqlite.reading import Side, connect, opened, readable, signature

_LONG_AGO_NS = 946_684_800 * 10**9
"""When copies say they were last written: so any write shows, however coarse the clock."""

_UNREADABLE = (apsw.Error, PageError, IndexError, struct.error, OSError, UnicodeDecodeError)
_NOT_IN_KERNEL = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_TRIES = 3
_CHUNK_BYTES = 1 << 30


def open_copy(surface: str, terms: SurfaceTerms, held: Mapping[str, Any], folder: Path) -> Copy:
    """Make a private copy; see ``Sqlite.open_copy``."""
    if held["wal"]:
        return PinnedCopy(surface, terms, held, folder)
    return PlainCopy(surface, terms, held, folder)


class _Base:
    """The base of a copy, open while the copy is."""

    def __init__(self, surface: str, terms: SurfaceTerms, held: Mapping[str, Any]) -> None:
        self.path = Path(held["database"])
        self.terms = terms
        self.leaving = Leaving(surface, terms)
        self.side = Side.of(connect(self.path, immutable=True), terms)

    def close(self) -> None:
        self.side.held.close()


class PlainCopy:
    """A copy with whatever journal the world gives it: put back and read as a whole.

    Attributes:
        place: The path of the database file.
        method: For people.
        holder: None: it lies where everybody sees it.
    """

    method = "whole copy"
    holder: int | None = None

    def __init__(
        self, surface: str, terms: SurfaceTerms, held: Mapping[str, Any], folder: Path
    ) -> None:
        """Make the copy in ``folder``."""
        self._path = folder / held["name"]
        self._where = f"surface {surface}"
        self.place = str(self._path)
        with _putting_back(self._where):
            self._base = _Base(surface, terms, held)
            _replace(self._base.path, self._path)

    def restore(self) -> None:
        """Put a fresh file in place of the old one, which whoever holds it keeps."""
        with _putting_back(self._where):
            _clear(self._path.parent)
            _replace(self._base.path, self._path)

    def delta(self) -> CannotTell:
        """Say that it can't be told: this copy is read as a whole."""
        return CannotTell("without write-ahead mode the database is read as a whole")

    def read(self) -> Delta:
        """Compare all rows with the base's."""
        base = self._base
        with readable(self._path), contextlib.closing(_joined(self._path)) as held:
            held.execute("BEGIN; SELECT 1 FROM sqlite_schema").fetchall()
            return compare_sides(base.side, Side.of(held, base.terms), base.leaving)

    def close(self) -> None:
        """Delete the copy."""
        self._base.close()
        _delete(self._path.parent)


class PinnedCopy:
    """A copy in write-ahead mode whose file no write reaches: a reader that stays holds it.

    Attributes:
        place: The path of the database file.
        method: For people.
        holder: None: it lies where everybody sees it.
    """

    method = "pinned WAL"
    holder: int | None = None

    def __init__(
        self, surface: str, terms: SurfaceTerms, held: Mapping[str, Any], folder: Path
    ) -> None:
        """Make the copy in ``folder`` and pin it."""
        self._path = folder / held["name"]
        self._where = f"surface {surface}"
        self.place = str(self._path)
        self._pin: Pin | None = None
        self._seen: tuple[int, int, int, int] | None = None
        self._has_lost_log = False
        with contextlib.ExitStack() as opened_so_far, _putting_back(self._where):
            self._base = _Base(surface, terms, held)
            opened_so_far.callback(self._base.close)
            places = Places(Path(held["places"]))
            opened_so_far.callback(places.close)
            self._file = os.open(self._base.path, os.O_RDONLY | os.O_CLOEXEC)
            opened_so_far.callback(os.close, self._file)
            self._ground = _ground(self._base, places, self._file)
            _replace(self._base.path, self._path)
            self._pin = Pin(self._path)
            self._opened = opened_so_far.pop_all()

    def restore(self) -> None:
        """Drop the log; where somebody has the file open, put fresh files in place of all."""
        with _putting_back(self._where):
            for left in range(_TRIES, -1, -1):
                self._unpin()
                self._has_lost_log = False
                if not self._drop_log():
                    _clear(self._path.parent)
                    _replace(self._base.path, self._path)
                try:
                    self._pin = Pin(self._path)
                except (WorldError, FileNotFoundError):
                    # Whoever held the old file may just then delete the log of the new one.
                    if not left:
                        raise
                else:
                    return

    def _drop_log(self) -> bool:
        """Take away the log of an intact file that nobody has open; tell whether it was so."""
        try:
            with alone(self._path) as is_alone:
                if not is_alone or not self._is_intact():
                    return False
                _clear(self._path.parent, but=self._path)
                return True
        except OSError:
            # It is gone, or a link or a folder now: nothing of it is kept.
            return False

    def _is_intact(self) -> bool:
        return self._seen is not None and signature(self._path)[0] == self._seen

    def _unpin(self) -> None:
        pin, self._pin = self._pin, None
        if pin is None:
            self._seen = None
        else:
            self._seen = pin.seen
            pin.close()

    def delta(self) -> Delta | CannotTell:
        """Read the pages that were written, and the rows that lie in them."""
        try:
            return self._delta()
        except WorldError as error:
            return CannotTell(error.message)
        except _UNREADABLE as error:
            return CannotTell(f"the written pages can't be read: {shown(text_of(error))}")

    def _delta(self) -> Delta | CannotTell:
        pin = self._pin
        if pin is None:
            return CannotTell("the database file itself was written or replaced")
        why = pin.disturbed()
        if why is not None:
            return CannotTell(why)
        end = pin.end()
        if end is not None and end.frames == 0:
            return Delta()
        with pin.moment() as held:
            if held is None:
                return CannotTell("somebody writes all the time")
            now = Side(held, self._base.side.layout)
            found = delta_of(self._ground, now, pin.pages(self._file))
        if pin.end() != pin.last:
            return CannotTell("somebody wrote while it was read")
        why = pin.disturbed()
        return found if why is None else CannotTell(why)

    def read(self) -> Delta:
        """Compare all rows with the base's own file."""
        for _ in range(_TRIES):
            pin = self._pin
            if pin is None or pin.disturbed() is not None:
                return self._read_apart()
            with readable(self._path), pin.moment() as held:
                if held is None:
                    continue
                base = self._base
                found = compare_sides(base.side, Side.of(held, base.terms), base.leaving)
            if pin.end() == pin.last and pin.disturbed() is None:
                return found
        raise WorldError(
            "CD-242",
            "somebody was writing the database each time that it was read",
            where=self._where,
            do="let the world finish its writes before a step ends",
        )

    def _read_apart(self) -> Delta:
        """Read the files that lie there now as whoever opens them next would find them."""
        self._has_lost_log |= self._pin is not None and self._pin.has_lost_log()
        # This process's locks of the file end here, as it is opened and closed.
        self._unpin()
        self._seen = None
        base = self._base
        _require_file(self._path)
        if self._has_lost_log and not _is_alone(self._path):
            raise WorldError(
                "CD-242",
                "the write-ahead log was deleted while a program uses the database",
                where=self._where,
                do="leave the files whose names end in -wal and -shm to SQLite",
            )
        with opened(self._path, base.terms, is_apart=True) as side:
            return compare_sides(base.side, side, base.leaving)

    def close(self) -> None:
        """Release and delete the copy."""
        self._unpin()
        self._opened.close()
        _delete(self._path.parent)


def _ground(base: _Base, places: Places, file: int) -> Ground:
    header = os.pread(file, 100, 0)
    size = int.from_bytes(header[16:18], "big")
    return Ground(base.side, places, (65536 if size == 1 else size) - header[20], base.leaving)


def _joined(path: Path) -> apsw.Connection:
    """Open a copy as the world does, to read it."""
    _require_file(path)
    return connect(path)


def _is_alone(path: Path) -> bool:
    try:
        with alone(path) as is_alone:
            return is_alone
    except OSError:
        return False


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise WorldError(
            "CD-242", "the database file is gone", where=shown(path), do="look who deleted it"
        )


@contextlib.contextmanager
def _putting_back(where: str) -> Iterator[None]:
    try:
        yield
    except (OSError, apsw.Error) as error:
        raise WorldError(
            "CD-241",
            f"the copy of the database can't be put back: {shown(text_of(error))}",
            where=where,
            do="look at the free space and the rights of the folder for temporary files",
        ) from error


def _replace(source: Path, target: Path) -> None:
    """Put a fresh copy of ``source`` at ``target``, or nothing."""
    fresh = target.with_name(f"{target.name}.fresh")
    try:
        _copy(source, fresh)
        os.utime(fresh, ns=(_LONG_AGO_NS, _LONG_AGO_NS))
        fresh.replace(target)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("wb") as new:
        left = os.fstat(old.fileno()).st_size
        try:
            # In the kernel; a file system that can shares the blocks.
            while left > 0:
                done = os.copy_file_range(old.fileno(), new.fileno(), min(left, _CHUNK_BYTES))
                left -= done
                if not done:
                    raise OSError(errno.EIO, "the base became shorter while it was copied")
        except OSError as error:
            if error.errno not in _NOT_IN_KERNEL:
                raise
            old.seek(0)
            new.seek(0)
            shutil.copyfileobj(old, new)


def _delete(folder: Path) -> None:
    # A folder that is gone already, or that a world barred, is swept with what holds it.
    with contextlib.suppress(OSError):
        _clear(folder)


def _clear(folder: Path, but: Path | None = None) -> None:
    """Delete what lies in a copy's folder: journals, and whatever a world left there."""
    for path in folder.iterdir():
        if path == but:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
