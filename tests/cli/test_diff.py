from __future__ import annotations

import sqlite3

import pytest


@pytest.fixture
def episode(passed):
    return f"{passed.json['run']}:file-letter/1-1"


def test_json_has_the_promised_keys(cleandesk, episode):
    said = cleandesk("diff", f"{episode}@start", f"{episode}@end", "--json")
    letter, opened = said.json["changes"]

    assert said.status == 1
    assert {"surface", "path", "op", "before", "after"} <= set(letter)
    assert (letter["surface"], letter["op"], letter["before"]) == ("room", "changed", "desk")
    assert letter["path"] == "/letters/c"
    assert letter["after"] in {"red", "green"}
    assert (opened["path"], opened["before"], opened["after"]) == ("/opened", 0, 1)


def test_text_names_each_field_with_both_values(cleandesk, episode):
    said = cleandesk("diff", f"{episode}@start", f"{episode}@end")

    assert said.out.splitlines()[0] == "2 fields differ"
    assert "  room.opened  0 -> 1" in said.out.splitlines()


def test_two_starts_are_equal(cleandesk, passed):
    run = passed.json["run"]
    said = cleandesk("diff", f"{run}:file-letter/1-1", f"{run}:count-letters/2-1@start")

    assert (said.out, said.status) == ("no difference\n", 0)


def test_saved_snapshot_can_be_compared_with_a_start(cleandesk, episode, passed, bench):
    saved = next((bench / passed.json["run"] / "objects").iterdir())

    assert cleandesk("diff", str(saved), episode).status == 0


def test_states_of_two_contracts_are_refused(cleandesk, episode):
    run = cleandesk("run", "calendar", "-a", "nop", "--limit", "1", "--json").json["run"]
    said = cleandesk("diff", episode, f"{run}:dentist/1-1")

    assert said.status == 2
    assert said.err.startswith("CD-105 ")


def test_moment_that_is_none_is_bad_usage(cleandesk, episode):
    said = cleandesk("diff", f"{episode}@middle", episode)

    assert said.status == 2
    assert "RUN:EPISODE@end" in said.err


def test_state_that_was_never_captured_is_named(cleandesk, mixed):
    episode = f"{mixed.json['run']}:file-letter/1-1@end"
    said = cleandesk("diff", episode, episode)

    assert said.status == 2
    assert said.err.startswith("CD-613 ")


def test_names_with_colons_and_at_signs_are_understood(cleandesk, bench, tmp_path):
    text = (bench / "suite.toml").read_text().replace('"file-letter"', '"a@b:c"')
    (bench / "odd.toml").write_text(text)
    logs = tmp_path / "run:s"
    options = ["-a", "agent.py:Clerk", "--limit", "1", "--log-dir", str(logs), "--json"]
    run = cleandesk("run", "odd.toml", *options).json["run"]

    assert cleandesk("diff", f"{run}:a@b:c/1-1@start", f"{run}:a@b:c/1-1@end").status == 1
    assert cleandesk("diff", f"{run}:a@b:c/1-1", f"{run}:a@b:c/1-1@start").status == 0


def database(path, *rows):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, status, amount)")
        db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    db.close()
    return str(path)


def test_two_databases_are_compared_row_by_row_and_type_by_type(cleandesk, tmp_path):
    one = database(tmp_path / "one.db", (1, "paid", 1), (2, "late", 5))
    other = database(tmp_path / "other.db", (1, "paid", 1.0), (3, "new", None))

    said = cleandesk("diff", one, other)

    assert said.status == 1
    assert said.out.splitlines()[1:] == [
        "  db.orders[1].amount  1 -> 1.0",
        "  db.orders[2]  {'amount': 5, 'id': 2, 'status': 'late'} -> absent",
        "  db.orders[3]  absent -> {'amount': None, 'id': 3, 'status': 'new'}",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.db", "other.db"]


def test_two_folders_are_compared_line_by_line(cleandesk, tmp_path):
    for name, text in (("one", "a\nb\n"), ("other", "a\nc\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "list.txt").write_text(text)

    said = cleandesk("diff", str(tmp_path / "one"), str(tmp_path / "other"), "--json")

    assert [row["path"] for row in said.json["changes"]] == ["/files/list.txt/lines/1"]


def test_a_database_and_a_folder_are_refused(cleandesk, tmp_path):
    said = cleandesk("diff", database(tmp_path / "one.db"), str(tmp_path))

    assert said.status == 2
    assert said.err.startswith("CD-804 ")


def test_a_database_that_is_not_there_is_named_and_not_the_other_one(cleandesk, tmp_path):
    said = cleandesk("diff", database(tmp_path / "one.db"), str(tmp_path / "none.db"))

    assert said.status == 2
    assert said.err.startswith("CD-806 there is no ")
    assert "none.db" in said.err.splitlines()[0]
