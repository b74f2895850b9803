"""Splitting a ``.sql`` file into what is executed and what is fed to COPY."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COPY = re.compile(rb"^\s*COPY\s.+\sFROM\s+stdin\b.*;\s*$", re.IGNORECASE)
_GUARD = re.compile(rb"^\\(un)?restrict\b")
_END = b"\\."


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the file.

    Attributes:
        line: The number of its first line, from 1.
        text: SQL.
        data: What follows a ``COPY ... FROM stdin``; None for plain SQL.
    """

    line: int
    text: bytes
    data: bytes | None = None


def parts(script: bytes) -> Iterator[Part]:
    """Yield the parts of a file in order.

    A dump holds blocks of rows, which are no SQL, and since Postgres 18 two commands of
    psql that guard it, which are left out. Other commands of psql fail as SQL.
    """
    waiting: list[bytes] = []
    begun = 1
    lines = iter(enumerate(script.splitlines(keepends=True), 1))
    for number, line in lines:
        if _COPY.match(line):
            yield from _plain(begun, waiting)
            data: list[bytes] = []
            begun = number + 1
            for place, row in lines:
                begun = place + 1
                if row.rstrip(b"\r\n") == _END:
                    break
                data.append(row)
            yield Part(number, line, b"".join(data))
            waiting = []
        else:
            # An empty line keeps the numbers of those that follow.
            waiting.append(b"\n" if _GUARD.match(line) else line)
    yield from _plain(begun, waiting)


def _plain(begun: int, lines: list[bytes]) -> Iterator[Part]:
    text = b"".join(lines)
    if text.strip():
        yield Part(begun, text)
