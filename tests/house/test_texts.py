"""What no file of this repository may say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ["src", "tests", "docs", "benchmarks", "changes", ".ci"]
FILES = sorted(
    path
    for place in PLACES
    for path in (ROOT / place).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
) + [path for path in sorted(ROOT.iterdir()) if path.is_file() and path.name != ".git"]

# Put together here, so that this file does not say them either.
HOMES = re.compile(
    r"(?<![\w.*-])/(?:" + "|".join(["wo" + "rk", "ro" + "ot"]) + r")(?=[/\s\"'`),]|$)"
)
REGISTRIES = re.compile(
    "|".join(
        [
            r"py" + r"pi\.(org|python)",
            r"python" + r"hosted\.org",
            r"registry\.npm" + r"js",
            r"ana" + r"conda\.(org|com)",
            r"--(extra-)?index" + r"-url",
            r"--find" + r"-links",
        ]
    )
)


def texts():
    for path in FILES:
        try:
            yield path, path.read_text("utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize(
    "pattern", [HOMES, REGISTRIES], ids=["a folder of one machine", "the address of a registry"]
)
def test_no_file_names(pattern):
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
        for path, text in texts()
        for match in pattern.finditer(text)
    ]

    assert found == []


def test_files_are_searched():
    assert len(FILES) > 100
    assert HOMES.search("x = '" + "/wo" + "rk/main'")
    assert REGISTRIES.search("https://py" + "pi.org/simple")
