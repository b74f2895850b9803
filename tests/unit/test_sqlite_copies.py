"""Private copies: what another process writes is named exactly, and goes with a restore.

Each writer is a process of its own with the standard library's SQLite, as worlds are.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cleandesk.state.canon import decode, encode
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.surfaces.sqlite import Sqlite, sqlite
from cleandesk.surfaces.sqlite.reading import read_database

SCRIPT = """
PRAGMA foreign_keys = OFF;
CREATE TABLE pk(id INTEGER PRIMARY KEY, v); INSERT INTO pk VALUES(1, 'x'), (2, 'y'), (3, 0.0);
CREATE TABLE nopk(a, b); INSERT INTO nopk VALUES(1, 2), (1, 2), (3, x'00ff');
CREATE TABLE nullpk(k TEXT PRIMARY KEY, v); INSERT INTO nullpk VALUES('a', 1), (NULL, 1), (NULL, 1);
CREATE TABLE two(a, b, c, PRIMARY KEY(a, b)); INSERT INTO two VALUES(1, 'x', 2), (NULL, 1, 1);
CREATE TABLE wr(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO wr VALUES('a', 1), ('b', 2);
CREATE TABLE auto(id INTEGER PRIMARY KEY AUTOINCREMENT, v); INSERT INTO auto(v) VALUES('q');
CREATE TABLE log(id INTEGER PRIMARY KEY, m);
CREATE TRIGGER told AFTER UPDATE ON pk BEGIN INSERT INTO log(m) VALUES('upd ' || new.id); END;
CREATE VIRTUAL TABLE ft USING fts5(body); INSERT INTO ft VALUES('hello world');
CREATE VIRTUAL TABLE ext USING fts5(v, content='pk', content_rowid='id');
CREATE VIRTUAL TABLE area USING rtree(id, x0, x1); INSERT INTO area VALUES(1, 0, 1);
CREATE TABLE gen(id INTEGER PRIMARY KEY, a, b AS (a * 2), c AS (a + 1) STORED);
INSERT INTO gen(a) VALUES(3);
CREATE TABLE names(rowid, _rowid_, oid); INSERT INTO names VALUES(1, 2, 3);
CREATE TABLE big(id INTEGER PRIMARY KEY, t TEXT);
WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO big SELECT i, CASE WHEN i % 4 = 0 THEN printf('%.20000c', 'a') ELSE 'short' END FROM n;
CREATE TABLE many(id INTEGER PRIMARY KEY, n INT, t TEXT);
WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
INSERT INTO many SELECT i, i % 7, printf('row %d of many', i) FROM n;
CREATE TABLE lines(t TEXT);
WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
INSERT INTO lines SELECT printf('line %d of many', i / 2) FROM n;
CREATE INDEX by_n ON many(n);
"""

WRITER = """
import json, shutil, sqlite3, sys
held = {}
for line in sys.stdin:
    place, what, text, *values = json.loads(line)
    try:
        if what == "copy":
            for end in ("", "-wal"):
                shutil.copyfile(place + end, text + end)
            found = None
        elif what == "close":
            found = held.pop(place).close()
        else:
            if place not in held:
                held[place] = sqlite3.connect(place, isolation_level=None)
                held[place].executescript("PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF")
            found = held[place].executescript(text) if what == "script" else held[place].execute(text)
            found = found.fetchall()
        print(json.dumps(["done", found]), flush=True)
    except sqlite3.Error as error:
        print(json.dumps(["failed", str(error)]), flush=True)
"""


class Writer:
    """Another process that writes; it keeps what it opened until it is told to close it."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, copy, *words):
        self._process.stdin.write(json.dumps([copy.place, *words]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def run(self, copy, script):
        assert self.ask(copy, "script", script) == ["done", []]

    def row(self, copy, statement):
        return self.ask(copy, "row", statement)

    def close(self, copy):
        assert self.ask(copy, "close", "") == ["done", None]

    def end(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Desk:
    """One base, its copies, and what a full reading of a copy says."""

    def __init__(self, folder, writer, script=SCRIPT, **terms):
        self.folder = folder
        self.writer = writer
        (folder / "seed.sql").write_text(script)
        (folder / "base").mkdir()
        self.terms = sqlite("seed.sql", **terms)
        self.base = Sqlite().prepare("db", self.terms, folder / "base", lambda text: folder / text)
        self.copies = []

    def copy(self):
        place = self.folder / f"copy{len(self.copies)}"
        place.mkdir()
        copy = Sqlite().open_copy("db", self.terms, self.base.held, place)
        self.copies.append(copy)
        return copy

    def full(self, copy):
        # The writer copies the files: opened here, the pin's locks would go with them.
        path = self.folder / "read.db"
        assert self.writer.ask(copy, "copy", str(path)) == ["done", None]
        return Delta.between(self.base.tables, read_database(path, "db", self.terms)[0])

    def bytes(self):
        return hashlib.sha256(Path(self.base.held["database"]).read_bytes()).hexdigest()

    def end(self):
        for copy in self.copies:
            copy.close()


@pytest.fixture(scope="module")
def writer():
    writer = Writer()
    yield writer
    writer.end()


@pytest.fixture(scope="module")
def desk(tmp_path_factory, writer):
    desk = Desk(tmp_path_factory.mktemp("desk"), writer)
    yield desk
    desk.end()


@pytest.fixture
def another(tmp_path, writer):
    made = []

    def make(script=SCRIPT, **terms):
        made.append(Desk(tmp_path, writer, script, **terms))
        return made[-1]

    yield make
    for desk in made:
        desk.end()


def shown(delta):
    return {
        name: {
            decode(key): tuple(side and decode(side) for side in edit)
            for key, edit in edits.items()
        }
        for name, edits in delta.tables.items()
    }


def exact(desk, copy, script):
    """Write, and return the delta that the fast, the full and a plain reading agree on."""
    desk.writer.run(copy, script)
    found = copy.delta()
    assert not isinstance(found, CannotTell), found.why
    assert found == copy.read() == desk.full(copy)
    return shown(found)


def stem(record):
    return hashlib.sha256(encode(record)).hexdigest()[:16]


NAMED = {
    "1 becomes 1.0": (
        "UPDATE nullpk SET v = 1.0 WHERE k = 'a'",
        {"nullpk": {"a": ({"k": "a", "v": 1}, {"k": "a", "v": 1.0})}},
    ),
    "0.0 becomes -0.0": (
        "DROP TRIGGER IF EXISTS none; UPDATE big SET t = t WHERE 0; INSERT INTO two VALUES(2, -0.0, 0)",
        {"two": {(2, -0.0): (None, {"a": 2, "b": -0.0, "c": 0})}},
    ),
    "a trigger": (
        "UPDATE pk SET v = 'z' WHERE id = 2",
        {
            "log": {1: (None, {"id": 1, "m": "upd 2"})},
            "pk": {2: ({"id": 2, "v": "y"}, {"id": 2, "v": "z"})},
        },
    ),
    "a key is changed": (
        "DELETE FROM log; UPDATE gen SET id = 9",
        {
            "gen": {
                1: ({"a": 3, "b": 6, "c": 4, "id": 1}, None),
                9: (None, {"a": 3, "b": 6, "c": 4, "id": 9}),
            }
        },
    ),
    "a replaced row": (
        "REPLACE INTO pk VALUES(1, 'new')",
        {"pk": {1: ({"id": 1, "v": "x"}, {"id": 1, "v": "new"})}},
    ),
    "a reused row number": (
        "DELETE FROM pk WHERE id = 3; INSERT INTO pk(v) VALUES('new')",
        {"pk": {3: ({"id": 3, "v": 0.0}, {"id": 3, "v": "new"})}},
    ),
    "all rows deleted": (
        "DELETE FROM wr; DELETE FROM two",
        {
            "two": {
                (1, "x"): ({"a": 1, "b": "x", "c": 2}, None),
                (None, 1, stem({"a": None, "b": 1, "c": 1})): ({"a": None, "b": 1, "c": 1}, None),
            },
            "wr": {"a": ({"k": "a", "v": 1}, None), "b": ({"k": "b", "v": 2}, None)},
        },
    ),
    "a row without a key": (
        "UPDATE nopk SET a = 4 WHERE a = 3",
        {
            "nopk": {
                stem({"a": 3, "b": b"\x00\xff"}): ({"a": 3, "b": b"\x00\xff"}, None),
                stem({"a": 4, "b": b"\x00\xff"}): (None, {"a": 4, "b": b"\x00\xff"}),
            }
        },
    ),
    "one more of two alike": (
        "INSERT INTO nopk VALUES(1, 2)",
        {"nopk": {stem({"a": 1, "b": 2}) + "#3": (None, {"a": 1, "b": 2})}},
    ),
    "one less of two alike": (
        "DELETE FROM nopk WHERE rowid = 1",
        {"nopk": {stem({"a": 1, "b": 2}) + "#2": ({"a": 1, "b": 2}, None)}},
    ),
    "one more key of NULL": (
        "INSERT INTO nullpk VALUES(NULL, 1)",
        {"nullpk": {(None, stem({"k": None, "v": 1}) + "#3"): (None, {"k": None, "v": 1})}},
    ),
    "a row WITHOUT ROWID": (
        "UPDATE wr SET v = '2' WHERE k = 'b'",
        {"wr": {"b": ({"k": "b", "v": 2}, {"k": "b", "v": "2"})}},
    ),
    "the sequence after a delete": (
        "INSERT INTO auto(v) VALUES('r'); DELETE FROM auto WHERE id = 2",
        {"sqlite_sequence": {"auto": ({"name": "auto", "seq": 1}, {"name": "auto", "seq": 2})}},
    ),
    "full text": (
        "INSERT INTO ft VALUES('more')",
        {"ft": {2: (None, {"body": "more"})}},
    ),
    "full text is tidied up": ("INSERT INTO ft(ft) VALUES('optimize'), ('rebuild')", {}),
    "an area": (
        "UPDATE area SET x1 = 2",
        {"area": {1: ({"id": 1, "x0": 0.0, "x1": 1.0}, {"id": 1, "x0": 0.0, "x1": 2.0})}},
    ),
    "a generated column": (
        "UPDATE gen SET a = 5",
        {"gen": {1: ({"a": 3, "b": 6, "c": 4, "id": 1}, {"a": 5, "b": 10, "c": 6, "id": 1})}},
    ),
    "all names of the row number taken": (
        "UPDATE names SET oid = 4",
        {
            "names": {
                stem({"_rowid_": 2, "oid": 3, "rowid": 1}): (
                    {"_rowid_": 2, "oid": 3, "rowid": 1},
                    None,
                ),
                stem({"_rowid_": 2, "oid": 4, "rowid": 1}): (
                    None,
                    {"_rowid_": 2, "oid": 4, "rowid": 1},
                ),
            }
        },
    ),
    "a setting of the file": (
        "PRAGMA user_version = 7; PRAGMA application_id = 3",
        {"sqlite_pragma": {"application_id": (0, 3), "user_version": (0, 7)}},
    ),
    "NUL in a text": (
        "INSERT INTO wr VALUES('a' || char(0) || 'b', 9e999)",
        {"wr": {"a\0b": (None, {"k": "a\0b", "v": float("inf")})}},
    ),
    "nothing, in many transactions": (
        "UPDATE many SET n = n + 1; UPDATE many SET n = n - 1; UPDATE wr SET v = v",
        {},
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_another_process_writes_is_named_exactly(desk, case):
    script, expected = NAMED[case]

    # As canonical bytes: 1 and 1.0 differ.
    assert encode(exact(desk, desk.copy(), script)) == encode(expected)


def test_a_long_text_changed_in_place_is_found_though_its_leaf_is_as_it_was(desk):
    found = exact(
        desk,
        desk.copy(),
        "UPDATE big SET t = substr(t, 1, 15000) || 'b' || substr(t, 15002) WHERE id = 8",
    )

    ((before, after),) = found["big"].values()
    assert len(before["t"]) == len(after["t"]) == 20000
    assert after["t"][15000] == "b"


@pytest.mark.parametrize(
    "script",
    [
        "DELETE FROM big WHERE id % 8 = 0; INSERT INTO big SELECT id + 100, t || 'x' FROM big",
        "DELETE FROM many; INSERT INTO big SELECT 1000 + n, t FROM (SELECT 1 AS n, 'x' AS t)",
        "DELETE FROM many WHERE id > 500; INSERT INTO lines SELECT t FROM big; DELETE FROM big",
        "INSERT INTO many SELECT id + 10000, n, t FROM many; DELETE FROM many WHERE id < 10000",
        "UPDATE many SET id = -id",
        "DELETE FROM lines WHERE rowid % 3 = 0; INSERT INTO lines SELECT 'line 7 of many'",
        "DELETE FROM lines; INSERT INTO lines SELECT t FROM many",
        "INSERT INTO lines SELECT t FROM lines ORDER BY t DESC LIMIT 900",
        "DELETE FROM pk; DELETE FROM nopk; DELETE FROM wr; DELETE FROM ft; DELETE FROM sqlite_sequence",
        "UPDATE many SET t = t || 'x' WHERE id % 500 = 0; UPDATE many SET t = 'short' WHERE id = 5",
        "INSERT INTO ext(ext) VALUES('rebuild')",
        "INSERT INTO log(m) SELECT t FROM many",
        "DELETE FROM many WHERE id > 2; DELETE FROM big WHERE id > 1",
        "ANALYZE",
    ],
)
def test_pages_that_move_split_and_are_reused_lead_to_the_same_delta(desk, script):
    copy = desk.copy()
    desk.writer.run(copy, script)
    found = copy.delta()

    assert copy.read() == desk.full(copy)
    assert isinstance(found, CannotTell) == (script == "ANALYZE")
    assert found == copy.read() or script == "ANALYZE"


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE extra(id INTEGER PRIMARY KEY); INSERT INTO extra VALUES(1)",
        "ALTER TABLE pk ADD COLUMN w DEFAULT 5",
        "DROP TABLE wr; UPDATE nopk SET b = 0",
        "CREATE INDEX more ON pk(v)",
        "DROP TABLE pk; CREATE TABLE pk(k TEXT PRIMARY KEY, v); INSERT INTO pk VALUES('1', 'x')",
        "VACUUM",
        "UPDATE pk SET v = 'z'; VACUUM",
        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = sql || ' ' WHERE name = 'pk'",
    ],
)
def test_a_changed_schema_cannot_be_told_by_pages_and_is_read_in_full(desk, script):
    copy = desk.copy()
    desk.writer.run(copy, script)

    assert copy.delta() == CannotTell("the schema was changed")
    assert copy.read() == desk.full(copy)


def test_vacuum_alone_changes_nothing(desk):
    copy = desk.copy()
    desk.writer.run(copy, "VACUUM")

    assert copy.read() == Delta()


def test_a_page_that_changes_hands_with_the_same_bytes_is_found(another):
    desk = another(
        "PRAGMA page_size = 512; CREATE TABLE one(id INTEGER PRIMARY KEY, t TEXT);"
        "CREATE TABLE two(id INTEGER PRIMARY KEY, t TEXT);"
        "WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 600)"
        "INSERT INTO one SELECT i, printf('row %d of many', i) FROM n"
    )

    found = exact(
        desk,
        desk.copy(),
        "CREATE TEMP TABLE held AS SELECT * FROM one; DELETE FROM one;"
        "INSERT INTO two SELECT * FROM held ORDER BY id; DROP TABLE held",
    )

    assert len(found["one"]) == len(found["two"]) == 600


def test_a_database_in_another_encoding_is_told_by_pages_too(another):
    desk = another(f"PRAGMA encoding = 'UTF-16le'; {SCRIPT}")

    found = exact(desk, desk.copy(), "UPDATE wr SET v = 'é😀'; INSERT INTO nopk VALUES('é', 1)")

    assert {row[1]["v"] for row in found["wr"].values()} == {"é😀"}
    assert len(found["nopk"]) == 1


def test_a_log_of_many_pages_is_read_to_its_end(another):
    desk = another(f"PRAGMA page_size = 512; {SCRIPT}")
    copy = desk.copy()
    script = "PRAGMA wal_autocheckpoint = 0;" + "UPDATE many SET n = n + 1;" * 100

    found = exact(
        desk, copy, f"{script} UPDATE many SET n = n - 100; DELETE FROM many WHERE id = 9"
    )

    assert list(found["many"]) == [9]
    assert Path(f"{copy.place}-wal").stat().st_size > 9000 * 512


def test_a_text_that_is_not_well_formed_is_a_change(desk):
    found = exact(desk, desk.copy(), "UPDATE many SET t = CAST(x'ff' AS TEXT) WHERE id = 1200")

    ((_, after),) = found["many"].values()
    assert after["t"].fields["bytes"] == b"\xff"


def test_a_created_and_a_dropped_table_are_named(desk):
    copy = desk.copy()
    desk.writer.run(copy, "CREATE TABLE extra(a); DROP TABLE wr")

    found = copy.read()

    assert (found.created, found.dropped) == (("extra",), ("wr",))
    assert len(found.tables["wr"]) == 2


def test_an_ignored_column_is_no_change_and_its_row_still_is(another):
    desk = another(ignore=dict.fromkeys(["pk.v", "nopk.b", "log", "many[7].t"], "random"))

    found = exact(
        desk,
        desk.copy(),
        "UPDATE pk SET v = 5; UPDATE nopk SET b = 6 WHERE a = 1; DELETE FROM nopk WHERE a = 3;"
        "UPDATE many SET t = 'x' WHERE id IN (7, 8); DELETE FROM pk WHERE id = 2",
    )

    assert set(found) == {"many", "nopk", "pk"}
    assert found["pk"] == {2: ({"id": 2}, None)}
    assert list(found["many"]) == [8]
    assert len(found["nopk"]) == 1


def test_rows_whose_key_is_ignored_are_compared_by_the_rest(another):
    desk = another(ignore={"many.id": "random"})

    assert exact(desk, desk.copy(), "UPDATE many SET id = id + 5000 WHERE id < 20") == {}


def test_nothing_written_is_an_empty_delta(desk):
    copy = desk.copy()
    desk.writer.row(copy, "SELECT * FROM pk")

    assert copy.delta() == copy.read() == Delta()


def test_what_is_not_committed_is_not_there(desk):
    copy = desk.copy()
    desk.writer.row(copy, "BEGIN")
    desk.writer.row(copy, "DELETE FROM pk")

    assert copy.delta() == copy.read() == Delta()
    desk.writer.row(copy, "COMMIT")
    assert len(copy.delta().tables["pk"]) == 3


def test_looking_twice_gives_the_same(desk):
    """Law 2."""
    copy = desk.copy()
    desk.writer.run(copy, "UPDATE many SET n = -1 WHERE id = 9")

    assert copy.delta() == copy.delta() == copy.read() == copy.read() == copy.delta()


@pytest.mark.parametrize("holds", [False, True])
def test_a_restored_copy_is_the_base_again_at_the_same_place(desk, holds):
    """Law 3."""
    copy, before = desk.copy(), desk.bytes()
    place = copy.place
    for _ in range(3):
        desk.writer.run(copy, "DELETE FROM many WHERE id % 2; DROP TABLE wr")
        if not holds:
            desk.writer.close(copy)

        copy.restore()

        assert copy.delta() == copy.read() == Delta()
        assert Path(copy.place).read_bytes() == Path(desk.base.held["database"]).read_bytes()
        # Reading the file here dropped this process's locks of it.
        copy.restore()
        if holds:
            desk.writer.close(copy)
        assert desk.writer.row(copy, "SELECT count(*) FROM wr") == ["done", [[2]]]
        assert desk.full(copy) == Delta()
    assert (copy.place, desk.bytes()) == (place, before)


def test_two_copies_of_one_base_never_see_each_other(desk):
    one, other = desk.copy(), desk.copy()
    desk.writer.run(one, "DELETE FROM many WHERE id = 1")
    desk.writer.run(other, "DELETE FROM many WHERE id = 2")

    assert [list(shown(copy.delta())["many"]) for copy in (one, other)] == [[1], [2]]
    one.restore()
    assert [bool(copy.delta()) for copy in (one, other)] == [False, True]


@pytest.mark.parametrize("size", [512, 65536])
@pytest.mark.parametrize("vacuum", ["NONE", "FULL"])
def test_pages_of_any_size_are_read(another, size, vacuum):
    desk = another(f"PRAGMA page_size = {size}; PRAGMA auto_vacuum = {vacuum}; {SCRIPT}")
    script = (
        "UPDATE big SET t = t || 'x' WHERE id IN (4, 5); DELETE FROM many WHERE id = 1499;"
        "DELETE FROM lines WHERE rowid = 1000; INSERT INTO many SELECT id + 9000, n, t FROM many LIMIT 9"
    )

    assert set(exact(desk, desk.copy(), script)) == {"big", "lines", "many"}


def test_a_plain_copy_is_read_and_put_back_as_a_whole(another):
    desk = another(wal=False)
    copy = desk.copy()
    desk.writer.run(copy, "UPDATE wr SET v = 9 WHERE k = 'a'")

    assert isinstance(copy.delta(), CannotTell)
    assert list(shown(copy.read())) == ["wr"]
    assert desk.writer.row(copy, "PRAGMA journal_mode") == ["done", [["delete"]]]
    copy.restore()
    assert copy.read() == Delta()


def test_a_closed_copy_leaves_nothing(desk):
    copy = desk.copy()
    desk.writer.run(copy, "DELETE FROM pk")

    copy.close()
    desk.copies.remove(copy)

    assert list(Path(copy.place).parent.iterdir()) == []
