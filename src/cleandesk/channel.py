"""Frames over a pair of pipes: how the three roles talk.

A frame is one letter that says what it is, and parts that are bytes. The parts hold
canon/1 text, so nothing that came from outside is ever unpickled.
"""

from __future__ import annotations

import functools
import os
import select
import struct
import time
from types import TracebackType

# A letter, the number of bytes that follow the head, the number of parts; their lengths.
_HEAD = struct.Struct(">cIH")
_LENGTH_BYTES = 4
# What a pipe holds. A larger read would have the allocator map and unmap memory each time.
_CHUNK = 1 << 16


class ChannelClosedError(Exception):
    """The other side is gone."""


class ChannelTimeoutError(Exception):
    """The other side did not answer in time."""


class FrameBrokenError(ChannelClosedError):
    """The other side sent what is no frame; nothing after it can be read."""


class FrameTooLargeError(Exception):
    """The other side sent, or is about to be sent, more than the limit."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"a message of {size_bytes} bytes")
        self.size_bytes = size_bytes


class Channel:
    """One end of a two-way connection.

    Attributes:
        limit_bytes: A frame that is larger is refused before it is read.
    """

    __slots__ = ("_poll", "_read", "_rest", "_write", "limit_bytes")

    def __init__(self, read: int, write: int, *, limit_bytes: int = 1 << 30) -> None:
        self._read = read
        self._write = write
        self._rest = b""
        self._poll: select.poll | None = None
        self.limit_bytes = limit_bytes

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Return the two ends of a new connection."""
        # Pipes, not a socket pair: the round trip costs half.
        one, two = os.pipe(), os.pipe()
        return cls(one[0], two[1]), cls(two[0], one[1])

    @property
    def descriptors(self) -> tuple[int, int]:
        """The descriptors (to read, to write)."""
        return self._read, self._write

    def limit_sends(self) -> None:
        """Have ``send`` keep its time limit.

        Without it, a side that does not read would hold up the one that sends to it.
        """
        os.set_blocking(self._write, False)

    def send(self, kind: bytes, *parts: bytes, timeout_s: float | None = None) -> None:
        """Send one frame.

        Args:
            kind: Its letter.
            parts: Its parts.
            timeout_s: Seconds until all of it is taken; kept after ``limit_sends`` only.

        Raises:
            ChannelClosedError: The other side is gone.
            ChannelTimeoutError: It did not take the frame in time.
        """
        size = len(parts) * _LENGTH_BYTES + sum(map(len, parts))
        head = _lengths(len(parts)).pack(kind, size, len(parts), *map(len, parts))
        rest: bytes | memoryview = b"".join((head, *parts))
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while rest:
            try:
                written = os.write(self._write, rest)
                # As a rule all of it went at once, and no view is needed.
                rest = memoryview(rest)[written:] if written < len(rest) else b""
            except BlockingIOError:
                _await(self._write, select.POLLOUT, deadline)
            except OSError as error:
                raise ChannelClosedError from error

    def receive(self, timeout_s: float | None = None) -> tuple[bytes, list[bytes]]:
        """Wait for the next frame.

        Args:
            timeout_s: Seconds to wait for the whole frame; None waits for ever.

        Returns:
            Its letter and its parts.

        Raises:
            ChannelClosedError: The other side is gone.
            ChannelTimeoutError: It did not answer in time.
            FrameBrokenError: It sent what is no frame.
            FrameTooLargeError: Its frame is larger than ``limit_bytes``.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        data = self._frame(deadline)
        kind, _, count = _HEAD.unpack_from(data)
        lengths = _lengths(count)
        at = lengths.size
        if at > len(data):
            raise FrameBrokenError
        parts = []
        for length in lengths.unpack_from(data)[3:]:
            parts.append(data[at : at + length])
            at += length
        if at != len(data):
            raise FrameBrokenError
        return kind, parts

    def _frame(self, deadline: float | None) -> bytes:
        """Return the bytes of the next frame; what follows it is kept for the next call."""
        data = self._rest or self._read_some(deadline)
        while len(data) < _HEAD.size:
            self._rest = data
            data += self._read_some(deadline)
        _, size, _ = _HEAD.unpack_from(data)
        if size > self.limit_bytes:
            self._rest = data
            raise FrameTooLargeError(size)
        size += _HEAD.size
        if len(data) < size:
            data = self._grown(data, size, deadline)
        self._rest = data[size:]
        return data[:size] if self._rest else data

    def _grown(self, data: bytes, size: int, deadline: float | None) -> bytes:
        pieces, held = [data], len(data)
        try:
            while held < size:
                pieces.append(self._read_some(deadline))
                held += len(pieces[-1])
        finally:
            # Kept if the rest is late: a later call goes on from here.
            self._rest = b"".join(pieces)
        return self._rest

    def _read_some(self, deadline: float | None) -> bytes:
        if deadline is not None:
            self._await_input(deadline)
        try:
            chunk = os.read(self._read, _CHUNK)
        except OSError as error:
            raise ChannelClosedError from error
        if not chunk:
            raise ChannelClosedError
        return chunk

    def _await_input(self, deadline: float) -> None:
        # Kept from call to call: registering anew would cost as much as waiting.
        if self._poll is None:
            if self._read < 0:
                raise ChannelClosedError
            self._poll = select.poll()
            self._poll.register(self._read, select.POLLIN)
        left = deadline - time.monotonic()
        if not self._poll.poll(max(0.0, left * 1000)):
            raise ChannelTimeoutError

    def close(self) -> None:
        """Close both descriptors; closing twice is fine."""
        for descriptor in self.descriptors:
            if descriptor >= 0:
                os.close(descriptor)
        self._read = self._write = -1
        self._poll = None

    def __enter__(self) -> Channel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()


@functools.cache
def _lengths(count: int) -> struct.Struct:
    """Return the head of a frame of ``count`` parts, with their lengths."""
    return struct.Struct(f">cIH{count}I")


def _await(descriptor: int, event: int, deadline: float | None) -> None:
    """Wait until ``descriptor`` is ready, or closed at the other end.

    Raises:
        ChannelClosedError: It was closed on this side.
        ChannelTimeoutError: It was not ready by ``deadline``.
    """
    if descriptor < 0:
        raise ChannelClosedError
    left = None if deadline is None else deadline - time.monotonic()
    poll = select.poll()
    poll.register(descriptor, event)
    if (left is not None and left <= 0) or not poll.poll(None if left is None else left * 1000):
        raise ChannelTimeoutError
