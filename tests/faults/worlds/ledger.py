"""Worlds over a SQLite file, each with one defect, and their clean twin."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import cleandesk as cd

BUILT_IN = uuid.uuid4().hex


class Honest:
    """The clean twin: writes with Python's own library, and keeps nothing."""

    contract = cd.contract("ledger", "1", db=cd.sqlite("ledger.sql", incidental=["visit"]))

    def __init__(self, at):
        self.at = at
        self.db = None

    def reset(self, *, seed=None, options=None):
        self.close()
        self.db = sqlite3.connect(self.at.db, check_same_thread=False)
        self.write("INSERT INTO visit (what) VALUES ('reset')")
        self.begin(seed)
        return self.seen(), {}

    def begin(self, seed):
        """What a defect does in reset."""

    def begin_late(self):
        self.write("UPDATE note SET text = 'late' WHERE id = 2")

    def step(self, action):
        self.write("INSERT INTO note (text) VALUES (?)", action)
        return self.seen(), 0.0, False, False, {}

    def close(self):
        if self.db is not None:
            self.db.close()
            self.db = None

    def write(self, statement, *values):
        with self.db:
            self.db.execute(statement, values)

    def seen(self):
        return [text for (text,) in self.db.execute("SELECT text FROM note ORDER BY id")]


class RowOfItsProcess(Honest):
    def begin(self, seed):
        self.write("UPDATE note SET text = ? WHERE id = 2", BUILT_IN)


class RowOfTheMachinesClock(Honest):
    def begin(self, seed):
        self.write("INSERT INTO note VALUES (7, 'at ' || strftime('%Y %f', 'now') || random())")


class GoesOnWriting(Honest):
    """Nobody can say what its state is: it is written while it is read."""

    def begin(self, seed):
        db = sqlite3.connect(self.at.db, check_same_thread=False, timeout=60)
        db.execute("PRAGMA synchronous = OFF")
        is_at_it = threading.Event()

        def write():
            while True:
                for _ in range(3):
                    with db:
                        db.execute("INSERT INTO visit (what) VALUES (?)", (BUILT_IN,))
                is_at_it.set()

        threading.Thread(target=write, daemon=True).start()
        is_at_it.wait()


class DeletesItsFile(Honest):
    def step(self, action):
        for end in ("", "-wal", "-shm"):
            Path(self.at.db + end).unlink()
        return [], 0.0, False, False, {}


class KeepsItsConnection(Honest):
    """In a shared world the file is put back under a connection that stays open."""

    def reset(self, *, seed=None, options=None):
        if self.db is None:
            return super().reset(seed=seed)
        return self.seen(), {}


class OtherTable(Honest):
    def step(self, action):
        self.write("CREATE TABLE IF NOT EXISTS extra (id INTEGER PRIMARY KEY)")
        return self.seen(), 0.0, False, False, {}


class LeavesAWriter(Honest):
    """What it starts leaves its group and its session, and writes on under the next world."""

    _LEAVES = """
import os, sqlite3, sys, time
if os.fork() or (os.setsid() or os.fork()):
    os._exit(0)
while True:
    try:
        with sqlite3.connect(sys.argv[1]) as db:
            db.execute("INSERT INTO visit (what) VALUES ('long gone')")
            db.execute("INSERT INTO note (text) VALUES ('long gone')")
        db.close()
    except sqlite3.Error:
        time.sleep(0.001)
"""

    def step(self, action):
        seen = super().step(action)
        if action == "added 2":
            subprocess.run([sys.executable, "-c", self._LEAVES, self.at.db], check=True)
            while (
                self.db.execute("SELECT 1 FROM visit WHERE what = 'long gone'").fetchone() is None
            ):
                pass
        return seen


class Declares(Honest):
    """Clean: no note of the base is as declared, and each is written before the start."""

    contract = cd.contract(
        "ledger",
        "1",
        db=cd.sqlite(
            "ledger.sql", incidental=["visit"], declared={"note.text": "choice a b added"}
        ),
    )

    def begin(self, seed):
        self.write("UPDATE note SET text = 'a'")


class LeavesOneUndeclared(Declares):
    def begin(self, seed):
        self.write("UPDATE note SET text = 'a' WHERE id = 1")


class Writes:
    """The clean twin over files: opens them when it needs them."""

    contract = cd.contract("papers", "1", papers=cd.files("papers"))

    def __init__(self, at):
        self.at = at

    def reset(self, *, seed=None, options=None):
        return "", {}

    def step(self, action):
        with (Path(self.at.papers) / "log.txt").open("a") as file:
            file.write(f"{action}\n")
        return "", 0.0, False, False, {}


class WritesItsLog(Writes):
    """Clean: a log that does not exist at the base is free to change, and a whole folder."""

    contract = cd.contract(
        "papers", "2", papers=cd.files("papers", incidental=["files[new.log]", "files[old/**]"])
    )

    def step(self, action):
        (Path(self.at.papers) / "new.log").write_text(str(action))
        (Path(self.at.papers) / "old" / "more.txt").write_text(str(action))
        return super().step(action)


class OpensItsDatabase(Honest):
    """Clean: SQLite keeps files beside an open database, which are nobody's leftovers."""

    contract = cd.contract(
        "ledger",
        "2",
        db=cd.sqlite("ledger.sql", incidental=["visit"]),
        me=cd.process("descriptors"),
    )


class KeepsItsLog(Writes):
    """What it writes after a reset is in a file that nobody reads any more."""

    def __init__(self, at):
        self.log = (Path(at.papers) / "log.txt").open("a")

    def step(self, action):
        self.log.write(f"{action}\n")
        self.log.flush()
        return "", 0.0, False, False, {}


class StaysInItsFolder(Writes):
    def __init__(self, at):
        super().__init__(at)
        os.chdir(at.papers)


class MakesItsTable(Honest):
    """Clean: its tables are made by its reset, as migrations would."""

    def begin(self, seed):
        self.write("CREATE TABLE made (id INTEGER PRIMARY KEY, text TEXT)")

    def step(self, action):
        self.write("INSERT INTO made (text) VALUES (?)", action)
        return self.seen(), 0.0, False, False, {}


class KnownTooLate(Honest):
    contract = None

    def __init__(self, at):
        super().__init__(at)
        self.contract = Honest.contract


DEFECTS = {each.__name__: each for each in Honest.__subclasses__()} | {"Honest": Honest}
