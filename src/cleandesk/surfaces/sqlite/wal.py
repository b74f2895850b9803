"""The write-ahead log beside a database: where it ends, and the pages in it.

The shared memory file is read by its descriptor, and never opened a second time: closing
any descriptor of it would drop this process's own locks.

Source: the SQLite documents "WAL-mode File Format" and its comments on the wal-index.
"""

from __future__ import annotations

import os
import struct
from array import array
from dataclasses import dataclass

from cleandesk.surfaces.sqlite.btree import PageError

_HEADER_BYTES = 48
_FIRST_BLOCK_AT = 136
_BLOCK_BYTES = 32768
_BLOCK_FRAMES = 4096
_FIRST_BLOCK_FRAMES = _BLOCK_FRAMES - _FIRST_BLOCK_AT // 4
_FRAME_HEADER_BYTES = 24
_LOG_HEADER_BYTES = 32


@dataclass(frozen=True, slots=True)
class End:
    """Where a log ends: what was committed to it.

    Attributes:
        frames: How many frames, each a page.
        pages: The size of the database then, in pages.
        salt: What marks the frames of this log.
        moved: How many frames were written back to the database.
        header: The whole header, to compare.
    """

    frames: int
    pages: int
    salt: bytes
    moved: int
    header: bytes


def read_end(shared: int) -> End | None:
    """Read where the log ends; None while somebody is just writing that.

    Args:
        shared: Descriptor of the shared memory file.
    """
    data = os.pread(shared, 2 * _HEADER_BYTES + 4, 0)
    header = data[:_HEADER_BYTES]
    if len(data) < 2 * _HEADER_BYTES + 4 or header != data[_HEADER_BYTES : 2 * _HEADER_BYTES]:
        return None
    is_made, frames, pages = header[12], *struct.unpack_from("=II", header, 16)
    (moved,) = struct.unpack_from("=I", data, 2 * _HEADER_BYTES)
    return End(frames, pages, header[32:40], moved, header) if is_made else None


def last_frames(shared: int, frames: int) -> dict[int, int]:
    """Return page -> the last of the first ``frames`` frames that holds it, from 1.

    Raises:
        PageError: The shared memory is shorter than it has to be.
    """
    held = array("I")
    block = 0
    while len(held) < frames:
        at = _FIRST_BLOCK_AT if block == 0 else block * _BLOCK_BYTES
        room = _FIRST_BLOCK_FRAMES if block == 0 else _BLOCK_FRAMES
        wanted = 4 * min(room, frames - len(held))
        data = os.pread(shared, wanted, at)
        if len(data) < wanted:
            raise PageError("the index of the write-ahead log is too short")
        held.frombytes(data)
        block += 1
    return {number: place for place, number in enumerate(held, 1)}


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages at the base and now.

    Attributes:
        base: Descriptor of the base file.
        log: Descriptor of the log.
        size: Bytes of a page.
        frames: Page -> its last frame.
        salt: What marks the log's frames.
    """

    base: int
    log: int
    size: int
    frames: dict[int, int]
    salt: bytes

    def old(self, number: int) -> bytes:
        """Return a page of the base; empty behind its end."""
        return os.pread(self.base, self.size, (number - 1) * self.size)

    def new(self, number: int) -> bytes:
        """Return a page as it is now.

        Raises:
            PageError: The log does not hold what its index says.
        """
        frame = self.frames.get(number)
        if frame is None:
            return self.old(number)
        whole = _FRAME_HEADER_BYTES + self.size
        data = os.pread(self.log, whole, _LOG_HEADER_BYTES + (frame - 1) * whole)
        is_right = data[:4] == number.to_bytes(4, "big") and data[8:16] == self.salt
        if len(data) < whole or not is_right:
            raise PageError(f"frame {frame} of the write-ahead log is not page {number}")
        return data[_FRAME_HEADER_BYTES:]

    def changed(self) -> set[int]:
        """Return the pages that were written and are not as they were."""
        return {number for number in self.frames if self.new(number) != self.old(number)}
