"""How private copies are read: fast where that can tell, in full where not, and compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cleandesk.errors import StateError, WorldError
from cleandesk.state import Table, encode
from cleandesk.state.contract import SurfaceTerms, contract
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.surfaces import copies as module
from cleandesk.surfaces.copies import Copies, make_base
from cleandesk.surfaces.protocol import Base

BASE = {"rows": Table("map", {encode("a"): encode(1)})}


class OneFile:
    """A copy of one JSON file; what its fast path says is given."""

    method = "one file"
    holder = None

    def __init__(self, folder, says):
        self.place = str(folder / "rows.json")
        self.says = says
        self.fails = False
        self.restore()

    def restore(self):
        if self.fails:
            raise WorldError("CD-241", "the disk is full")
        Path(self.place).write_text('{"a": 1}')

    def delta(self):
        return self.says(self.read())

    def read(self):
        held = json.loads(Path(self.place).read_text())
        rows = {encode(key): encode(value) for key, value in held.items()}
        return Delta.between(BASE, {"rows": Table("map", rows)})

    def close(self):
        Path(self.place).unlink()


class Surface:
    def __init__(self, says):
        self.says = says

    def prepare(self, surface, terms, folder, locate):
        return Base({}, BASE)

    def open_copy(self, surface, terms, held, folder):
        return OneFile(folder, self.says)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    def open_with(says, audit=1):
        monkeypatch.setattr(module, "_surface", lambda _kind: Surface(says))
        terms = contract("shop", "1", db=SurfaceTerms("rows", {}))
        bases = {"db": make_base(terms, "db", tmp_path / "base", Path)}
        return Copies(terms, bases, tmp_path / "copies", audit=audit)

    return open_with


def write(copies, **rows):
    Path(copies.places["db"]).write_text(json.dumps(rows))


def test_what_the_fast_path_says_is_the_change(opened):
    copies = opened(lambda true: true)
    write(copies, a=2)

    assert copies.look()["db"].delta.tables == {"rows": {b'"a"': (b"1", b"2")}}
    assert dict(copies.paths) == {"db: one file: fast": 1}


def test_where_it_can_not_tell_everything_is_read_and_the_reason_is_counted(opened):
    copies = opened(lambda _true: CannotTell("the schema was changed"))
    write(copies, a=2)

    assert copies.look()["db"].delta
    assert dict(copies.paths) == {"db: one file: full: the schema was changed": 1}


def test_a_fast_path_that_misses_a_change_stops_the_run(opened):
    copies = opened(lambda _true: Delta())
    write(copies, a=2)

    with pytest.raises(StateError) as stopped:
        copies.look()

    assert stopped.value.code == "CD-110"


def test_every_n_th_reading_is_compared_and_the_first_one_is(opened):
    told = []
    copies = opened(lambda true: told.append(true) or (true if len(told) < 3 else Delta()), audit=2)
    write(copies, a=2)
    copies.look()
    copies.look()

    with pytest.raises(StateError):
        copies.look()


def test_a_copy_that_could_not_be_put_back_is_not_to_be_used_again(opened):
    copies = opened(lambda true: true)
    copies.restore()
    assert not copies.is_broken
    copies._copies["db"].fails = True

    with pytest.raises(WorldError):
        copies.restore()

    assert copies.is_broken
