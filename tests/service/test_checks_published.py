"""The further tests through real devices: silent on what is clean, and loud on a plant."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleandesk.audit.certificate.anchor import FRESH, JUDGED
from cleandesk.audit.certificate.checks import Basis, run_checks
from cleandesk.audit.certificate.links import Bench
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.verdict import Status

pytestmark = pytest.mark.service

PLANTED = f"{Path(__file__).parents[1] / 'unit' / 'planted_rigs.py'}:Planted"
PLAN = {"look": False, "rng": [4, 2], "seed": 11, "steps": 120}


def checks_of(reference, **arguments):
    with Bench(Recipe(reference, arguments)) as bench:
        rows = bytes(bench.device(*FRESH).call("judge", PLAN)["rows"])
        judged = bench.device(*JUDGED)
        for seed in (1, 2):
            judged.call("play", {"rng": [seed], "seed": seed, "steps": 60})
        basis = Basis(fresh=lambda: bench.device(*FRESH), judged=judged, plan=PLAN, rows=rows)
        return {check.name: check for check in run_checks(basis, orders=2)}


@pytest.mark.parametrize(
    "reference",
    [
        "gym:CartPole-v1",
        "gym:Humanoid-v5",
        "gym:LunarLander-v3",
        "gym:minigrid:MiniGrid-DoorKey-8x8-v0",
        "dm_control:humanoid.walk",
        "pettingzoo:classic.tictactoe_v3",
    ],
)
def test_published_environments_pass_every_further_test(reference):
    found = checks_of(reference)

    assert {
        name: check.says for name, check in found.items() if check.status is not Status.PASS
    } == {}
    assert list(found) == [
        "alias",
        "first-reset",
        "neighbour",
        "global-streams",
        "outside",
        "process",
        "order",
    ]


@pytest.mark.parametrize(
    ("defect", "failing", "blocking"),
    [
        ("", set(), set()),
        ("alias", {"alias"}, {"alias"}),
        ("class attribute", {"neighbour", "process", "order"}, {"order"}),
        ("first reset", {"first-reset", "order"}, {"first-reset", "order"}),
        ("global stream", {"global-streams"}, set()),
        (
            "environment",
            {"outside", "process", "order", "neighbour"},
            {"order"},
        ),
    ],
)
def test_a_planted_defect_fails_the_tests_that_it_concerns_and_no_other(defect, failing, blocking):
    found = checks_of(PLANTED, defect=defect)

    assert {name for name, check in found.items() if check.status is Status.FAIL} == failing
    assert {name for name, check in found.items() if check.blocks} == blocking
