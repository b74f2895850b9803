from __future__ import annotations

import pytest

# Nine pages with some twenty runs: too long for every save.
pytestmark = pytest.mark.service


@pytest.mark.parametrize(
    "page",
    [
        "bring-a-world",
        "bring-an-agent",
        "declare-a-contract",
        "inject-faults-and-events",
        "keep-the-root-apart",
        "own-surface",
        "read-a-result",
        "use-a-database-or-a-folder",
        "write-a-checker",
    ],
)
def test_every_block_of_the_page_does_what_it_says(page, read_along):
    read_along(f"howto/{page}.md")
