"""A surface of one's own: notes that an app keeps in one JSON file, a table to a name.

    {"notes": {"1": {"text": "milk", "seen": 3}}, "tags": {}}

The page docs/howto/own-surface.md shows it.
"""

from __future__ import annotations

import json
from pathlib import Path

from cleandesk.errors import SuiteError, WorldError
from cleandesk.state import Table, encode
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.leaving import LEFT_OUT, Leaving
from cleandesk.surfaces.protocol import Base


def notes(source, *, ignore=None, incidental=(), declared=None):
    """Name a file of notes in a contract."""
    return SurfaceTerms("notes", {"from": source}, ignore or {}, incidental, declared or {})


class Notes:
    """The kind of surface, registered as ``surface.notes``."""

    def prepare(self, surface, terms, folder, locate):
        source = locate(terms.source["from"])
        try:
            data = source.read_bytes()
        except OSError as error:
            raise WorldError(
                "CD-243", f"no notes can be read: {error.strerror}", where=str(source)
            ) from error
        path = folder / "base.json"
        path.write_bytes(data)
        leaving = Leaving(surface, terms)
        tables = tables_of(data, leaving)
        return Base({"path": str(path)}, tables, frozenset(leaving.matched), ("times of the file",))

    def open_copy(self, surface, terms, held, folder):
        return NotesCopy(surface, terms, Path(held["path"]), folder)

    def query(self, held, text):
        raise SuiteError(
            "CD-419", "notes answer no questions", where=text, do="draw from a list instead"
        )


class NotesCopy:
    """A private copy: one file."""

    method = "one file"
    holder = None

    def __init__(self, surface, terms, base, folder):
        self._surface, self._terms, self._base, self._folder = surface, terms, base, folder
        self.place = str(folder / "notes.json")
        self.restore()

    def restore(self):
        new = self._folder / "new.json"
        try:
            new.write_bytes(self._base.read_bytes())
            # A new file under the old name: who still has the old one open writes to that.
            new.replace(self.place)
        except OSError as error:
            raise WorldError(
                "CD-241", f"the notes can't be put back: {error.strerror}", where=self.place
            ) from error

    def delta(self):
        if self._read_bytes() == self._base.read_bytes():
            return Delta()
        return CannotTell("the file was written")

    def read(self):
        data = self._read_bytes()
        try:
            now = tables_of(data, Leaving(self._surface, self._terms))
        except ValueError as error:
            raise WorldError("CD-242", f"the notes can't be read: {error}") from error
        base = tables_of(self._base.read_bytes(), Leaving(self._surface, self._terms))
        return Delta.between(base, now)

    def close(self):
        Path(self.place).unlink(missing_ok=True)

    def _read_bytes(self):
        try:
            return Path(self.place).read_bytes()
        except FileNotFoundError:
            return b""


def tables_of(data, leaving):
    """Return the tables that the file holds, without the ignored fields."""
    held = json.loads(data)
    tables = {}
    for name, rows in held.items():
        if leaving.table(name):
            continue
        if not rows:
            leaving.empty(name)
        read = {key: leaving.record(name, key, row) for key, row in rows.items()}
        kept = {encode(key): encode(row) for key, row in read.items() if row is not LEFT_OUT}
        tables[name] = Table("map", kept)
    return tables
