from __future__ import annotations

import pytest

SHOP = (
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, token TEXT); INSERT INTO orders VALUES (1, 'a');"
)
WORLD = """
import sqlite3, uuid

import cleandesk as cd

BUILT_IN = uuid.uuid4().hex


class Shop:
    contract = cd.contract("shop", "1", db=cd.sqlite("shop.sql"))

    def __init__(self, at):
        self.at = at
        self.count = 0

    def reset(self, *, seed=None, options=None):
        with sqlite3.connect(self.at.db) as db:
            db.execute("UPDATE orders SET token = ?", (BUILT_IN,))
        db.close()
        return 0, {}
"""


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.sql").write_text(SHOP)
    (tmp_path / "shop.py").write_text(WORLD)
    return tmp_path


def test_what_varies_in_a_base_between_two_builds_is_named(cleandesk, shop):
    said = cleandesk("contract", "shop.py:Shop", "--propose", "--json", cwd=shop)

    assert said.status == 1
    assert [row["field"] for row in said.json["varies"]] == ["db.orders[1].token"]
    assert said.json["reads"] == ["count"]
    assert '    db=cd.sqlite("shop.sql"),' in said.json["contract"].splitlines()
