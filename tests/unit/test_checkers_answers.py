from __future__ import annotations

import pytest

from cleandesk.checkers import judge_answer


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("Paris", ["paris"]),
        ("  PARIS \n", ["Paris"]),
        ("New   York", ["new york"]),
        ("STRASSE", ["straße"]),
        ("cafe\u0301", ["caf\u00e9"]),
        ("Paris", ["London", "Paris"]),
        (100, [100]),
        (100.0, [100]),
        ("100", [100]),
        (" 100.00 ", [100]),
        ("1e2", [100]),
        ("0.1", [0.1]),
        (".5", [0.5]),
        (100, ["100"]),
        (True, [True]),
        ("true", [True]),
        ([1, "a"], [[1, "a"]]),
        ({"a": 1}, [{"a": 1}]),
    ],
)
def test_accepted_answers_score_1(answer, accepted):
    assert judge_answer(answer, accepted).value == 1.0


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        (None, ["x"]),
        ("", ["x"]),
        ("10", [100]),
        ("100", [10]),
        ("100", ["10"]),
        ("Paris, France", ["Paris"]),
        ("The answer is Paris", ["Paris"]),
        ("Pari s", ["Paris"]),
        ("$100", [100]),
        ("1_00", [100]),
        ("1,000", [1000]),
        ("nan", [float("1e300")]),
        ("\u0661\u0660\u0660", [100]),
        ("9" * 100_000, [100]),
        ("1e999999999", [100]),
        (True, [1]),
        (1, [True]),
        ("1", [True]),
        (0.30000000000000004, [0.3]),
        ([1.0, "a"], [[1, "a"]]),
        (["Paris"], ["Paris"]),
        ("x", []),
    ],
)
def test_answers_that_are_not_accepted_score_0(answer, accepted):
    score = judge_answer(answer, accepted)

    assert score.value == 0.0
    assert len(score.explanation) < 500
