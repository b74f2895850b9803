"""What programs do to a Postgres database; needs the ``postgres`` extra."""

from __future__ import annotations

SEED = """
CREATE TABLE users (id int PRIMARY KEY, name text, otp int);
INSERT INTO users VALUES (1, 'ada', 7), (2, 'bob', 8);
CREATE TABLE orders (id serial PRIMARY KEY, "user" int REFERENCES users, total numeric);
INSERT INTO orders ("user", total) VALUES (1, 2.5), (2, 3);
CREATE TABLE log (line text);
INSERT INTO log VALUES ('start'), ('start');
CREATE UNLOGGED TABLE sessions (id int PRIMARY KEY, held jsonb);
"""


def sql(place, text):
    import psycopg

    with psycopg.connect(place) as connection:
        connection.execute(text)


def change(place):
    sql(place, "UPDATE users SET name = 'Ada' WHERE id = 1")


def change_back(place):
    sql(place, "UPDATE users SET name = 'ada' WHERE id = 1")


def order(place):
    sql(place, 'INSERT INTO orders ("user", total) VALUES (2, 1.50)')


def log(place):
    sql(place, "INSERT INTO log VALUES ('start')")


def create(place):
    sql(place, "CREATE TABLE IF NOT EXISTS made (v int); INSERT INTO made VALUES (1)")


def truncate(place):
    sql(place, "TRUNCATE log; INSERT INTO log VALUES ('only')")


def session(place):
    sql(
        place,
        "INSERT INTO sessions VALUES (1, '{\"a\": 1}') ON CONFLICT (id) DO UPDATE SET held = '2'",
    )


def sequence(place):
    sql(place, "SELECT nextval('orders_id_seq')")


def otp(place):
    sql(place, "UPDATE users SET otp = otp + 1")


def keep_open(place):
    import psycopg

    connection = psycopg.connect(place)
    connection.execute("INSERT INTO log VALUES ('held')")
    connection.commit()
    connection.execute("UPDATE users SET name = 'not committed'")
    yield
    connection.commit()
    connection.execute("INSERT INTO log VALUES ('later')")
    connection.commit()
    yield


WRITES = (change, order, log, session, create, sequence, truncate)


def options(folder):
    """Return the arguments of a case over a seed in ``folder``."""
    (folder / "seed.sql").write_text(SEED)
    return {
        "folder": folder,
        "writes": WRITES,
        "undo": [(change, change_back)],
        "ignored": [otp],
        "holds": [keep_open],
        "on_disk": False,
        "is_source": False,
        "rounds": 3,
        "slow": True,
    }
