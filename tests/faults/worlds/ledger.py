"""Worlds over a SQLite file, each with one defect, and their clean twin."""

from __future__ import annotations

import sqlite3
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
                        db.execute("INSERT INTO visit (what) VALUES ('again')")
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


class KnownTooLate(Honest):
    contract = None

    def __init__(self, at):
        super().__init__(at)
        self.contract = Honest.contract


DEFECTS = {each.__name__: each for each in Honest.__subclasses__()} | {"Honest": Honest}
