from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("minigrid")

from gymnasium import spaces  # noqa: E402

from cleandesk.bridges.fitting import MisfitError, fitted, misfit  # noqa: E402
from cleandesk.bridges.gymnasium import GymWorld  # noqa: E402
from cleandesk.errors import WorldError  # noqa: E402
from cleandesk.state import diff, fingerprint  # noqa: E402
from cleandesk.suites import suite_path  # noqa: E402
from cleandesk.tasks.suite import load_suite  # noqa: E402
from cleandesk.worlds.at import At  # noqa: E402
from cleandesk.worlds.capture import Inside, capture  # noqa: E402
from cleandesk.worlds.spaces import describe_space  # noqa: E402

SUITE = load_suite(suite_path("gymnasium"))

BUILDER = """
import json, random, sys
import numpy
from cleandesk.bridges.gymnasium import GymWorld
from cleandesk.state import fingerprint
from cleandesk.worlds.at import At
from cleandesk.worlds.capture import Inside, capture

random.seed(int(sys.argv[1]))
numpy.random.seed(int(sys.argv[1]))
found = {}
for name, kwargs in json.loads(sys.argv[2]):
    for seed in (1, 20):
        at = At()
        world = GymWorld(name, at=at, **kwargs)
        world.reset(seed=seed)
        found[f"{name} {seed}"] = fingerprint(capture(world, Inside(at), world.contract).snapshot)
        world.close()
print(json.dumps(found))
"""


class Odd(gymnasium.Env):
    """An environment with a handle, an info that can't be read, and a wrong observation."""

    observation_space = spaces.Box(0, 1, (2,), np.float32)
    action_space = spaces.Discrete(2, start=1)

    def __init__(self, wrong_after=99):
        self.handle = threading.Lock()
        self.steps = 0
        self.wrong_after = wrong_after
        self.seen = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._observe(), {"handle": self.handle, "options": options}

    def step(self, action):
        self.seen.append(action)
        self.steps += 1
        return self._observe(), np.float32(0.5), np.bool_(self.steps > 5), np.bool_(False), {}

    def _observe(self):
        return np.full(2, 7.0 if self.steps > self.wrong_after else 0.5, np.float32)


@pytest.fixture(autouse=True)
def _registered():
    gymnasium.register("Odd-v0", entry_point=Odd)
    yield
    del gymnasium.registry["Odd-v0"]


def started(name, *, seed=1, **kwargs):
    at = At()
    world = GymWorld(name, at=at, **kwargs)
    world.reset(seed=seed)
    return at, world


def state(at, world):
    return capture(world, Inside(at), world.contract).snapshot


def test_every_start_of_the_suite_is_the_same_in_two_separate_processes():
    """Law 4: a start is verified against an independent build."""
    names = json.dumps([[task.world.removeprefix("gym:"), task.with_] for task in SUITE.tasks])
    builders = [
        subprocess.Popen(
            [sys.executable, "-c", BUILDER, variant, names],
            env={**os.environ, "PYTHONHASHSEED": variant},
            stdout=subprocess.PIPE,
        )
        for variant in ("1", "2")
    ]
    one, other = (json.loads(builder.communicate()[0]) for builder in builders)

    assert len(one) == 2 * len(SUITE.tasks)
    assert one == other


def test_the_suite_has_at_least_two_hundred_episodes_on_ten_environments():
    assert len(SUITE.tasks) >= 10
    assert sum(len(task.seeds) for task in SUITE.tasks) * SUITE.trials >= 200


def test_another_seed_is_another_start():
    at, world = started("CartPole-v1")
    first = state(at, world)
    world.reset(seed=2)
    changed = {change.path[0] for change in diff(first, state(at, world))}

    assert changed == {"observation", "generator", "attributes"}


@pytest.mark.parametrize(
    "name",
    ["CartPole-v1", "LunarLander-v3", "InvertedPendulum-v5", "minigrid:MiniGrid-DoorKey-5x5-v0"],
)
def test_looking_changes_nothing(name):
    """Law 2: captures agree, and a trace with captures equals the trace without."""
    traces = []
    for looks in (False, True):
        at, world = started(name)
        trace = []
        for _ in range(5):
            if looks:
                assert fingerprint(state(at, world)) == fingerprint(state(at, world))
            low = world.spaces().get("low")
            trace.append(world.step(1 if low is None else [low / 2])[:4])
        traces.append((repr(trace), fingerprint(state(at, world))))
        world.close()

    assert traces[0] == traces[1]


def test_the_generator_of_an_environment_that_has_none_yet_is_not_made():
    world = GymWorld("CartPole-v1")

    assert world.generator is None
    assert world.env.unwrapped._np_random is None


def test_resets_without_a_seed_lead_to_another_start_that_is_the_same_each_time():
    fingerprints = {
        resets: [fingerprint(state(*started("CartPole-v1", unseeded_resets=resets))) for _ in "ab"]
        for resets in (0, 1, 2)
    }

    assert all(one == other for one, other in fingerprints.values())
    assert len({one for one, _ in fingerprints.values()}) == 3


def test_the_contract_names_the_packages_that_the_world_comes_from():
    version = f"gymnasium {gymnasium.__version__}"
    contracts = [
        GymWorld(name).contract
        for name in ("CartPole-v1", "minigrid:MiniGrid-Empty-5x5-v0", "InvertedPendulum-v5")
    ]

    assert [terms.name for terms in contracts][:2] == [
        "gym:CartPole-v1",
        "gym:minigrid:MiniGrid-Empty-5x5-v0",
    ]
    assert contracts[0].version == version
    assert contracts[1].version.startswith(f"{version}, minigrid ")
    assert contracts[2].version.startswith(f"{version}, mujoco ")


def test_where_a_package_is_installed_is_ignored_with_a_reason():
    at, world = started("InvertedPendulum-v5")
    held = capture(world, Inside(at), world.contract)
    world.contract.require_fields(held.snapshot, held.ignored)

    assert held.ignored == {"env.attributes.fullpath"}


def test_the_steps_that_a_wrapper_counts_are_read():
    at, world = started("CartPole-v1")
    before = state(at, world)
    world.step(0)
    changed = {change.pointer for change in diff(before, state(at, world))}

    assert "/attributes/TimeLimit._elapsed_steps" in changed


def test_all_that_the_next_step_of_mujoco_depends_on_is_read():
    at, world = started("InvertedPendulum-v5")
    before = state(at, world)
    world.env.unwrapped.data.qacc_warmstart[0] += 1

    assert [change.pointer for change in diff(before, state(at, world))] == [
        "/attributes/data (integration state)"
    ]


def test_what_can_not_be_read_is_listed():
    at, world = started("LunarLander-v3")
    listed = capture(world, Inside(at), world.contract).not_read

    assert "env.unwrapped.world (Box2D b2World)" in listed
    assert "env.unwrapped.legs (list of Box2D b2Body)" in listed
    assert any("spaces' own generators" in home for home in listed)


def test_an_info_that_can_not_be_read_is_left_out_and_listed():
    at, world = started("Odd-v0")
    listed = capture(world, Inside(at), world.contract).not_read

    assert world.info == {"options": None}
    assert any(home.startswith("info['handle'] (") for home in listed)
    assert any(home.startswith("env.unwrapped.handle (") for home in listed)


def test_an_attribute_that_becomes_unreadable_is_listed_from_then_on():
    at, world = started("Odd-v0")
    world.env.unwrapped.seen.append(threading.Lock())
    held = capture(world, Inside(at), world.contract)

    assert "seen" not in held.snapshot.tree()["env"]["attributes"]
    assert any("env.unwrapped.seen (list of " in home for home in held.not_read)


@pytest.mark.parametrize("action", [0, 3, 1.0, True, "1", None, [1, 2], np.array([1, 2])])
def test_an_action_outside_its_space_is_not_carried_out(action):
    at, world = started("Odd-v0")
    before = state(at, world)
    observation, reward, terminated, truncated, info = world.step(action)

    assert info["action_error"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert observation.tolist() == [0.5, 0.5]
    assert diff(before, state(at, world)) == ()


@pytest.mark.parametrize("action", [1, np.int64(1), np.array(1), np.array([1])])
def test_a_whole_number_may_come_as_numpy_holds_it(action):
    _, world = started("Odd-v0")
    world.step(action)

    assert world.env.unwrapped.seen == [1]


def test_an_outcome_is_of_plain_types():
    _, world = started("Odd-v0")
    kinds = [type(part) for part in world.step(1)[1:4]]

    assert kinds == [float, bool, bool]


def test_an_observation_outside_its_space_is_noted_once_an_episode():
    _, world = started("Odd-v0", wrong_after=1)
    infos = [world.step(1)[4] for _ in range(3)]

    assert [info.get("observation_error") for info in infos] == [
        None,
        "the observation[0] = 7.0 lies outside [0.0, 1.0]",
        None,
    ]
    world.reset(seed=1)
    assert "observation_error" in [world.step(1)[4] for _ in range(2)][1]


def test_an_observation_that_the_agent_changes_changes_nothing():
    at, world = started("minigrid:MiniGrid-Empty-5x5-v0")
    before = state(at, world)
    observation, *_ = world.step("nonsense")
    observation["image"][:] = 9
    observation, _ = world.reset(seed=1)
    observation["image"][:] = 9

    assert diff(before, state(at, world)) == ()


def test_options_reach_the_environment():
    world = GymWorld("Odd-v0")
    world.reset(seed=1, options={"level": 3})

    assert world.info["options"] == {"level": 3}


def test_terminated_and_truncated_are_told_apart():
    _, world = started("CartPole-v1", max_episode_steps=2)
    first, second = world.step(0), world.step(1)

    assert first[2:4] == (False, False)
    assert second[2:4] == (False, True)


def test_an_unknown_id_is_refused_with_the_nearest():
    with pytest.raises(WorldError, match="CD-222") as refused:
        GymWorld("CartPol-v1")

    assert "CartPole-v1" in refused.value.do


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("no_such_package:Thing-v0", {}),
        ("CartPole-v1", {"gravitas": 3}),
        ("CartPole-v1", {"unseeded_resets": -1}),
        ("", {}),
        ("a b", {}),
    ],
)
def test_an_environment_that_cannot_be_made_says_why(name, kwargs):
    with pytest.raises(WorldError, match=r"CD-22[23]"):
        GymWorld(name, **kwargs)


def test_without_gymnasium_the_extra_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(WorldError, match="CD-221") as refused:
        GymWorld("CartPole-v1")

    assert "cleandesk[gym]" in refused.value.do


def test_preparing_imports_the_environment_and_makes_none():
    script = (
        "import sys; from cleandesk.bridges.gymnasium import GymWorld; "
        "assert 'gymnasium' not in sys.modules; "
        "GymWorld.prepare('minigrid:MiniGrid-Empty-5x5-v0'); "
        "print('minigrid.envs' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "True\n"


SPACES = [
    (spaces.Discrete(3, start=-1), {"kind": "discrete", "n": 3, "start": -1}),
    (
        spaces.Box(-2.0, 2.0, (1,), np.float32),
        {"kind": "box", "low": -2.0, "high": 2.0, "shape": [1], "dtype": "float32"},
    ),
    (
        spaces.Box(np.array([0, -np.inf]), np.array([1, np.inf]), dtype=np.float64),
        {"kind": "box", "low": [0.0, None], "high": [1.0, None], "shape": [2], "dtype": "float64"},
    ),
    (
        spaces.MultiDiscrete([2, 3]),
        {"kind": "multi_discrete", "nvec": [2, 3], "start": [0, 0]},
    ),
    (spaces.MultiBinary([2, 2]), {"kind": "multi_binary", "shape": [2, 2]}),
    (
        spaces.Text(3, charset="ba"),
        {"kind": "text", "min_length": 1, "max_length": 3, "characters": "ab"},
    ),
    (
        spaces.Dict(a=spaces.Discrete(2), b=spaces.Tuple([spaces.Discrete(1)])),
        {
            "kind": "dict",
            "spaces": {
                "a": {"kind": "discrete", "n": 2, "start": 0},
                "b": {"kind": "tuple", "spaces": [{"kind": "discrete", "n": 1, "start": 0}]},
            },
        },
    ),
]


@pytest.mark.parametrize(("space", "described"), SPACES)
def test_a_space_is_described_as_plain_data(space, described):
    assert describe_space(space) == described
    assert json.loads(json.dumps(described)) == described


def test_a_space_of_another_kind_is_described_by_its_text():
    described = describe_space(spaces.Sequence(spaces.Discrete(2)))

    assert described["kind"] == "other"
    assert "Sequence" in described["text"]


def test_no_space_and_a_description_are_described_as_they_are():
    assert describe_space(None) is None
    assert describe_space({"kind": "discrete", "n": 1, "start": 0})["n"] == 1


@pytest.mark.parametrize(
    ("space", "action", "taken"),
    [
        (spaces.Box(-1, 1, (2,), np.float32), [0, 0.1], np.array([0, 0.1], np.float32)),
        (spaces.Box(0, 9, (2,), np.int8), [1.0, 2], np.array([1, 2], np.int8)),
        (spaces.MultiDiscrete([2, 3]), [1, 2], np.array([1, 2])),
        (spaces.MultiBinary(2), [1, 0], np.array([1, 0], np.int8)),
    ],
)
def test_lists_become_arrays_of_the_type_that_is_asked_for(space, action, taken):
    found = fitted(space, action)

    assert found.dtype == taken.dtype
    assert np.array_equal(found, taken)


def test_parts_of_a_composite_action_are_converted_each():
    space = spaces.Dict(a=spaces.Box(0, 1, (1,)), b=spaces.Tuple([spaces.Discrete(2)]))
    found = fitted(space, {"a": [0.5], "b": [np.int64(1)]})

    assert found["a"].dtype == np.float32
    assert found["b"] == (1,)


@pytest.mark.parametrize(
    ("space", "action", "said"),
    [
        (spaces.Box(-1, 1, (2,)), [0, 2], r"the action\[1\] = 2.0 lies outside \[-1.0, 1.0\]"),
        (spaces.Box(-1, 1, (2,)), [0, float("nan")], r"the action\[1\] = nan"),
        (spaces.Box(-1, 1, (2,)), [0], r"shape \(1,\), not \(2,\)"),
        (spaces.Box(-1, 1, (2,)), ["a", "b"], "no array of float32"),
        (spaces.Box(-1, 1, (2,)), [[1], [1, 2]], "no array of float32"),
        (spaces.Box(0, 9, (1,), np.int8), [1.5], "no array of int8"),
        (spaces.Box(0, 9, (1,), np.uint8), [-1], "no array of uint8"),
        (spaces.MultiDiscrete([2, 3]), [2, 2], "lies outside MultiDiscrete"),
        (spaces.Text(2), "long text", "lies outside Text"),
        (spaces.Tuple([spaces.Discrete(2)]), [0, 1], "has 2 parts, not 1"),
        (spaces.Tuple([spaces.Discrete(2)]), 0, "no tuple of 1"),
        (spaces.Dict(a=spaces.Discrete(2)), {"b": 1}, "no dict with the keys a"),
        (spaces.Dict(a=spaces.Discrete(2)), {"a": 7}, r"the action\['a'\] = 7 lies outside"),
    ],
)
def test_a_misfit_is_named(space, action, said):
    with pytest.raises(MisfitError, match=said):
        fitted(space, action)


def test_everything_lies_in_no_space():
    assert misfit(None, object(), "it") == ""


@pytest.mark.parametrize(
    ("id", "code", "do"),
    [
        ("CartPole-v7", "CD-222", "did you mean CartPole-v"),
        ("robots/Peg-v1", "CD-222", "written gym:robots:ID"),
        ("nosuchmodule:Peg-v1", "CD-223", "check the module's name"),
    ],
)
def test_an_id_that_is_not_there_is_refused_with_what_to_write(id, code, do):
    with pytest.raises(WorldError, match=code) as refused:
        GymWorld(id)

    assert do in refused.value.do
