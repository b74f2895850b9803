"""Blames that people settle after a run, appended and never edited.

An unclassified failure is set aside until somebody says whose it was. What they
say comes after the seal, so it has a chain of its own that starts from the root.

Source:
    docs/spec/log-1.md, section 10 "Classifications".
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

from cleandesk.errors import LogError, shown
from cleandesk.log.chain import canonical, link, walk
from cleandesk.log.folder import RunFolder
from cleandesk.log.read import parse_line
from cleandesk.log.seal import Misread, Seal, parse_seal
from cleandesk.log.store import cannot_read, cannot_write

BLAMES = ("agent", "provider", "world", "checker", "task", "harness")


def append_classification(folder: Path, episode: str, blame: str, why: str, when: str) -> str:
    """Say whose failure an episode was.

    Args:
        folder: A sealed run folder.
        episode: ``<task>/<seed>-<trial>``, accepted or set aside.
        blame: One of ``BLAMES``.
        why: The reason, in a sentence.
        when: The date and time, as text.

    Returns:
        The new head of classified.jsonl. Keep it apart to show a cut-off end.

    Raises:
        LogError: CD-609, the run is not sealed; CD-610, the blame or episode is
            unknown, there is no reason, or the classifications so far do not
            hold; CD-601, CD-602 or CD-606, a file can't be used.
    """
    run = RunFolder(folder)
    sealed = _sealed(run)
    _require(sealed, episode, blame, why)
    entry = canonical(
        {"blame": blame, "episode": episode, "kind": "classify", "when": when, "why": why}
    )
    path = run.classified
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise cannot_write(error, path) from error
    try:
        # Two people classify at once: the second must link to the first one's entry.
        fcntl.flock(file, fcntl.LOCK_EX)
        held = walk(path.read_bytes(), sealed.root)
        if held.fault or held.torn:
            what = held.fault.reason if held.fault else "a torn line follows the last entry"
            raise LogError(
                "CD-610",
                f"the classifications so far do not hold: {what}",
                where=str(path),
                do="run `cleandesk verify` on the folder; nothing was written",
            )
        line, head = link(held.head, entry, held.entries)
        os.write(file, line + b"\n")
        os.fsync(file)
    except OSError as error:
        raise cannot_write(error, path) from error
    finally:
        os.close(file)
    return head


def read_classifications(folder: Path) -> list[dict[str, Any]]:
    """Return the classifications in the order in which they were made; the last one counts.

    Raises:
        LogError: CD-606, the file can't be read, or a line is not an entry.
    """
    path = RunFolder(folder).classified
    try:
        *lines, _torn = path.read_bytes().split(b"\n") if path.exists() else [b""]
    except OSError as error:
        raise cannot_read(error, path) from error
    return [parse_line(line, f"{path}, entry {index}") for index, line in enumerate(lines)]


def _sealed(run: RunFolder) -> Seal:
    try:
        read = parse_seal(run.root.read_bytes())
    except FileNotFoundError:
        read = Misread("it has no root.json")
    except OSError as error:
        raise cannot_read(error, run.root) from error
    if isinstance(read, Misread):
        raise LogError(
            "CD-609",
            f"this run is not sealed: {read.reason}",
            where=str(run.path),
            do="classify a run that went to its end",
        )
    return read


def _require(sealed: Seal, episode: str, blame: str, why: str) -> None:
    if blame not in BLAMES:
        raise LogError(
            "CD-610", f"{shown(blame)!r} is not a blame", do=f"use one of {', '.join(BLAMES)}"
        )
    if not why.strip():
        raise LogError("CD-610", "a classification needs a reason", do="say why in a sentence")
    known = {one.episode for one in (*sealed.accepted, *sealed.reruns)}
    if episode not in known:
        raise LogError(
            "CD-610",
            f"there is no episode {shown(episode)!r} in this record",
            do=f"name one of its {len(known)} episodes, such as {shown(min(known, default='none'))}",
        )
