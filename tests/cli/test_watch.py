from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys

import pytest

SHOP = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, views INTEGER DEFAULT 0);
INSERT INTO orders (id, status) VALUES (1, 'paid'), (2, 'late');
"""
REFUNDS = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("UPDATE orders SET status = 'refunded', views = views + 1 WHERE id = 2")
    db.execute("DELETE FROM orders WHERE id = 1")
    db.execute("INSERT INTO orders VALUES (7, 'new', 0)")
"""
CONTRACT = """
import cleandesk as cd

terms = cd.contract("shop", "1", db=cd.sqlite("shop.sql", incidental=["orders.views"]))
only_objects = cd.contract("desk", "1", desk=cd.objects("rows"))
"""


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.sql").write_text(SHOP)
    (tmp_path / "refunds.py").write_text(REFUNDS)
    (tmp_path / "terms.py").write_text(CONTRACT)
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.executescript(SHOP)
    db.close()
    return tmp_path


@pytest.fixture
def watch(shop, cleandesk):
    def run(source, *command):
        return cleandesk("watch", source, *command, cwd=shop)

    return run


def test_every_change_of_a_program_is_shown_and_the_database_is_not_touched(watch, shop):
    before = hashlib.sha256((shop / "shop.db").read_bytes()).hexdigest()

    said = watch("shop.db", "--json", "--", sys.executable, "refunds.py", "{db}")

    assert said.status == 1
    assert [(row["op"], row["path"]) for row in said.json["changes"]] == [
        ("removed", "/orders/1"),
        ("changed", "/orders/2/status"),
        ("changed", "/orders/2/views"),
        ("added", "/orders/7"),
    ]
    assert hashlib.sha256((shop / "shop.db").read_bytes()).hexdigest() == before


def test_a_contract_marks_what_it_leaves_free_and_the_rest_is_an_expectation(watch):
    said = watch("terms.py:terms", "--", sys.executable, "refunds.py", "{db}")

    lines = said.out.splitlines()
    assert "  db.orders[2].views  0 -> 1  (incidental)" in lines
    assert '  expect.changed = { "db.orders[2].status" = "refunded" }' in lines
    assert '  expect.removed = { "db.orders" = [1] }' in lines
    assert max(map(len, lines)) <= 100


def test_a_program_that_writes_nothing_changes_nothing(watch):
    said = watch("shop.sql", "--", sys.executable, "-c", "pass")

    assert said.status == 0
    assert said.out.startswith("no difference\n")


def test_the_copy_is_named_in_the_environment_too(watch):
    code = "import os; open(os.environ['CLEANDESK_TREE'] + '/new.txt', 'w').write('new')"

    said = watch(".", "--json", "--", sys.executable, "-c", code)

    assert [row["path"] for row in said.json["changes"]] == ["/files/new.txt"]


def test_the_status_of_the_program_is_told(watch):
    said = watch("shop.db", "--json", "--", sys.executable, "-c", "raise SystemExit(3)")

    assert (said.status, said.json["exit_status"]) == (0, 3)


@pytest.mark.parametrize(
    ("source", "code"),
    [("terms.py:only_objects", "CD-805"), ("terms.py:nothing", "CD-201"), ("no.db", "CD-806")],
)
def test_what_can_not_be_watched_is_refused(watch, source, code):
    said = watch(source, "--", sys.executable, "-c", "pass")

    assert said.status == 2
    assert said.err.startswith(f"{code} ")


def test_a_program_that_is_not_there_is_refused(watch):
    said = watch("shop.db", "--", "./no-such-program")

    assert said.status == 2
    assert said.err.startswith("CD-805 ")


def test_json_has_the_expectation_and_the_rows_that_diff_has(watch, cleandesk, shop):
    said = watch("shop.db", "--json", "--", sys.executable, "refunds.py", "{db}")
    (shop / "done.db").write_bytes((shop / "shop.db").read_bytes())
    subprocess.run([sys.executable, shop / "refunds.py", shop / "done.db"], check=True)

    differ = cleandesk("diff", "shop.db", "done.db", "--json", cwd=shop).json["changes"]

    assert said.json["changes"] == differ
    assert (differ[0]["path"], differ[0]["segments"]) == ("/orders/1", ["orders", 1])
    assert (differ[0]["after"], differ[-1]["before"]) == (None, None)
    assert said.json["expectation"] == [
        'expect.changed = { "db.orders[2].status" = "refunded", "db.orders[2].views" = 1 }',
        'expect.added = { "db.orders" = [{ "id" = 7, "status" = "new", "views" = 0 }] }',
        'expect.removed = { "db.orders" = [1] }',
    ]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("for n in range(41): open(f'{n}.txt', 'w')", "more than 40 changes"),
        ("open('a\\nb.txt', 'w')", "no key of a suite can name tree.files[a\\nb.txt]"),
    ],
)
def test_why_there_is_no_expectation_is_one_line(watch, code, why):
    code = f"import os; os.chdir(os.environ['CLEANDESK_TREE']); exec({code!r})"
    command = ["--", sys.executable, "-c", code]

    assert f"no expectation: {why}" in watch(".", *command).out.splitlines()
    assert watch(".", "--json", *command).json["expectation"] is None


def test_where_all_changes_are_free_nothing_may_change(watch):
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
    views = "UPDATE orders SET views = 5"

    said = watch("terms.py:terms", "--", sys.executable, "-c", code, "{db}", views)

    assert "  expect = {}" in said.out.splitlines()


def test_without_a_change_there_is_no_expectation(watch):
    said = watch("shop.db", "--json", "--", sys.executable, "-c", "pass")

    assert said.json["expectation"] is None


def test_names_and_texts_of_a_program_are_safe_for_a_terminal(watch, escapes):
    code = "import os, sys; open(os.environ['CLEANDESK_TREE'] + '/new', 'w').write(sys.argv[1])"
    text = escapes.replace("\0", "")

    said = watch(".", "--", sys.executable, "-c", code, text)

    assert "expect.added" in said.out
    assert all(char.isprintable() or char == "\n" for char in said.out)
