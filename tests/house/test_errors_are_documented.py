"""Every error has a code, and every code an entry in docs/errors.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRIES = re.compile(r"^#{2,4} (CD-\d{3}) \S.*$", re.MULTILINE)


def raised():
    """Codes that stand as a whole text in the source: those that an error can carry."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"^(CD-\d{3})(?: |$)", node.value))
    return found


def documented():
    return ENTRIES.findall((ROOT / "docs" / "errors.md").read_text("utf-8"))


def test_every_code_that_is_raised_is_documented():
    assert sorted(raised() - set(documented())) == []


def test_every_code_that_is_documented_is_raised():
    assert sorted(set(documented()) - raised()) == []


def test_no_code_is_documented_twice():
    codes = documented()

    assert sorted(code for code in set(codes) if codes.count(code) > 1) == []


def test_every_code_that_a_text_of_the_source_names_is_raised():
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named.update(re.findall(r"CD-\d{3}", path.read_text("utf-8")))

    assert sorted(named - raised()) == []
