"""State that persists on purpose: carried to the fresh builds, and no cover for a leak."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleandesk.audit.certificate.certify import certify

pytestmark = pytest.mark.service

RIG = f"{Path(__file__).parent / 'rigs' / 'planted_kept.py'}:Normalised"
KEPT = ["env.scale=kept", "env.seen=kept"]


def judged(**settings):
    return certify(RIG, episodes=2, steps=80, **settings)


def test_statistics_that_every_observation_reads_are_a_leak_unless_they_are_kept():
    """C-97."""
    found = judged(explain=False)

    assert str(found.cls) == "FAIL"
    assert {leak.path for leak in found.leaks} >= {"env.scale"}


def test_clean_reset_with_kept_statistics_passes():
    """C-97."""
    found = judged(declare=KEPT)

    assert (str(found.cls), found.leaks) == ("BIT-IDENTICAL", ())
    assert "env.scale, env.seen" in found.condition


def test_part_of_a_table_can_be_kept():
    """C-97."""
    found = judged(declare=["env.scale=kept", "env.seen.count=kept"])

    assert str(found.cls) == "BIT-IDENTICAL"


def test_a_declared_part_of_a_table_that_never_differs_is_no_wrong_declaration():
    """C-46."""
    found = judged(declare=[*KEPT, "env.seen.by.low=any"], explain=False)

    assert [each.problem for each in found.declared] == [""] * len(found.declared)


def test_a_leak_beside_what_is_kept_is_named_alone():
    """C-97."""
    found = judged(declare=KEPT, arguments={"leaks": True})

    assert [(leak.path, leak.is_confirmed) for leak in found.leaks] == [("env.drift", True)]
    assert found.repro is None
