"""Sizes and names of the source (DESIGN, "The house"). There is no list of exceptions."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cleandesk"
MODULES = sorted(SOURCE.rglob("*.py"))
IDS = [str(path.relative_to(SOURCE)) for path in MODULES]

MOST_LINES, MOST_FUNCTION_LINES, MOST_PARAMETERS = 400, 50, 6
BANNED = re.compile(r"(^|_)(utils?|helpers?|common|misc|base|manager)(_|$)")

each_module = pytest.mark.parametrize("path", MODULES, ids=IDS)


def functions(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@each_module
def test_a_module_is_short(path):
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


@each_module
def test_a_function_is_short(path):
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in functions(path)
        if node.end_lineno - node.lineno + 1 > MOST_FUNCTION_LINES
    }

    assert long == {}


@each_module
def test_a_function_has_few_parameters(path):
    if path.is_relative_to(SOURCE / "cli"):
        # The body of a command takes one parameter for each option.
        return
    wide = {}
    for node in functions(path):
        given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
        count = len([argument for argument in given if argument.arg not in {"self", "cls"}])
        if count > MOST_PARAMETERS:
            wide[node.name] = count

    assert wide == {}


@each_module
def test_a_module_says_what_it_is_for(path):
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")))

    assert text
    assert text.splitlines()[0].endswith((".", ":", "?"))


@each_module
def test_a_module_and_its_folder_are_named_by_a_word_that_says_something(path):
    names = [*path.relative_to(SOURCE).parent.parts, path.stem]

    assert [name for name in names if BANNED.search(name)] == []


@each_module
def test_source_does_not_assert(path):
    lines = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Assert)
    ]

    assert lines == [], "python -O removes asserts: raise an error with a code"


@each_module
def test_a_law_that_is_cited_exists(path):
    cited = re.findall(r"[Ll]aw (\d+)", path.read_text("utf-8"))

    assert [number for number in cited if not 1 <= int(number) <= 15] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda path: path.name
)
def test_a_decision_is_short_and_numbered(path):
    assert re.match(r"\d{4}-[a-z0-9-]+\.md$", path.name)
    assert len(path.read_text("utf-8").splitlines()) <= 80


def test_no_two_decisions_have_one_number():
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")]

    assert len(set(numbers)) == len(numbers)
