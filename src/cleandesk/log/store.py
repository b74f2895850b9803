"""Writing a run folder: entries, objects, and JSON files that are whole or absent.

An entry is one ``write`` of one line: nothing of it is lost when the process
dies, and a machine that dies leaves at most a torn last line, which ``verify``
tells from an edit.

Source:
    docs/spec/log-1.md, sections 2, 3 and 6.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from hashlib import sha256
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

from cleandesk.errors import LogError, shown
from cleandesk.log.chain import canonical, link, walk

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_LEVEL = 3
_PIECE = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT}


class EpisodeWriter:
    """Appends the entries of one episode to its log."""

    def __init__(self, path: Path, plan_hash: str) -> None:
        """Start a log that must not exist yet.

        Args:
            path: The log's file; its folders are made.
            plan_hash: SHA-256 of plan.json's bytes, 64 hex digits.

        Raises:
            LogError: CD-601 or CD-602, the file can't be made; CD-603, it exists.
        """
        if not _SHA256.match(plan_hash):
            raise LogError(
                "CD-608", f"{shown(plan_hash)!r} is not a SHA-256 in hex", where=str(path)
            )
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        _make_folder(path.parent)
        try:
            self._file = os.open(path, flags, 0o644)
        except FileExistsError as error:
            raise LogError(
                "CD-603",
                "the log of this episode exists already",
                where=str(path),
                do="run into a new folder; a log is never overwritten",
            ) from error
        except OSError as error:
            raise cannot_write(error, path) from error
        self._path = path
        self._head = plan_hash
        self._entries = 0

    @classmethod
    def reopen(cls, path: Path, plan_hash: str) -> Self:
        """Go on with the log of an episode that was killed.

        A torn last line is cut off, and the cut is an entry of its own:
        ``{"cut":<bytes>,"kind":"event"}``. Whole entries are never touched.

        Raises:
            LogError: CD-602 or CD-606, the file can't be used; CD-608, its chain is broken.
        """
        try:
            data = path.read_bytes()
            held = walk(data, plan_hash)
            if held.fault:
                raise LogError(
                    "CD-608",
                    f"this log can't be continued: {held.fault.reason}",
                    where=str(path),
                    do="keep the folder as it is and start a new run",
                )
            whole = data.rfind(b"\n") + 1
            writer = cls.__new__(cls)
            writer._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.ftruncate(writer._file, whole)
        except OSError as error:
            raise cannot_write(error, path) from error
        writer._path, writer._head, writer._entries = path, held.head, held.entries
        if whole < len(data):
            writer.append(canonical({"cut": len(data) - whole, "kind": "event"}))
        return writer

    @property
    def head(self) -> str:
        """Hash of the last entry so far."""
        return self._head

    @property
    def entries(self) -> int:
        """Number of entries so far."""
        return self._entries

    def append(self, entry: bytes) -> None:
        """Write one entry.

        Args:
            entry: A JSON object with the key ``kind``, in canonical bytes.

        Raises:
            LogError: CD-601 or CD-602, it can't be written; CD-608, it is no entry.
        """
        if not (entry.startswith(b"{") and entry.endswith(b"}")) or b"\n" in entry:
            raise LogError(
                "CD-608",
                f"an entry must be one JSON object on one line, not {shown(entry[:80])}",
                where=f"{self._path}, entry {self._entries}",
                do="encode the entry with canon/1",
            )
        line, hashed = link(self._head, entry, self._entries)
        try:
            _write_all(self._file, line + b"\n")
        except OSError as error:
            raise cannot_write(error, self._path) from error
        self._head = hashed
        self._entries += 1

    def close(self, *, durable: bool = False) -> tuple[str, int]:
        """End the log.

        Args:
            durable: Wait until the disk has it (a few milliseconds).

        Returns:
            The head, and the number of entries.

        Raises:
            LogError: CD-601 or CD-602, the disk did not take it.
        """
        if self._file >= 0:
            file, self._file = self._file, -1
            try:
                if durable:
                    os.fsync(file)
            except OSError as error:
                raise cannot_write(error, self._path) from error
            finally:
                os.close(file)
        return self._head, self._entries

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def write_object(folder: Path, data: bytes) -> str:
    """Store a value under its hash in ``folder``/objects; one that is there is kept.

    Returns:
        The SHA-256 of ``data``, 64 hex digits.

    Raises:
        LogError: CD-601 or CD-602, it can't be written; CD-612, zstandard is missing.
    """
    name = sha256(data).hexdigest()
    path = folder / "objects" / f"{name}.zst"
    if not path.exists():
        packed = _zstandard().ZstdCompressor(level=_LEVEL).compress(data)
        _make_folder(path.parent)
        # The unfinished file stands outside objects/, where every file must hold its name.
        _write_whole(path, packed, beside=folder, durable=False)
    return name


def read_object(folder: Path, name: str) -> bytes:
    """Return the value that was stored under a hash.

    Raises:
        LogError: CD-607, it is withheld, or its bytes don't hash to its name;
            CD-606, it can't be read; CD-612, zstandard is missing.
    """
    path = folder / "objects" / f"{name}.zst"
    if not _SHA256.match(name):
        raise LogError("CD-607", f"{shown(name)!r} is not the name of an object", where=str(folder))
    zstandard = _zstandard()
    try:
        data: bytes = zstandard.ZstdDecompressor().decompress(
            path.read_bytes(), allow_extra_data=False
        )
    except FileNotFoundError as error:
        raise LogError(
            "CD-607",
            "this object is not in the run folder",
            where=str(path),
            do="ask whoever published the run for its objects, or go without this value",
        ) from error
    except OSError as error:
        raise cannot_read(error, path) from error
    except zstandard.ZstdError as error:
        raise _not_its_name(path) from error
    if sha256(data).hexdigest() != name:
        raise _not_its_name(path)
    return data


def write_json_atomically(path: Path, value: object, *, indent: int | None = None) -> None:
    """Write plain JSON values as a file that a reader sees whole, or not at all.

    Args:
        path: Where the file goes; one that is there is replaced.
        value: Plain JSON values.
        indent: Spaces per level for people; None is canonical JSON on one line.

    Raises:
        LogError: CD-601 or CD-602, it can't be written.
    """
    if indent is None:
        data = canonical(value)
    else:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=indent)
        data = text.encode("utf-8", "surrogatepass")
    _make_folder(path.parent)
    _write_whole(path, data + b"\n", beside=path.parent, durable=True)


def cannot_write(error: OSError, path: Path) -> LogError:
    """Return the error to raise when the system refused a write."""
    if error.errno in _FULL:
        return LogError(
            "CD-601",
            "the disk is full; what was logged so far verifies as far as it goes",
            where=str(path),
            do="free some space, then run again",
        )
    return LogError(
        "CD-602",
        f"can't write: {error.strerror or error}",
        where=str(path),
        do="give a folder that can be written with --log-dir",
    )


def cannot_read(error: OSError, path: Path) -> LogError:
    """Return the error to raise when the system refused a read."""
    return LogError(
        "CD-606",
        f"can't read: {error.strerror or error}",
        where=str(path),
        do="check that the file exists and that you may read it",
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(error, folder) from error


def _write_whole(path: Path, data: bytes, *, beside: Path, durable: bool) -> None:
    """Write ``data`` in the folder ``beside``, then put it in place in one step."""
    unfinished = beside / f".{path.name}.{os.getpid()}"
    try:
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            _write_all(file, data)
            # Not for objects: thousands of waits for the disk, and a machine that
            # dies can at worst leave one whose bytes visibly are not its name's.
            if durable:
                os.fsync(file)
        finally:
            os.close(file)
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise cannot_write(error, path) from error


def _write_all(file: int, data: bytes) -> None:
    written = os.write(file, data)
    # A short write is how a disk that fills up begins; the next one says so.
    while written < len(data):
        written += os.write(file, data[written:])


def _not_its_name(path: Path) -> LogError:
    return LogError(
        "CD-607",
        "the bytes of this object are not the ones that it is named after",
        where=str(path),
        do="run `cleandesk verify` on the folder; get the object again from its source",
    )


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise LogError(
            "CD-612",
            "objects are compressed and zstandard is not installed",
            do="pip install zstandard",
        ) from error
    return zstandard
