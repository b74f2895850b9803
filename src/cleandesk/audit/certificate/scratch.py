"""The folder for temporary files of one bench, which is gone however its process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time

_PREFIX = "cleandesk-certify-"
_YOUNG_S = 60.0
"""What was made since then may belong to a process that has not locked it yet."""


class Scratch:
    """A folder that is locked while its process lives.

    A process that was killed leaves one behind unlocked: the next removes it.

    Attributes:
        name: Where it is.
    """

    def __init__(self) -> None:
        _remove_left()
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self.name = self._folder.name
        self._lock = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def cleanup(self) -> None:
        """Remove it; once more is fine."""
        self._folder.cleanup()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_left() -> None:
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for name in [each.path for each in entries if each.name.startswith(_PREFIX)]:
            with contextlib.suppress(OSError):
                _remove_if_left(name)


def _remove_if_left(name: str) -> None:
    lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = os.fstat(lock)
        is_own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
        if is_own and time.time() - facts.st_ctime > _YOUNG_S:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(name, ignore_errors=True)
    finally:
        os.close(lock)
