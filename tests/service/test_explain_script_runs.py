"""A script that reproduces a failure is run, and believed only if it fails where it is to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cleandesk.audit.certificate.explain.actions import Actions
from cleandesk.audit.certificate.explain.script import (
    script_text,
    why_not_confirmed,
)
from cleandesk.audit.certificate.explain.shrink import Episode, Shrunk
from cleandesk.audit.certificate.rig import Recipe, Script

pytestmark = pytest.mark.service

RIG = """
class Rig:
    def __init__(self):
        self.count = 0
        self.seen = float("nan")

    def reset(self, seed):
        self.t = 0
        return [seed, self.seen]

    def step(self, action):
        self.count += 1
        self.t += 1
        return [action, self.count if self.t > 1 else 0, -0.0]
"""
WRITTEN = Script(
    imports=("import sys", "sys.path.insert(0, {folder!r})", "from rig import Rig"),
    make="Rig()",
    reset=("seen = env.reset(seed)",),
    step=("seen = env.step(action)", "over = False"),
)


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "rig.py").write_text(RIG)
    return Recipe("rig.py:Rig", path=(str(tmp_path),))


@pytest.fixture
def written(tmp_path):
    imports = tuple(line.format(folder=str(tmp_path)) for line in WRITTEN.imports)
    return Script(imports, WRITTEN.make, WRITTEN.reset, WRITTEN.step)


def hides():
    """Tell whether a process may mount here, asked of one of its own."""
    code = "from cleandesk.audit.certificate.surroundings.folders import hide; print(hide().places)"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = [sys.executable, "-c", code]
    return subprocess.check_output(run, env=environment, text=True).strip() != "{}"


def held(*counts):
    return tuple(Episode(100 + place, Actions((1,) * n)) for place, n in enumerate(counts))


# certificate: C-1
def test_what_a_script_writes_while_it_is_tried_reaches_nobody(recipe, written, tmp_path):
    if not hides():
        pytest.skip("this process may not mount")
    kept = tmp_path / "kept.txt"
    lines = (*written.imports, f"open({str(kept)!r}, 'a').write('x')")
    found = Shrunk(held(1), Episode(5, Actions((0, 0))), 2)
    text = script_text(Script(lines, written.make, written.reset, written.step), found, recipe)

    assert why_not_confirmed(text, recipe, found, 20.0) == ""
    assert not kept.exists()


def test_the_script_fails_where_it_is_to_and_is_believed(recipe, written):
    found = Shrunk(held(1), Episode(5, Actions((0, 0))), 2)
    text = script_text(written, found, recipe)
    assert why_not_confirmed(text, recipe, found, 20.0) == ""


def test_a_script_that_finds_nothing_is_not_believed(recipe, written):
    found = Shrunk((), Episode(5, Actions((0, 0))), 2)
    text = script_text(written, found, recipe)
    assert "status 0" in why_not_confirmed(text, recipe, found, 20.0)


def test_a_script_that_differs_elsewhere_is_not_believed(recipe, written):
    found = Shrunk(held(1), Episode(5, Actions((0, 0))), 1)
    text = script_text(written, found, recipe)
    assert "status 1 and said 'step 2, " in why_not_confirmed(text, recipe, found, 20.0)


def test_a_script_that_raises_is_not_believed(recipe, written):
    broken = Script(written.imports, "Rig(1, 2, 3)", written.reset, written.step)
    found = Shrunk(held(1), Episode(5, Actions((0, 0))), 2)
    text = script_text(broken, found, recipe)
    assert "status 1" in why_not_confirmed(text, recipe, found, 20.0)


def test_a_script_that_does_not_end_is_ended_and_not_believed(recipe):
    assert "did not end" in why_not_confirmed(
        "while True: pass", recipe, Shrunk((), Episode(5), 0), 0.5
    )


def test_fields_are_compared_where_the_rows_are_equal(recipe, written):
    found = Shrunk(held(1), Episode(5), None)
    text = script_text(written, found, recipe, expression="env.count")
    assert why_not_confirmed(text, recipe, found, 20.0) == ""


def test_a_module_of_the_working_folder_is_found_where_the_script_says_so(recipe, written):
    bare = Script(written.imports[-1:], written.make, written.reset, written.step)
    found = Shrunk(held(1), Episode(5, Actions((0, 0))), 2)
    assert "ModuleNotFoundError" in why_not_confirmed(
        script_text(bare, found, recipe), recipe, found, 20.0
    )
    text = script_text(bare, found, recipe, is_here=True)
    assert why_not_confirmed(text, recipe, found, 20.0) == ""
    assert "sys.path.insert(0, '.')" in text


def test_a_script_that_raises_what_it_is_to_raise_is_believed(recipe, written, tmp_path):
    (tmp_path / "rig.py").write_text(
        RIG.replace("self.t = 0", "self.t = 0 if not self.count else 1 / 0")
    )
    found = Shrunk(held(1), Episode(5), 0, raised="ZeroDivisionError")
    text = script_text(written, found, recipe)
    assert "raises ZeroDivisionError, which a fresh build does not" in " ".join(text.split("\n# "))
    assert why_not_confirmed(text, recipe, found, 20.0) == ""
    assert why_not_confirmed(text, recipe, Shrunk(held(1), Episode(5), 0), 20.0)
