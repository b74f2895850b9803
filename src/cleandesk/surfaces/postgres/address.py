"""The socket over which the processes that use one base reach its keeper."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

_NAME = "keeper"
_LONGEST = 100
"""An address of a socket may be no longer, and a folder's path may well be."""


def listen(folder: Path) -> socket.socket:
    """Make the keeper's end."""
    listener = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        with _address(folder) as address:
            listener.bind(address)
    finally:
        os.umask(mask)
    listener.listen(64)
    return listener


def reach(folder: Path) -> socket.socket:
    """Connect to the keeper.

    Raises:
        OSError: It is gone.
    """
    ours = socket.socket(socket.AF_UNIX)
    try:
        with _address(folder) as address:
            ours.connect(address)
    except OSError:
        ours.close()
        raise
    return ours


@contextlib.contextmanager
def _address(folder: Path) -> Iterator[str]:
    plain = str(folder / _NAME)
    if len(os.fsencode(plain)) <= _LONGEST:
        yield plain
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{_NAME}"
    finally:
        os.close(descriptor)
