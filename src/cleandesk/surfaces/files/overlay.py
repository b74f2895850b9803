"""A copy as an overlay: the base below, what is written above, both seen at one place."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from cleandesk.errors import WorldError, shown
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.surfaces import mounts
from cleandesk.surfaces.files.against import Against, reads, why
from cleandesk.surfaces.files.clone import Cloning
from cleandesk.surfaces.files.discard import discard
from cleandesk.surfaces.files.walk import (
    MovedError,
    Seen,
    TooDeepError,
    folders,
    linked,
    root_of,
    seen,
)

_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Overlay:
    """A private copy that is mounted; see ``protocol.Copy``."""

    def __init__(self, surface: str, tree: Path, folder: Path, against: Against) -> None:
        """Mount the first empty layer.

        Args:
            surface: The surface's name, for messages.
            tree: The base, which is never written.
            folder: Takes the layers and the place.
            against: The records of the base.

        Raises:
            UnavailableError: This machine or process may not do it.
        """
        self._surface = surface
        self._tree = tree
        self._folder = folder
        self._against = against
        self._number = 0
        self._is_mounted = False
        self._is_in_memory = False
        self._is_guarding = False
        self._layers = folder / "layers"
        self._layers.mkdir()
        place = folder / "tree"
        place.mkdir()
        self.place = str(place)
        try:
            mounts.hold(self._try)
            self._open()
        except (mounts.UnavailableError, OSError) as error:
            with contextlib.suppress(OSError):
                self.close()
            raise mounts.UnavailableError(str(error)) from error
        self.holder = mounts.namespace()
        self.method = "overlay" if os.geteuid() == 0 else "overlay (own user namespace)"
        if self._is_in_memory:
            self.method += ", written in memory"

    def _try(self) -> None:
        """Mount and write in the child that tries it; nothing of it stays."""
        self._open()
        probe = Path(self.place) / "probe"
        probe.mkdir()
        probe.rmdir()
        mounts.unmount(Path(self.place))
        discard(self._upper)
        discard(self._work)

    def _open(self) -> None:
        try:
            self._mount()
        except OSError:
            # A folder that is itself an overlay can't take the layer; memory can.
            mounts.mount_memory(self._layers)
            self._is_in_memory = True
            self._mount()
        self._is_guarding = not os.statvfs(self._tree).f_flag & os.ST_RDONLY
        if self._is_guarding:
            mounts.show_read_only(self._tree)

    def _mount(self) -> None:
        self._number += 1
        self._upper = self._layers / f"upper-{self._number}"
        self._work = self._layers / f"work-{self._number}"
        self._upper.mkdir(mode=0o700)
        self._work.mkdir(mode=0o700)
        with root_of(str(self._tree)) as base, root_of(str(self._upper)) as upper:
            self._prefix = mounts.mount_overlay(
                self._tree, self._upper, self._work, Path(self.place)
            )
            self._is_mounted = True
            Cloning(base, upper).finish([(".", seen(os.fstat(base)))])

    def restore(self) -> None:
        """Put an empty layer over the base; who holds the old one keeps it to himself."""
        old = (self._upper, self._work)
        try:
            self._unmount()
            self._mount()
            for folder in old:
                discard(folder)
        except OSError as error:
            raise WorldError(
                "CD-241",
                f"the files can't be put back: {why(error)}",
                where=f"surface {self._surface}",
                do="see that there is room on the disk; the base is as it was",
            ) from error

    def delta(self) -> Delta | CannotTell:
        """Read what is in the layer: the world's writes, and nothing else."""
        try:
            upper = os.open(self._upper, _ROOT)
            try:
                return self._delta(upper)
            finally:
                os.close(upper)
        except (MovedError, FileNotFoundError, NotADirectoryError) as error:
            return CannotTell(f"somebody is writing to {shown(error)!r}")
        except (OSError, TooDeepError, ValueError) as error:
            return CannotTell(f"the layer can't be read: {shown(error)}")

    def _delta(self, upper: int) -> Delta | CannotTell:
        found = dict(_entries(upper))
        with root_of(self.place) as root:
            touched = self._touched(upper, found)
            if isinstance(touched, CannotTell):
                return touched
            links = self._links(upper, found, touched)
            delta = self._against.some(root, touched, links)
        if dict(_entries(upper)) != found:
            raise MovedError(".")
        return delta

    def _touched(self, upper: int, found: Mapping[str, Seen]) -> set[str] | CannotTell:
        stored = self._against.stored
        touched = {"."}
        for path, held in found.items():
            touched.add(path)
            if path == ".":
                marks = _marks(upper, path, self._prefix)
                if marks - _HARMLESS:
                    return CannotTell(f"a mark of the layer is not known: {sorted(marks)[0]}")
                continue
            if held.is_folder or (held.is_file and not held.size):
                marks = _marks(upper, path, self._prefix)
                if marks - _KNOWN:
                    return CannotTell(f"a mark of the layer is not known: {sorted(marks)[0]}")
                if held.is_folder and "opaque" not in marks:
                    continue
            # Whatever the base has below it is hidden: all but a merged folder hides it.
            touched.update(stored.below(path))
        return touched

    def _links(self, upper: int, found: Mapping[str, Seen], touched: set[str]) -> dict[str, str]:
        """Return all links, and add to ``touched`` what lost a name of its file."""
        links = linked(
            (path, held) for path, held in found.items() if not _is_whiteout(upper, path, held)
        )
        groups: dict[str, list[str]] = {}
        for path, smallest in self._against.stored.links.items():
            groups.setdefault(smallest, []).append(path)
        for paths in groups.values():
            left = [path for path in paths if path not in touched]
            if len(left) < len(paths):
                touched.update(left)
            if len(left) > 1:
                links.update(dict.fromkeys(left, min(left, key=os.fsencode)))
        return links

    def read(self) -> Delta:
        """Read everything that is seen at the place."""

        def read() -> Delta:
            with root_of(self.place) as root:
                return self._against.whole(root, self._all_links)

        return reads(self._surface, read)

    def _all_links(self) -> dict[str, str] | None:
        # The mount shows two numbers for one file of the layer at times.
        with root_of(str(self._upper)) as upper:
            try:
                found = dict(_entries(upper))
                touched = self._touched(upper, found)
                if isinstance(touched, CannotTell):
                    return None
                return self._links(upper, found, touched)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise MovedError(str(error.filename)) from error

    def close(self) -> None:
        """Take the mount away and delete the layers."""
        self._unmount()
        if self._is_in_memory:
            with contextlib.suppress(OSError):
                mounts.unmount(self._layers)
        if self._is_guarding:
            with contextlib.suppress(OSError):
                mounts.unmount(self._tree)
        discard(self._layers)
        with contextlib.suppress(OSError):
            Path(self.place).rmdir()

    def _unmount(self) -> None:
        if self._is_mounted:
            mounts.unmount(Path(self.place))
            self._is_mounted = False


_HARMLESS = frozenset({"impure", "origin", "uuid"})
_KNOWN = _HARMLESS | {"opaque"}


def _entries(upper: int) -> Iterator[tuple[str, Seen]]:
    yield ".", seen(os.fstat(upper))
    for folder in folders(upper):
        for name, held in folder.entries:
            yield folder.prefix + name, held


def _is_whiteout(upper: int, path: str, held: Seen) -> bool:
    # All whiteouts may be one inode; a device that the world made is none of them.
    if held.nlink < 2 or not stat.S_ISCHR(held.mode):
        return False
    return os.stat(path, dir_fd=upper, follow_symlinks=False).st_rdev == 0


def _marks(upper: int, path: str, prefix: str) -> set[str]:
    """Return the marks that the kernel put on an entry of the layer, without their prefix."""
    way = f"/proc/self/fd/{upper}/{path}"
    names = os.listxattr(way, follow_symlinks=False)
    return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
