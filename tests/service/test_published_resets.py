"""Published environments, pinned: those whose reset leaks, and clean ones beside them."""

from __future__ import annotations

import pytest

pytest.importorskip("gymnasium")

from cleandesk.audit.certificate.certify import certify
from cleandesk.verdict import Status

pytestmark = pytest.mark.service


def leaked(found):
    return [leak.path for leak in found.leaks if leak.kind == "leak"]


@pytest.fixture(scope="module")
def walker():
    pytest.importorskip("Box2D")
    return certify("gym:BipedalWalker-v3")


def test_world_that_the_walker_keeps_fails_its_reset(walker):
    """C-16 C-30 C-40 C-71: gymnasium 1.4.0 keeps the b2World from episode to episode."""
    assert (str(walker.cls), walker.status) == ("FAIL", Status.FAIL)
    assert walker.first_divergence is not None


def test_world_that_the_walker_keeps_is_named_as_what_can_not_be_read(walker):
    """C-15 C-44 C-85."""
    handles = [each.path for each in walker.opaque if "b2World" in each.about]

    assert [path for path in handles if path.startswith("env.world")]


def test_lander_makes_a_new_world_and_is_clean():
    """C-36: the control of the walker, on the same engine."""
    pytest.importorskip("Box2D")
    found = certify("gym:LunarLander-v3")

    assert (str(found.cls), found.leaks) == ("BIT-IDENTICAL", ())


def test_spawn_counter_is_the_one_true_write_of_the_zombies():
    """C-2 C-51 C-52: pettingzoo 1.27.0."""
    pytest.importorskip("pygame")
    pytest.importorskip("pettingzoo")
    found = certify("pettingzoo:butterfly.knights_archers_zombies_v11")

    (leak,) = [each for each in found.leaks if each.kind == "leak"]
    assert str(found.cls) == "FAIL"
    assert leak.path.endswith("zombie_spawn_interval._current_step")
    assert leak.is_confirmed


def test_highway_is_refused_for_its_unseeded_action_space():
    """C-21 C-22 C-25 C-43: highway-env 1.12.1 tells a draw of it in info."""
    pytest.importorskip("highway_env")
    found = certify("gym:highway_env:highway-v0", episodes=2, steps=60)

    assert str(found.cls) == "REFUSED-AT-ANCHOR"
    assert found.first_divergence.channel == "info"
    assert "action_space" in " ".join([found.reason, *found.varies])


CLEAN = {
    "gym:CartPole-v1": "gymnasium",
    "gym:Humanoid-v5": "mujoco",
    "dm_control:cartpole.swingup": "dm_control",
    "gym:minigrid:MiniGrid-DoorKey-8x8-v0": "minigrid",
    "gym:ale_py:ALE/Pong-v5": "ale_py",
}


@pytest.mark.parametrize("reference", CLEAN)
def test_clean_environment_is_bit_identical_and_the_arena_is_no_alarm(reference):
    """C-2 C-16 C-36 C-47: no false alarm is as important as no miss."""
    pytest.importorskip(CLEAN[reference])
    given = {"obs_type": "ram"} if "ALE" in reference else {}
    found = certify(reference, arguments=given, episodes=3, steps=300)

    assert (str(found.cls), found.leaks) == ("BIT-IDENTICAL", ())


ARM = {
    "full": ("BIT-IDENTICAL", ()),
    "naive": ("FAIL", ()),
    "eponly": ("FAIL", ()),
    "nonestate": ("FAIL", ()),
    "noclock": ("FAIL", ()),
}


@pytest.mark.parametrize("mode", ARM)
def test_arm_is_judged_by_the_reset_that_is_asked_for(mode):
    """C-5: five resets of one rig, of which one restores everything."""
    pytest.importorskip("mujoco")
    found = certify("mujoco:arm", reset=mode, episodes=3, steps=200)

    assert str(found.cls) == ARM[mode][0]
    assert mode in found.harness
    assert bool(leaked(found)) is (ARM[mode][0] == "FAIL")


@pytest.mark.parametrize(
    ("variant", "cls"), [("clean", "BIT-IDENTICAL"), ("leaky", "FAIL"), ("jitter", "STATE-CLEAN")]
)
def test_stub_with_a_policy_that_has_state_is_judged_as_a_whole(variant, cls):
    """C-23 C-36 C-40: a policy is a home of state too."""
    assert str(certify(f"stub:{variant}", episodes=3, steps=200).cls) == cls
