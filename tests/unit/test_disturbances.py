"""Faults injected on purpose: when each form of rule strikes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cleandesk.errors import StateError
from cleandesk.worlds.at import At
from cleandesk.worlds.disturbances import Disturbances

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def disturbances(*rules, instance="task-7", seed=7):
    return Disturbances(rules, instance=instance, seed=seed)


def faults(held, operation, times, **arguments):
    return [held.fault(operation, arguments, NOW) for _ in range(times)]


def test_a_rule_strikes_its_operation_and_no_other():
    held = disturbances({"on": "read", "fault": "timeout"})

    assert faults(held, "read", 2) == ["timeout", "timeout"]
    assert faults(held, "write", 2) == [None, None]


def test_without_rules_nothing_is_disturbed():
    assert faults(disturbances(), "read", 3) == [None, None, None]


def test_a_rule_with_counts_strikes_those_calls_of_each_key():
    held = disturbances({"on": "read", "fault": "timeout", "count": [1, 3]})

    assert faults(held, "read", 4, sku="a") == ["timeout", None, "timeout", None]
    assert faults(held, "read", 2, sku="b") == ["timeout", None]


def test_a_rule_with_arguments_strikes_only_calls_that_have_them():
    held = disturbances({"on": "read", "fault": "stale", "when": {"sku": "HZ"}})

    assert faults(held, "read", 1, sku="HZ", depth=1) == ["stale"]
    assert faults(held, "read", 1, sku="AB") == [None]
    assert faults(held, "read", 1) == [None]


def test_the_first_rule_that_strikes_decides():
    held = disturbances(
        {"on": "read", "fault": "timeout", "count": [2]}, {"on": "read", "fault": "stale"}
    )

    assert faults(held, "read", 3) == ["stale", "timeout", "stale"]


@pytest.mark.parametrize(("share", "least", "most"), [(0, 0, 0), (1, 400, 400), (0.25, 70, 130)])
def test_a_share_strikes_that_share_of_all_calls(share, least, most):
    held = disturbances({"on": "read", "fault": "timeout", "share": share})
    struck = [held.fault("read", {"sku": number}, NOW) for number in range(400)]

    assert least <= struck.count("timeout") <= most


def test_another_instance_or_seed_meets_other_faults():
    rule = {"on": "read", "fault": "timeout", "share": 0.5}
    one = faults(disturbances(rule), "read", 40)

    assert faults(disturbances(rule), "read", 40) == one
    assert faults(disturbances(rule, instance="task-8"), "read", 40) != one
    assert faults(disturbances(rule, seed=8), "read", 40) != one


def test_an_outage_fails_every_call_of_its_window_together():
    rule = {"on": "read", "fault": "down", "outage": {"share": 0.3, "minutes": 10}}
    held = disturbances(rule)
    windows = [
        {
            held.fault("read", {"sku": call}, NOW + timedelta(minutes=10 * window + call))
            for call in range(10)
        }
        for window in range(60)
    ]

    assert all(len(answers) == 1 for answers in windows)
    assert 8 <= sum(answers == {"down"} for answers in windows) <= 28


def test_arguments_that_canon_does_not_know_are_an_error():
    with pytest.raises(StateError, match="CD-101"):
        disturbances({"on": "read", "fault": "timeout"}).fault("read", {"who": object()}, NOW)


def test_a_world_asks_where_it_is_built():
    at = At()
    at.begin(7, instance="task-7", rules=[{"on": "read", "fault": "timeout", "count": [1]}])

    assert [at.disturbed("read", sku="a"), at.disturbed("read", sku="a")] == ["timeout", None]
    at.begin(7, instance="task-7", rules=[{"on": "read", "fault": "timeout", "count": [1]}])
    assert at.disturbed("read", sku="a") == "timeout"


def test_before_an_episode_begins_nothing_is_disturbed():
    assert At().disturbed("read") is None
