"""The suites that are measured, written where a measurement wants them."""

from __future__ import annotations

from pathlib import Path

EPISODES = 200

_SUITE = """\
name = "{name}"
version = "1"
world = "benchmarks.worlds:{world}"
trials = {trials}
seeds = "{seeds}"
limits = {{ steps = {limit} }}

[[task]]
id = "bump-{steps}"
goal = "Bump {steps} times."
{expect}
"""


def bump_suite(folder: Path, name: str, *, steps: int, own_starts: bool = False) -> str:
    """Write a suite of 200 episodes and return its path.

    Args:
        folder: Takes the suite.
        name: The suite's name.
        steps: How often the agent is to bump.
        own_starts: 200 seeds, each with its own expected start, and not 200 trials.
    """
    trials, seeds = (1, f"1-{EPISODES}") if own_starts else (EPISODES, "1")
    return _write(folder, name, "Rows", steps, trials, seeds)


def busy_suite(folder: Path, *, steps: int, trials: int) -> str:
    """Write a suite over the world that needs the processor and return its path."""
    return _write(folder, "busy", "Busy", steps, trials, "1")


def _write(folder: Path, name: str, world: str, steps: int, trials: int, seeds: str) -> str:
    changed = f'expect.changed = {{ "desk.count" = {{ from = 0, to = {steps} }} }}'
    expect = changed if steps else "expect = {}"
    path = folder / f"{name}.toml"
    path.write_text(
        _SUITE.format(
            name=name,
            world=world,
            limit=steps or 1,
            steps=steps,
            trials=trials,
            seeds=seeds,
            expect=expect,
        )
    )
    return str(path)
