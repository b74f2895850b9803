"""What the tests themselves must keep to."""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "golden"
FILES = sorted(path for path in TESTS.rglob("test_*.py"))


def named_tests(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


@pytest.mark.parametrize("path", sorted((TESTS / "faults").glob("test_*.py")), ids=lambda p: p.name)
def test_a_detector_has_a_planted_defect_and_a_clean_twin(path):
    names = [node.name for node in named_tests(path)]

    assert any("clean" in name for name in names)
    assert any("clean" not in name for name in names)


@pytest.mark.parametrize("path", sorted((TESTS / "laws").glob("test_*.py")), ids=lambda p: p.name)
def test_a_law_test_names_its_law(path):
    law = re.compile(r"\b[Ll]aws? \d+")
    # A file about one law may name it once, at its head.
    head = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    nameless = [
        node.name
        for node in named_tests(path)
        if not law.search(ast.get_docstring(node) or "") and not law.search(head)
    ]

    assert nameless == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_a_test_does_not_sleep(path):
    text = path.read_text("utf-8")

    assert re.findall(r"\btime\.sleep\(|\basyncio\.sleep\((?!0\))", text) == []


def frozen():
    """Golden files by name with their digests, from each list and relative to it."""
    for sums in GOLDEN.rglob("SHA256SUMS"):
        for line in sums.read_text("utf-8").splitlines():
            digest, name = line.split("  ", 1)
            yield sums.parent / name, digest


def test_golden_files_are_frozen():
    changed = [
        str(path.relative_to(TESTS))
        for path, digest in frozen()
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest
    ]

    assert changed == [], "a golden file never changes: add a new one"


def test_every_golden_file_is_in_a_list():
    listed = {path for path, _ in frozen()}
    unlisted = [
        str(path.relative_to(TESTS))
        for path in sorted(GOLDEN.rglob("*"))
        if path.is_file()
        and path.name != "SHA256SUMS"
        and path.suffix not in {".py", ".pyc"}
        and path not in listed
    ]

    assert unlisted == [], "freeze it with `make golden`"
