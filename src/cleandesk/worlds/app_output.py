"""What an app prints: handed on to the world's output, its last lines kept."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections import deque

from cleandesk.errors import shown

_CHUNK = 1 << 16
_LINES = 40
_LINE_BYTES = 2000
_WORLD_OUTPUT = 2


class Output:
    """Reads one app's output in a thread of its own until the app and its kin close it.

    Attributes:
        write_end: The descriptor that the app gets as output; ``started`` closes it here.
        signal_end: Becomes readable once a line fits what was waited for.
    """

    def __init__(self, pattern: str | None = None) -> None:
        """Keep the last lines; where ``pattern`` is given, look for a line that has it."""
        self._pattern = re.compile(pattern.encode()) if pattern is not None else None
        self._read_end, self.write_end = os.pipe2(os.O_CLOEXEC)
        self.signal_end = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._kept: deque[bytes] = deque(maxlen=_LINES)
        self._begun = b""
        self._thread = threading.Thread(
            target=self._run, name="cleandesk output of an app", daemon=True
        )

    def started(self) -> None:
        """Begin to read; the app has the other end now."""
        os.close(self.write_end)
        self._thread.start()

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What is open here for it."""
        return self._read_end, self.signal_end

    @property
    def thread(self) -> int | None:
        """The kernel's id of the reading thread, while there is one."""
        return self._thread.native_id if self._thread.is_alive() else None

    def last(self) -> str:
        """Return the last lines, fit for a terminal; once the app has ended, all are in."""
        self._thread.join(1.0)
        lines = [*self._kept, *([self._begun] if self._begun else [])]
        return "\n".join(shown(line.decode(errors="replace"), 300) for line in lines[-10:])

    def close(self) -> None:
        """Release what is open; nobody may still write."""
        self._thread.join(5.0)
        if self._thread.is_alive():
            # Whoever holds the other end outlived every signal: the thread keeps the pipe.
            return
        os.close(self._read_end)
        os.close(self.signal_end)

    def never_started(self) -> None:
        """Release what is open where the app could not be started."""
        for handle in (self._read_end, self.write_end, self.signal_end):
            os.close(handle)

    def _run(self) -> None:
        while data := os.read(self._read_end, _CHUNK):
            with contextlib.suppress(OSError):
                os.write(_WORLD_OUTPUT, data)
            *lines, self._begun = (self._begun + data).split(b"\n")
            self._begun = self._begun[-_LINE_BYTES:]
            for line in lines:
                self._kept.append(line[:_LINE_BYTES])
                if self._pattern is not None and self._pattern.search(line):
                    os.eventfd_write(self.signal_end, 1)
