from __future__ import annotations

import pytest

pytestmark = pytest.mark.service


def test_every_block_of_the_tutorial_does_what_the_page_says(read_along):
    pytest.importorskip("gymnasium")

    read_along("tutorial/first-suite.md")
