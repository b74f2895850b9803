"""Reading any SQLite database as records: exact values, keys of every kind, no trace left."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3

import apsw
import pytest

from cleandesk.errors import SuiteError, WorldError
from cleandesk.state.canon import Named, encode
from cleandesk.state.delta import Delta
from cleandesk.surfaces.sqlite import Sqlite, sqlite
from cleandesk.surfaces.sqlite.comparing import compare
from cleandesk.surfaces.sqlite.reading import memory, proof, read_database
from cleandesk.surfaces.sqlite.rows import encode_list, encode_rows

CELLS = [None, 0, -1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e300, float("inf"), float("-inf"), "", "a",
         "a\0b", "$5", '"},"",{', "é😀", b"", b"\x00\xff", Named("sqlite:text", {"bytes": b"\xff"})]  # fmt: skip


@pytest.fixture
def make(tmp_path):
    def made(script, name="a.db", rows=()):
        path = tmp_path / name
        with contextlib.closing(sqlite3.connect(path)) as held, held:
            held.executescript(script)
            for statement, values in rows:
                held.execute(statement, values)
        return path

    return made


def values(path, **terms):
    tables, _ = read_database(path, "db", sqlite("", **terms))
    return {name: table.value() for name, table in tables.items()}


def prepared(folder, source, **terms):
    place = folder / "base"
    place.mkdir()
    return Sqlite().prepare("db", sqlite(str(source), **terms), place, lambda text: folder / text)


def test_cells_keep_their_type_and_sign(make):
    path = make("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    with contextlib.closing(sqlite3.connect(path)) as held, held:
        held.executemany("INSERT INTO t VALUES(?, ?)", enumerate(CELLS[:-1]))
        held.execute("INSERT INTO t VALUES(?, CAST(x'ff' AS TEXT))", (len(CELLS) - 1,))

    records = read_database(path)[0]["t"].records

    assert records == {
        encode(place): encode({"id": place, "v": cell}) for place, cell in enumerate(CELLS)
    }


def test_texts_in_another_encoding_are_the_same_texts(make):
    script = "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 'é😀' || char(0))"
    one = make(script)
    other = make(f"PRAGMA encoding = 'UTF-16le'; {script}", "b.db")

    assert values(one)["t"] == values(other)["t"] == {1: {"id": 1, "v": "é😀\0"}}


def test_a_text_of_another_encoding_that_is_not_well_formed_is_kept_as_bytes(make):
    path = make(
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
        "INSERT INTO t VALUES(1, CAST(x'00d8' AS TEXT)), (2, CAST(x'01d8' AS TEXT))"
    )

    assert [row["v"].fields["bytes"] for row in values(path)["t"].values()] == [
        b"\x00\xd8",
        b"\x01\xd8",
    ]


def test_rows_after_a_text_that_is_not_well_formed_are_read_once_each(make):
    path = make("CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
    with contextlib.closing(sqlite3.connect(path)) as held, held:
        held.executemany("INSERT INTO t VALUES(?, ?)", ((n, f"row {n}") for n in range(5000)))
        held.execute("UPDATE t SET v = CAST(x'c328' AS TEXT) WHERE id = 3000")

    found = values(path)["t"]

    assert found.pop(3000)["v"] == Named("sqlite:text", {"bytes": b"\xc3\x28"})
    assert found == {n: {"id": n, "v": f"row {n}"} for n in range(5000) if n != 3000}


def test_an_index_that_holds_all_columns_changes_no_reading(make):
    path = make("CREATE TABLE t(a, b); CREATE INDEX i ON t(b, a)")
    with contextlib.closing(sqlite3.connect(path)) as held, held:
        held.executemany("INSERT INTO t VALUES(?, ?)", ((n, -n) for n in range(3000)))
        held.execute("UPDATE t SET b = CAST(x'ff' AS TEXT) WHERE a = 1500")

    found = values(path)["t"].values()

    assert sorted(row["a"] for row in found) == list(range(3000))


def test_keys_are_the_primary_keys(make):
    path = make(
        "CREATE TABLE one(k TEXT PRIMARY KEY, v); INSERT INTO one VALUES('a', 1);"
        "CREATE TABLE two(b, a, PRIMARY KEY(a, b)); INSERT INTO two VALUES('x', 1);"
        "CREATE TABLE without(k PRIMARY KEY) WITHOUT ROWID; INSERT INTO without VALUES(2.5);"
        "CREATE TABLE down(k INTEGER PRIMARY KEY DESC, v); INSERT INTO down VALUES(7, 1)"
    )

    found = values(path)

    assert list(found["one"]) == ["a"]
    assert list(found["two"]) == [(1, "x")]
    assert list(found["without"]) == [2.5]
    assert list(found["down"]) == [7]


def test_rows_without_a_key_are_named_by_what_they_hold(make):
    path = make("CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2), (3, 4), (1, 2)")
    stem = hashlib.sha256(encode({"a": 1, "b": 2})).hexdigest()[:16]

    found = values(path)["t"]

    assert len(found) == 3
    assert found[stem] == found[f"{stem}#2"] == {"a": 1, "b": 2}


def test_rows_whose_key_holds_null_are_all_read(make):
    path = make("CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES(NULL, 1), (NULL, 1)")

    found = values(path)["t"]

    assert [key[0] for key in found] == [None, None]
    assert list(found.values()) == [{"k": None, "v": 1}] * 2


def test_a_table_whose_columns_take_all_names_of_the_row_number_is_read(make):
    path = make("CREATE TABLE t(rowid, _rowid_, oid); INSERT INTO t VALUES(1, 2, 3), (1, 2, 3)")

    assert len(values(path)["t"]) == 2
    assert compare(path, path) == Delta()


def test_generated_columns_are_read(make):
    path = make(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b AS (a * 2), c AS (a + 1) STORED);"
        "INSERT INTO t(a) VALUES(3)"
    )

    assert values(path)["t"] == {1: {"id": 1, "a": 3, "b": 6, "c": 4}}


def test_schema_sequence_and_settings_are_tables_of_their_own(make):
    path = make(
        "PRAGMA user_version = 5; CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT);"
        "INSERT INTO t VALUES(7); CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER DELETE ON t"
        " BEGIN SELECT 1; END"
    )

    found = values(path)

    assert found["sqlite_sequence"] == {"t": {"name": "t", "seq": 7}}
    assert found["sqlite_pragma"]["user_version"] == 5
    assert set(found["sqlite_schema"]) == {"t", "v", ("trigger", "t")}
    assert set(found["sqlite_schema"]["v"]) == {"sql", "tbl_name", "type"}
    assert "v" not in found


def test_a_full_text_table_is_read_as_its_rows(make):
    path = make("CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES('hello')")

    tables, not_read = read_database(path)

    assert tables["f"].value() == {1: {"body": "hello"}}
    assert not [name for name in tables if name.startswith("f_")]
    assert any("index and settings of virtual table f" in text for text in not_read)


def test_a_full_text_table_whose_first_text_is_not_well_formed_is_read_as_its_rows(make):
    path = make(
        "CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES(CAST(x'ff' AS TEXT)), ('b')"
    )

    tables, _ = read_database(path)

    assert [row["body"] for row in tables["f"].value().values()] == [
        Named("sqlite:text", {"bytes": b"\xff"}),
        "b",
    ]
    assert not [name for name in tables if name.startswith("f_")]


def test_a_full_text_table_without_rows_of_its_own_is_read_where_it_keeps_them(make):
    path = make("CREATE VIRTUAL TABLE f USING fts5(body, content=''); INSERT INTO f VALUES('hi')")

    tables, not_read = read_database(path)

    assert "f" not in tables
    assert tables["f_data"].records
    assert any("rows of virtual table f" in text for text in not_read)


def test_an_empty_table_is_a_table(make):
    assert values(make("CREATE TABLE t(a)"))["t"] == {}


def test_an_ignored_column_is_not_read_and_noted(tmp_path, make):
    make("CREATE TABLE t(id INTEGER PRIMARY KEY, otp); INSERT INTO t VALUES(1, 'x')", "s.db")

    base = prepared(tmp_path, "s.db", ignore={"t.otp": "random", "gone.otp": "old"})

    assert base.tables["t"].value() == {1: {"id": 1}}
    assert base.ignored == {"db.t[*].otp"}


def test_one_row_or_a_whole_table_can_be_ignored(make):
    path = make(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 1), (2, 2);"
        "CREATE TABLE log(m)"
    )

    found = values(path, ignore={"t[1]": "why", "t[2].v": "why", "log": "why"})

    assert found["t"] == {2: {"id": 2}}
    assert "log" not in found


def test_rows_whose_key_is_ignored_are_named_by_the_rest(make):
    script = "CREATE TABLE t(id TEXT PRIMARY KEY, v); INSERT INTO t VALUES('{}', 1)"
    one, other = make(script.format("a")), make(script.format("b"), "b.db")
    terms = sqlite("", ignore={"t.id": "random"})

    assert read_database(one, "db", terms)[0] == read_database(other, "db", terms)[0]
    assert compare(one, other, "db", terms) == Delta()


def test_what_is_not_committed_to_the_file_but_to_its_log_is_read(tmp_path):
    path = tmp_path / "a.db"
    with contextlib.closing(sqlite3.connect(path)) as held:
        held.execute("PRAGMA journal_mode = WAL")
        with held:
            held.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
            held.execute("INSERT INTO t VALUES(1)")

        assert values(path)["t"] == {1: {"id": 1}}
        assert prepared(tmp_path, "a.db").tables["t"].value() == {1: {"id": 1}}


def test_reading_leaves_nothing_beside_the_file(tmp_path, make):
    path = make("PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    before = path.read_bytes()

    read_database(path)
    compare(path, path)
    proof(path)

    assert [each.name for each in tmp_path.iterdir()] == ["a.db"]
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database at all" * 100)

    with pytest.raises(WorldError, match="CD-242"):
        read_database(path)


def test_a_damaged_database_is_refused(make):
    path = make("CREATE TABLE t(a)", rows=[("INSERT INTO t VALUES(?)", ("x" * 9000,))] * 9)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xaa" * (len(data) - 4096)
    path.write_bytes(data)

    with pytest.raises(WorldError, match="CD-242"):
        read_database(path)


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(WorldError, match="CD-243") as refused:
        prepared(tmp_path, "gone.db")

    assert "gone.db" in str(refused.value)


def test_a_script_is_a_source(tmp_path):
    (tmp_path / "s.sql").write_text(
        "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES(4)"
    )

    base = prepared(tmp_path, "s.sql")

    assert base.tables["t"].value() == {4: {"id": 4}}
    assert base.held["name"] == "s.db"


@pytest.mark.parametrize("script", ["CREATE TABLE t(", "BEGIN; CREATE TABLE t(a)"])
def test_a_script_that_does_not_run_to_its_end_is_refused(tmp_path, script):
    (tmp_path / "s.sql").write_text(script)

    with pytest.raises(WorldError, match="CD-243"):
        prepared(tmp_path, "s.sql")


def test_two_databases_are_compared_row_by_row(make):
    script = "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 1), (2, -0.0)"
    one = make(script)
    other = make(f"{script}; UPDATE t SET v = 0.0 WHERE id = 2; CREATE TABLE n(a)", "b.db")

    found = compare(one, other)

    assert found.tables["t"] == {b"2": (b'{"id":2,"v":-0.0}', b'{"id":2,"v":0.0}')}
    assert found.created == ("n",)
    assert found == Delta.between(read_database(one)[0], read_database(other)[0])


def test_the_same_rows_in_another_order_are_the_same_database(make):
    script = "CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE TABLE n(a)"
    keys = [str(n) for n in range(300)]
    rows = [("INSERT INTO t VALUES(?, 1)", (key,)) for key in keys]
    rows += [("INSERT INTO n VALUES(?)", (key,)) for key in keys]
    one, other = make(script, rows=rows), make(script, "b.db", rows[::-1])

    assert compare(one, other) == Delta()
    assert proof(one) == proof(other)


def test_a_table_with_another_column_is_compared_by_its_records(make):
    one = make("CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES(1)")
    other = make("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 2)", "b.db")

    assert compare(one, other) == Delta.between(read_database(one)[0], read_database(other)[0])


def test_an_order_that_only_the_world_knows_does_not_stop_the_reading(make, tmp_path):
    path = tmp_path / "a.db"
    with contextlib.closing(sqlite3.connect(path)) as held, held:
        held.create_collation("turned", lambda one, other: (one < other) - (one > other))
        held.execute("CREATE TABLE t(k TEXT COLLATE turned PRIMARY KEY) WITHOUT ROWID")
        held.executemany("INSERT INTO t VALUES(?)", [("a",), ("b",)])

    assert list(values(path)["t"]) == ["b", "a"]
    assert compare(path, path) == Delta()


@pytest.mark.parametrize("change", ["UPDATE t SET v = 1.0", "DELETE FROM n WHERE rowid = 1"])
def test_a_proof_changes_with_the_type_of_a_cell_and_with_a_row(make, change):
    script = "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 1);"
    script += "CREATE TABLE n(a); INSERT INTO n VALUES(1), (1)"

    assert proof(make(script)) != proof(make(f"{script}; {change}", "b.db"))


def test_the_base_answers_questions_in_row_order(tmp_path, make):
    make(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 'a'), (2, 'b')", "s.db"
    )
    held = prepared(tmp_path, "s.db").held

    assert Sqlite().query(held, "SELECT id, v FROM t ORDER BY id DESC") == [
        {"id": 2, "v": "b"},
        {"id": 1, "v": "a"},
    ]
    assert Sqlite().query(held, "SELECT id FROM t WHERE id = 9") == []


@pytest.mark.parametrize(
    "text",
    [
        "SELEC 1",
        "SELECT gone FROM t",
        "DELETE FROM t",
        "ATTACH 'x.db' AS x",
        "SELECT 1 AS a, 2 AS a",
        "SELECT CAST(x'ff' AS TEXT) AS a",
    ],
)
def test_a_wrong_question_is_the_suites(tmp_path, make, text):
    make("CREATE TABLE t(id)", "s.db")
    held = prepared(tmp_path, "s.db").held

    with pytest.raises(SuiteError, match="CD-419"):
        Sqlite().query(held, text)


def test_a_base_can_be_held_in_memory(tmp_path, make):
    make("PRAGMA journal_mode = WAL; CREATE TABLE t(id); INSERT INTO t VALUES(1)", "s.db")
    data = memory(prepared(tmp_path, "s.db").held)

    with contextlib.closing(sqlite3.connect(":memory:")) as held:
        held.deserialize(data)
        assert held.execute("SELECT id FROM t").fetchall() == [(1,)]
    with contextlib.closing(apsw.Connection(":memory:")) as held:
        held.deserialize("main", data)
        assert held.execute("SELECT id FROM t").fetchall() == [(1,)]


def test_rows_encoded_together_are_spelled_as_each_alone():
    rows = [(one, other) for one in CELLS for other in CELLS]

    assert encode_rows(["", "b"], rows) == [encode({"": one, "b": other}) for one, other in rows]
    assert encode_rows(["$a", "b"], rows) == [
        encode({"$a": one, "b": other}) for one, other in rows
    ]
    assert encode_list(rows) == encode([list(row) for row in rows])
