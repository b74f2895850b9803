"""Naming a SQLite database in a contract."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cleandesk.surfaces.sqlite import sqlite


def test_a_table_and_a_column_stand_for_that_column_in_every_row():
    terms = sqlite("seed.db", ignore={"users.otp": "random"}, declared={"users.seen": "any"})

    assert terms.ignore == {"users[*].otp": "random"}
    assert terms.declared == {"users[*].seen": "any"}


@pytest.mark.parametrize(
    "text",
    [
        "sessions",
        "users[7].otp",
        "users[*]",
        "sqlite_pragma.user_version",
        "sqlite_sequence.users",
    ],
)
def test_other_patterns_stay_as_they_are_written(text):
    assert sqlite("seed.db", incidental=[text]).incidental == (text,)


def test_the_source_and_the_mode_are_plain_values():
    terms = sqlite("seed.db", wal=False)

    assert (terms.kind, terms.source) == ("sqlite", {"from": "seed.db", "wal": False})


def test_declaring_a_database_loads_no_database_library():
    code = (
        "import sys; from cleandesk.surfaces.sqlite import Sqlite, sqlite; sqlite('seed.db');"
        "Sqlite(); sys.exit('apsw' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
