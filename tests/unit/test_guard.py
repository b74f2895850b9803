from __future__ import annotations

import copy
import os
import random
from pathlib import Path

import numpy as np
import pytest

from cleandesk.audit.certificate.guard import Found, GuardReport, guard, live
from cleandesk.audit.certificate.guard.alone import Alone
from cleandesk.audit.certificate.guard.reference import recipe_for
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.audit.certificate.streams import (
    global_states,
    put_global_states,
    states_of,
    streams,
)
from cleandesk.errors import UsageError

gymnasium = pytest.importorskip("gymnasium")


class Bare:
    """An environment of no library."""

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


def test_a_fresh_build_is_read_from_the_spec_with_all_that_was_changed():
    env = gymnasium.make("CartPole-v1", max_episode_steps=7, disable_env_checker=True)

    assert recipe_for(env, None) == Recipe("gym:CartPole-v1", {"max_episode_steps": 7}, "unseeded")


def test_a_fresh_build_opens_no_window():
    spec = copy.deepcopy(gymnasium.spec("CartPole-v1"))
    spec.kwargs = {"render_mode": "human", "sutton_barto_reward": True}
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))
    env._cached_spec = spec

    assert recipe_for(env, None).arguments == {
        "disable_env_checker": False,
        "sutton_barto_reward": True,
    }


def test_an_environment_of_which_no_fresh_one_can_be_built_is_refused_with_what_to_pass():
    with pytest.raises(UsageError, match="CD-862") as caught:
        guard(Bare())
    assert 'reference="module:factory"' in caught.value.do


def test_an_environment_that_the_program_registered_itself_is_refused():
    gymnasium.register("Own-v0", entry_point=Bare)
    try:
        env = gymnasium.make("CartPole-v1")
        env._cached_spec = gymnasium.spec("Own-v0")
        with pytest.raises(UsageError, match="registered with an object"):
            recipe_for(env, None)
    finally:
        del gymnasium.registry["Own-v0"]


@pytest.mark.parametrize("bad", [{"every": 0}, {"budget_share": 0.0}, {"budget_share": 2.0}])
def test_numbers_that_make_no_sense_are_refused(bad):
    with pytest.raises(UsageError, match="CD-864"):
        guard(gymnasium.make("CartPole-v1"), **bad)


def test_what_has_no_reset_is_refused():
    with pytest.raises(UsageError, match="CD-864"):
        guard(object(), reference="gym:CartPole-v1")


def test_a_rig_over_a_live_environment_neither_builds_nor_resets_anything():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)
    for _ in range(3):
        env.step(0)
    before = env.unwrapped.state

    rig = live.rig_over(env)

    assert rig.roots()["env"] is env.unwrapped
    assert env.unwrapped.state is before


def test_the_part_that_is_like_the_reference_is_found_below_the_loops_own_wrappers():
    env = gymnasium.wrappers.RecordEpisodeStatistics(
        gymnasium.make("CartPole-v1", disable_env_checker=True)
    )
    kinds = live.kinds_of(live.rig_over(env.env).roots())

    part = live.part_like(env, kinds)

    assert part is not None
    assert list(part.roots()) == ["env", "TimeLimit", "OrderEnforcing"]
    assert live.part_like(env, {"env": "some:Other"}) is None


def test_generators_are_put_where_others_stood():
    one, other = ({"env": gymnasium.make("CartPole-v1").unwrapped} for _ in range(2))
    for roots in (one, other):
        roots["env"].reset(seed=5)
    one["env"].reset()
    found = streams(one)

    assert list(found) == ["env._np_random"]
    assert states_of(found) != states_of(streams(other))
    other["env"].reset()
    assert states_of(found) == states_of(streams(other))


def test_global_streams_are_put_where_they_stood():
    random.gauss(0, 1)
    held = global_states()
    drawn = random.random(), random.gauss(0, 1), np.random.normal()

    put_global_states(held)

    assert (random.random(), random.gauss(0, 1), np.random.normal()) == drawn


def test_a_copy_steps_as_it_is_told_and_leaves_the_original_alone(tmp_path):
    env = gymnasium.make("CartPole-v1", disable_env_checker=True)
    env.reset(seed=1)
    rig = live.rig_over(env)
    before = env.unwrapped.state

    pid = live.copy_steps(env, tmp_path, 4)
    asked = {"actions": [0, 1, 0], "kinds": live.kinds_of(rig.roots())}
    live.write_file(tmp_path / "4.actions", asked)
    said = live.await_file(tmp_path / "4.rows")
    os.waitpid(pid, 0)

    assert env.unwrapped.state is before
    assert said == {"problem": "", "rows": live.stepped(rig, [0, 1, 0].__getitem__, 3)[0]}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("opaque", "mode", "why"),
    [
        ({}, None, ""),
        ({"env.world": ("Box2D b2World", 1)}, None, ""),
        ({"env.sim": ("socket socket", 1)}, None, "env.sim (socket socket)"),
        ({"env.log": ("_io TextIOWrapper", 1)}, "rgb_array", "env.log (_io TextIOWrapper)"),
        ({}, "human", "it draws to a screen"),
    ],
)
def test_a_copy_is_not_let_step_where_it_would_speak_to_what_the_original_speaks_to(
    opaque, mode, why
):
    env = Bare()
    env.render_mode = mode

    assert live.reaches_out(opaque, env) == why


def test_a_file_that_does_not_come_is_waited_for_no_longer_than_said():
    with pytest.raises(TimeoutError):
        live.await_file(Path("nowhere", "1.rows"), 0.02)


def test_a_leak_is_told_with_reset_step_and_both_values():
    fields = tuple((f"env.part{number}", "0", "3") for number in range(7))
    text = str(Found("gym:X-v0", 300, 200, 7, fields))

    assert "reset 300 of gym:X-v0 left state behind" in text
    assert "from step 7 on" in text
    assert "env.part0: 0 -> 3" in text
    assert "and 3 more" in text
    assert "\x1b" not in str(Found("\x1b[2J", 1, 1, 1))


def test_a_leak_that_no_field_shows_names_the_handles():
    text = str(Found("gym:X-v0", 2, 2, 7, (), ("env.world (Box2D b2World)",)))

    assert "no field that can be read differs; handles that can't be: env.world" in text


# certificate: C-81 C-82
def test_a_report_says_what_it_cost_and_what_it_did_not_look_at():
    report = GuardReport(900, 9, 8, 0, 0, (), ("env.a",), ("env.b",), 0.5, 100.0, "", ("guard: x",))

    assert report.share == 0.005
    assert "900 resets, 9 compared with a fresh build, 8 of them by steps too" in str(report)
    assert "0.50 % of 100 s" in str(report)
    assert "inert: env.a" in str(report)
    assert "differs, leak or inert: env.b" in str(report)
    assert "not checked: guard: x" in str(report)


def test_a_copy_of_what_is_guarded_is_not_watched():
    from cleandesk.audit.certificate.guard.watch import Guard, Terms

    class Nobody:
        def join(self):
            pass

    watching = Guard(gymnasium.make("CartPole-v1"), "x", Nobody(), Terms())

    assert copy.deepcopy(watching) is None


@pytest.mark.parametrize(
    ("event", "arguments", "is_hidden", "ends"),
    [
        ("socket.connect", (None, None), True, True),
        ("subprocess.Popen", ("ls", [], None, None), True, True),
        ("open", ("a.txt", "w", 0), False, True),
        ("open", ("a.txt", None, os.O_CREAT), False, True),
        ("open", ("a.txt", "r", os.O_CLOEXEC), False, False),
        ("open", (os.devnull, "w", 0), False, False),
        ("open", ("a.txt", "w", 0), True, False),
        ("open", ("/elsewhere/a.txt", "w", 0), True, True),
        ("os.remove", ("a.txt", -1), False, True),
        ("os.rename", ("a.txt", "/elsewhere/a.txt", -1, -1), True, True),
        ("import", ("os", None), False, False),
    ],
)
def test_what_a_copy_may_not_do_is_known_by_what_python_says_of_it(
    event, arguments, is_hidden, ends
):
    alone = Alone(print)
    alone._hidden = (str(Path.cwd()),) if is_hidden else ()

    assert alone._reaches_out(event, arguments) is ends
