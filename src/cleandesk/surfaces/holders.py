"""Who still has a file open that a restore has replaced."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from cleandesk.surfaces.mounts import mount_number, still_used

_PROC = Path("/proc")
_DELETED = " (deleted)"


def holders_of_deleted(places: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (process, file) for files at ``places`` that are open and no more there.

    Whoever holds one works on state that nobody reads. Only processes that this user may
    look into are seen; this process is left out.
    """
    prefixes = tuple(places)
    own = str(os.getpid())
    for folder in _PROC.glob("[0-9]*/fd"):
        process = folder.parent.name
        if process == own:
            continue
        # Of another user, or ended meanwhile.
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208 - a Path for each would cost more than it says
                with contextlib.suppress(OSError):
                    target = os.readlink(folder / name)  # noqa: PTH115 - the same
                    if target.endswith(_DELETED) and target.startswith(prefixes):
                        yield int(process), target.removesuffix(_DELETED)


def holders_of_unmounted(places: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (process, place) for what was mounted at ``places``, is no more, and is still used.

    A process uses it that has something of it open or works in a folder of it.
    """
    left = still_used({*places})
    for folder in _PROC.glob("[0-9]*") if left else ():
        # Of another user, or ended meanwhile.
        with contextlib.suppress(OSError):
            if not (folder / "ns" / "mnt").samefile(_PROC / "self" / "ns" / "mnt"):
                continue
            for number in _mounts_of(folder) & left.keys():
                yield int(folder.name), left[number]


def _mounts_of(process: Path) -> set[int]:
    cwd = os.open(process / "cwd", os.O_PATH | os.O_CLOEXEC)
    try:
        found = {mount_number(f"/proc/self/fd/{cwd}")}
    finally:
        os.close(cwd)
    for name in os.listdir(process / "fd"):  # noqa: PTH208 - only names
        with contextlib.suppress(OSError):
            found.add(mount_number(f"{process}/fd/{name}"))
    return found
