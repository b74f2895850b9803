"""What a declared field may hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cleandesk.errors import ContractError
from cleandesk.state.sampler import Sampler


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("any", None),
        ("any", {"x": 1}),
        ("uniform 0 1", 0.0),
        ("uniform 0 1", 1),
        ("uniform -0.05 0.05", 0.05),
        ("integer 1 6", 6),
        ("integer -3 -1", -2),
        ("choice red green", "red"),
        ("choice 1 2", 2),
        ("uniform 0 1", np.float32(0.5)),
        ("integer 0 9", np.array([[1, 2], [3, 9]])),
    ],
)
def test_a_value_within_the_support_is_held(text, value):
    assert Sampler.parse(text).holds(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("uniform 0 1", 1.0000001),
        ("uniform 0 1", math.nan),
        ("uniform 0 1", "0.5"),
        ("uniform 0 1", True),
        ("integer 1 6", 7),
        ("integer 1 6", 3.0),
        ("integer 0 1", True),
        ("choice red green", "blue"),
        ("choice red green", None),
        ("uniform 0 1", np.float64(1.5)),
        ("integer 0 9", np.array([1, 10])),
    ],
)
def test_a_value_outside_the_support_is_not_held(text, value):
    assert not Sampler.parse(text).holds(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "any 1",
        "uniform",
        "uniform 1",
        "uniform 2 1",
        "uniform 0 1 2",
        "uniform a b",
        "uniform nan 1",
        "integer 1.5 2",
        "integer 2 1",
        "choice",
        "normal 0 1",
    ],
)
def test_a_text_that_is_no_sampler_is_an_error_that_lists_the_forms(text):
    with pytest.raises(ContractError) as caught:
        Sampler.parse(text)

    assert caught.value.code == "CD-205"
    assert "uniform LOW HIGH" in caught.value.do
