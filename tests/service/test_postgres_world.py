"""A world over Postgres in a real run: drawn from its base, verified, judged row by row."""

from __future__ import annotations

import pytest

pytest.importorskip("psycopg", reason="the extra postgres is not installed")
pytestmark = pytest.mark.service

SHOP = """
CREATE TABLE orders (id int PRIMARY KEY, status text NOT NULL, total numeric(8,2));
INSERT INTO orders
SELECT i, CASE WHEN i % 3 = 0 THEN 'late' ELSE 'paid' END, i * 10.5 FROM generate_series(1, 50) i;
"""
WORLD = """
import psycopg

import cleandesk as cd


class Shop:
    contract = cd.contract("shop", "1", db=cd.postgres("shop.sql"))

    def __init__(self, at, leaks=False):
        self.at = at
        self.leaks = leaks
        self.spoiled = 0

    def reset(self, *, seed=None, options=None):
        self.db = psycopg.connect(self.at.db, autocommit=True)
        if self.leaks and self.spoiled:
            self.db.execute("UPDATE orders SET total = 0 WHERE id = 7")
        return self.db.execute("SELECT count(*) FROM orders").fetchone()[0], {}

    def step(self, action):
        self.spoiled += 1
        self.db.execute("UPDATE orders SET status = 'refunded' WHERE id = %s", (action,))
        return 0, 0.0, False, False, {}

    def close(self):
        self.db.close()


class Refunder:
    def start(self, goal):
        self.moves = [int(goal.rstrip(".").split()[-1])]

    def act(self, observation):
        return self.moves.pop() if self.moves else cd.done()
"""
SUITE = """
name = "shop"
world = "shop.py:Shop"
seeds = "1-3"

[[task]]
id = "refund"
goal = "Refund the late order {order}."
draw.order = "db: SELECT id FROM orders WHERE status = 'late' ORDER BY id"
expect.changed = { "db.orders[{order}].status" = { from = "late", to = "refunded" } }
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    for name, text in (("shop.sql", SHOP), ("shop.py", WORLD), ("suite.toml", SUITE)):
        (folder / name).write_text(text)
    return folder


def run(suites, shop, **chosen):
    return suites.run_file(shop / "suite.toml", f"{shop / 'shop.py'}:Refunder", **chosen)


def test_what_an_agent_did_in_postgres_is_judged_row_by_row(suites, shop):
    ran = run(suites, shop, workers=2)

    assert ran.result.score["mean"] == 1.0
    assert ran.result.proven
    assert all(path.endswith("fast") for path in ran.result.starts["readings"])


def test_a_leak_into_the_next_episode_is_named(suites, shop):
    ran = run(suites, shop, arguments={"leaks": True}, isolation="shared", on_wrong_start="refuse")

    fields = [leak["field"] for leak in ran.result.refused["fields"]]
    assert fields == ["db.orders[7].total"]
