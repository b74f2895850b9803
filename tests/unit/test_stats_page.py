"""The page that explains the intervals says what the code does."""

from __future__ import annotations

import doctest
from pathlib import Path

from cleandesk.stats import estimate

PAGE = Path(__file__).parents[2] / "docs" / "why" / "intervals.md"


def test_the_example_of_the_page_gives_what_it_shows():
    ran = doctest.testfile(str(PAGE), module_relative=False)

    assert ran.attempted > 5
    assert ran.failed == 0


def test_the_weak_spots_that_the_page_admits_are_still_there():
    one_pass = estimate({f"task {i}": [0, 0, 0, 0, int(i == 0)] for i in range(20)})
    close = estimate({f"task {i}": [0.51 if i == 0 else 0.5] for i in range(10)})

    assert f"[{one_pass.low:.3f}, {one_pass.high:.3f}]" == "[0.002, 0.060]"
    assert "[0.002, 0.060]" in PAGE.read_text()
    assert close.high - close.low < 0.01
