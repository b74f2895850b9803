from __future__ import annotations

import pytest

from cleandesk.errors import SuiteError
from cleandesk.tasks import parse_seeds


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        ("1-3", (1, 2, 3)),
        (" 5 - 5 ", (5,)),
        ("1-3,8", (1, 2, 3, 8)),
        ("0", (0,)),
        (7, (7,)),
        ([4, 2], (4, 2)),
        ([2**63 - 1], (2**63 - 1,)),
    ],
)
def test_seeds_are_read_in_the_order_written(given, seeds):
    assert parse_seeds(given) == seeds


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "does not name seeds"),
        ("a-b", "does not name seeds"),
        ("-3", "does not name seeds"),
        ("1..5", "does not name seeds"),
        ("1,", "does not name seeds"),
        ("9" * 5000, "does not name seeds"),
        ("5-1", "runs backwards"),
        ("1-3,2", "seed 2 is named twice"),
        ("0-1000000", "more than 1,000,000"),
        ([], "no seed"),
        ([-1], "-1 is not a seed"),
        ([2**63], "is not a seed"),
        ([True], "True is not a seed"),
        ([1.0], "1.0 is not a seed"),
    ],
)
def test_malformed_seeds_are_refused_with_what_is_wrong(given, said):
    with pytest.raises(SuiteError, match=said) as caught:
        parse_seeds(given, where="--seeds")

    assert (caught.value.code, caught.value.where) == ("CD-409", "--seeds")
