"""Two recorded states side by side: what differs, field by field."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import orjson

from cleandesk.audit.sources import compare_sources
from cleandesk.errors import LogError, StateError, UsageError
from cleandesk.log import find_episode, read_episode, read_object
from cleandesk.state import Change, Snapshot, apply, decode, diff
from cleandesk.state.diff import from_json
from cleandesk.state.snapshot import tables_of
from cleandesk.state.table import Tables


def compare_states(before: str | Path, after: str | Path) -> tuple[Change, ...]:
    """Return the differences of two states.

    Args:
        before: ``RUN:EPISODE@start`` or ``RUN:EPISODE@end`` (without ``@`` the start), or
            the file of a saved snapshot (also a ``.zst`` of a run's objects); or a database
            file, an SQL script, a folder, a ``postgresql://`` URL. Nothing is written there.
        after: The same.

    Raises:
        LogError: CD-606 or CD-607, a record can't be read.
        StateError: CD-104, a file is no snapshot; CD-105, two contracts.
        UsageError: CD-804, the text names no state, or the two are of two kinds.
        WorldError: CD-242 or CD-243, a database or folder can't be read.
    """
    found = compare_sources(str(before), str(after))
    if found is not None:
        return found
    one, other = read_state(str(before)), read_state(str(after))
    bases = [
        {name: over.fingerprint for name, over in state.over.items()} for state in (one, other)
    ]
    # Over one base what differs is known already; over two it is found by reading both.
    return diff(one, other) if bases[0] == bases[1] else diff(one.flat(), other.flat())


def read_state(text: str) -> Snapshot:
    """Read the state that ``text`` names; see ``compare_states``."""
    path = Path(text)
    if path.is_file():
        return _saved(path)
    run, episode, moment = _named(text)
    if not run or not episode or moment not in {"", "start", "end"}:
        raise UsageError(
            "CD-804",
            f"{text!r} names no state",
            where="diff",
            do="write RUN:EPISODE@start, RUN:EPISODE@end, or a saved snapshot's file",
        )
    folder = Path(run)
    entries = read_episode(find_episode(folder, episode))
    start = _start(folder, entries, episode)
    return _end(start, entries, episode) if moment == "end" else start


def _named(text: str) -> tuple[str, str, str]:
    """Split ``RUN:EPISODE@MOMENT``; a run's path and a task's id may hold ``:`` and ``@``."""
    before, slash, last = text.rpartition("/")
    trial, _, moment = last.partition("@")
    named = f"{before}{slash}{trial}"
    cuts = [place for place, char in enumerate(named) if char == ":"]
    cut = next((place for place in cuts if Path(named[:place]).is_dir()), cuts[0] if cuts else 0)
    return named[:cut], named[cut + 1 :], moment


def _saved(path: Path) -> Snapshot:
    is_object = path.suffix == ".zst"
    data = read_object(path.parent.parent, path.stem) if is_object else path.read_bytes()
    try:
        return Snapshot.from_bytes(data, functools.partial(_base, path.parent.parent))
    except StateError as error:
        raise StateError(error.code, error.message, where=str(path), do=error.do) from error


def _start(folder: Path, entries: list[dict[str, Any]], episode: str) -> Snapshot:
    for entry in entries:
        if entry["kind"] == "start":
            held = read_object(folder, entry["object"])
            return Snapshot.from_bytes(held, functools.partial(_base, folder))
    raise _absent(episode, "it ended before its start was captured")


@functools.lru_cache(maxsize=4)
def _base(folder: Path, name: str) -> Tables:
    # Asked for each record that is applied to it.
    return tables_of(read_object(folder, name))


def _end(start: Snapshot, entries: list[dict[str, Any]], episode: str) -> Snapshot:
    for entry in entries:
        if entry["kind"] == "end":
            # The log is parsed as plain JSON; its values are canon/1.
            return apply(start, from_json(decode(orjson.dumps(entry["changes"]))))
    raise _absent(episode, "it ended before its change was read")


def _absent(episode: str, why: str) -> LogError:
    return LogError("CD-613", f"the record has no such state: {why}", where=f"episode {episode}")
