"""The surface of ``tests/contract/own_surface.py`` with one defect each; see test_testing.py."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))

from own_surface import Notes, NotesCopy, tables_of

from cleandesk.errors import WorldError
from cleandesk.state import Table, decode, encode
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.protocol import Base


@contextlib.contextmanager
def putting_back():
    try:
        yield
    except OSError as error:
        raise WorldError("CD-241", "the notes can't be put back") from error


class Kind(Notes):
    """Opens the copies of its own class ``Copy``."""

    def open_copy(self, surface, terms, held, folder):
        return self.Copy(surface, terms, Path(held["path"]), folder)


class Clean(Kind):
    Copy = NotesCopy


class TellsAll(Kind):
    """Nothing is wrong with it: its fast path reads everything."""

    class Copy(NotesCopy):
        def delta(self):
            return self.read()


class OpensWritten(Kind):
    class Copy(NotesCopy):
        def __init__(self, *given):
            super().__init__(*given)
            held = json.loads(Path(self.place).read_text())
            held["notes"]["1"]["text"] = "opened"
            Path(self.place).write_text(json.dumps(held))


class DrawsItsBase(Notes):
    def prepare(self, surface, terms, folder, locate):
        base = super().prepare(surface, terms, folder, locate)
        key = encode(str(os.getpid()))
        table = Table("map", {**base.tables["notes"].records, key: encode({})})
        return Base(base.held, {**base.tables, "notes": table}, base.ignored)


class MakesWhatIsNotThere(Notes):
    def prepare(self, surface, terms, folder, locate):
        try:
            return super().prepare(surface, terms, folder, locate)
        except WorldError:
            (folder / "empty.json").write_text('{"notes": {}}')
            return super().prepare(surface, terms, folder, lambda _: folder / "empty.json")


class AnswersAnything(Kind):
    Copy = NotesCopy

    def query(self, held, text):
        return [{"text": text}]


class SpellsWithSpaces(Kind):
    def prepare(self, *given):
        base = super().prepare(*given)
        return Base(base.held, spaced(base.tables), base.ignored)

    class Copy(NotesCopy):
        def read(self):
            delta = super().read()
            tables = {
                name: {key: tuple(map(with_spaces, edit)) for key, edit in edits.items()}
                for name, edits in delta.tables.items()
            }
            return Delta(tables, delta.created, delta.dropped)


def spaced(tables):
    return {
        name: Table("map", {key: with_spaces(row) for key, row in table.records.items()})
        for name, table in tables.items()
    }


def with_spaces(record):
    return None if record is None else json.dumps(json.loads(record)).encode()


class ListsWhatIsTheSame(Kind):
    class Copy(NotesCopy):
        def read(self):
            delta = super().read()
            if not delta:
                return delta
            same = tables_of(self._base.read_bytes(), Leaving(self._surface, self._terms))
            tables = {name: dict(edits) for name, edits in delta.tables.items()}
            for key, record in same["notes"].records.items():
                tables.setdefault("notes", {}).setdefault(key, (record, record))
            return Delta(tables, delta.created, delta.dropped)


class ReadsNothing(Kind):
    class Copy(NotesCopy):
        def read(self):
            super().read()
            return Delta()


class CountsItsBytes(Kind):
    """The spelling of the file is taken for state."""

    def prepare(self, surface, terms, folder, locate):
        base = super().prepare(surface, terms, folder, locate)
        size = sized(Path(base.held["path"]).read_bytes())
        return Base(base.held, {**base.tables, "file": size}, base.ignored)

    class Copy(NotesCopy):
        def read(self):
            old, new = (sized(data) for data in (self._base.read_bytes(), self._read_bytes()))
            delta, size = super().read(), Delta.between({"file": old}, {"file": new})
            return Delta({**delta.tables, **size.tables}, delta.created, delta.dropped)


def sized(data):
    return Table("map", {encode("notes.json"): encode({"bytes": len(data)})})


class KeepsWhatIsIgnored(Kind):
    def prepare(self, surface, terms, folder, locate):
        base = super().prepare(surface, terms, folder, locate)
        tables = tables_of(Path(base.held["path"]).read_bytes(), Forgetful(surface, terms))
        return Base(base.held, tables, base.ignored)

    class Copy(NotesCopy):
        def read(self):
            both = (
                tables_of(data, Forgetful(self._surface, self._terms))
                for data in (self._base.read_bytes(), self._read_bytes() or b"?")
            )
            try:
                return Delta.between(*both)
            except ValueError as error:
                raise WorldError("CD-242", "it can't be read") from error


class Forgetful(Leaving):
    def record(self, name, key, value):
        return value


class OverlooksNewTables(Kind):
    """What an app creates is state as well."""

    class Copy(NotesCopy):
        def read(self):
            delta = super().read()
            tables = {n: e for n, e in delta.tables.items() if n not in delta.created}
            return Delta(tables, (), delta.dropped)


class OverlooksAField(Kind):
    """Both its paths leave out a field that the base holds."""

    class Copy(NotesCopy):
        def read(self):
            delta = super().read()
            tables = {
                name: {key: tuple(map(without_seen, edit)) for key, edit in edits.items()}
                for name, edits in delta.tables.items()
            }
            return Delta.of(tables, delta.created, delta.dropped)


def without_seen(record):
    if record is None:
        return None
    return encode({key: value for key, value in decode(record).items() if key != "seen"})


class Guesses(Kind):
    """A file of the same size is taken for the same file."""

    class Copy(NotesCopy):
        def delta(self):
            told = super().delta()
            is_alike = Path(self.place).exists() and self._size() == len(self._base.read_bytes())
            return Delta() if is_alike else told

        def _size(self):
            # Not while it is being written: another rule is about that.
            return Path(self.place).stat().st_size if json_in(self.place) else -1


def json_in(place):
    try:
        return bool(json.loads(Path(place).read_bytes()))
    except (ValueError, FileNotFoundError):
        return False


class MissesAField(Kind):
    """Its fast path does not look at texts."""

    class Copy(NotesCopy):
        def delta(self):
            told = super().delta()
            if not told or not json_in(self.place):
                return told
            delta = self.read()
            tables = {
                name: {key: (old, with_text_of(old, new)) for key, (old, new) in edits.items()}
                for name, edits in delta.tables.items()
            }
            return Delta.of(tables, delta.created, delta.dropped)


def with_text_of(old, new):
    if old is None or new is None or "text" not in decode(old):
        return new
    return encode({**decode(new), "text": decode(old)["text"]})


class TellsItBackwards(Kind):
    class Copy(NotesCopy):
        def delta(self):
            told = super().delta()
            if not told or not json_in(self.place):
                return told
            delta = self.read()
            tables = {
                name: {key: (new, old) for key, (old, new) in edits.items()}
                for name, edits in delta.tables.items()
            }
            return Delta(tables, delta.created, delta.dropped)


class DropsSilently(Kind):
    """A table that is gone is told of by its records alone, as if it were there and empty."""

    class Copy(NotesCopy):
        def read(self):
            delta = super().read()
            return Delta(delta.tables, delta.created, ())


class NamesTablesInAnyOrder(Kind):
    """One state has two deltas."""

    class Copy(NotesCopy):
        def delta(self):
            told = super().delta()
            if not told or not json_in(self.place):
                return told
            delta = self.read()
            return Delta(delta.tables, delta.created[::-1], delta.dropped)


class SpoilsByLooking(Kind):
    class Copy(NotesCopy):
        def read(self):
            delta = super().read()
            with Path(self.place).open("ab") as file:
                file.write(b"\n")
            return delta


class CountsItsLooks(Kind):
    class Copy(NotesCopy):
        looks = 0

        def delta(self):
            self.looks += 1
            return CannotTell(f"looked at {self.looks} times")


class ForgetsATable(Kind):
    class Copy(NotesCopy):
        def restore(self):
            place = Path(self.place)
            tags = None
            if place.exists() and json_in(place):
                tags = json.loads(place.read_bytes()).get("tags")
            super().restore()
            if tags:
                held = json.loads(place.read_bytes())
                place.write_text(json.dumps({**held, "tags": tags}))


class Wanders(Kind):
    class Copy(NotesCopy):
        def restore(self):
            number = int(Path(self.place).stem.removeprefix("notes") or 0)
            super().restore()
            moved = self._folder / f"notes{number + 1}.json"
            Path(self.place).rename(moved)
            self.place = str(moved)


class WritesItsBase(Kind):
    class Copy(NotesCopy):
        def restore(self):
            if Path(self.place).exists():
                self._base.write_bytes(self._base.read_bytes() + b"\n")
            super().restore()


class TakesHalfForNothing(Kind):
    class Copy(NotesCopy):
        def read(self):
            try:
                return super().read()
            except WorldError:
                return Delta()


class Shares(Kind):
    """Two copies are one file."""

    class Copy(NotesCopy):
        def __init__(self, surface, terms, base, folder):
            super().__init__(surface, terms, base, folder)
            own, self.place = Path(self.place), str(base.parent.parent / "shared.json")
            own.rename(self.place)

        def restore(self):
            shutil.copyfile(self._base, self.place)


class StaysInUse(Kind):
    class Copy(NotesCopy):
        def close(self):
            """Leave the file."""


class IsContentWithHalf(Kind):
    """What does not fit on the disk is left out."""

    class Copy(NotesCopy):
        def restore(self):
            with contextlib.suppress(WorldError, OSError):
                Path(self.place).unlink(missing_ok=True)
                Path(self.place).write_text('{"notes": {}}')
                super().restore()


class SharesItsTable(Kind):
    """Two copies that are put back at one time meet in one file."""

    class Copy(NotesCopy):
        def restore(self):
            table = self._base.parent.parent / "table.json"
            with putting_back():
                table.write_bytes(self._base.read_bytes())
            threading.Event().wait(0.003)
            try:
                table.rename(self.place)
            except FileNotFoundError:
                Path(self.place).write_text('{"notes": {}}')


class RestoresInPlace(Kind):
    class Copy(NotesCopy):
        def restore(self):
            with putting_back():
                Path(self.place).write_bytes(self._base.read_bytes())


class TakesARaceForNothing(Kind):
    """What changes between two looks is not there yet, it thinks."""

    class Copy(NotesCopy):
        def read(self):
            before = Path(self.place).stat() if Path(self.place).exists() else None
            threading.Event().wait(0.005)
            delta = super().read()
            after = Path(self.place).stat()
            return delta if before and before.st_ino == after.st_ino else Delta()


class LendsItsBase(Kind):
    """For a moment the base is the copy."""

    class Copy(NotesCopy):
        def restore(self):
            self._base.rename(self.place)
            shutil.copyfile(self.place, self._base)


class LeavesItsBaseOpen(Kind):
    """While it reads, the base has another name."""

    class Copy(NotesCopy):
        def read(self):
            aside = self._base.with_suffix(".read")
            shutil.copyfile(self._base, aside)
            try:
                return super().read()
            finally:
                aside.unlink()


class Fails(Kind):
    class Copy(NotesCopy):
        def delta(self):
            return 1 / 0


class Ends(Kind):
    class Copy(NotesCopy):
        def delta(self):
            os._exit(3)


class AnswersWithADict(Kind):
    class Copy(NotesCopy):
        def delta(self):
            return {}
