"""The settings of one certificate: what is left open, and what can't be meant."""

from __future__ import annotations

import math

import pytest

from cleandesk.audit.certificate.settings import Settings
from cleandesk.errors import UsageError


# certificate: C-45
@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, 1e12])
def test_a_budget_that_no_clock_counts_is_refused(seconds):
    with pytest.raises(UsageError, match="CD-831"):
        Settings(budget_s=seconds)


# certificate: C-30
def test_an_episode_with_the_seed_of_the_reset_after_it_is_refused():
    with pytest.raises(UsageError, match="a reset with seed 7 after an episode with that seed"):
        Settings(seeds=(5, 7), episode_seeds=(7, 7))
    assert Settings(seeds=(5, 7), episode_seeds=(7, 5)).count == 2


# certificate: C-30
@pytest.mark.parametrize(
    "chosen", [{}, {"episodes": 300}, {"seeds": range(99, 104)}, {"episode_seeds": range(1, 4)}]
)
def test_seeds_that_are_left_open_keep_clear_of_those_that_are_given(chosen):
    horizon = Settings(**chosen).horizon

    assert len(horizon.seeds) == len(horizon.episode_seeds) == Settings(**chosen).count
    assert all(
        one != other for one, other in zip(horizon.seeds, horizon.episode_seeds, strict=True)
    )


# certificate: C-30
def test_the_last_of_several_resets_has_a_seed_that_was_played_before():
    assert Settings().horizon.seeds == (1, 2, 3, 4, 1)
    assert Settings(episodes=2).horizon.seeds == (1, 2)
    assert Settings(seeds=(5, 6, 7)).horizon.seeds == (5, 6, 7)
