"""What ``watch`` prints scores 1 for the same writes in a run, and 0 for a near miss."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

from cleandesk.audit.watch import watch
from cleandesk.finding import registered
from cleandesk.report.changes import expectation_of

pytestmark = pytest.mark.service

OWN = Path(__file__).parents[1] / "contract" / "own_surface.py"
SEED = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, sum REAL);
INSERT INTO orders VALUES (1, 'paid', 1.5), (2, 'late', NULL), (3, 'late', 2.0);
CREATE TABLE lines (kit INTEGER, part TEXT, n, PRIMARY KEY (kit, part));
INSERT INTO lines VALUES (1, 'a', 5), (1, 'b', 5);
CREATE TABLE loose (name TEXT, n);
INSERT INTO loose VALUES ('tea', NULL), ('tea', NULL), ('bus', 1);
CREATE TABLE codes (code TEXT PRIMARY KEY, what TEXT);
INSERT INTO codes VALUES ('x', 'y');
CREATE TABLE "hr.person" (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO "hr.person" VALUES (1, 'Ann'), (2, 'Bob');
"""
NOTES = '{"notes": {"1": {"text": "milk", "seen": 3}, "2": {"text": "bread"}}, "tags": {}}'
WRITES = r"""
import json, os, sqlite3, sys

NOTES = "notes"

WRITES = {
    # name: what is right, and what looks like it
    "a row": ("INSERT INTO orders VALUES (4, 'new', NULL)", "INSERT INTO orders VALUES (4, 'new', 0.5)"),
    "a null": ("UPDATE orders SET sum = NULL WHERE id = 1", "UPDATE orders SET sum = 0 WHERE id = 1"),
    "a row that goes": ("DELETE FROM orders WHERE id = 2", "DELETE FROM orders WHERE id = 3"),
    "a key of two": ("INSERT INTO lines VALUES (2, 'a', NULL)", "INSERT INTO lines VALUES (2, 'b', NULL)"),
    "a key of two that goes": ("DELETE FROM lines WHERE part = 'a'", "DELETE FROM lines WHERE part = 'b'"),
    "a row without a key": ("INSERT INTO loose VALUES ('new', NULL)", "INSERT INTO loose VALUES ('new', 1)"),
    "a row without a key that goes": (
        "DELETE FROM loose WHERE rowid = 1", "DELETE FROM loose WHERE name = 'bus'"
    ),
    "a key of text": ("INSERT INTO codes VALUES ('a{b}.]', 'q')", "INSERT INTO codes VALUES ('a', 'q')"),
    "a table with a dot": (
        'UPDATE "hr.person" SET name = \'{Eve} "\' WHERE id = 1',
        'UPDATE "hr.person" SET name = \'{Eve} "\' WHERE id = 2',
    ),
    "bytes": ("UPDATE codes SET what = x'00ff'", "UPDATE codes SET what = x'00fe'"),
    "a new file": (("tree", "in/reply {1}.txt", "Yes \U0001f600\n"), ("tree", "in/other.txt", "Yes \U0001f600\n")),
    "a file with the name of a digest": (
        ("tree", "0123456789abcdef", "x"), ("tree", "0123456789abcdee", "x")
    ),
    "lines that are put behind": (("tree", "a.txt", "a\nb\nc\nd\n"), ("tree", "a.txt", "a\nb\nd\nc\n")),
    "lines that go": (("tree", "a.txt", "a\n"), ("tree", "a.txt", "b\n")),
    "a field of JSON": (
        ("tree", "c.json", '{"x": {"z": null}, "l": ["p", [1.5]]}'),
        ("tree", "c.json", '{"x": {"z": 0}, "l": ["p", [1.5]]}'),
    ),
    "a file that goes": (("tree", "a.txt", None), ("tree", "c.json", None)),
    "a note": ((NOTES, "3", {}), (NOTES, "4", {})),
    "a note with its name in it": ((NOTES, "k", {"name": "k"}), (NOTES, "j", {"name": "k"})),
    "a note of a list": ((NOTES, "3", [1, None]), (NOTES, "3", [None, 1])),
    "a field of a note that goes": ((NOTES, "1", {"text": "milk"}), (NOTES, "1", {"seen": 3})),
    "a note that goes": ((NOTES, "2", None), (NOTES, "1", None)),
}


def write(what, db, tree, notes):
    if isinstance(what, str):
        with sqlite3.connect(db) as held:
            held.execute(what)
        held.close()
        return
    place, name, value = what
    if place == "tree":
        path = os.path.join(tree, name)
        if value is None:
            os.unlink(path)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(value)
        return
    with open(notes) as file:
        kept = json.load(file)
    kept["notes"].pop(name, None)
    if value is not None:
        kept["notes"][name] = value
    with open(notes, "w") as file:
        json.dump(kept, file)


if __name__ == "__main__":
    name, *places = sys.argv[1:]
    write(WRITES[name][0], *places)
"""
WORLD = """
import cleandesk as cd
from own_surface import notes
from writes import WRITES, write


class Desk:
    contract = cd.contract(
        "desk", "1", db=cd.sqlite("seed.sql"), tree=cd.files("home"), notes=notes("seed.json")
    )

    def __init__(self, at):
        self.at = at

    def reset(self, *, seed=None, options=None):
        return "", {}

    def step(self, action):
        name, place = action
        write(WRITES[name][place], self.at.db, self.at.tree, self.at.notes)
        return "", 0.0, False, True, {}

    def close(self):
        pass
"""
AGENT = """
class Writer:
    def start(self, task):
        self.said = task

    def act(self, observation):
        return [self.said.rstrip("!"), int(self.said.endswith("!"))]
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    package = tmp_path / "installed"
    about = package / "notes_surface-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: notes-surface\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[cleandesk]\nsurface.notes = own_surface:Notes\n")
    (package / "own_surface.py").write_text(OWN.read_text())
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    )
    (tmp_path / "seed.sql").write_text(SEED)
    (tmp_path / "seed.json").write_text(NOTES)
    (tmp_path / "home" / "in").mkdir(parents=True)
    (tmp_path / "home" / "a.txt").write_text("a\nb\n")
    (tmp_path / "home" / "c.json").write_text('{"x": {"y": 1}, "l": ["p"]}')
    (tmp_path / "writes.py").write_text(WRITES)
    (tmp_path / "world.py").write_text(WORLD)
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    # What is installed is looked for once; here something is for a while.
    registered.cache_clear()
    yield tmp_path
    registered.cache_clear()


def test_each_expectation_holds_for_its_writes_and_for_no_near_miss(desk, suites):
    writes = runpy.run_path(str(desk / "writes.py"))["WRITES"]
    suite = ['world = "world.py:Desk"']
    for name in writes:
        command = [sys.executable, "writes.py", name, "{db}", "{tree}", "{notes}"]
        lines, why = expectation_of(watch("world.py:Desk", command))
        assert lines, (name, why)
        for said in (name, f"{name}!"):
            suite += ["[[task]]", f'id = "{said}"', f'goal = "{said}"', *lines]
    (desk / "suite.toml").write_text("\n".join(suite) + "\n", encoding="utf-8")

    ran = suites.run_file(desk / "suite.toml", "agent.py:Writer", workers=2)

    both = [said for name in writes for said in (name, f"{name}!")]
    scores = {said: ran.verdict(f"{said}/1-1")["score"] for said in both}
    assert scores == {said: float(not said.endswith("!")) for said in both}
