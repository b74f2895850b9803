"""What a certificate is asked for holds in every process that it starts."""

from __future__ import annotations

import textwrap

import pytest

from cleandesk.audit.certificate.certificate import Class
from cleandesk.audit.certificate.certify import certify

pytestmark = pytest.mark.service

SMALL = {"episodes": 2, "explain": False, "steps": 60}


def rig(folder, text):
    """Write a factory and return the reference of it."""
    path = folder / "factory.py"
    path.write_text(textwrap.dedent(text))
    return f"{path}:make"


# certificate: C-1
def test_a_rig_that_imports_what_no_fork_survives_is_judged_all_the_same(tmp_path):
    # Each of its processes is started by itself, from threads that end before it does.
    reference = rig(
        tmp_path,
        """
        import sys, types
        sys.modules.setdefault("jax", types.ModuleType("jax"))
        import gymnasium

        def make():
            return gymnasium.make("CartPole-v1")
        """,
    )

    assert certify(reference, **SMALL).cls is Class.BIT_IDENTICAL


# certificate: C-24
def test_a_clock_that_is_held_equal_is_held_in_every_device(tmp_path):
    reference = rig(
        tmp_path,
        """
        import gymnasium

        def make():
            return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))
        """,
    )
    free, held = certify(reference, **SMALL), certify(reference, pin=("wall-clock",), **SMALL)

    assert (free.cls, held.cls) == (Class.REFUSED, Class.BIT_IDENTICAL)
    assert "wall-clock" in held.condition


# certificate: C-45
@pytest.mark.parametrize("budget_s", [2.0, 5.0])
def test_a_slow_rig_ends_within_its_budget_and_is_no_pass(tmp_path, budget_s):
    reference = rig(
        tmp_path,
        """
        import time
        import gymnasium

        class Slow(gymnasium.Wrapper):
            def step(self, action):
                until = time.perf_counter() + 0.02
                while time.perf_counter() < until:
                    pass
                return super().step(action)

        def make():
            return Slow(gymnasium.make("Pendulum-v1"))
        """,
    )
    found = certify(reference, budget_s=budget_s, explain=False)

    assert found.status.name != "PASS"
    assert "budget" in found.reason
    # Without a budget it would take minutes.
    assert found.took_s < 60
