"""Finding the smallest part that holds, by few tries."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleandesk.audit.certificate.explain.smallest import (
    Budget,
    fewest,
    first_of,
    most_tries,
    smallest,
)

NEVER = 1e12


def searched(items, holds):
    tries = []

    def first(candidates):
        def tried(candidate):
            tries.append(candidate)
            return holds(candidate)

        return first_of(candidates, tried)

    return smallest(items, first), tries


@given(st.integers(2, 40), st.sets(st.integers(0, 39), min_size=1, max_size=5))
def test_what_holds_only_with_certain_items_shrinks_to_exactly_these(count, wanted):
    wanted = {place % count for place in wanted}
    found, tries = searched(range(count), lambda some: wanted <= set(some))
    assert set(found) == wanted
    assert len(tries) <= 2 * count * count + 3 * count


def test_a_single_cause_among_a_thousand_is_found_in_a_few_dozen_tries():
    found, tries = searched(range(1000), lambda some: 617 in some)
    assert found == (617,)
    assert len(tries) < 30


def test_the_order_of_what_is_left_is_kept():
    found, _ = searched("abcdefgh", lambda some: {"g", "b", "e"} <= set(some))
    assert found == ("b", "e", "g")


def test_items_of_which_any_half_holds_end_with_one_of_them():
    found, _ = searched(range(16), lambda some: len(some) > 0)
    assert len(found) == 1


def test_when_no_try_is_left_the_best_so_far_stands():
    left = 3

    def first(candidates):
        nonlocal left
        for place, candidate in enumerate(candidates):
            if left == 0:
                return None
            left -= 1
            if 0 in candidate:
                return place
        return None

    assert smallest(range(64), first) == tuple(range(8))


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_the_fewest_steps_from_which_on_it_fails_are_found(count, least):
    least = min(count, least)
    tries = []

    def holds(number):
        tries.append(number)
        return number >= least

    assert fewest(count, lambda some: first_of(some, holds)) == least
    assert len(tries) <= 22
    assert len(set(tries)) == len(tries)


@pytest.mark.parametrize("count", [1, 200, 750])
def test_a_leak_that_needs_one_step_is_found_in_two_tries(count):
    tries = []

    def holds(number):
        tries.append(number)
        return number >= 1

    assert fewest(count, lambda some: first_of(some, holds)) == 1
    assert len(tries) <= 2


def test_fewest_returns_only_a_number_that_was_seen_to_hold():
    seen = set()

    def holds(number):
        if number % 3 == 1 and number > 20:
            seen.add(number)
        return number % 3 == 1 and number > 20

    assert fewest(100, lambda some: first_of(some, holds)) in seen | {100}


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_the_first_candidate_that_holds_is_named_whatever_the_lanes(lanes):
    assert first_of([1, 3, 4, 6, 8], lambda n: n % 2 == 0, lanes=lanes) == 2
    assert first_of([1, 3], lambda n: n % 2 == 0, lanes=lanes) is None
    assert first_of([], bool, lanes=lanes) is None


def test_a_budget_refuses_a_try_past_its_number_and_says_so():
    budget = Budget(time.monotonic() + NEVER, 2)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    assert (budget.used, budget.is_cut) == (2, True)


def test_a_budget_refuses_a_try_past_its_deadline():
    budget = Budget(time.monotonic() - 1.0, 100)
    assert not budget.spend()
    assert budget.is_cut
    assert budget.left_s == 0.0


def test_the_number_of_tries_is_that_of_delta_debugging():
    assert most_tries(1) == 8
    assert most_tries(64) == 4 * 64 * 6
