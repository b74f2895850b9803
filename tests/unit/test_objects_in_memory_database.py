"""A database that a world keeps in its memory is read row by row, as an attribute."""

from __future__ import annotations

import sqlite3

import pytest

from cleandesk.errors import StateError
from cleandesk.state import Snapshot, diff
from cleandesk.surfaces import objects
from cleandesk.surfaces.objects import read_objects

TERMS = objects("db", ignore={"db.users[1].otp": "random per build"})


class World:
    def __init__(self, db):
        self.db = db


@pytest.fixture
def world():
    db = sqlite3.connect(":memory:")
    db.executescript(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, otp TEXT);"
        "INSERT INTO users VALUES (1, 'Ann', 'x'), (2, 'Bo', 'y');"
    )
    yield World(db)
    db.close()


def taken(world):
    tables, _ = read_objects(world, "state", TERMS)
    return Snapshot.of("shop/1", {"state": tables})


def test_a_row_that_changes_is_named_even_before_it_is_committed(world):
    before = taken(world)
    world.db.execute("UPDATE users SET name = 'Bob' WHERE id = 2")

    assert [change.field for change in diff(before, taken(world))] == ["state.db.users[2].name"]


def test_reading_leaves_the_transaction_and_the_settings_of_the_world_alone(world):
    """Law 2: looking changes nothing."""
    world.db.row_factory = sqlite3.Row
    world.db.text_factory = bytes
    world.db.execute("DELETE FROM users WHERE id = 1")

    assert taken(world) == taken(world)
    assert world.db.in_transaction
    world.db.rollback()
    assert world.db.execute("SELECT count(*) FROM users").fetchone()[0] == 2


def test_an_ignored_field_of_a_row_is_left_out(world):
    before = taken(world)
    world.db.execute("UPDATE users SET otp = 'z' WHERE id = 1")

    assert diff(before, taken(world)) == ()


def test_an_empty_database_is_read(world):
    world.db.execute("DROP TABLE users")

    assert "users" not in taken(world).tree()["state"]["db"].fields


def test_a_database_in_a_file_is_refused_and_not_opened(tmp_path):
    """Two SQLite libraries in one process drop each other's locks."""
    db = sqlite3.connect(tmp_path / "shop.db")

    with pytest.raises(StateError) as refused:
        read_objects(World(db), "state", objects("db"))
    db.close()

    assert refused.value.code == "CD-101"
