"""The walk over published environments: no false difference, no disturbance, no explosion."""

import json
import os
import subprocess
import sys
import warnings

import pytest

from cleandesk.audit.certificate.leaf import Kind
from cleandesk.audit.certificate.walk import read, walk, write

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

pytestmark = [pytest.mark.service, pytest.mark.filterwarnings("ignore")]

CLEAN = [
    "CartPole-v1",
    "Pendulum-v1",
    "Taxi-v4",
    "Blackjack-v1",
    "LunarLander-v3",
    "Humanoid-v5",
    "HalfCheetah-v5",
    "MiniGrid-DoorKey-8x8-v0",
    "BabyAI-GoToRedBall-v0",
    "ALE/Pong-v5",
]


def make(name):
    warnings.simplefilter("ignore")
    if name.startswith("ALE"):
        gymnasium.register_envs(pytest.importorskip("ale_py"))
    if name.startswith(("MiniGrid", "BabyAI")):
        pytest.importorskip("minigrid")
    return gymnasium.make(name)


def roots(env):
    found = {"env": env.unwrapped}
    while env is not env.unwrapped:
        found[type(env).__name__] = env
        env = env.env
    return found


def act(space, rng):
    if hasattr(space, "n"):
        return int(space.start + rng.integers(space.n))
    return rng.uniform(space.low, space.high).astype(space.dtype)


def play(env, seed, steps):
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        _, _, ended, cut, _ = env.step(act(env.action_space, rng))
        if ended or cut:
            break


def tokens_elsewhere(names, number):
    """Return {name: {path: token}} as another process finds them."""
    script = (
        "import sys, json, random; sys.path.insert(0, sys.argv[1])\n"
        "import numpy; random.seed(int(sys.argv[2])); numpy.random.seed(int(sys.argv[2]))\n"
        "from test_walk_published import make, roots, walk\n"
        "found = {}\n"
        "for name in sys.argv[3:]:\n"
        "    env = make(name); env.reset(seed=7); found[name] = {\n"
        "        path: token.hex() for path, token in walk(roots(env)).tokens.items()}\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, os.path.dirname(__file__), str(number), *names],  # noqa: PTH120
        env={**os.environ, "PYTHONHASHSEED": str(number)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_two_processes_unlike_one_another_find_the_same_state():
    one, other = (tokens_elsewhere(CLEAN, number) for number in (11, 77))

    for name in CLEAN:
        paths = {*one[name], *other[name]}
        assert [path for path in paths if one[name].get(path) != other[name].get(path)] == []


@pytest.mark.parametrize("name", CLEAN)
def test_what_a_clean_reset_leaves_is_bookkeeping_of_a_wrapper(name):
    env = make(name)
    env.reset(seed=7)
    fresh = walk(roots(env)).tokens
    for episode in range(3):
        play(env, 100 + episode, 120 if episode < 2 else 41)
    env.reset(seed=7)
    after = walk(roots(env))

    unlike = {path for path in {*fresh, *after.tokens} if fresh.get(path) != after.tokens.get(path)}

    assert {path for path in unlike if not path.startswith("PassiveEnvChecker")} == set()
    for path in after.tokens:
        after.leaf(path).to_bytes()


@pytest.mark.parametrize("name", ["CartPole-v1", "LunarLander-v3", "Humanoid-v5", "ALE/Pong-v5"])
def test_a_trace_with_walks_equals_one_without(name):
    def trace(is_walked):
        env = make(name)
        seen, _ = env.reset(seed=3)
        rng = np.random.default_rng(5)
        said = [seen.tobytes()]
        for _ in range(80):
            seen, reward, ended, cut, _ = env.step(act(env.action_space, rng))
            said.append((seen.tobytes(), repr(reward), ended, cut))
            if is_walked:
                walk(roots(env)).fingerprint()
            if ended or cut:
                env.reset()
        return said

    assert trace(is_walked=True) == trace(is_walked=False)


def test_the_world_of_box2d_stays_a_handle_with_what_can_be_read_of_it():
    env = make("BipedalWalker-v3")
    env.reset(seed=1)
    found = walk(roots(env))

    assert found.opaque["env.world"][0].startswith("Box2D b2World")
    assert found.leaf("env.world.bodyCount").value > 200
    assert found.leaf("env.world[body 0]").value["mass"] >= 0
    with pytest.raises(LookupError, match="new world"):
        write(roots(env), "env.world.bodyCount", found.leaf("env.world.bodyCount"))


def test_the_engine_of_humanoid_is_read_and_put_back_field_by_field():
    env = make("Humanoid-v5")
    env.reset(seed=7)
    fresh = walk(roots(env))
    play(env, 9, 60)
    env.reset(seed=7)
    env.unwrapped.data.qacc_warmstart[3] = 5.0
    env.unwrapped.model.opt.timestep = 0.5

    for path in ("env.data.qacc_warmstart", "env.model.opt.timestep"):
        assert walk(roots(env)).tokens[path] != fresh.tokens[path]
        write(roots(env), path, fresh.leaf(path))
        assert read(roots(env), path).to_bytes() == fresh.leaf(path).to_bytes()

    assert fresh.leaf("env.data.arena").kind is Kind.OPAQUE
    assert not any(path.startswith("env.data.efc_") for path in fresh.tokens)
    assert walk(roots(env)).tokens["env.data.qpos"] == fresh.tokens["env.data.qpos"]


def test_the_counter_that_survives_in_knights_archers_zombies_is_named():
    pytest.importorskip("pettingzoo")
    module = pytest.importorskip("pettingzoo.butterfly.knights_archers_zombies_v11")
    env = module.parallel_env()
    env.reset(seed=7)
    fresh = walk({"env": env.unwrapped}).tokens
    env.reset(seed=8)
    rng = np.random.default_rng(0)
    for _ in range(67):
        env.step({agent: int(rng.integers(6)) for agent in env.agents})
    env.reset(seed=7)
    after = walk({"env": env.unwrapped}).tokens

    unlike = {path for path in {*fresh, *after} if fresh.get(path) != after.get(path)}

    assert unlike - {"env._skip_agent_selection"} == {"env.zombie_spawn_interval._current_step"}
    env.close()
