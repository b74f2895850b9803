"""What programs do to a SQLite database, with the library that Python brings along."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

SEED = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, otp INTEGER);
INSERT INTO users VALUES (1, 'ada', 7), (2, 'bob', 8), (3, 'cy', NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER, total REAL);
INSERT INTO orders (user, total) VALUES (1, 2.5), (2, 3);
CREATE INDEX by_user ON orders (user);
CREATE TABLE settings (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO settings VALUES ('theme', 'dark'), ('size', 3);
CREATE TABLE log (line TEXT);
INSERT INTO log VALUES ('start'), ('start'), ('end');
"""

MANY_KINDS = """
CREATE TABLE pairs (a, b, v, PRIMARY KEY (a, b));
INSERT INTO pairs VALUES (1, 'x', 1), (1, 'y', 2), (NULL, 'x', 3), (NULL, 'x', 4);
CREATE TABLE pages (id INTEGER PRIMARY KEY, body BLOB);
INSERT INTO pages VALUES (1, zeroblob(40000)), (2, x'00ff');
CREATE TABLE made (id INTEGER PRIMARY KEY, n INT, twice AS (2 * n) STORED, half AS (n / 2));
INSERT INTO made (id, n) VALUES (1, 10);
CREATE TABLE "odd name" ("a b" TEXT UNIQUE, "select");
INSERT INTO "odd name" VALUES ('it''s', 1), (NULL, 2);
CREATE TABLE rowless (name TEXT);
CREATE VIEW names AS SELECT name FROM users;
CREATE VIRTUAL TABLE notes USING fts5(text);
INSERT INTO notes VALUES ('milk and bread');
CREATE TABLE audited (id INTEGER PRIMARY KEY, v); CREATE TABLE audit (what TEXT);
CREATE TRIGGER audits AFTER UPDATE ON audited BEGIN INSERT INTO audit VALUES (new.v); END;
INSERT INTO audited VALUES (1, 1);
CREATE TABLE odd (id INTEGER PRIMARY KEY, v);
INSERT INTO odd VALUES (1, 1), (2, 0.0), (3, 'x'), (4, CAST(x'ff' AS TEXT)), (5, 9e999),
    (6, 'a' || char(0) || 'b');
CREATE TABLE strictly (a INT, b ANY) STRICT; INSERT INTO strictly VALUES (1, 2);
CREATE TABLE folded (k TEXT COLLATE NOCASE PRIMARY KEY, v); INSERT INTO folded VALUES ('A', 1);
CREATE TABLE wide AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    SELECT i AS id, 'row ' || i AS t, i * 0.5 AS f FROM n;
CREATE TABLE listed (k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO listed SELECT t, f FROM wide;
"""


def sql(place, text, **pragmas):
    with contextlib.closing(sqlite3.connect(place, timeout=20)) as connection:
        for name, value in pragmas.items():
            connection.execute(f"PRAGMA {name}={value}").fetchall()
        connection.executescript(f"BEGIN IMMEDIATE; {text}; COMMIT;")


def change(place):
    sql(place, "UPDATE users SET name = 'Ada' WHERE id = 1")


def change_back(place):
    sql(place, "UPDATE users SET name = 'ada' WHERE id = 1")


def order(place):
    sql(
        place, "INSERT INTO orders (user, total) VALUES (3, 1e300); DELETE FROM orders WHERE id = 1"
    )


def set_(place):
    sql(place, "INSERT OR REPLACE INTO settings VALUES ('size', 3.0), ('lang', x'00')")


def log(place):
    sql(place, "INSERT INTO log VALUES ('start')")


def log_less(place):
    sql(place, "DELETE FROM log WHERE rowid = (SELECT max(rowid) FROM log)")


def alter(place):
    sql(place, "ALTER TABLE users ADD COLUMN mail TEXT DEFAULT 'none'; PRAGMA user_version = 5")


def create(place):
    sql(place, "CREATE TABLE IF NOT EXISTS made_new (v); INSERT INTO made_new VALUES (1)")


def index(place):
    sql(
        place, "DROP INDEX IF EXISTS by_user; CREATE INDEX IF NOT EXISTS by_total ON orders (total)"
    )


def version(place):
    sql(place, "PRAGMA user_version = 9")


def otp(place):
    sql(place, "UPDATE users SET otp = coalesce(otp, 0) + 1")


def keep_open(place):
    connection = sqlite3.connect(place, timeout=1)
    connection.execute("INSERT INTO log VALUES ('held')")
    connection.commit()
    connection.execute("UPDATE users SET name = 'not committed'")
    yield
    connection.commit()
    connection.execute("INSERT INTO log VALUES ('later')")
    connection.commit()
    connection.close()
    yield


def keep_reading(place):
    connection = sqlite3.connect(place, timeout=1)
    connection.execute("UPDATE users SET name = 'read'")
    connection.commit()
    rows = connection.execute("SELECT * FROM users")
    rows.fetchone()
    yield
    rows.fetchall()
    connection.execute("UPDATE users SET name = 'later'")
    connection.commit()
    connection.close()
    yield


def overwrite(place):
    """What is no database any more."""
    Path(place).write_bytes(b"no database" * 1000)


def delete(place):
    Path(place).unlink()


def statements(*texts):
    """One write for each SQL text."""
    from functools import partial

    return [partial(sql, text=text) for text in texts]


WRITES = (change, order, set_, log, create, version)
KINDS = statements(
    "UPDATE pairs SET v = 9 WHERE a IS NULL",
    "DELETE FROM pairs WHERE b = 'y'; INSERT OR IGNORE INTO pairs VALUES (2, 'z', 1)",
    "UPDATE pages SET body = zeroblob(40001) WHERE id = 1",
    "UPDATE pages SET body = body || x'01' WHERE id = 2; DELETE FROM pages WHERE id = 1",
    "UPDATE made SET n = n + 1",
    'UPDATE "odd name" SET "select" = 1.0 WHERE "a b" IS NOT NULL',
    "INSERT INTO rowless VALUES (NULL), (NULL)",
    "INSERT INTO notes VALUES ('salt')",
    "UPDATE audited SET v = v + 1",
    "UPDATE users SET name = NULL; UPDATE users SET otp = NULL WHERE id = 9",
    "ALTER TABLE users ADD COLUMN mail TEXT DEFAULT 'none'",
    "DROP TABLE log",
    "DROP INDEX IF EXISTS by_user; CREATE INDEX IF NOT EXISTS by_total ON orders (total)",
    "PRAGMA application_id = 7",
    "UPDATE odd SET v = 1.0 WHERE id = 1",
    "UPDATE odd SET v = -0.0 WHERE id = 2",
    "UPDATE odd SET v = x'78' WHERE id = 3",
    "UPDATE odd SET v = CAST(x'fe' AS TEXT) WHERE id = 4",
    "UPDATE odd SET v = -9e999 WHERE id = 5",
    "UPDATE odd SET v = 'a' || char(0) || 'c' WHERE id = 6",
    "INSERT INTO strictly VALUES (2, 'two'), (3, 2.0)",
    "UPDATE folded SET k = 'a'",
    "UPDATE wide SET rowid = rowid + 100000 WHERE id < 3; UPDATE wide SET t = 'z' WHERE id = 7",
    "DELETE FROM wide WHERE id % 2",
    "UPDATE listed SET v = 'x' WHERE k LIKE 'row 4%'; DELETE FROM listed WHERE k = 'row 17'",
    "UPDATE sqlite_sequence SET seq = 99",
    "CREATE VIEW IF NOT EXISTS more AS SELECT 1",
)
UNDONE = (
    ("DELETE FROM log", "INSERT INTO log VALUES ('end'), ('start'), ('start')"),
    ("UPDATE listed SET v = 1", "UPDATE listed SET v = (SELECT f FROM wide WHERE t = k)"),
    (
        "UPDATE pages SET body = x'01' WHERE id = 1",
        "UPDATE pages SET body = zeroblob(40000) WHERE id = 1",
    ),
    ("INSERT INTO rowless VALUES (1)", "DELETE FROM rowless"),
    ("PRAGMA user_version = 3", "PRAGMA user_version = 0"),
)


def housekeep(place):
    """What leaves every record as it is: the file is rewritten, the log asked back."""
    with contextlib.closing(sqlite3.connect(place, timeout=1, isolation_level=None)) as connection:
        for text in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA journal_mode=DELETE"):
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute(text).fetchall()


def keep_mapped(place):
    connection = sqlite3.connect(place, timeout=1, isolation_level=None)
    connection.execute("PRAGMA mmap_size = 100000000")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE users SET name = 'mapped'")
    yield
    connection.execute("COMMIT")
    for text in ("INSERT INTO log VALUES ('late')", "PRAGMA wal_checkpoint(RESTART)"):
        connection.execute(text)
    connection.close()
    yield


def options_of_kinds(folder):
    """Return the arguments of a case with tables of every kind."""
    undo = [tuple(statements(*pair)) for pair in UNDONE]
    more = {"writes": KINDS, "undo": [*undo, (change, change_back), (housekeep, housekeep)]}
    return options(folder, SEED + MANY_KINDS) | more | {"holds": [keep_mapped]}


def make(path, text):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)


def options(folder, seed=SEED):
    """Return the arguments of a case over a seed in ``folder``."""
    make(folder / "seed.db", seed)
    return {
        "folder": folder,
        "writes": WRITES,
        "undo": [(change, change_back), (log, log_less)],
        "ignored": [otp],
        "holds": [keep_open, keep_reading],
        "spoils": [overwrite, delete],
    }
