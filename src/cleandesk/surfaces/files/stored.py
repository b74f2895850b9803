"""The records of a base in a file: their digests in memory, their bytes when asked for."""

from __future__ import annotations

import bisect
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

_RECORDS = "records"
_INDEX = "records.index"


def store(folder: Path, records: Mapping[str, bytes], links: Mapping[str, str]) -> str:
    """Write the records of a base.

    Args:
        folder: Where.
        records: Path -> canonical record.
        links: Path -> smallest path of the same file, for files with several names.

    Returns:
        The SHA-256 of the index, which names that of each record.
    """
    index: list[tuple[str, int, int, str]] = []
    at = 0
    with (folder / _RECORDS).open("wb") as file:
        for path, record in records.items():
            digest = hashlib.sha256(record).hexdigest()
            index.append((_plain(path), at, len(record), digest))
            at += file.write(record)
    held = orjson.dumps([index, [[_plain(one), _plain(other)] for one, other in links.items()]])
    (folder / _INDEX).write_bytes(held)
    return hashlib.sha256(held).hexdigest()


class Stored:
    """The records of a base.

    Attributes:
        paths: The paths that have a record, sorted by their bytes.
        links: Path -> smallest path of the same file, for files with several names.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        """Read the index.

        Raises:
            ValueError: It is not the one of this base.
            OSError: It can't be read.
        """
        held = (folder / _INDEX).read_bytes()
        if hashlib.sha256(held).hexdigest() != digest:
            raise ValueError("the base's list of records is not what it was")
        index, links = orjson.loads(held)
        self._file = folder / _RECORDS
        self._index = {
            _path(path): (at, length, bytes.fromhex(sha256)) for path, at, length, sha256 in index
        }
        self.links = {_path(one): _path(other) for one, other in links}
        self.paths = sorted(self._index)

    def __contains__(self, path: str) -> bool:
        return path in self._index

    def is_same(self, path: str, record: bytes | None) -> bool:
        """Tell whether ``record`` is the base's record of ``path``; None for no record."""
        held = self._index.get(path)
        if held is None or record is None:
            return held is None and record is None
        return len(record) == held[1] and hashlib.sha256(record).digest() == held[2]

    def record(self, path: str) -> bytes | None:
        """Return the base's record of ``path``, or None if it has none.

        Raises:
            ValueError: The file is not what it was.
        """
        held = self._index.get(path)
        if held is None:
            return None
        at, length, digest = held
        fd = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            record = os.pread(fd, length, at)
        finally:
            os.close(fd)
        if hashlib.sha256(record).digest() != digest:
            raise ValueError("the base's records are not what they were")
        return record

    def below(self, path: str) -> Iterable[str]:
        """Return the paths of the base below the folder ``path``."""
        if path == ".":
            return [each for each in self.paths if each != "."]
        # The slash's successor: everything that begins with "path/" lies between the two.
        first = bisect.bisect_left(self.paths, f"{path}/")
        return self.paths[first : bisect.bisect_left(self.paths, f"{path}0")]


def _plain(path: str) -> str:
    # JSON has no lone surrogates; in Latin-1 every byte is a character.
    return os.fsencode(path).decode("latin-1")


def _path(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))
