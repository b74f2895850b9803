"""What a world can do to its database: named or undone, and never taken for the base.

Each planted defect has a twin that passes: the same writes by the usual way.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from cleandesk.errors import WorldError
from cleandesk.state.canon import decode
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.surfaces.sqlite import Sqlite, sqlite
from cleandesk.surfaces.sqlite.lone import alone, is_locked

pytestmark = pytest.mark.service


SCRIPT = """
CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO t SELECT i, printf('row %d', i) FROM n;
"""

PROGRAM = """
import os, shutil, sqlite3, sys
place = sys.argv[1]
def connect():
    held = sqlite3.connect(place, isolation_level=None, timeout=0.1)
    held.execute("PRAGMA synchronous = OFF")
    return held
def say(*words):
    print(*words, flush=True)
def wait():
    sys.stdin.readline()
"""


@pytest.fixture
def world(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Ground(tmp_path, stack)


class Ground:
    """A base, a copy, and programs of a world over it."""

    def __init__(self, folder, stack, **terms):
        (folder / "seed.sql").write_text(SCRIPT)
        (folder / "base").mkdir()
        (folder / "copy").mkdir()
        self.folder, self.stack = folder, stack
        self.terms = sqlite("seed.sql", **terms)
        self.base = Sqlite().prepare("db", self.terms, folder / "base", lambda text: folder / text)
        self.copy = Sqlite().open_copy("db", self.terms, self.base.held, folder / "copy")
        self.place = Path(self.copy.place)
        self.digest = self.bytes()
        stack.callback(self.copy.close)

    def bytes(self):
        return hashlib.sha256(Path(self.base.held["database"]).read_bytes()).hexdigest()

    def start(self, code):
        """Start a program of the world; it is at its first wait() when this returns."""
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM + code + "\nsay('at rest'); wait()", self.copy.place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.stack.callback(end, program)
        return program

    def run(self, code):
        """Run a program of the world to its end, and return what it said."""
        program = self.start(code)
        said = rest(program)
        go_on(program)
        program.wait()
        return said

    def require_base(self):
        """Check law 3: the copy is the base again, for us and for whoever opens it next."""
        assert self.copy.delta() == self.copy.read() == Delta()
        assert self.run("say(connect().execute('SELECT count(*), min(v) FROM t').fetchall())") == [
            "[(2000, 'row 1')]"
        ]
        assert self.bytes() == self.digest


def rest(program):
    said = []
    while (line := program.stdout.readline().rstrip()) not in {"at rest", ""}:
        said.append(line)
    return said


def go_on(program):
    program.stdin.write("\n")
    program.stdin.flush()


def end(program):
    program.kill()
    program.stdin.close()
    program.stdout.close()
    program.wait()


def rows(delta):
    return {decode(key) for key in delta.tables.get("t", {})}


CHANGE = "held = connect(); held.execute(\"UPDATE t SET v = 'z' WHERE id = 7\")\n"


def test_the_clean_twin_is_told_by_the_fast_way(world):
    world.run(CHANGE)
    file = world.place.stat().st_ctime_ns

    assert rows(world.copy.delta()) == {7}
    world.copy.restore()
    assert world.place.stat().st_ctime_ns == file
    world.require_base()


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("PRAGMA wal_checkpoint(TRUNCATE)", "[(1, 1, 0)]"),
        ("PRAGMA wal_checkpoint(RESTART)", "[(1, 1, 0)]"),
        ("PRAGMA wal_checkpoint(PASSIVE)", "[(0, 1, 0)]"),
    ],
)
def test_a_checkpoint_that_the_world_asks_for_does_not_reach_the_file(world, asked, answer):
    before = world.place.stat().st_mtime_ns

    said = world.run(f"{CHANGE}say(held.execute('{asked}').fetchall())")

    assert said == [answer]
    assert world.place.stat().st_mtime_ns == before
    assert rows(world.copy.delta()) == rows(world.copy.read()) == {7}


def test_a_world_that_asks_for_another_journal_mode_does_not_get_it(world):
    said = world.run(
        CHANGE + "try: held.execute('PRAGMA journal_mode = DELETE')\n"
        "except sqlite3.OperationalError as error: say(error)"
    )

    assert said == ["database is locked"]
    assert rows(world.copy.delta()) == {7}


def test_a_world_that_switches_to_a_rollback_journal_is_read_in_a_plain_copy(tmp_path):
    with contextlib.ExitStack() as stack:
        world = Ground(tmp_path, stack, wal=False)

        world.run(
            CHANGE
            + "held.execute('PRAGMA journal_mode = WAL'); held.execute('DELETE FROM t WHERE id = 8')"
        )

        assert rows(world.copy.read()) == {7, 8}
        world.copy.restore()
        assert world.copy.read() == Delta()


REPLACED = {
    "replaced by another file": CHANGE.replace("connect()", "sqlite3.connect(place + '.new')").replace(
        "held.execute", "held.executescript('CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);"
        "INSERT INTO t VALUES(7, NULL)'); held.execute", 1
    ) + "held.commit(); held.close(); os.replace(place + '.new', place)",
    "copied over in place": "shutil.copyfile(place, place + '.old'); held = sqlite3.connect(place + '.old');"
    "held.execute('DELETE FROM t WHERE id = 7'); held.commit(); held.execute('PRAGMA wal_checkpoint(TRUNCATE)');"
    "held.close(); shutil.copyfile(place + '.old', place)",
    "written by bytes": "file = open(place, 'r+b'); data = file.read(); at = data.index(b'row 700');"
    "file.seek(at); file.write(b'ROW')",
    "cut to nothing": "os.truncate(place, 0)",
    "made anew": "os.remove(place); os.remove(place + '-wal'); os.remove(place + '-shm');"
    "held = connect(); held.execute('CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)')",
}  # fmt: skip


@pytest.mark.parametrize("way", REPLACED)
def test_a_file_that_the_world_wrote_past_sqlite_is_noticed_and_read_as_it_is(world, way):
    world.run(REPLACED[way])

    assert isinstance(world.copy.delta(), CannotTell)
    found = world.copy.read()
    assert found
    assert isinstance(world.copy.delta(), CannotTell)
    assert world.copy.read() == found
    world.copy.restore()
    world.require_base()


def test_a_touched_file_is_read_in_full_and_is_the_base(world):
    world.run("os.utime(place)")

    assert isinstance(world.copy.delta(), CannotTell)
    assert world.copy.read() == Delta()


def test_a_file_that_a_tool_puts_times_back_on_is_noticed_too(world):
    world.run(
        "was = os.stat(place); file = open(place, 'r+b'); file.seek(5000); file.write(b'?'); file.close();"
        "os.utime(place, ns=(was.st_atime_ns, was.st_mtime_ns))"
    )

    assert isinstance(world.copy.delta(), CannotTell)


def test_a_deleted_database_cannot_be_read_and_comes_back_with_a_restore(world):
    world.run("os.remove(place)")

    assert isinstance(world.copy.delta(), CannotTell)
    with pytest.raises(WorldError, match="CD-242"):
        world.copy.read()
    world.copy.restore()
    world.require_base()


def test_a_database_turned_into_a_link_or_a_folder_comes_back_with_a_restore(world):
    for code in (
        "os.rename(place, place + '.x'); os.symlink(place + '.x', place)",
        "os.remove(place); os.mkdir(place)",
    ):
        world.run(code)
        assert isinstance(world.copy.delta(), CannotTell)
        world.copy.restore()
        world.require_base()


def test_a_damaged_database_is_no_base(world):
    world.run("file = open(place, 'r+b'); file.seek(4096); file.write(b'\\xaa' * 9000)")

    assert isinstance(world.copy.delta(), CannotTell)
    with pytest.raises(WorldError, match="CD-242"):
        world.copy.read()
    world.copy.restore()
    world.require_base()


def test_a_log_deleted_under_an_open_connection_is_never_taken_for_the_base(world):
    program = world.start(CHANGE + "os.remove(place + '-wal'); os.remove(place + '-shm')")
    rest(program)

    assert isinstance(world.copy.delta(), CannotTell)
    for _ in range(2):
        with pytest.raises(WorldError, match="CD-242"):
            world.copy.read()
    world.copy.restore()
    world.require_base()


def test_a_program_killed_in_the_middle_of_a_write_leaves_what_it_committed(world):
    program = world.start(
        CHANGE + "held.execute('PRAGMA cache_size = 1'); held.execute('BEGIN');"
        "held.execute(\"UPDATE t SET v = v || printf('%.500c', 'x')\")"
    )
    rest(program)
    assert world.place.with_name(f"{world.place.name}-wal").stat().st_size > 500_000
    program.send_signal(signal.SIGKILL)
    program.wait()

    assert rows(world.copy.delta()) == rows(world.copy.read()) == {7}
    world.copy.restore()
    world.require_base()


@pytest.mark.parametrize("moment", range(6))
def test_a_program_killed_anywhere_is_undone(world, moment):
    program = world.start(
        "say('at rest')\nheld = connect()\nwhile True: held.execute('UPDATE t SET v = v || 1 WHERE id < 300'); say()"
    )
    rest(program)
    for _ in range(moment):
        program.stdout.readline()
    program.send_signal(signal.SIGKILL)
    program.wait()

    found = world.copy.delta()
    assert found == world.copy.read()
    world.copy.restore()
    world.require_base()


@pytest.mark.parametrize(
    "locks", ["held.execute('SELECT 1 FROM t').fetchone()", "held.execute('BEGIN IMMEDIATE')"]
)
def test_whoever_still_holds_the_old_file_cannot_reach_the_next_state(world, locks):
    program = world.start(f"{CHANGE}{locks}; say('at rest'); wait(); held.execute(\"UPDATE t SET v = 'late'\");"
                          "say('at rest'); wait(); held.close()")  # fmt: skip
    rest(program)

    world.copy.restore()

    world.require_base()
    go_on(program)
    rest(program)
    world.require_base()
    world.run(CHANGE)
    go_on(program)
    rest(program)
    # Its last close takes nothing away that is the new file's.
    assert rows(world.copy.delta()) == rows(world.copy.read()) == {7}
    world.copy.restore()
    world.require_base()


def test_a_connection_that_only_opened_the_file_is_seen_too(world):
    program = world.start("file = open(place, 'rb')")
    rest(program)
    before = world.place.stat().st_ino

    world.copy.restore()

    assert world.place.stat().st_ino != before
    world.require_base()


def test_the_kernel_says_who_else_has_a_file_open(world, tmp_path):
    path = tmp_path / "plain.db"
    shutil.copyfile(world.base.held["database"], path)
    with alone(path) as is_alone:
        assert is_alone
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + "held = connect(); held.execute('SELECT 1 FROM t').fetchone(); say(); wait()",
         str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    program.stdout.readline()
    with alone(path) as is_alone:
        assert not is_alone
    file = os.open(path, os.O_RDWR)
    assert is_locked(file)
    end(program)
    assert not is_locked(file)
    os.close(file)


def test_a_file_left_beside_the_database_is_gone_after_a_restore(world):
    world.run(
        "held = connect(); held.execute('ATTACH ? AS other', (place + '.cache',));"
        "held.execute('CREATE TABLE other.c(a)'); os.mkdir(place + '.d'); open(place + '.d/x', 'w')"
    )
    assert world.copy.delta() == world.copy.read() == Delta()

    world.copy.restore()

    assert sorted(each.name for each in world.place.parent.iterdir()) == [
        "seed.db", "seed.db-shm", "seed.db-wal"
    ]  # fmt: skip
    assert any("attached" in text for text in world.base.not_read)


def test_a_stale_log_beside_a_fresh_file_is_not_taken_up(world):
    world.run(
        "shutil.copyfile(place + '-wal', place + '.saved')\n"
        + CHANGE
        + "shutil.copyfile(place + '-wal', place + '.saved')"
    )
    saved = world.place.with_name("seed.db.saved").read_bytes()

    world.copy.restore()

    assert len(saved) > 32
    assert world.place.with_name("seed.db-wal").stat().st_size == 0
    world.require_base()


def test_a_writer_that_races_the_reading_is_never_called_the_same(world):
    """A reading is one committed state, or none at all."""
    program = world.start(
        "say('at rest')\nheld = connect()\nfor n in range(100000):\n"
        "  held.execute('BEGIN'); held.execute('UPDATE t SET v = ? WHERE id = 1', (str(n),));"
        "  held.execute('UPDATE t SET v = ? WHERE id = 2000', (str(n),)); held.execute('COMMIT'); say()"
    )
    rest(program)
    for _ in range(3):
        program.stdout.readline()
    answers = []
    for _ in range(60):
        answers.append(world.copy.delta())
        program.stdout.readline()
    end(program)

    told = [answer for answer in answers if not isinstance(answer, CannotTell)]
    for answer in told:
        first, last = (decode(answer.tables["t"][key][1])["v"] for key in (b"1", b"2000"))
        assert first == last
    assert {answer.why for answer in answers if isinstance(answer, CannotTell)} <= {
        "somebody wrote while it was read",
        "somebody writes all the time",
    }
    assert world.copy.delta() == world.copy.read()


def test_a_full_disk_during_a_restore_is_said_and_the_next_restore_is_right(world):
    program = world.start(CHANGE)
    rest(program)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(WorldError, match="CD-241"):
            world.copy.restore()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)

    assert isinstance(world.copy.delta(), CannotTell)
    end(program)
    world.copy.restore()
    world.require_base()


def test_a_source_in_the_middle_of_a_write_becomes_a_whole_base(tmp_path):
    source = tmp_path / "live.db"
    with contextlib.closing(sqlite3.connect(source)) as held:
        held.executescript(SCRIPT)
    code = (
        PROGRAM + "held = connect(); held.execute('PRAGMA cache_size = 1'); held.execute('BEGIN');"
        "held.execute(\"UPDATE t SET v = v || printf('%.500c', 'x')\"); say(); wait()"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code, str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    program.stdout.readline()
    end(program)
    assert source.with_name("live.db-journal").exists()
    before = source.read_bytes()
    (tmp_path / "base").mkdir()

    base = Sqlite().prepare(
        "db", sqlite("live.db"), tmp_path / "base", lambda text: tmp_path / text
    )

    assert base.tables["t"].value()[1] == {"id": 1, "v": "row 1"}
    assert source.read_bytes() == before
    assert source.with_name("live.db-journal").exists()
