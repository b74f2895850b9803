from __future__ import annotations

import pytest

# Eleven pages with some thirty runs: too long for every save.
pytestmark = pytest.mark.service


@pytest.mark.parametrize(
    "page",
    [
        "bring-a-world",
        "bring-an-agent",
        "certify-a-reset",
        "declare-a-contract",
        "inject-faults-and-events",
        "keep-the-root-apart",
        "own-surface",
        "point-it-at-your-harness",
        "read-a-result",
        "use-a-database-or-a-folder",
        "write-a-checker",
    ],
)
def test_every_block_of_the_page_does_what_it_says(page, read_along):
    read_along(f"howto/{page}.md")
