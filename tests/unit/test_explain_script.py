"""The text of a script that reproduces a failure, as a person would write it."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from cleandesk.audit.certificate.explain.actions import Actions
from cleandesk.audit.certificate.explain.script import expression_of, script_text
from cleandesk.audit.certificate.explain.shrink import Episode, Shrunk
from cleandesk.audit.certificate.rig import Recipe, Script

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


def held(*counts):
    return tuple(Episode(100 + place, Actions((1,) * n)) for place, n in enumerate(counts))


def test_the_script_is_short_and_holds_nothing_of_cleandesk(recipe, written):
    text = script_text(written, Shrunk(held(1), Episode(5, Actions((0, 0))), 2), recipe)
    ast.parse(text)
    assert "cleandesk" not in text
    assert str(recipe.path[0]) not in text
    assert len(text.splitlines()) < 55
    assert all(len(line) <= 100 for line in text.splitlines())


def test_equal_episodes_become_a_loop(recipe, written):
    text = script_text(written, Shrunk(held(0, 0, 0), Episode(5), 0), recipe)
    assert "for seed in [100, 101, 102]:" in text
    assert "    play(env, seed, [])" in text


def test_different_episodes_stand_one_by_one(recipe, written):
    text = script_text(written, Shrunk(held(1, 2), Episode(5), 0), recipe)
    assert "play(env, 100, [1])\nplay(env, 101, [1] * 2)" in text


def test_many_actions_go_on_for_several_lines(recipe, written):
    rows = np.random.default_rng(1).uniform(size=(30, 4)).astype(np.float32)
    found = Shrunk((Episode(1, Actions(tuple(rows))),), Episode(5, Actions((0, 0))), 2)
    text = script_text(written, found, recipe)
    ast.parse(text)
    assert all(len(line) <= 100 for line in text.splitlines())


def test_a_text_among_the_actions_is_never_broken(recipe, written):
    actions = Actions(tuple(f"go to  {place} ,  now" for place in range(20)))
    text = script_text(written, Shrunk((Episode(1, actions),), Episode(5), 0), recipe)
    names = {"before": None}
    line = next(line for line in text.splitlines() if line.startswith("before = "))
    exec(line, names)
    assert tuple(names["before"]) == actions.values


def test_what_no_person_could_write_down_has_no_script(recipe, written):
    found = Shrunk((Episode(1, Actions(({1, 2},))),), Episode(5), 0)
    assert script_text(written, found, recipe) is None


def test_the_title_says_what_was_done(recipe, written):
    text = script_text(written, Shrunk(held(0), Episode(5), 0), recipe)
    assert text.startswith("# After 1 reset and no steps, reset(seed=5) of rig.py:Rig")
    text = script_text(written, Shrunk(held(2, 1), Episode(5), 0), recipe)
    assert text.startswith("# After 2 resets and 3 steps,")


@pytest.mark.parametrize(
    ("path", "reference", "expression"),
    [
        ("env.wear", "gym:X-v0", "env.unwrapped.wear"),
        ("env.parts[3].x", "rigs:make", "env.parts[3].x"),
        ("TimeLimit._elapsed_steps", "gym:X-v0", None),
        ("[class Rig].seen", "rigs:make", None),
        ("env.table[a b]", "rigs:make", None),
    ],
)
def test_only_plain_attributes_and_places_are_expressions(path, reference, expression):
    assert expression_of(path, Recipe(reference)) == expression
