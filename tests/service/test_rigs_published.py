"""Rigs over published packages, over MuJoCo, and over worlds with private copies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleandesk.audit.certificate.leaf import Kind
from cleandesk.audit.certificate.recipes import prepare, references, rig_of
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.audit.certificate.walk import walk
from cleandesk.errors import WorldError

pytestmark = pytest.mark.service


def built(reference: str, *, reset: str = "seeded", **arguments: Any) -> Any:
    recipe = Recipe(reference, arguments, reset)
    prepare(recipe)
    rig = rig_of(recipe)
    rig.build()
    return rig


def play(rig: Any, steps: int, *, seed: int = 3, rng: int = 1) -> Any:
    drawn = np.random.default_rng(rng)
    outcome = rig.reset(seed)
    for k in range(steps):
        outcome = rig.step(rig.action(drawn, k))
        if outcome.is_over:
            break
    return outcome


def differing(fresh: Any, judged: Any) -> set[str]:
    """Reset both and return the fields that differ, without handles and scratch memory."""
    fresh.reset(7)
    judged.reset(7)
    one, other = walk(fresh.roots()), walk(judged.roots())
    paths = {
        path
        for path in one.tokens.keys() | other.tokens.keys()
        if one.tokens.get(path) != other.tokens.get(path)
    }
    return {path for path in paths if "arena" not in path and "warmstart" not in path}


@pytest.mark.parametrize(
    "reference",
    [
        "gym:CartPole-v1",
        "gym:BipedalWalker-v3",
        "gym:Humanoid-v5",
        "gym:minigrid:MiniGrid-DoorKey-8x8-v0",
        "gym:ale_py:ALE/Pong-v5",
        "gym:highway_env:highway-fast-v0",
        "pettingzoo:butterfly.knights_archers_zombies_v11",
        "pettingzoo:butterfly.pistonball_v6",
        "dm_control:humanoid.walk",
        "dm_control:lqr.lqr_2_1",
    ],
)
def test_a_published_environment_is_driven_the_same_twice(reference: str) -> None:
    first, second = built(reference), built(reference)
    one, other = play(first, 50), play(second, 50)
    assert repr(one.observation) == repr(other.observation)
    assert repr(one.reward) == repr(other.reward)
    assert first.clock() == second.clock()
    assert first.model_hash() == second.model_hash()
    assert first.clock()[0] > 0
    first.close()
    second.close()


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_both_interfaces_of_pettingzoo_are_played_to_an_end(api: str) -> None:
    rig = built("pettingzoo:butterfly.pistonball_v6", api=api, max_cycles=20, n_pistons=4)
    outcome = play(rig, 400)
    assert outcome.is_over
    assert any(outcome.truncated.values())
    assert not any(outcome.terminated.values())


def test_masks_are_kept_in_a_board_game() -> None:
    rig = built("pettingzoo:classic.connect_four_v3")
    for number in range(5):
        outcome = play(rig, 100, seed=number, rng=number)
        assert outcome.is_over
    rig.close()


def test_the_spaces_generators_are_declared_by_exact_paths() -> None:
    rig = built("gym:minigrid:MiniGrid-Empty-5x5-v0")
    rig.reset(1)
    rig.roots()["env"].action_space.sample()
    paths = walk(rig.roots()).tokens.keys()
    patterns = {each.pattern for each in rig.declared()}
    assert "env.action_space._np_random" in patterns
    assert patterns <= paths | {path.partition("._np_random")[0] + "._np_random" for path in paths}


def test_vector_slots_are_roots_of_their_own_and_the_autoreset_is_said() -> None:
    rig = built("gym:CartPole-v1", num_envs=2, vectorization_mode="sync")
    outcome = play(rig, 60)
    assert {"vector", "slot0", "slot1", "slot1_TimeLimit"} <= rig.roots().keys()
    assert "NextStep" in rig.harness
    assert outcome.reward.shape == (2,)
    rig.close()


def test_an_arcade_game_is_not_judged_unseeded() -> None:
    with pytest.raises(WorldError, match="CD-296"):
        built("gym:ale_py:ALE/Pong-v5", reset="unseeded")


def test_an_unseeded_reset_of_a_task_is_comparable() -> None:
    for reference in ("gym:Humanoid-v5", "dm_control:humanoid.walk"):
        judged, fresh = built(reference, reset="unseeded"), built(reference, reset="unseeded")
        play(judged, 30)
        fresh.prepare_reset(judged.before_reset())
        assert repr(judged.reset(1).observation) == repr(fresh.reset(1).observation)


@pytest.mark.parametrize("reference", ["gym:BipedalWalker-v3", "dm_control:cheetah.run"])
def test_a_script_says_what_the_rig_says(reference: str, tmp_path: Path) -> None:
    rig = built(reference)
    script = rig.script()
    rig.reset(5)
    drawn = np.random.default_rng(1)
    actions = []
    for k in range(5):
        action = rig.action(drawn, k)
        actions.append(action.tolist())
        outcome = rig.step(action)
    inside = "\n".join(f"    {line}" for line in script.step)
    lines = (
        *(*script.imports, f"env = {script.make}", "seed = 5", *script.reset),
        *(f"for action in {actions!r}:", inside, "print(repr(seen[1]))"),
    )
    path = tmp_path / "script.py"
    path.write_text("\n".join(lines))
    said = subprocess.run(
        [sys.executable, "-W", "ignore", str(path)], check=False, capture_output=True, text=True
    )
    assert said.stdout.strip() == repr(np.asarray(outcome.reward).tolist())


def test_an_environment_that_is_not_there_is_named_with_what_to_pass() -> None:
    with pytest.raises(WorldError, match="CD-222") as caught:
        prepare(Recipe("gym:CartPol-v1"))
    assert "CartPole-v1" in caught.value.do
    assert "conftest" in caught.value.do
    for reference in ("dm_control:humanoid.fly", "pettingzoo:butterfly.nothing_v1"):
        with pytest.raises(WorldError, match="CD-291"):
            prepare(Recipe(reference))


def test_what_is_installed_is_listed_with_the_module_that_registers_it() -> None:
    gym = set(references("gym"))
    assert "gym:CartPole-v1" in gym
    assert any(each.endswith("highway-v0") for each in gym)
    assert any(each.endswith("MiniGrid-Empty-5x5-v0") for each in gym)
    assert any(each.endswith("ALE/Pong-v5") for each in gym)
    assert "pettingzoo:butterfly.knights_archers_zombies_v11" in references("pettingzoo")
    assert "dm_control:humanoid.walk" in references("dm_control")


@pytest.mark.parametrize(
    ("reset", "left"),
    [
        ("full", set()),
        ("eponly", {"env.history"}),
        ("nonestate", {"env.motors.torque"}),
        ("noclock", {"env.clock"}),
        (
            "naive",
            {*("env.history", "env.motors.torque", "env.clock"), "env.steps", "env.command"},
        ),
    ],
)
def test_each_reset_of_the_arm_leaves_just_what_it_leaves_out(reset: str, left: set[str]) -> None:
    fresh, judged = (built("mujoco:arm", reset=reset) for _ in range(2))
    play(judged, 93)
    found = {path for path in differing(fresh, judged) if not path.startswith("env.rng")}
    assert found == left


def test_a_planted_write_survives_even_the_full_reset_and_a_fuse_waits() -> None:
    for plant, episodes, names in (
        ("write", 1, {"env.wear"}),
        ("fuse", 1, {"env.fuse"}),
        ("fuse", 4, {"env.fuse", "env.wear"}),
    ):
        fresh, judged = (built("mujoco:arm", reset="full", plant=plant) for _ in range(2))
        for _ in range(episodes):
            play(judged, 20)
        assert differing(fresh, judged) == names


def test_a_world_over_a_database_is_put_back_and_its_rows_are_named() -> None:
    fresh, judged = built("expenses"), built("expenses")
    try:
        judged.reset(1)
        judged.step({"do": "change", "id": 3, "cents": 1})
        assert judged.roots()["db"]["expense"][3]["cents"] == 1
        assert differing(fresh, judged) <= {each.pattern for each in judged.declared()}
        assert not judged.is_forkable
        with pytest.raises(LookupError):
            judged.write("db.expense[3].cents", None)
    finally:
        fresh.close()
        judged.close()


def test_a_world_whose_copies_are_not_put_back_keeps_what_was_written() -> None:
    fresh, judged = (built("expenses", reset="own") for _ in range(2))
    try:
        judged.reset(1)
        judged.step({"do": "change", "id": 3, "cents": 1})
        assert any(path.startswith("db") for path in differing(fresh, judged))
        assert judged.roots()["db"]["expense"][3]["cents"] == 1
    finally:
        fresh.close()
        judged.close()


def test_a_program_that_lives_on_keeps_its_cache() -> None:
    for cache, is_clean in (("restart", True), ("keep", False)):
        rig = built("stock", cache=cache)
        try:
            rig.reset(1)
            rig.step({"do": "query", "item": "nut", "warehouse": "SZ"})
            rig.reset(1)
            assert (not rig.roots()["app"]["cache"]) is is_clean
        finally:
            rig.close()


CONTRACT = """
import cleandesk as cd
terms = cd.contract("shop", "1", db=cd.sqlite("shop.sql"), desk=cd.files("desk"))
"""


def test_the_surfaces_of_a_contract_are_written_and_put_back(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT);"
        "INSERT INTO orders VALUES (1, 'new'), (2, 'sent');"
    )
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "a.txt").write_text("a")
    (tmp_path / "terms.py").write_text(CONTRACT)
    reference = f"{tmp_path / 'terms.py'}:terms"
    # Mounts of a private copy are entered for good: each rig has a process of its own.
    script = f"""
import sys
from cleandesk.audit.certificate.recipes import prepare, rig_of
from cleandesk.audit.certificate.rig import Recipe
import numpy as np
recipe = Recipe({reference!r})
prepare(recipe)
rig = rig_of(recipe)
rig.build()
rig.reset(1)
base = rig.roots()
rng = np.random.default_rng(1)
for k in range(40):
    rig.step(rig.action(rng, k))
assert rig.roots()["db"] != base["db"]
assert rig.roots()["desk"] != base["desk"]
rig.reset(2)
assert rig.roots() == base
rig.close()
"""
    said = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr


def test_kinds_of_leaves_of_the_arm_include_the_engine() -> None:
    rig = built("mujoco:arm")
    rig.reset(1)
    seen = walk(rig.roots())
    assert seen.leaf("env.motors.torque").kind is Kind.ARRAY
    assert any(path.startswith("env.data") for path in seen.tokens)
