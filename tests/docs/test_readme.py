from __future__ import annotations

import pytest

pytestmark = pytest.mark.service


def test_every_block_of_the_readme_runs(read_along):
    pytest.importorskip("gymnasium")

    read_along("../README.md")
