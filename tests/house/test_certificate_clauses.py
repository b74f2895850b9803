"""Words and code of the certificate: each clause has a test, each printed sentence a clause."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from cleandesk.audit.certificate.sentences import all_sentences

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SOURCE = ROOT / "src" / "cleandesk"
SPECIFICATION = (ROOT / "docs" / "spec" / "certificate.md").read_text("utf-8")
PRINTERS = [
    *sorted((SOURCE / "report").glob("certificate*.py")),
    *sorted((SOURCE / "report").glob("advice*.py")),
]

NUMBER = re.compile(r"\bC-(\d+)\b")
# A clause stands at the head of its paragraph.
CLAUSES = [int(found) for found in re.findall(r"^\*\*C-(\d+)\*\* \S", SPECIFICATION, re.MULTILINE)]
FEW_WORDS = 6


def named_in_tests():
    """For each clause number, the tests that name it."""
    found = {}
    for path in sorted(TESTS.rglob("*.py")):
        if path == Path(__file__):
            continue
        for number in NUMBER.findall(path.read_text("utf-8")):
            found.setdefault(int(number), set()).add(str(path.relative_to(TESTS)))
    return found


def test_clauses_are_numbered_without_gaps_or_repeats():
    assert list(range(1, len(CLAUSES) + 1)) == CLAUSES


def test_a_clause_is_shown_by_a_test():
    shown = named_in_tests()

    assert [f"C-{number}" for number in CLAUSES if number not in shown] == []


def test_a_clause_that_a_test_names_exists():
    unknown = {f"C-{number}": files for number, files in named_in_tests().items()}

    assert {name: files for name, files in unknown.items() if int(name[2:]) not in CLAUSES} == {}


@pytest.mark.parametrize("name", all_sentences())
def test_a_sentence_rests_on_a_clause_that_exists(name):
    sentence = all_sentences()[name]

    assert re.fullmatch(r"C-\d+", sentence.clause)
    assert int(sentence.clause[2:]) in CLAUSES


def test_the_source_names_no_clause_that_does_not_exist():
    named = {
        number
        for path in SOURCE.rglob("*.py")
        if {"certificate", "report"} & set(path.parts)
        for number in map(int, NUMBER.findall(path.read_text("utf-8")))
    }

    assert sorted(named - set(CLAUSES)) == []


def is_prose(text):
    without_markup = re.sub(r'<[^>]*>|<.*$|^"[^<>]*>', " ", text, flags=re.DOTALL)
    return len(re.findall(r"\b[a-z]{2,}\b", without_markup)) >= FEW_WORDS


def printed_prose(path):
    """Prose in a module: (line, text) of each literal that is neither docstring nor sentence."""
    tree = ast.parse(path.read_text("utf-8"))
    if NUMBER.search(ast.get_docstring(tree) or ""):
        # Everything that the module says rests on the clause at its head.
        return
    documents = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and node not in documents and is_prose(node.value):
            yield node.lineno, node.value


def clause_near(lines, number):
    """Whether a comment with a clause stands on the line, above it, or above its block."""
    at = number - 1
    if NUMBER.search(lines[at]):
        return True
    while at > 0 and lines[at - 1].strip() and not re.match(r"(def|class) ", lines[at]):
        at -= 1
        if lines[at].lstrip().startswith("#") and NUMBER.search(lines[at]):
            return True
    return False


@pytest.mark.parametrize("path", PRINTERS, ids=lambda path: path.name)
def test_prose_that_is_printed_rests_on_a_clause(path):
    lines = path.read_text("utf-8").splitlines()
    bare = [text for line, text in printed_prose(path) if not clause_near(lines, line)]

    assert bare == [], "take it from audit/certificate/sentences.py, or name its clause above it"


def test_prose_without_a_clause_is_noticed(tmp_path):
    path = tmp_path / "printer.py"
    path.write_text(
        'def f():\n    # certificate: C-1\n    return "this is a long promise to a reader"\n'
    )
    lines = path.read_text().splitlines()
    ((line, text),) = printed_prose(path)

    assert text == "this is a long promise to a reader"
    assert clause_near(lines, line)
    assert not clause_near(["def f():", "", '    return "this"'], 3)
