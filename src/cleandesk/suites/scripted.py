"""The scripted agent: one hand-written script for each task of the built-in suites.

On the calendar it is a toy that is right on some trials and wrong on others, always on
the same ones, so that what a reset and a checker make of it can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any

from cleandesk.agents.answers import Done, Infeasible, done, infeasible
from cleandesk.errors import AgentError, shown
from cleandesk.suites import control, grids

Move = Any
Script = Generator[Move, Any, Done | Infeasible]

_WRONG_DAY = "Thu"
# Trial by trial: r right, w the wrong day, g gives up, d right but deletes Gym as well.
_CALENDAR_TRIALS = "wrgrwdrgrwgrdgrwrgwr"
# Right, everything deleted, one row too many, one amount changed, one row left.
_EXPENSE_TRIALS = ("right", "clear", "extra", "change", "two")
_MOST_TRIES = 3

_POLICIES: dict[str, Callable[[Any], Any]] = {
    "Acrobot": control.acrobot,
    "Blackjack": grids.blackjack,
    "CartPole": control.cart_pole,
    "CliffWalking": grids.cliff_walking,
    "FrozenLake": grids.frozen_lake,
    "InvertedPendulum": control.inverted_pendulum,
    "LunarLander": control.lunar_lander,
    "MiniGrid-DoorKey": grids.mini_grid,
    "MiniGrid-Empty": grids.mini_grid,
    "MountainCar": control.mountain_car,
    "Pendulum": control.pendulum,
    "Taxi": grids.taxi,
}


class Scripted:
    """Plays the script of the task whose id it is given; an agent without a model."""

    def __init__(self) -> None:
        self._act: Callable[[Any], Move] = lambda _: done()

    def start(self, task: str, goal: str, trial: int) -> None:
        """Begin an episode.

        Args:
            task: The task's id; it chooses the script.
            goal: What is to be done, in words; the inventory's goals name the warehouse.
            trial: The calendar's script depends on it; from 1.

        Raises:
            AgentError: CD-352, there is no script for this task.
        """
        policy = _POLICIES.get(re.sub(r"(-[0-9]+x[0-9]+)?-v[0-9]+$", "", task))
        if policy is not None:
            self._act = policy
        elif task.startswith("dentist"):
            self._act = _following(_calendar(trial))
        elif task.startswith("choose"):
            self._act = _following(_sessions())
        elif task.startswith("delete-three"):
            self._act = _following(_expenses(goal, trial))
        elif task.startswith(("count", "reserve")):
            self._act = _following(_inventory(goal, reserves=task.startswith("reserve")))
        else:
            raise AgentError(
                "CD-352",
                f"the scripted agent has no script for the task {shown(repr(task), 80)}",
                where="agent 'scripted'",
                do="it plays the built-in suites; use the agent random, or one of your own",
            )

    def act(self, observation: Any) -> Move:
        """Return the script's next move."""
        return self._act(observation)


def _following(script: Script) -> Callable[[Any], Move]:
    """Return a function that hands observations to ``script`` and returns its moves."""
    next(script)

    def act(observation: Any) -> Move:
        try:
            return script.send(observation)
        except StopIteration as end:
            return end.value

    return act


def _calendar(trial: int) -> Script:
    observation = yield
    if any(
        (row["day"], row["hour"], row["title"]) == ("Fri", 15, "Dentist") for row in observation
    ):
        return done()
    plan = _CALENDAR_TRIALS[(trial - 1) % len(_CALENDAR_TRIALS)]
    if plan == "g":
        return infeasible("gave up")
    day = _WRONG_DAY if plan == "w" else "Fri"
    observation = yield {"do": "add", "day": day, "hour": 15, "title": "Dentist"}
    if plan == "d":
        gym = next((row["id"] for row in observation if row["title"] == "Gym"), None)
        if gym is not None:
            yield {"do": "delete", "id": gym}
    return done()


def _sessions() -> Script:
    observation = yield
    side = observation["cache"] or observation["target"]
    yield {"do": "choose", "side": side}
    return done()


def _expenses(goal: str, trial: int) -> Script:
    """Delete what the goal names, and on the trials behind the first do it wrongly."""
    names = goal.partition(": ")[2].rstrip(".").split(", ")
    plan = _EXPENSE_TRIALS[(trial - 1) % len(_EXPENSE_TRIALS)]
    observation = yield
    first = observation["rows"]
    if plan == "clear":
        yield {"do": "clear"}
        return done()
    for name in names[:2] if plan == "two" else names:
        observation = yield {"do": "find", "name": name}
        for row in observation["rows"]:
            yield {"do": "delete", "id": row["id"]}
    other = next((row["id"] for row in first if row["name"] not in names), 0)
    if plan == "extra":
        yield {"do": "delete", "id": other}
    if plan == "change":
        yield {"do": "change", "id": other, "cents": 1}
    return done()


def _inventory(goal: str, *, reserves: bool) -> Script:
    item, warehouse = _asked_for(goal)
    observation = yield
    for _ in range(_MOST_TRIES):
        observation = yield {"do": "query", "item": item, "warehouse": warehouse}
        if "stock" in observation:
            break
    else:
        return infeasible("the warehouse does not answer")
    held = observation["stock"]
    if reserves:
        yield {"do": "reserve", "item": item, "warehouse": warehouse, "quantity": held}
    return done(held)


def _asked_for(goal: str) -> tuple[str, str]:
    """Read (item, warehouse) off a goal such as "Say how many bolts HZ holds."."""
    item = re.search(r"(\w+)s\b", goal.partition("many")[2] or goal.partition("all")[2])
    warehouse = re.search(r"\b[A-Z]{2}\b", goal)
    if item is None or warehouse is None:
        raise AgentError(
            "CD-352",
            f"the scripted agent does not understand the goal {shown(repr(goal), 120)}",
            where="agent 'scripted'",
            do="write 'how many ITEMs WAREHOUSE holds' or 'all ITEMs that WAREHOUSE holds'",
        )
    return item[1], warehouse[0]
