"""A copy as an ordinary folder: what has moved since it was put back is read again.

A stat cache says what has moved. It is trusted only where every write moves a time: an
entry that was changed at or after the moment at which the cache was written is read
again, as is a file that somebody maps; and on a file system on which a write through a
mapping moves no time, the fast way answers that it can't tell.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from cleandesk.errors import WorldError, shown
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.surfaces.files.against import Against, reads, why
from cleandesk.surfaces.files.clone import Cloning
from cleandesk.surfaces.files.discard import discard
from cleandesk.surfaces.files.holders import held_in, mapped_files
from cleandesk.surfaces.files.moved import Moved, moved
from cleandesk.surfaces.files.repair import Doubts, Findings, repair
from cleandesk.surfaces.files.walk import (
    Beneath,
    MovedError,
    Seen,
    TooDeepError,
    linked,
    open_folder,
    root_of,
    seen,
    stayed,
)

_TRIES = 3
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class Portable:
    """A private copy of its own; see ``protocol.Copy``."""

    holder: int | None = None

    def __init__(
        self, surface: str, tree: Path, folder: Path, against: Against, *, reason: str
    ) -> None:
        """Copy the base.

        Args:
            surface: The surface's name, for messages.
            tree: The base, which is never written.
            folder: Takes the copy.
            against: The records of the base.
            reason: Why it is no overlay, for ``method``; may be empty.

        Raises:
            WorldError: CD-241, it can't be made.
        """
        self._surface = surface
        self._tree = tree
        self._folder = folder
        self._against = against
        self._cache: dict[str, Seen] = {}
        self._racy: set[str] = set()
        self._contents: dict[str, bytes] = {}
        self.place = str(folder / "tree")
        self.method = f"portable ({reason})" if reason else "portable"
        self._put(self._copy)

    def _put(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (OSError, ValueError, MovedError) as error:
            is_full = isinstance(error, OSError) and error.errno in _NO_ROOM
            what = f"somebody writes to {shown(error)!r}" if isinstance(error, MovedError) else ""
            raise WorldError(
                "CD-241",
                f"the files can't be put back: {what or why(error)}",
                where=f"surface {self._surface}",
                do="make room on the disk; the base is as it was"
                if is_full
                else "end what writes to the files, and see that they may be deleted",
            ) from error

    def _copy(self) -> None:
        place = Path(self.place)
        place.mkdir(mode=0o700)
        with root_of(str(self._tree)) as base, root_of(self.place) as root:
            Cloning(base, root).all()
        self._shows_writes = _shows_writes(self._folder)
        # Nobody else has known the place so far: all that is there is as at base.
        moment = _now(self._folder)
        with self._root() as root:
            self._cache = moved(root, {}, frozenset()).now
        self._racy = {path for path, held in self._cache.items() if _is_racy(held, moment)}

    @contextlib.contextmanager
    def _root(self) -> Iterator[int]:
        with root_of(str(self._folder)) as above:
            fd, lock = open_folder("tree", above, unlock=True)
            try:
                yield fd
            finally:
                if lock is not None:
                    os.fchmod(fd, lock)
                os.close(fd)

    def restore(self) -> None:
        """Replace what has moved, and what somebody may still write to."""
        self._put(self._restore)

    def _restore(self) -> None:
        for left in reversed(range(_TRIES)):
            try:
                self._repair()
            except MovedError:
                if not left:
                    raise
            except (TooDeepError, FileNotFoundError, NotADirectoryError):
                # Too tangled to be mended: made anew.
                self._remake()
                return
            else:
                return

    def _repair(self) -> None:
        moment = _now(self._folder)
        held = held_in(self._folder.stat().st_dev)
        with self._root() as root:
            looked = moved(root, self._cache, held or frozenset())
        if held is None or not self._shows_writes:
            doubts = Doubts(self._racy, self._contents)
        else:
            doubts = Doubts(self._racy, None)
        links = self._against.stored.links
        handled = repair(self._tree, self._folder, links, Findings(self._cache, looked, doubts))
        fresh: dict[str, Seen] = {}
        with self._root() as root, Beneath(root, unlock=True) as beneath:
            for path in sorted(handled):
                now = _seen_at(root, beneath, path)
                if now is None:
                    raise MovedError(path)
                fresh[path] = now
        # Whoever wrote since the beginning has left a time that is no older.
        self._racy -= fresh.keys()
        self._racy.update(path for path, now in fresh.items() if _is_racy(now, moment))
        self._cache |= fresh

    def _remake(self) -> None:
        aside = self._folder / "stage"
        discard(aside)
        aside.mkdir(mode=0o700)
        # A world may have taken the folder itself away.
        with contextlib.suppress(FileNotFoundError):
            os.rename(self.place, aside / "gone")  # noqa: PTH104 - two texts
        discard(aside)
        self._copy()

    def delta(self) -> Delta | CannotTell:
        """Read again what has moved, and what somebody maps."""
        if not self._shows_writes:
            return CannotTell("on this file system a write through a mapping moves no time")
        mapped = mapped_files()
        if mapped is None:
            return CannotTell("it can't be seen which files are mapped")
        try:
            with self._root() as root:
                looked = moved(root, self._cache, mapped)
                delta = self._against.some(root, *self._touched(looked))
                _require_still(root, self._cache, looked)
        except MovedError as error:
            return CannotTell(f"somebody is writing to {shown(error)!r}")
        except (OSError, TooDeepError, ValueError) as error:
            return CannotTell(f"it can't be read: {shown(error)}")
        return delta

    def _touched(self, looked: Moved) -> tuple[set[str], dict[str, str]]:
        """Return the paths to read again, and the links of these."""
        touched = {*looked.now, *looked.gone, *looked.held, *self._racy}
        bonds = self._against.stored.links
        if not bonds and all(held.nlink == 1 or held.is_folder for held in looked.now.values()):
            return touched, {}
        seen_now = {**self._cache, **looked.now}
        links = linked(item for item in seen_now.items() if item[0] not in looked.gone)
        touched.update(
            path for path in links.keys() | bonds.keys() if links.get(path) != bonds.get(path)
        )
        return touched, links

    def read(self) -> Delta:
        """Read every file."""

        def read() -> Delta:
            with self._root() as root:
                return self._against.whole(root)

        return reads(self._surface, read)

    def close(self) -> None:
        """Delete the copy."""
        for name in ("tree", "stage"):
            discard(self._folder / name)


def _seen_at(root: int, beneath: Beneath, path: str) -> Seen | None:
    return seen(os.fstat(root)) if path == "." else beneath.seen(path)


def _require_still(root: int, cache: Mapping[str, Seen], looked: Moved) -> None:
    """Check that what was read, and the folders that hold it, are as they were looked at."""
    touched = {*looked.now, *looked.gone, *looked.held}
    touched |= {path.rpartition("/")[0] or "." for path in touched}
    with Beneath(root, unlock=True) as beneath:
        for path in sorted(touched):
            before = None if path in looked.gone else looked.now.get(path, cache.get(path))
            now = _seen_at(root, beneath, path)
            if (now is None) != (before is None) or (before and not stayed(before, now)):
                raise MovedError(path)


def _is_racy(held: Seen, moment: int) -> bool:
    # An mtime may be set to anything; the ctime moves with every change.
    return held.ctime >= moment


def _now(folder: Path) -> int:
    """Return the time that the file system of ``folder`` gives to what is written now."""
    probe = folder / "probe"
    probe.unlink(missing_ok=True)
    probe.touch(mode=0o600)
    try:
        return probe.stat().st_ctime_ns
    finally:
        probe.unlink()


def _shows_writes(folder: Path) -> bool:
    """Try whether a write through a mapping that was read first moves a time here."""
    probe = folder / "probe"
    try:
        with probe.open("w+b") as file:
            file.write(bytes(mmap.PAGESIZE))
            file.flush()
            # An old time: the write is not to fall into the same tick.
            os.utime(file.fileno(), ns=(0, 0))
            with mmap.mmap(file.fileno(), mmap.PAGESIZE) as mapping:
                before = os.fstat(file.fileno()).st_mtime_ns
                mapping[0] = mapping[0] + 1
                return os.fstat(file.fileno()).st_mtime_ns != before
    except (OSError, ValueError):
        return False
    finally:
        probe.unlink(missing_ok=True)
