"""Guards in loops as people write them: nothing moves, and leaks are named."""

from __future__ import annotations

import copy
import os
import random
import sys
import time
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import PassiveEnvChecker, RecordEpisodeStatistics

from cleandesk.audit.certificate.guard import LeakError, LeakWarning, guard
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.errors import UsageError
from cleandesk.finding import find

pytestmark = pytest.mark.service

ENVS = Path(__file__).with_name("planted_envs.py")
planted_envs = sys.modules[find("world", f"{ENVS}:walk").__module__]
WALK = f"{ENVS}:walk"
EAGER = {"budget_share": 1.0, "every": 1}


def play(env, episodes, *, seeds=None, wait_s=30.0, steps=30):
    """Run a loop; take answers after each reset, so that each is checked."""
    said = []
    for number in range(episodes):
        said.append(env.reset(seed=seeds[number] if seeds else None)[0])
        if wait_s:
            env.guard.collect(wait_s)
        for _ in range(steps):
            observation, *_, terminated, truncated, _ = env.step(env.action_space.sample())
            said.append(observation)
            if terminated or truncated:
                break
    return np.array(said)


def published(name):
    with warnings.catch_warnings():
        # Box2D's import crashes the interpreter where its warnings are errors.
        warnings.simplefilter("ignore")
        return gymnasium.make(name)


@pytest.fixture
def guarded():
    """Guard, and end it after the test."""
    made = []

    def make(env, *arguments, **named):
        made.append(guard(env, *arguments, **named))
        return made[-1]

    yield make
    for each in made:
        each.guard.close()
        each.close()


def test_a_leak_is_named_with_the_reset_the_step_and_both_values(guarded):
    env = guarded(planted_envs.walk(wear=0.5), reference=Recipe(WALK, {"wear": 0.5}), **EAGER)

    with pytest.warns(LeakWarning, match=r"env\.worn: 0\.0 -> 10\.0"):
        play(env, 3, seeds=[1, 2, 3])

    found = env.guard.report().findings[0]
    assert (found.reset, found.first, found.step) == (2, 2, 1)
    assert [path for path, _, _ in found.fields] == ["env.resets", "env.seen", "env.worn"]


def test_a_field_that_nothing_reads_is_inert_and_no_leak(guarded):
    env = guarded(planted_envs.walk(), reference=WALK, **EAGER)

    play(env, 4)

    report = env.guard.report()
    assert report.findings == ()
    assert report.inert == ("env.resets", "env.seen")
    assert (report.checked, report.traced, report.problem) == (4, 4, "")


@pytest.mark.parametrize("seeds", [None, [3, None, 9, None, 9, 4]])
def test_resets_with_and_without_a_seed_are_followed_also_through_global_streams(guarded, seeds):
    env = guarded(planted_envs.walk(), reference=WALK, **EAGER)
    random.seed(4)

    play(env, 6, seeds=seeds)

    assert env.guard.report().findings == ()
    assert env.guard.report().checked == 6


# certificate: C-82
def test_a_leak_that_begins_late_is_named_at_its_first_reset(guarded):
    given = {"late": 3, "wear": 0.5}
    env = guarded(planted_envs.walk(**given), reference=Recipe(WALK, given), **EAGER)

    with pytest.warns(LeakWarning):
        play(env, 6)

    found = env.guard.report().findings[0]
    assert found.reset == 4
    assert [path for path, _, _ in found.fields] == ["env.resets", "env.seen"]


def test_the_loop_sees_what_it_would_see_without_a_guard(guarded):
    """Law 2: the same trajectory, the same global streams."""

    def run(env, wait_s):
        random.seed(1)
        np.random.seed(2)
        env.action_space.seed(3)
        said = play(env, 8, seeds=[5] + [None] * 7, wait_s=wait_s)
        return said, random.random(), np.random.random()

    plain = run(planted_envs.walk(), 0)
    env = guarded(planted_envs.walk(), reference=WALK, **EAGER)
    watched = run(env, 30)

    assert np.array_equal(plain[0], watched[0])
    assert plain[1:] == watched[1:]
    assert env.guard.report().traced == 8


def test_an_error_is_raised_where_it_was_asked_for(guarded):
    given = Recipe(WALK, {"wear": 0.5})
    env = guarded(planted_envs.walk(wear=0.5), reference=given, on_leak="raise", **EAGER)

    with pytest.raises(LeakError, match="CD-863"):
        play(env, 3)


def test_a_function_is_called_with_what_was_found(guarded):
    found = []
    given = Recipe(WALK, {"wear": 0.5})
    env = guarded(planted_envs.walk(wear=0.5), reference=given, on_leak=found.append, **EAGER)

    play(env, 3, seeds=[1, 2, 3])

    assert [each.reset for each in found] == [2]


def test_a_declared_field_is_not_compared(guarded):
    env = guarded(planted_envs.walk(), reference=WALK, declare=["env.seen"], **EAGER)

    play(env, 3)

    assert env.guard.report().inert == ("env.resets",)


def test_another_environment_than_the_reference_is_no_leak_and_is_said(guarded):
    env = guarded(planted_envs.walk(wear=0.5), reference=Recipe(WALK, {"wear": 0.1}), **EAGER)

    with pytest.warns(LeakWarning, match="another environment"):
        play(env, 3)

    assert env.guard.report().findings == ()
    assert "already after the first reset" in env.guard.report().problem


def test_a_reference_that_can_t_be_built_is_said_and_the_loop_goes_on(guarded):
    env = guarded(planted_envs.walk(), reference=f"{ENVS}:nothing", **EAGER)

    with pytest.warns(LeakWarning, match="guarded no more: CD-201"):
        said = play(env, 3)

    assert len(said) == 3 * 21


def test_resets_with_options_are_counted_and_not_compared(guarded):
    env = guarded(planted_envs.walk(), reference=WALK, **EAGER)
    play(env, 1)
    env.reset(options={"level": 3})

    report = env.guard.report()
    assert (report.resets, report.checked, report.skipped) == (2, 1, 1)
    assert any("options" in text for text in report.not_checked)


def test_only_every_so_many_resets_are_checked(guarded):
    env = guarded(planted_envs.walk(), 5, reference=WALK, budget_share=1.0)

    play(env, 12)

    assert env.guard.report().checked == 3


# certificate: C-82
def test_what_it_takes_from_the_loop_is_bounded(guarded):
    env = guarded(planted_envs.walk(), 1, reference=WALK, budget_share=0.02)
    play(env, 1)
    until = time.monotonic() + 4

    while time.monotonic() < until:
        play(env, 1, wait_s=0)

    report = env.guard.report()
    assert report.resets > report.checked >= 2
    assert report.share < 0.05


def test_wrappers_of_the_loop_itself_are_no_home_of_the_environment(guarded):
    env = guarded(RecordEpisodeStatistics(gymnasium.make("CartPole-v1")), on_leak="raise", **EAGER)

    play(env, 4, steps=200)

    assert env.guard.report().findings == ()
    assert env.guard.report().problem == ""
    assert isinstance(env, gymnasium.Wrapper)
    assert isinstance(env.unwrapped, gymnasium.Env)


# certificate: C-83
def test_slots_of_a_vector_are_judged_one_by_one_also_when_they_reset_themselves(guarded):
    makers = [planted_envs.walk, lambda: planted_envs.walk(wear=0.5)]
    env = SyncVectorEnv(makers)
    # The second slot is another environment than its reference from its first episode on.
    guarded(env, reference=Recipe(WALK, {}), **EAGER)
    env.reset(seed=[1, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        for _ in range(70):
            env.guard.collect(30)
            env.step(env.action_space.sample())

    sound, worn = env.guard.report()
    assert sound.resets > 2
    assert sound.findings == ()
    assert sound.problem == ""
    assert worn.problem or worn.findings


def test_slots_in_other_processes_are_refused_with_what_to_write():
    env = AsyncVectorEnv([planted_envs.walk])
    try:
        with pytest.raises(UsageError, match="CD-864") as caught:
            guard(env, reference=WALK)
        assert "guard(make())" in caught.value.do
    finally:
        env.close()


def test_many_agents_are_guarded_as_they_are(guarded):
    env = guarded(planted_envs.Pair(), reference=f"{ENVS}:Pair", **EAGER)

    def run():
        for number in range(3):
            env.reset(seed=number)
            env.guard.collect(30)
            while env.agents:
                env.step({agent: env.action_space(agent).sample() for agent in env.agents})

    with pytest.warns(LeakWarning, match=r"env\.worn: 0\.0 -> 2\.0"):
        run()


def test_an_environment_without_seeds_is_followed_by_its_generators(guarded):
    sound = guarded(
        planted_envs.Still(0.0, 3),
        reference=Recipe(f"{ENVS}:Still", {"wear": 0.0, "seed": 3}),
        **EAGER,
    )
    worn = guarded(planted_envs.Still(), reference=f"{ENVS}:Still", **EAGER)

    def run(env):
        for _ in range(3):
            step = env.reset()
            env.guard.collect(30)
            while not step.last():
                step = env.step(np.zeros(1))

    run(sound)
    with pytest.warns(LeakWarning, match=r"env\.worn: 0\.0 -> 2\.0"):
        run(worn)

    assert sound.guard.report().findings == ()
    assert sound.guard.report().checked == 3


def test_the_world_of_a_walker_is_found_to_survive(guarded):
    """A published leak: gymnasium 1.4.0, BipedalWalker-v3."""
    env = guarded(published("BipedalWalker-v3"), **EAGER)
    env.action_space.seed(1)

    with pytest.warns(LeakWarning, match="left state behind"):
        play(env, 8, seeds=[3, *range(100, 107)], steps=100)

    assert env.guard.report().problem == ""


@pytest.mark.parametrize("name", ["LunarLander-v3", "Humanoid-v5"])
def test_published_environments_that_are_clean_are_not_blamed(guarded, name):
    env = guarded(published(name), on_leak="raise", **EAGER)

    play(env, 6, seeds=[3, None, 5, None, None, None], steps=100)

    report = env.guard.report()
    assert (report.checked, report.traced, report.problem) == (6, 6, "")


def test_a_copy_of_the_environment_and_a_fork_of_the_process_are_not_watched(guarded):
    env = guarded(planted_envs.walk(), reference=WALK, **EAGER)
    play(env, 1)
    other = copy.deepcopy(env)
    other.reset(seed=1)
    assert other.guard is None

    pid = os.fork()
    if pid == 0:
        before = env.guard.report().resets
        env.reset(seed=1)
        os._exit(env.guard.report().resets - before)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_copy_writes_where_the_loop_does_not_see_it(guarded, tmp_path):
    """Law 2: also for files that a step opens, writes and closes."""
    given = {"place": str(tmp_path / "diary")}
    env = guarded(planted_envs.diary(**given), reference=Recipe(f"{ENVS}:diary", given), **EAGER)

    play(env, 3)

    assert (tmp_path / "diary").read_text() == "x" * 60
    assert env.guard.report().findings == ()


def test_a_copy_ends_before_it_starts_a_program(guarded, tmp_path):
    given = {"place": str(tmp_path / "diary"), "runs": True}
    env = guarded(planted_envs.diary(**given), reference=Recipe(f"{ENVS}:diary", given), **EAGER)

    play(env, 3)

    report = env.guard.report()
    assert any("subprocess.Popen" in text for text in report.not_checked)
    assert report.untold == ("env.resets", "env.seen")


def test_closing_the_environment_ends_what_was_started(guarded):
    env = guarded(planted_envs.walk(), reference=WALK, **EAGER)
    play(env, 2)
    folder = env.guard._referee.folder

    env.close()

    assert not folder.exists()


def test_the_warning_points_at_the_line_of_the_loop(guarded):
    env = guarded(planted_envs.walk(wear=0.5), reference=Recipe(WALK, {"wear": 0.5}), **EAGER)

    with pytest.warns(LeakWarning) as warned:
        play(env, 3, seeds=[1, 2, 3])

    assert Path(warned[0].filename) == Path(__file__)


# certificate: C-82
def test_what_a_checker_of_gymnasium_notes_does_not_hide_the_leak(guarded):
    bare = planted_envs.walk(wear=0.5)
    reference = Recipe(f"{ENVS}:checked_walk", {"wear": 0.5})
    env = guarded(PassiveEnvChecker(bare), reference=reference, **EAGER)

    with pytest.warns(LeakWarning, match=r"env\.worn: 0\.0 -> 10\.0"):
        play(env, 3, seeds=[1, 2, 3])

    fields = env.guard.report().findings[0].fields
    assert not any(path.startswith("PassiveEnvChecker") for path, _, _ in fields)


def test_a_loop_that_ended_before_anything_was_judged_is_said(guarded):
    env = guarded(planted_envs.walk(), reference=WALK, **EAGER)
    play(env, 3, wait_s=0)

    with pytest.warns(LeakWarning, match="none of 3 resets of"):
        env.close()
