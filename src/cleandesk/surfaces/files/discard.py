"""Deleting a folder, however deep, and whatever its permissions are."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from cleandesk.surfaces.files.walk import pinned

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def discard(folder: Path) -> None:
    """Delete ``folder`` with all that is in it, if it is there.

    It is flattened as it goes: a folder below is moved up before it is looked into, so
    that neither depth nor the length of a path is a limit.

    Raises:
        OSError: Something can't be deleted.
    """
    try:
        empty(folder)
        folder.rmdir()
    except FileNotFoundError:
        return


def empty(folder: Path) -> None:
    """Delete all that is in ``folder``.

    Raises:
        OSError: Something can't be deleted.
    """
    root = os.open(folder, _FOLDER)
    try:
        below = _cleared(root, root)
        while below:
            name = below.pop()
            _unlock(name, root)
            fd = os.open(name, _FOLDER, dir_fd=root)
            try:
                below += _cleared(fd, root)
            finally:
                os.close(fd)
            os.rmdir(name, dir_fd=root)
    finally:
        os.close(root)


def _cleared(fd: int, root: int) -> list[str]:
    """Delete the files of one folder, and move its folders to the root."""
    with os.scandir(fd) as held:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in held]
    moved: list[str] = []
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=fd)
        elif fd == root:
            moved.append(name)
        else:
            # Moving a folder writes to it: its way up changes.
            _unlock(name, fd)
            free = f"folder-{secrets.token_hex(8)}"
            os.rename(name, free, src_dir_fd=fd, dst_dir_fd=root)
            moved.append(free)
    return moved


def _unlock(name: str, dir_fd: int) -> None:
    if os.geteuid() == 0:
        return
    with contextlib.suppress(OSError), pinned(name, dir_fd) as way:
        if stat.S_IMODE(os.stat(way).st_mode) & 0o700 != 0o700:  # noqa: PTH116 - a descriptor
            os.chmod(way, 0o700)  # noqa: PTH101 - a descriptor's path
