"""SQLite files inside a folder: a file and its companions, read as one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cleandesk.errors import CleandeskError
from cleandesk.surfaces.files.content import SQLITE_MAGIC, UnreadableError
from cleandesk.surfaces.files.walk import MovedError, Seen, seen

COMPANIONS = ("-wal", "-shm", "-journal")
_COPIED = ("", "-wal", "-journal")
MOST_DATABASE = 64 * 1024 * 1024
"""Databases with more bytes than this are read by their digest, and their companions too."""


class Databases:
    """Reads each database once a folder: its companions ask for it too."""

    def __init__(self, opened: Callable[[str, int], int]) -> None:
        """Take what opens a file for reading by its name and folder."""
        self._opened = opened
        self._read: dict[str, Any] = {}

    def forget(self) -> None:
        """Let go of what was read; it may change."""
        self._read.clear()

    def read(
        self,
        path: str,
        name: str,
        dir_fd: int,
        held: Seen,
        beside: Callable[[str], Seen | None],
    ) -> Any:
        """Return the tables of the database at ``path``, or None where it is none.

        Raises:
            MovedError: Somebody writes to it.
        """
        if held.size < len(SQLITE_MAGIC) or held.size > MOST_DATABASE:
            return None
        if path not in self._read:
            parts = {
                end: part
                for end in _COPIED
                if (part := held if not end else beside(name + end)) is not None and part.is_file
            }
            self._read[path] = self._tables(path, name, dir_fd, parts)
        return self._read[path]

    def _tables(self, path: str, name: str, dir_fd: int, parts: Mapping[str, Seen]) -> Any:
        fd = self._opened(name, dir_fd)
        try:
            if os.pread(fd, len(SQLITE_MAGIC), 0) != SQLITE_MAGIC:
                return None
        finally:
            os.close(fd)
        if sum(part.size for part in parts.values()) > 2 * MOST_DATABASE:
            return None
        # Read from a copy: opening it where it lies would write beside it.
        with tempfile.TemporaryDirectory(prefix="cleandesk-files-") as folder:
            for end, part in parts.items():
                self._copy(path + end, name + end, dir_fd, part, Path(folder) / f"copy{end}")
            with contextlib.suppress(UnreadableError):
                return _read_database(Path(folder) / "copy")
        return None

    def _copy(self, path: str, name: str, dir_fd: int, part: Seen, place: Path) -> None:
        try:
            fd = self._opened(name, dir_fd)
        except FileNotFoundError as error:
            raise MovedError(path) from error
        with os.fdopen(fd, "rb") as source, place.open("wb") as target:
            shutil.copyfileobj(source, target)
            now = seen(os.fstat(fd))
        if (now.ino, now.size, now.mtime) != (part.ino, part.size, part.mtime):
            raise MovedError(path)


def _read_database(path: Path) -> dict[str, Any]:
    """Return the tables of a database that is ours alone: table -> key -> record.

    Raises:
        UnreadableError: It can't be read as a database.
    """
    # Loaded with the first database: most folders have none.
    from cleandesk.surfaces.sqlite.reading import read_database

    try:
        tables, _ = read_database(path)
    except CleandeskError as error:
        raise UnreadableError from error
    return {name: table.value() for name, table in tables.items()}
