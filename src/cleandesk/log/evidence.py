"""What a run folder holds, read once, for ``verify`` to judge.

Only this module touches files while a run is verified. It opens what it finds
by listing the folder, never a path that a record names, and follows no link.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from cleandesk.errors import LogError
from cleandesk.log.chain import Walk, previous_of, walk
from cleandesk.log.folder import RunFolder
from cleandesk.log.seal import Misread, Seal, Sealed, parse_seal
from cleandesk.log.store import cannot_read

_PIECE = 1 << 20
# 4 KiB of zstd can't grow beyond some 128 MB: a hostile object does not fill the memory.
_PACKED_PIECE = 1 << 12
_OBJECT = re.compile(rb'"object":"([0-9a-f]{64})"')
_OVERLAP = 75
_OBJECT_FILE = re.compile(r"([0-9a-f]{64})\.zst\Z")


@dataclass(frozen=True, slots=True)
class EpisodeLog:
    """What one log holds.

    Attributes:
        file: Its path relative to the run folder.
        walk: How far its chain holds.
        first: The previous hash that its entry 0 holds, whatever it is.
        episode: The episode that its first entry names.
        verdict: Its last entry, if that is a verdict.
        head_when_sealed: Hash after the sealed number of entries, where there
            are more of them now.
    """

    file: str
    walk: Walk
    first: str | None
    episode: str | None
    verdict: dict[str, Any] | None
    head_when_sealed: str | None = None


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a run.

    Attributes:
        wanted: Names that the logs refer to.
        present: Names of the files that are there.
        bad: (file, reason) of those that are not what they are named after.
        is_checked: Their bytes were read; needs zstandard.
    """

    wanted: frozenset[str]
    present: frozenset[str]
    bad: tuple[tuple[str, str], ...]
    is_checked: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run folder as it was found. Files that are not there are None.

    Attributes:
        run: The folder's name.
        plan: SHA-256 of plan.json's bytes.
        root_json: The bytes of root.json.
        seal: What they say.
        logs: Each log by its file, sorted.
        strays: Files among the logs that are no logs.
        objects: The objects.
        heads: The bytes of heads.jsonl.
        classified: The bytes of classified.jsonl.
        signature: The bytes of root.sig.
        record: The bytes of record.json.
    """

    run: str
    plan: str
    root_json: bytes | None
    seal: Seal | Misread | None
    logs: dict[str, EpisodeLog]
    strays: tuple[str, ...]
    objects: Objects
    heads: bytes | None
    classified: bytes | None
    signature: bytes | None
    record: bytes | None


@dataclass(slots=True)
class _Reader:
    """Reads one folder's logs and notes the objects that they refer to."""

    run: RunFolder
    plan: str
    sealed: dict[str, Sealed]
    wanted: set[str] = field(default_factory=set)

    def read(self, file: str) -> EpisodeLog:
        path = self.run.path / file
        sealed = self.sealed.get(file)
        held = walk(self._pieces(path), self.plan, sealed.head if sealed else None)
        with path.open("rb") as opened:
            first = previous_of(opened.readline().rstrip(b"\n"))
        opening, closing = _parsed(held.opening), _parsed(held.closing)
        episode = opening.get("episode") if opening.get("kind") == "open" else None
        return EpisodeLog(
            file=file,
            walk=held,
            first=first,
            episode=episode if isinstance(episode, str) else None,
            verdict=closing if closing.get("kind") == "verdict" else None,
            head_when_sealed=_head_after(path, sealed, held),
        )

    def _pieces(self, path: Path) -> Iterator[bytes]:
        tail = b""
        with path.open("rb") as opened:
            while piece := opened.read(_PIECE):
                self.wanted.update(map(bytes.decode, _OBJECT.findall(tail + piece)))
                tail = piece[-_OVERLAP:]
                yield piece


def gather(folder: Path) -> Evidence:
    """Read a run folder.

    Raises:
        LogError: CD-604, there is no plan.json; CD-606, something can't be read.
    """
    run = RunFolder(folder)
    try:
        return _gather(run)
    except OSError as error:
        raise cannot_read(error, Path(error.filename or folder)) from error


def _gather(run: RunFolder) -> Evidence:
    if not run.plan.is_file():
        raise LogError(
            "CD-604",
            "this is not a run folder: it has no plan.json",
            where=str(run.path),
            do="give the folder that `cleandesk run` printed",
        )
    plan = sha256(run.plan.read_bytes()).hexdigest()
    root_json = _optional(run.root)
    seal = None if root_json is None else parse_seal(root_json)
    known = (*seal.accepted, *seal.reruns) if isinstance(seal, Seal) else ()
    sealed = {one.file: one for one in known}
    files, strays = _listed(run, run.episodes, run.reruns)
    logs = [file for file in files if file.endswith(".jsonl")]
    strays += [file for file in files if not file.endswith(".jsonl")]
    reader = _Reader(run, plan, sealed)
    read = {file: reader.read(file) for file in sorted(logs)}
    return Evidence(
        run=run.path.resolve().name,
        plan=plan,
        root_json=root_json,
        seal=seal,
        logs=read,
        strays=tuple(sorted(strays)),
        objects=_read_objects(run, frozenset(reader.wanted)),
        heads=_optional(run.heads),
        classified=_optional(run.classified),
        signature=_optional(run.signature),
        record=_optional(run.record),
    )


def _optional(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _listed(run: RunFolder, *folders: Path) -> tuple[list[str], list[str]]:
    """Return the plain files below the folders, and what else stands there."""
    files = []
    real = [one for one in folders if one.is_dir() and not one.is_symlink()]
    others = [run.relative(one) for one in folders if one not in real and os.path.lexists(one)]
    for folder in real:
        for at, inner, names in os.walk(folder, onerror=_raise):
            for path in (Path(at) / name for name in (*inner, *names)):
                mode = path.lstat().st_mode
                if stat.S_ISREG(mode):
                    files.append(run.relative(path))
                elif not stat.S_ISDIR(mode):
                    others.append(run.relative(path))
    return files, others


def _raise(error: OSError) -> None:
    raise error  # A folder that can't be listed would else look like an empty one.


def _parsed(entry: bytes) -> dict[str, Any]:
    try:
        value = json.loads(entry)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _head_after(path: Path, sealed: Sealed | None, held: Walk) -> str | None:
    if sealed is None or held.fault or not 0 < sealed.entries < held.entries:
        return None
    # The chain holds, so the first entry too many has recorded the head before it.
    with path.open("rb") as opened:
        for index, line in enumerate(opened):
            if index == sealed.entries:
                return previous_of(line.rstrip(b"\n"))
    return None


def _read_objects(run: RunFolder, wanted: frozenset[str]) -> Objects:
    files, strays = _listed(run, run.objects)
    bad = [(file, "is not a plain file") for file in strays]
    present = set()
    zstandard = _zstandard()
    for file in sorted(files):
        name = _OBJECT_FILE.fullmatch(file.removeprefix("objects/"))
        if name is None:
            bad.append((file, "is not named after the hash of an object"))
        elif zstandard and _hash_of_packed(run.path / file, zstandard) != name[1]:
            bad.append((file, "its bytes are not the ones that it is named after"))
        else:
            present.add(name[1])
    return Objects(wanted, frozenset(present), tuple(sorted(bad)), zstandard is not None)


def _hash_of_packed(path: Path, zstandard: ModuleType) -> str | None:
    """Return the hash of what one zstd frame holds, or None if it is not exactly one."""
    hashed = sha256()
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        with path.open("rb") as opened:
            while piece := opened.read(_PACKED_PIECE):
                if frame.eof:
                    return None
                hashed.update(frame.decompress(piece))
    except zstandard.ZstdError:
        return None
    return hashed.hexdigest() if frame.eof and not frame.unused_data else None


def _zstandard() -> ModuleType | None:
    try:
        import zstandard
    except ImportError:
        return None
    return zstandard
