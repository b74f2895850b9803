"""What a file says: as lines, JSON, a document's cells or rows of a database, else a digest.

A reader names the parts of a format that people know. What it can't parse is read as
lines, and what is no text by its SHA-256, so that no change of bytes in it is lost.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from cleandesk.errors import WorldError

READERS = ("bytes", "json", "lines", "office", "sqlite")
"""What ``readers`` of a files surface may name."""

METHODS = ("auto", "overlay", "portable")
"""How the copies of a files surface may be made."""

MOST_TEXT = 256 * 1024
"""Texts with more bytes than this are read by their digest."""

MOST_PARSED = 32 * 1024 * 1024
"""Files with more bytes than this are not parsed."""

SQLITE_MAGIC = b"SQLite format 3\0"
_ZIP_MAGIC = b"PK\x03\x04"
_OFFICE = frozenset({".docx", ".epub", ".odp", ".ods", ".odt", ".pptx", ".xlsx"})
_JSON_DEPTH = 150
_CHUNK = 1 << 20


class UnreadableError(Exception):
    """The content is not of the format that was tried."""


class Content:
    """Chooses the reader of each file, and remembers which were used.

    Attributes:
        used: Readers that normalise what they read, and that did.
    """

    def __init__(self, readers: Mapping[str, str]) -> None:
        """Take the readers that a contract names: glob of a path or name -> reader.

        Raises:
            WorldError: CD-281, there is no such reader.
        """
        require_readers(readers)
        self._readers = tuple(readers.items())
        self.used: set[str] = set()

    def chosen(self, path: str) -> str | None:
        """Return the reader that the contract names for ``path``, or None."""
        name = path.rpartition("/")[2]
        for glob, reader in self._readers:
            if fnmatchcase(path, glob) or fnmatchcase(name, glob):
                return reader
        return None

    def of_file(self, path: str, fd: int, size: int) -> dict[str, Any]:
        """Return the content of an open regular file as one field: reader -> what it read."""
        reader = self.chosen(path) or _by_name(path)
        parse = _PARSERS.get(reader)
        if parse is not None and size <= MOST_PARSED:
            data = _all_of(fd, size)
            try:
                parsed = parse(path, data)
            except UnreadableError:
                return plain(data)
            self.used.add(reader)
            return {reader: parsed}
        if reader != "bytes" and size <= MOST_TEXT:
            return plain(_all_of(fd, size))
        return {"bytes": _digest(fd)}


def require_readers(readers: Mapping[str, str]) -> None:
    """Check that every reader that a contract names exists.

    Raises:
        WorldError: CD-281, one does not.
    """
    for glob, reader in readers.items():
        if reader not in READERS:
            raise WorldError(
                "CD-281",
                f"no reader {reader!r} for files",
                where=f"readers, {glob!r}",
                do=f"name one of: {', '.join(READERS)}",
            )


def require_method(method: str) -> None:
    """Check that a contract names a method that exists.

    Raises:
        WorldError: CD-282, it does not.
    """
    if method not in METHODS:
        raise WorldError(
            "CD-282",
            f"no method {method!r} for copies of files",
            do=f"name one of: {', '.join(METHODS)}",
        )


def plain(data: bytes) -> dict[str, Any]:
    """Return ``data`` as lines where it is text, else by its digest."""
    lines = lines_of(data)
    return {"bytes": digest_of(data)} if lines is None else {"lines": lines}


def lines_of(data: bytes) -> list[str] | None:
    """Return the lines of UTF-8 text, exactly: joined by a line feed they are the data."""
    if len(data) > MOST_TEXT or b"\0" in data:
        return None
    try:
        return data.decode().split("\n")
    except UnicodeDecodeError:
        return None


def digest_of(data: bytes) -> dict[str, Any]:
    """Return the size in bytes and the SHA-256 of ``data``."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def _by_name(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()  # noqa: PTH122 - names need not be UTF-8
    if ending == ".json":
        return "json"
    return "office" if ending in _OFFICE else "lines"


def _all_of(fd: int, size: int) -> bytes:
    # One more than it has: then one read sees the end of the file too.
    data = os.read(fd, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while data := os.read(fd, _CHUNK):
        parts.append(data)
    return b"".join(parts)


def _digest(fd: int) -> dict[str, Any]:
    held, size = hashlib.sha256(), 0
    while data := os.read(fd, _CHUNK):
        held.update(data)
        size += len(data)
    return {"sha256": held.hexdigest(), "size": size}


def _json(_path: str, data: bytes) -> Any:
    try:
        text = data.decode()
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_float
        )
    except (ValueError, RecursionError) as error:
        raise UnreadableError from error
    if _depth(value) > _JSON_DEPTH:
        raise UnreadableError
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        raise ValueError
    return held


def _refuse(_text: str) -> Any:
    raise ValueError


def _float(text: str) -> float:
    value = float(text)
    # One that overflows or vanishes stands for many texts: then the text is read.
    if not math.isfinite(value) or (not value and text.strip("-0.eE+")):
        raise ValueError
    return value


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                below += item.values()
            elif type(item) is list:
                below += item
        level = below
    return depth


def _office(path: str, data: bytes) -> Any:
    if not data.startswith(_ZIP_MAGIC):
        raise UnreadableError
    from cleandesk.surfaces.files.office import read_document

    return read_document(path, data)


_PARSERS: dict[str, Callable[[str, bytes], Any]] = {"json": _json, "office": _office}
