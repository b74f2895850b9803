"""The folder on this machine in which a run keeps bases and private copies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

from cleandesk.errors import RunError
from cleandesk.surfaces.files.discard import discard

_PREFIX = "cleandesk-"
_LOCK = "lock"
PLACE = "CLEANDESK_SCRATCH"
"""Environment variable: where the folder is made, if not where temporary files go."""


class Scratch:
    """A private folder that lives as long as the run.

    What a run that was killed left behind is deleted by the next one: its lock is free.

    Attributes:
        folder: The folder.
    """

    def __init__(self) -> None:
        """Make the folder and lock it.

        Raises:
            RunError: CD-754, it can't be made.
        """
        # As the system itself says it: worlds are told these paths, and open files are looked up.
        place = Path(os.environ.get(PLACE) or tempfile.gettempdir()).resolve()
        try:
            _sweep(place)
            self._lock: int | None = None
            while self._lock is None:
                # Another run may take the lock of a folder that looks left behind.
                self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
                self._lock = _locked(self.folder)
        except OSError as error:
            raise RunError(
                "CD-754",
                f"no folder for bases and private copies: {error.strerror}",
                where=str(place),
                do=f"free some space, or name another place in the variable {PLACE}",
            ) from error

    def close(self) -> None:
        """Delete the folder."""
        if self._lock is not None:
            _discard(self.folder)
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path) -> int | None:
    """Return the held lock of a scratch folder, or None if another process holds it."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _discard(folder: Path) -> None:
    # What can't be deleted now is tried again by the next run.
    with contextlib.suppress(OSError):
        discard(folder)


def _sweep(place: Path) -> None:
    for folder in place.glob(f"{_PREFIX}*"):
        # Of others' folders nothing may be touched, and nothing that is being made now.
        with contextlib.suppress(OSError):
            if folder.stat().st_uid != os.getuid() or not (folder / _LOCK).exists():
                continue
            descriptor = _locked(folder)
            if descriptor is not None:
                _discard(folder)
                os.close(descriptor)
