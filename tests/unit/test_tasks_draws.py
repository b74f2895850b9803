from __future__ import annotations

import pytest

from cleandesk.errors import SuiteError
from cleandesk.tasks.draws import Draw, draw_all, parse_draw


def drawn(spec, seed=1, task="t"):
    return draw_all({"x": parse_draw(spec, where="here")}, seed, task)["x"]


@pytest.mark.parametrize(
    ("spec", "draw"),
    [
        (["a", "b"], Draw("choice", ("a", "b"))),
        ({"choice": [1, 2]}, Draw("choice", (1, 2))),
        ("1..10", Draw("integer", (1, 10))),
        ("-5 .. 5", Draw("integer", (-5, 5))),
        ({"integer": [3, 3]}, Draw("integer", (3, 3))),
        ("0.5..1.5", Draw("uniform", (0.5, 1.5))),
        ("1..2.0", Draw("uniform", (1.0, 2.0))),
        ("1e-3..1", Draw("uniform", (0.001, 1.0))),
        ({"uniform": [0, 1]}, Draw("uniform", (0.0, 1.0))),
        ({"sample": ["a", "b", "c"], "size": 2}, Draw("sample", ("a", "b", "c"), 2)),
        ({"value": {"id": 3}}, Draw("value", ({"id": 3},))),
    ],
)
def test_each_form_of_a_draw_is_read(spec, draw):
    assert parse_draw(spec, where="here") == draw


def test_integer_range_holds_both_ends_and_nothing_else():
    assert {drawn("1..3", seed) for seed in range(100)} == {1, 2, 3}


def test_float_range_gives_floats_in_it():
    values = [drawn("0.5..1.5", seed) for seed in range(50)]

    assert all(type(value) is float and 0.5 <= value < 1.5 for value in values)


def test_sample_is_distinct_and_of_the_size_asked_for():
    for seed in range(30):
        names = drawn({"sample": ["a", "b", "c", "d"], "size": 3}, seed)
        assert len(set(names)) == 3


def test_dates_are_texts_within_the_range_and_reach_both_ends():
    days = {drawn({"date": ["2026-02-27", "2026-03-01"]}, seed) for seed in range(60)}

    assert days == {"2026-02-27", "2026-02-28", "2026-03-01"}


def test_a_parameter_more_moves_no_other():
    """Law 9: each parameter has a stream of its own."""
    one = {"b": parse_draw("1..1000000", where="")}
    two = {"a": parse_draw("1..1000000", where=""), **one}

    assert draw_all(two, 5, "t")["b"] == draw_all(one, 5, "t")["b"]


def test_two_tasks_with_one_seed_draw_apart():
    assert drawn("1..1000000000", task="a") != drawn("1..1000000000", task="b")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ([], "no values to take from"),
        ({"choice": "abc"}, "no values to take from"),
        ({"query": "SELECT id FROM orders"}, "asks no surface"),
        ({"query": "db: SELECT id FROM orders", "size": 0}, "is no number of rows"),
        ("10..1", "runs backwards"),
        ("1...3", "is not a range"),
        ("nan..1", "is not a range"),
        (5, "is not a draw"),
        ({}, "is not a draw"),
        ({"chioce": [1]}, "no form with: chioce"),
        ({"choice": [1], "size": 2}, "no form with: size"),
        ({"sample": [1, 2]}, "size = None does not fit"),
        ({"sample": [1, 2], "size": 3}, "size = 3 does not fit"),
        ({"sample": [1, 2], "size": True}, "size = True does not fit"),
        ({"sample": [1, 1, 2], "size": 2}, "holds 1 twice"),
        ({"integer": [1]}, "is not \\[low, high\\]"),
        ({"integer": [1, 2.5]}, "not two whole numbers"),
        ({"integer": [True, 2]}, "not two whole numbers"),
        ({"uniform": [0, float("inf")]}, "not two numbers"),
        ({"date": ["2026-13-01", "2026-03-31"]}, "not two dates"),
        ({"date": ["2026-03-31", "2026-01-01"]}, "runs backwards"),
    ],
)
def test_malformed_draws_are_refused_with_the_forms_that_exist(spec, said):
    with pytest.raises(SuiteError, match=said) as caught:
        parse_draw(spec, where="suite.toml, task 'a', draw.x")

    assert caught.value.code == "CD-412"
    assert "draw.x" in caught.value.where
    assert "sample" in caught.value.do


def test_one_and_one_point_zero_are_distinct_values_to_sample():
    assert parse_draw({"sample": [1, 1.0, True], "size": 3}, where="").size == 3


ORDERS = [{"id": number, "total": 10 * number} for number in range(1, 6)]


def asked(surface, text):
    assert (surface, text) == ("db", "SELECT id, total FROM orders")
    return ORDERS


def test_a_question_gives_the_first_column_and_the_others_by_name():
    draws = {"order": parse_draw("db: SELECT id, total FROM orders", where="here")}

    held = draw_all(draws, 1, "t", asked)

    assert held["total"] == 10 * held["order"]
    assert {draw_all(draws, seed, "t", asked)["order"] for seed in range(50)} == {1, 2, 3, 4, 5}


def test_a_query_gives_rows_that_differ():
    spec = {"query": "db: SELECT id, total FROM orders", "size": 3}

    rows = draw_all({"rows": parse_draw(spec, where="here")}, 1, "t", asked)["rows"]

    assert len({row["id"] for row in rows}) == 3
    assert all(row in ORDERS for row in rows)


@pytest.mark.parametrize(
    ("draws", "ask", "said"),
    [
        ({"a": {"query": "db: SELECT id, total FROM orders", "size": 6}}, asked, "gives 5 rows"),
        ({"a": "db: SELECT id, total FROM orders", "total": "1..9"}, asked, "drawn twice"),
        ({"a": "db: SELECT id, total FROM orders"}, None, "not at hand"),
    ],
)
def test_a_draw_from_state_that_gives_nothing_is_refused(draws, ask, said):
    parsed = {name: parse_draw(spec, where="here") for name, spec in draws.items()}

    with pytest.raises(SuiteError, match=said) as refused:
        draw_all(parsed, 1, "t", ask)

    assert refused.value.code == "CD-420"
