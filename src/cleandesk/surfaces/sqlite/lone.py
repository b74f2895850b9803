"""Whether anybody else has a file open: asked of the kernel, for all processes at once."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
from collections.abc import Iterator
from pathlib import Path

_F_SETSIG = 10
_MAIN_LOCKS = (0x40000000, 512)
"""Where SQLite locks a database: byte and length."""


@contextlib.contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Yield whether this process alone has the database open; while it does, nobody opens it.

    A write lease is given only where no other descriptor of the file is open in any
    process, and whoever opens the file waits until the lease is returned. Where the file
    system has none, SQLite's own locks are asked instead; they show every connection
    that has read something.

    Args:
        path: The database; no connection of this process may have it open.
    """
    # Not inherited, and the only one: a second would stand in the way of the lease.
    held = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        # Who opens it meanwhile makes the kernel send this signal, which does nothing.
        fcntl.fcntl(held, _F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except BlockingIOError:
            yield False
            return
        except OSError:
            yield not is_locked(held)
            return
        try:
            yield True
        finally:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    finally:
        os.close(held)


def is_locked(held: int) -> bool:
    """Tell whether another process has a SQLite connection that has read the database.

    Args:
        held: Descriptor of the database.
    """
    start, length = _MAIN_LOCKS
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    found = struct.unpack("hhqqi4x", fcntl.fcntl(held, fcntl.F_GETLK, asked))
    return bool(found[0] != fcntl.F_UNLCK)
