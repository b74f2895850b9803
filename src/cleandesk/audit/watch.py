"""Running any program over private copies, and saying what it changed: all of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.audit.sources import require_there, source_terms
from cleandesk.errors import UsageError, WorldError, shown
from cleandesk.processes import kill_group
from cleandesk.run.bases import beside, locate_in
from cleandesk.run.importers import RUNS, Importer
from cleandesk.run.scratch import Scratch
from cleandesk.state import Change, Snapshot, diff
from cleandesk.state.contract import Contract
from cleandesk.state.delta import Delta
from cleandesk.state.diff import to_json
from cleandesk.surfaces import mounts
from cleandesk.surfaces.copies import Copies, HeldBase, make_base, names_with_base

_VARIABLE = "CLEANDESK_"


@dataclass(frozen=True, slots=True)
class Watched:
    """What a program did to its private copies.

    Attributes:
        changes: Every field that differs from the base; incidental ones too.
        incidental: The fields among them that the contract leaves free, as people write them.
        exit_status: The program's; negative is the signal that ended it.
        readings: How the copies were read: surface, method and path.
        not_read: What was not looked at.
    """

    changes: tuple[Change, ...]
    incidental: frozenset[str]
    exit_status: int
    readings: tuple[str, ...]
    not_read: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the parts as values of canon/1."""
        return {
            "changes": to_json(self.changes),
            "exit_status": self.exit_status,
            "incidental": sorted(self.incidental),
            "not_read": list(self.not_read),
            "readings": list(self.readings),
        }


def watch(source: str | Contract, command: Sequence[str]) -> Watched:
    """Run a program over private copies of a contract's bases and return what it changed.

    The program finds each copy as a blank in its arguments (``{db}``) and in its
    environment (``CLEANDESK_DB``). The bases are never written.

    Args:
        source: A contract; ``module:attribute`` or ``file.py:attribute`` of a contract or
            a world; or a database file, a script for SQLite, a folder, a ``postgresql://``
            URL.
        command: The program and its arguments.

    Raises:
        UsageError: CD-805, the contract has no surface with a base, or the program can't
            be started.
        CleandeskError: The source can't be used, or a copy can't be read.

    Example:
        >>> watch("seed.db", ["sqlite3", "{db}", "DELETE FROM orders WHERE id = 7"]).changes
    """
    terms, folders = _terms_of(source)
    names = names_with_base(terms)
    if not names:
        raise UsageError(
            "CD-805",
            f"the contract {terms.name!r} has no surface with a base, so there is nothing to watch",
            where="watch",
            do="name a database, a folder, or a contract that has one",
        )
    scratch = Scratch()
    try:
        bases = {
            name: make_base(terms, name, scratch.folder / name, locate_in(folders))
            for name in names
        }
        return _watched(terms, bases, scratch.folder / "copies", command)
    finally:
        scratch.close()


def _terms_of(source: str | Contract) -> tuple[Contract, list[str]]:
    """Return the contract, and the folders beside which its sources are looked for."""
    here = [str(Path.cwd())]
    if isinstance(source, Contract):
        return source, here
    named = source_terms(source)
    if named is not None:
        name, terms = named
        return Contract("watched", "1", {name: terms}), here
    require_there(source, "watch")
    settings = {"debug": False, "network": [], "output": None, "path": here}
    importer = Importer(source, RUNS, settings)
    try:
        importer.ready()
    finally:
        importer.stop()
    if importer.contract is None:
        raise WorldError(
            "CD-206",
            f"{shown(repr(source), 80)} is no contract and has none",
            where="watch",
            do="name a contract, a world whose class has one, a database or a folder",
        )
    return importer.contract, beside(importer, here)


def _watched(
    terms: Contract, bases: Mapping[str, HeldBase], folder: Path, command: Sequence[str]
) -> Watched:
    # This process is whoever called us, and must stay where it is.
    with mounts.staying():
        copies = Copies(terms, bases, folder, audit=1)
    try:
        exit_status = _run(command, copies.places)
        over = copies.look()
        readings = tuple(sorted(copies.paths))
    finally:
        copies.close()
    base = {name: held.over(Delta()) for name, held in bases.items()}
    changes = diff(Snapshot(terms.identity, {}, base), Snapshot(terms.identity, {}, over))
    free = frozenset(
        change.field
        for change in changes
        if any(pattern.matches(change.surface, change.path) for pattern in terms.incidental)
    )
    return Watched(changes, free, exit_status, readings, tuple(copies.not_read))


def _run(command: Sequence[str], places: Mapping[str, str]) -> int:
    words = [_filled(word, places) for word in command]
    variables = {f"{_VARIABLE}{name.upper()}": place for name, place in places.items()}
    try:
        # A group of its own: what it leaves running must not write while it is read.
        program = subprocess.Popen(  # noqa: S603 - to run it is what was asked for
            words, env={**os.environ, **variables}, start_new_session=True
        )
    except OSError as error:
        raise UsageError(
            "CD-805",
            f"{shown(repr(words[0]), 80)} can't be started: {error.strerror}",
            where="the words after --",
            do="name a program that can be run",
        ) from error
    try:
        status = program.wait()
    except KeyboardInterrupt:
        # Stopping the program is no reason not to say what it did.
        os.killpg(program.pid, signal.SIGINT)
        status = program.wait()
    finally:
        kill_group(program.pid)
    return status


def _filled(word: str, places: Mapping[str, str]) -> str:
    # Not str.format: the words of a program are full of braces that mean something else.
    for name, place in places.items():
        word = word.replace(f"{{{name}}}", place)
    return word
