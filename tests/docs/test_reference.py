from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))


def anchors(page):
    """The headings of a page, each as the part of an address behind the #."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.strip().lower()).replace(" ", "-") for text in headings}


def test_page_of_the_public_names_is_what_their_docstrings_say():
    made = runpy.run_path(str(DOCS / "reference" / "make_api.py"))["page"]()

    assert (DOCS / "reference" / "api.md").read_text() == made, (
        "run docs/reference/make_api.py with the Python that runs the tests"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_of_a_page_leads_somewhere(page):
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        file, _, place = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        if not path.exists() or (place and place not in anchors(path)):
            lost.append(target)

    assert lost == []


def test_index_names_every_how_to():
    index = (DOCS / "README.md").read_text()

    for path in sorted((DOCS / "howto").glob("*.md")):
        assert f"howto/{path.name}" in index
