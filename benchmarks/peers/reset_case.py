"""One public checker on one planted rig, in a process of its own; prints what it says.

python benchmarks/peers/reset_case.py CHECKER RIG [clean]

Run by the interpreter that has the checker; nothing of cleandesk is imported.
"""

from __future__ import annotations

import importlib
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any

RIGS = Path(__file__).parents[2] / "tests" / "faults" / "rigs"
PASSES, CATCHES, MISSING = "passes", "catches it", "not installed"


def gymnasium_check_env(make: Any) -> None:
    """Gymnasium's check of one environment."""
    from gymnasium.utils.env_checker import check_env

    check_env(make(), skip_render_check=True)


def gymnasium_rollout(make: Any) -> None:
    """The procedure of Gymnasium's own rollout test: two environments, one process, 50 steps."""
    one, other = make(), make()
    one.action_space.seed(0)
    same(one.reset(seed=0), other.reset(seed=0))
    for _ in range(50):
        action = one.action_space.sample()
        said = one.step(action)
        same(said, other.step(action))
        if said[2] or said[3]:
            same(one.reset(seed=0), other.reset(seed=0))


def same(one: Any, other: Any) -> None:
    import numpy as np

    for mine, yours in zip(one, other, strict=True):
        np.testing.assert_equal(mine, yours)


def sb3_check_env(make: Any) -> None:
    """Stable-Baselines3's check of one environment."""
    from stable_baselines3.common.env_checker import check_env

    check_env(make())


def pettingzoo_seed(make: Any) -> None:
    """PettingZoo's test of seeds, turn by turn."""
    from pettingzoo.test import seed_test
    from pettingzoo.utils.conversions import parallel_to_aec

    seed_test(lambda: parallel_to_aec(alone(make())), num_cycles=50)


def pettingzoo_parallel_seed(make: Any) -> None:
    """PettingZoo's test of seeds, all agents at once."""
    from pettingzoo.test import parallel_seed_test

    parallel_seed_test(lambda: alone(make()), num_cycles=500)


def pettingzoo_parallel_api(make: Any) -> None:
    """PettingZoo's test of the interface, all agents at once."""
    from pettingzoo.test import parallel_api_test

    parallel_api_test(alone(make()), num_cycles=1000)


def alone(env: Any) -> Any:
    """Return ``env`` as a PettingZoo environment of one agent."""
    from pettingzoo import ParallelEnv

    class Alone(ParallelEnv):
        metadata = {"name": "alone_v0", "render_modes": []}  # noqa: RUF012 - PettingZoo's form
        possible_agents = ["a"]  # noqa: RUF012 - PettingZoo's form
        render_mode = None

        def observation_space(self, _: str) -> Any:
            return env.observation_space

        def action_space(self, _: str) -> Any:
            return env.action_space

        def reset(self, seed: Any = None, options: Any = None) -> Any:
            self.agents = ["a"]
            seen, info = env.reset(seed=seed, options=options)
            return {"a": seen}, {"a": info}

        def step(self, actions: Any) -> Any:
            said = env.step(actions["a"])
            if said[2] or said[3]:
                self.agents = []
            return tuple({"a": each} for each in said)

    return Alone()


def dm_env_mixin(make: Any) -> None:
    """dm_env's mixin for the tests of an environment."""
    from dm_env import test_utils

    class Case(test_utils.EnvironmentTestMixin, unittest.TestCase):
        def make_object_under_test(self) -> Any:
            return as_dm_env(make())

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Case)
    if not suite.countTestCases():
        raise LookupError("the mixin has no tests")
    result = unittest.TestResult()
    suite.run(result)
    for _, text in [*result.failures, *result.errors]:
        raise AssertionError(text)


def as_dm_env(env: Any) -> Any:
    """Return ``env`` as an environment of dm_env."""
    import dm_env
    from dm_env import specs

    class AsDmEnv(dm_env.Environment):
        is_over = True

        def reset(self) -> Any:
            self.is_over = False
            return dm_env.restart(env.reset(seed=0)[0])

        def step(self, action: Any) -> Any:
            if self.is_over:
                return self.reset()
            seen, reward, terminated, truncated, _ = env.step(int(action))
            self.is_over = terminated or truncated
            make = dm_env.termination if self.is_over else dm_env.transition
            return make(reward, seen)

        def observation_spec(self) -> Any:
            return specs.Array((2,), float)

        def action_spec(self) -> Any:
            return specs.DiscreteArray(3)

    return AsDmEnv()


CHECKERS = {
    "gymnasium check_env": gymnasium_check_env,
    "gymnasium rollout": gymnasium_rollout,
    "sb3 check_env": sb3_check_env,
    "pettingzoo seed_test": pettingzoo_seed,
    "pettingzoo parallel_seed_test": pettingzoo_parallel_seed,
    "pettingzoo parallel_api_test": pettingzoo_parallel_api,
    "dm_env mixin": dm_env_mixin,
}


def main() -> None:
    """Run the checker; print the one word and, of a catch, the last line of what it said."""
    checker, rig, *clean = sys.argv[1:]
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(RIGS))
    try:
        kind = getattr(importlib.import_module("planted_leaks"), rig)
        CHECKERS[checker](lambda: kind(leaks=not clean))
    except ImportError as error:
        print(f"{MISSING}\t{error}")
    except AssertionError as error:
        print(f"{CATCHES}\t{str(error).strip().splitlines()[-1][:200] if str(error) else ''}")
    else:
        print(f"{PASSES}\t")


if __name__ == "__main__":
    main()
