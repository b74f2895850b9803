"""Finding what a name stands for, also where files are named like modules of Python."""

from __future__ import annotations

import sys

import pytest

from cleandesk.errors import AgentError, SuiteError, WorldError
from cleandesk.finding import find, look_in, source_digest

WORLD = """
import cleandesk as cd


class World:
    contract = cd.contract("w", "1", desk=cd.objects("rows"))

    def reset(self, *, seed=None, options=None):
        self.rows = []
        return [], {}

    def step(self, action):
        return [], 0.0, False, False, {}

    def close(self):
        pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_a_file_is_looked_for_in_the_folders_first_and_then_here(folder, monkeypatch):
    (folder / "here").mkdir()
    (folder / "there").mkdir()
    (folder / "here" / "planted_a.py").write_text("where = 'here'")
    (folder / "there" / "planted_a.py").write_text("where = 'there'")
    (folder / "here" / "planted_b.py").write_text("where = 'here'")
    monkeypatch.chdir(folder / "here")

    assert find("agent", "planted_a.py:where", folders=[str(folder / "there")]) == "there"
    assert find("agent", "planted_b.py:where", folders=[str(folder / "there")]) == "here"


def test_a_file_may_be_named_like_a_module_of_python_and_stands_in_for_none(folder):
    import calendar

    (folder / "calendar.py").write_text("class Calendar: pass")
    found = find("world", f"{folder / 'calendar.py'}:Calendar")

    assert found.__name__ == "Calendar"
    assert found.__module__.startswith("calendar_")
    assert sys.modules["calendar"] is calendar
    assert source_digest(found) != source_digest(calendar.TextCalendar)


def test_two_files_of_one_name_are_two_modules_and_one_file_is_one(folder):
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "planted_same.py").write_text(f"class Here:\n    name = {name!r}")
    one, two, again = (
        find("world", f"{folder / name / 'planted_same.py'}:Here") for name in ("one", "two", "one")
    )

    assert (one.name, two.name) == ("one", "two")
    assert one is again


def test_folders_come_after_pythons_own_modules_and_before_installed_ones(folder):
    look_in([str(folder)])
    place = sys.path.index(str(folder))

    assert all("site-packages" not in entry for entry in sys.path[:place])
    assert any(entry.endswith("lib-dynload") for entry in sys.path[:place])


def test_a_run_works_in_a_folder_of_files_named_like_modules_of_python(suites, monkeypatch):
    suite = suites.write([{"id": "one", "world": "random.py:World"}])
    (suite.parent / "random.py").write_text(WORLD)
    for name in ("select", "queue", "json", "calendar", "token", "types", "asyncio"):
        (suite.parent / f"{name}.py").write_text("raise RuntimeError('not the one that was meant')")
    monkeypatch.chdir(suite.parent)
    ran = suites.run_file(suite, "nop")

    assert ran.result.proven


@pytest.mark.parametrize(
    ("kind", "reference", "error", "text"),
    [
        ("agent", "nopp", AgentError, "did you mean 'nop'?"),
        ("world", "calender", WorldError, "did you mean 'calendar'?"),
        ("world", "CartPole-v1", WorldError, "or write gym:CartPole-v1"),
        ("suite", "nothing-like-it", SuiteError, "known: "),
        ("world", "json:Nothing", WorldError, "name a class or function that it defines"),
        ("world", "no.such.module:World", WorldError, "check the name and the folder"),
    ],
)
def test_what_is_not_there_is_an_error_with_the_nearest_name(kind, reference, error, text):
    with pytest.raises(error) as caught:
        find(kind, reference)

    assert text in caught.value.do


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "raise ValueError('\\x1b[31mred')",
            r"raised ValueError while it was imported: \x1b[31mred",
        ),
        ("import sys; sys.exit(2)", "raised SystemExit while it was imported: 2"),
        ("import a_package_that_is_not_there", "needs the module 'a_package_that_is_not_there'"),
        ("1 +", "raised SyntaxError while it was imported"),
    ],
)
def test_a_file_that_cannot_be_imported_is_an_error_that_says_why(folder, body, text):
    (folder / "planted_broken.py").write_text(body)
    with pytest.raises(WorldError) as caught:
        find("world", f"{folder / 'planted_broken.py'}:World")

    assert caught.value.code == "CD-201"
    assert text in caught.value.message
