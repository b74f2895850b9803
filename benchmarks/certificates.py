"""A whole certificate at its defaults, beside the steps that it takes, played bare."""

from __future__ import annotations

import time

from benchmarks.figure import Figure, Missing, Row
from cleandesk.audit.certificate.certify import certify

_STEPS = 750
_TRACES = 13
"""Traces of a certificate: five references, five judged, three of the anchor."""

_TARGETS = {"CartPole-v1": 5.0, "Humanoid-v5": 10.0, "LunarLander-v3": None}


def rows() -> list[Row]:
    """Measure by the clock: people wait for it, and two cores are at work."""
    return [_row(name, target) for name, target in _TARGETS.items()]


def _row(name: str, target: float | None) -> Row:
    subject = f"certify {name}"
    try:
        bare = _bare(name)
    except Exception as error:
        return Missing(subject, f"{type(error).__name__}: the gym extra is not here")
    begun = time.perf_counter()
    found = certify(f"gym:{name}")
    took_s = time.perf_counter() - begun
    if str(found.cls) != "BIT-IDENTICAL":
        return Missing(subject, f"it is {found.cls}: {found.reason}")
    return Figure(subject, took_s, "s", bare, "its steps, bare", target=target)


def _bare(name: str) -> float:
    """Return the seconds of as many steps in one process, with no import and no comparison."""
    import gymnasium

    env = gymnasium.make(name)
    env.action_space.seed(1)
    env.reset(seed=1)
    begun = time.perf_counter()
    for _ in range(_STEPS * _TRACES):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    took_s = time.perf_counter() - begun
    env.close()
    return took_s
