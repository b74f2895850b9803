"""Reading what a run recorded. Reading is not verifying: see ``verify``."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cleandesk.errors import LogError, shown
from cleandesk.log.chain import entry_of
from cleandesk.log.folder import RunFolder, episode_path
from cleandesk.log.seal import Misread, parse_seal
from cleandesk.log.store import cannot_read

_PIECE = 1 << 16


def read_episode(path: Path) -> list[dict[str, Any]]:
    """Return the entries of one log, parsed; a torn last line is left out.

    Raises:
        LogError: CD-606, the file can't be read, or a line is not an entry.
    """
    try:
        *lines, _torn = path.read_bytes().split(b"\n")
    except OSError as error:
        raise cannot_read(error, path) from error
    return [parse_line(line, f"{path}, entry {index}") for index, line in enumerate(lines)]


def iter_verdicts(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (episode, its verdict entry) of each accepted episode that ended.

    A sealed run is read in the plan's order, any other in the order of its
    files; episodes without a verdict are left out.

    Raises:
        LogError: CD-606, a file can't be read, or is not a log.
    """
    run = RunFolder(folder)
    for path in _accepted(run):
        entry = _last_entry(path)
        if entry is not None and entry.get("kind") == "verdict":
            yield _episode_of(path), entry


def find_episode(folder: Path, episode: str) -> Path:
    """Return the log of an accepted episode.

    Raises:
        LogError: CD-606, the run has no such episode.
    """
    path = episode_path(folder, episode)
    if path.is_file():
        return path
    known = [_episode_of(other) for other in _accepted(RunFolder(folder))]
    near = difflib.get_close_matches(episode, known, n=3, cutoff=0.3) or known[:3]
    raise LogError(
        "CD-606",
        f"there is no episode {shown(episode)!r} in this run",
        where=str(folder),
        do=f"name one of its {len(known)} episodes, such as {', '.join(map(shown, near))}"
        if known
        else "give a run folder that has episodes",
    )


def parse_line(line: bytes, where: str) -> dict[str, Any]:
    """Return the entry that a line of log/1 holds.

    Raises:
        LogError: CD-606, it is not an entry.
    """
    try:
        entry = json.loads(entry_of(line))
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise LogError(
            "CD-606",
            f"this line is not an entry of log/1: {shown(line[:80].decode('utf-8', 'replace'))}",
            where=where,
            do="run `cleandesk verify` on the run folder",
        )
    return entry


def _accepted(run: RunFolder) -> list[Path]:
    try:
        seal = parse_seal(run.root.read_bytes()) if run.root.exists() else Misread("no seal")
    except OSError as error:
        raise cannot_read(error, run.root) from error
    if isinstance(seal, Misread):
        return sorted(run.episodes.rglob("*.jsonl"))
    return [run.path / sealed.file for sealed in seal.accepted]


def _episode_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            first = file.readline().rstrip(b"\n")
    except OSError as error:
        raise cannot_read(error, path) from error
    return str(parse_line(first, f"{path}, entry 0").get("episode", "")) if first else ""


def _last_entry(path: Path) -> dict[str, Any] | None:
    """Read back from the end: a log may be long, and its verdict is its last line."""
    try:
        with path.open("rb") as file:
            start = file.seek(0, os.SEEK_END)
            tail = b""
            while start and tail.count(b"\n") < 2:
                step = min(start, max(_PIECE, len(tail)))
                start = file.seek(start - step)
                tail = file.read(step) + tail
    except OSError as error:
        raise cannot_read(error, path) from error
    whole = tail[: tail.rfind(b"\n")] if b"\n" in tail else b""
    line = whole[whole.rfind(b"\n") + 1 :]
    return parse_line(line, str(path)) if line else None
