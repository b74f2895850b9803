"""Folders that a device alone sees, so that two rigs never meet in a file.

Where this process may mount, what it writes goes to memory of its own, at the same paths,
also at ones that a rig has written down: below its working folder, its home, the folders
for temporary files and those of shared memory, what it imports from, and whatever else it
may write to at the top. Elsewhere it gets a folder for temporary files.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cleandesk.audit.certificate.sentences import NOT_HIDDEN
from cleandesk.surfaces import mounts
from cleandesk.surfaces.process.parts import private_temp

_SHARED = ("/tmp", "/var/tmp")  # noqa: S108 - hidden from the rig, never written
_MEMORY = "/dev/shm"  # noqa: S108 - as above
_FINDS_MEMORY = (2, 34)
"""From this version on the C library takes that place, whatever is mounted there."""

_SYSTEM = frozenset({"dev", "proc", "sys"})
"""File systems of the kernel's own; nothing there is a file that lasts."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is hidden.

    Attributes:
        places: Place -> folder that holds what this process wrote there, and no more.
        not_checked: What could not be hidden, and why.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    not_checked: tuple[str, ...] = ()


def hide(folder: str = "", *, by_mounts: bool = True) -> Hidden:
    """Give this process folders of its own.

    Args:
        folder: An existing folder that whoever made it removes, for temporary files
            where nothing may be mounted; empty for none.
        by_mounts: Whether mounts may be used.
    """
    if by_mounts:
        try:
            return _mounted()
        except (mounts.UnavailableError, OSError) as error:
            return _beside(folder, NOT_HIDDEN(why=error))
    return _beside(folder, NOT_HIDDEN(why="no mounts were wanted"))


def _beside(folder: str, why: str) -> Hidden:
    if not folder:
        return Hidden({}, (why,))
    made = tempfile.mkdtemp(prefix="device-", dir=folder)
    private_temp(made)
    return Hidden({"temp": made}, (why,))


def _mounted() -> Hidden:
    wanted = _places()
    # Read before anything is mounted here.
    points = _mount_points()
    here = Path.cwd()
    mounts.hold(lambda: None)
    hidden: dict[str, str] = {}
    left: dict[str, list[str]] = {}
    with _memory() as way:
        for place in wanted:
            if any(_is_below(place, Path(done)) for done in hidden):
                continue
            if any(_is_below(point, place) and point != place for point in points):
                left.setdefault("where others are mounted", []).append(str(place))
                continue
            try:
                hidden[str(place)] = _cover(place, way, len(hidden))
            except OSError as error:
                left.setdefault(str(error.strerror), []).append(str(place))
    # The same path leads to the covered folder from now on.
    os.chdir(here)
    return Hidden(hidden, tuple(_left(left)))


def _left(left: Mapping[str, list[str]]) -> Iterator[str]:
    for why, places in left.items():
        yield f"folders: what is written below {', '.join(places)} ({why})"


@contextlib.contextmanager
def _memory() -> Iterator[Path]:
    """Give a way to a file system in memory that has no place any more afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cleandesk-"))
    outer = os.open(folder.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mounts.mount_memory(folder)
        # Held as long as this process lives: what was written is read by way of it.
        held = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        yield Path(f"/proc/self/fd/{held}")
    finally:
        # By descriptor: the folder may lie below a place that is covered by now.
        place = Path(f"/proc/self/fd/{outer}/{folder.name}")
        with contextlib.suppress(OSError):
            mounts.unmount(place)
        with contextlib.suppress(OSError):
            place.rmdir()
        os.close(outer)


def _cover(place: Path, way: Path, number: int) -> str:
    upper, work = way / f"upper-{number}", way / f"work-{number}"
    for each in (upper, work):
        each.mkdir()
    facts = place.stat()
    upper.chmod(facts.st_mode & 0o7777)
    with contextlib.suppress(OSError):
        os.chown(upper, facts.st_uid, facts.st_gid)
    mounts.mount_overlay(place, upper, work, place)
    return str(upper)


def _places() -> list[Path]:
    """Return the folders in which a rig may write, the outer ones first."""
    named = [*_SHARED, tempfile.gettempdir(), str(Path.cwd()), _home()]
    named += [_MEMORY] if _library_version() >= _FINDS_MEMORY else []
    found = {Path(name).resolve() for name in named if name and Path(name).is_dir()}
    # Of others only what this user may write to: inside, a covered folder is always his.
    more = {each.resolve() for each in (*_at_the_top(), *map(Path, sys.path)) if each.is_dir()}
    found |= {each for each in more if os.access(each, os.W_OK)}
    return sorted((each for each in found if each != Path("/")), key=lambda each: len(each.parts))


def _at_the_top() -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(each for each in Path("/").iterdir() if each.name not in _SYSTEM)
    return []


def _library_version() -> tuple[int, ...]:
    try:
        version = (os.confstr("CS_GNU_LIBC_VERSION") or "").rpartition(" ")[2]
        return tuple(map(int, version.split(".")))
    except (ValueError, OSError):
        return ()


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:
        return ""


def _mount_points() -> list[Path]:
    lines = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    return [Path(line.split()[4].encode().decode("unicode_escape")) for line in lines]


def _is_below(inner: Path, outer: Path) -> bool:
    return inner == outer or outer in inner.parents
