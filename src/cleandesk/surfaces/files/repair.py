"""Putting a copy back to its base by replacing what is not as it was, and nothing else.

Contents come back as new inodes, so that whoever holds an old one writes to nobody.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from cleandesk.surfaces.files.clone import Cloning
from cleandesk.surfaces.files.discard import discard, empty
from cleandesk.surfaces.files.moved import Moved
from cleandesk.surfaces.files.reading import attributes_of
from cleandesk.surfaces.files.walk import Beneath, Seen, open_folder, pinned, root_of

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_CHUNK = 1 << 20
_MOST_KEPT = 64 * 1024
_NAME = "new"


@dataclass(frozen=True, slots=True)
class Doubts:
    """What the stat cache can't be trusted with.

    Attributes:
        racy: Paths whose times can't tell whether they were written.
        contents: None where a write moves a time. Else every content is compared; those
            of the base that are not big are kept here, by path.
    """

    racy: Set[str]
    contents: dict[str, bytes] | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of a copy before it is put back.

    Attributes:
        cache: Path -> what was seen when it was as at base.
        looked: What is not as it was; ``held`` is what somebody may still write to.
        doubts: What must be compared.
    """

    cache: Mapping[str, Seen]
    looked: Moved
    doubts: Doubts


def repair(tree: Path, folder: Path, links: Mapping[str, str], findings: Findings) -> set[str]:
    """Put ``folder/tree`` back to the base ``tree``, by way of ``folder/stage``.

    Returns:
        The paths that were replaced, dressed or compared: what is seen of them is new.

    Raises:
        MovedError: Somebody writes meanwhile.
        OSError: An entry can't be made or taken away; ValueError: the base is damaged.
    """
    stage = folder / "stage"
    discard(stage)
    stage.mkdir(mode=0o700)
    with root_of(str(folder)) as above, root_of(str(tree)) as base, root_of(str(stage)) as staged:
        work = _Repair(above, base, staged, links, findings)
        work.take_away()
        # What is too much goes first: its room may be needed.
        empty(stage)
        work.put_back()
    discard(stage)
    return work.handled


class _Repair:
    def __init__(
        self, above: int, base: int, stage: int, links: Mapping[str, str], findings: Findings
    ) -> None:
        self._above = above
        self._base = base
        self._stage = stage
        self._links = links
        self._cache = findings.cache
        self._findings = findings
        self._looked = findings.looked
        self._left = {**findings.cache, **findings.looked.now}
        for path in findings.looked.gone:
            del self._left[path]
        self._number = 0
        self._dressed: set[str] = set()
        self.handled: set[str] = set()

    def take_away(self) -> None:
        """Move what the base does not have, or has as something else, to the stage."""
        cache = self._cache
        wrong = [
            path
            for path, held in self._looked.now.items()
            if path not in cache or stat.S_IFMT(held.mode) != stat.S_IFMT(cache[path].mode)
        ]
        gone: set[str] = set()
        root, lock = open_folder("tree", self._above, unlock=True, write=True)
        try:
            with Beneath(root, unlock=True, write=True) as beneath:
                for path in sorted(wrong):
                    del self._left[path]
                    above = _above(path)
                    if above not in gone:
                        self._to_stage(beneath, path)
                        self._dressed.add(above)
                    gone.add(path)
        finally:
            _close(root, lock)

    def _to_stage(self, beneath: Beneath, path: str) -> None:
        fd, name = _required(beneath, path)
        self._number += 1
        _make_movable(name, fd)
        os.rename(name, f"gone-{self._number}", src_dir_fd=fd, dst_dir_fd=self._stage)

    def put_back(self) -> None:
        """Make what is missing, and replace what is not as it was."""
        self._held = self._looked.held & self._left.keys()
        for path in sorted(path for path in self._held if self._left[path].is_folder):
            self._replace_folder(path)
        root, lock = open_folder("tree", self._above, unlock=True, write=True)
        try:
            with (
                Beneath(self._base) as base,
                Beneath(root, unlock=True, write=True) as target,
            ):
                self._make_folders(target)
                self._replace_files(base, target, self._to_replace(base, target))
                dressed = self._to_dress(base)
                self._dressed.update(dressed)
            Cloning(self._base, root).finish(dressed.items())
        finally:
            # One that was dressed has the base's mode, not the one that it had before.
            _close(root, None if "." in self._dressed else lock)
        self.handled |= dressed.keys()

    def _replace_folder(self, path: str) -> None:
        """Let a folder be another one with the same entries: its holder keeps an empty one."""
        root, lock = open_folder("tree", self._above, unlock=True, write=True)
        self._number += 1
        fresh, old = f"folder-{self._number}", f"gone-{self._number}"
        os.mkdir(fresh, 0o700, dir_fd=self._stage)
        try:
            with Beneath(root, unlock=True, write=True) as beneath:
                fd, name = (self._above, "tree") if path == "." else _required(beneath, path)
                self._move_entries(name, fd, fresh)
                _make_movable(name, fd)
                os.rename(name, old, src_dir_fd=fd, dst_dir_fd=self._stage)
                os.rename(fresh, name, src_dir_fd=self._stage, dst_dir_fd=fd)
        finally:
            _close(root, lock)
        self._dressed.update((path, _above(path)))
        # Moving an entry moves its ctime.
        inside = "" if path == "." else f"{path}/"
        self.handled.update(
            each
            for each in self._left
            if each.startswith(inside) and "/" not in each[len(inside) :]
        )

    def _move_entries(self, name: str, fd: int, fresh: str) -> None:
        old, lock = open_folder(name, fd, unlock=True, write=True)
        new, _ = open_folder(fresh, self._stage)
        try:
            for each in os.listdir(old):  # noqa: PTH208 - of a descriptor
                _make_movable(each, old)
                os.rename(each, each, src_dir_fd=old, dst_dir_fd=new)
        finally:
            os.close(new)
            _close(old, lock)

    def _make_folders(self, target: Beneath) -> None:
        for path in sorted(self._cache.keys() - self._left.keys()):
            if self._cache[path].is_folder:
                fd, name = _required(target, path)
                os.mkdir(name, 0o700, dir_fd=fd)
                self._dressed.update((path, _above(path)))

    def _to_replace(self, base: Beneath, target: Beneath) -> set[str]:
        cache, left, doubts = self._cache, self._left, self._findings.doubts
        paths = {path for path in cache.keys() - left.keys() if not cache[path].is_folder}
        moved = self._looked.now.keys() | self._held
        paths.update(path for path in moved & left.keys() if not left[path].is_folder)
        for path in sorted(doubts.racy & left.keys() - paths):
            self.handled.add(path)
            if not left[path].is_folder and not _is_same(base, target, path):
                paths.add(path)
        if doubts.contents is not None:
            doubted = [path for path, held in left.items() if held.is_file and path not in paths]
            paths.update(_unlike(base, target, sorted(doubted), doubts.contents))
        groups = {self._links[path] for path in paths if path in self._links}
        if groups:
            paths.update(path for path, smallest in self._links.items() if smallest in groups)
        return paths

    def _replace_files(self, base: Beneath, target: Beneath, paths: Iterable[str]) -> None:
        made: dict[str, str] = {}
        cloning = Cloning(self._base, -1)
        for path in sorted(paths):
            group = self._links.get(path)
            if group is not None and group in made:
                fd, name = _required(target, made[group])
                os.link(name, _NAME, src_dir_fd=fd, dst_dir_fd=self._stage, follow_symlinks=False)
            else:
                held = _base_seen(base, path)
                cloning.entry(_required(base, path), (self._stage, _NAME), held)
                if group is not None:
                    made[group] = path
            fd, name = _required(target, path)
            os.rename(_NAME, name, src_dir_fd=self._stage, dst_dir_fd=fd)
            self._dressed.add(_above(path))
            self.handled.add(path)

    def _to_dress(self, base: Beneath) -> dict[str, Seen]:
        moved = (self._looked.now.keys() | self._findings.doubts.racy) & self._left.keys()
        paths = self._dressed | {path for path in moved if self._left[path].is_folder}
        return {path: _base_seen(base, path) for path in sorted(paths) if path in self._cache}


def _unlike(
    base: Beneath, target: Beneath, paths: list[str], contents: dict[str, bytes]
) -> Iterator[str]:
    """Yield those of ``paths``, sorted, whose content is not the base's."""
    fd, above = -1, None
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder != above:
            fd, _ = _required(target, path)
            above = folder
        wanted = contents.get(path)
        if wanted is None:
            there = _required(base, path)
            held = _base_seen(base, path)
            if held.size > _MOST_KEPT:
                if not _has_same_content(there, (fd, name)):
                    yield path
                continue
            contents[path] = wanted = _content(there, held.size)
        if _content((fd, name), len(wanted)) != wanted:
            yield path


def _content(place: tuple[int, str], size: int) -> bytes:
    """Return at most one byte more than ``size`` of a file."""
    fd = os.open(place[1], _READ, dir_fd=place[0])
    try:
        return os.read(fd, size + 1)
    finally:
        os.close(fd)


def _is_same(base: Beneath, target: Beneath, path: str) -> bool:
    """Tell whether an entry of the copy is the base's in everything that counts."""
    here, there = _required(base, path), _required(target, path)
    known, held = _base_seen(base, path), target.seen(path)
    if held is None or not held.is_file or not _looks_like(known, held):
        # What is no file is made anew faster than it is compared.
        return False
    with pinned(here[1], here[0]) as old, pinned(there[1], there[0]) as new:
        if attributes_of(old) != attributes_of(new):
            return False
    return _has_same_content(here, there)


def _looks_like(known: Seen, held: Seen) -> bool:
    return (known.mode, known.uid, known.gid, known.size, known.mtime) == (
        held.mode,
        held.uid,
        held.gid,
        held.size,
        held.mtime,
    )


def _has_same_content(here: tuple[int, str], there: tuple[int, str]) -> bool:
    with contextlib.ExitStack() as stack:
        fds = []
        for fd, name in (here, there):
            fds.append(os.open(name, _READ, dir_fd=fd))
            stack.callback(os.close, fds[-1])
        old, new = fds
        while True:
            one, other = os.read(old, _CHUNK), os.read(new, _CHUNK)
            if one != other:
                return False
            if not one:
                return True


def _base_seen(base: Beneath, path: str) -> Seen:
    held = base.seen(path)
    if held is None:
        raise ValueError("the base is not what it was: an entry is missing")
    return held


def _required(beneath: Beneath, path: str) -> tuple[int, str]:
    found = beneath.parent(path)
    if found is None:
        raise ValueError("a folder went away while the files were put back")
    return found


def _above(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _make_movable(name: str, dir_fd: int) -> None:
    """Let a folder of our own be moved: its way up is written in it."""
    if os.geteuid() == 0:
        return
    held = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    if stat.S_ISDIR(held.st_mode) and held.st_mode & 0o700 != 0o700:
        with pinned(name, dir_fd) as way:
            os.chmod(way, stat.S_IMODE(held.st_mode) | 0o700)  # noqa: PTH101 - a descriptor


def _close(fd: int, lock: int | None) -> None:
    if lock is not None:
        os.fchmod(fd, lock)
    os.close(fd)
