"""Events that the suite schedules: something happens in the world at a drawn step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cleandesk.errors import WorldError
from cleandesk.seeding import stream


class Schedule:
    """The events of one episode, each at its step.

    Each event is a mapping with ``name``, ``step`` (a number from 1, or a range such as
    ``2-5`` from which the seed draws) and maybe ``with``, the values that it brings.
    """

    def __init__(self, events: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._due: dict[int, list[Mapping[str, Any]]] = {}
        self._step = 0
        seen: Counter[str] = Counter()
        for event in events:
            low, _, high = str(event["step"]).partition("-")
            name = str(event["name"])
            # By name and count of that name, so that another event moves nothing (law 9).
            source = stream(seed, "event", name, seen[name])
            seen[name] += 1
            step = source.integer(int(low), int(high or low))
            self._due.setdefault(step, []).append(event)

    def fire(self, world: Any) -> list[str]:
        """Count a step and fire what is due just before it.

        Returns:
            The names of the events fired.

        Raises:
            WorldError: CD-214, the world has no method ``fire``.
        """
        self._step += 1
        due = self._due.get(self._step, ())
        for event in due:
            if not hasattr(world, "fire"):
                raise WorldError(
                    "CD-214",
                    f"the suite schedules the event {event['name']!r}, and the world has no fire()",
                    where=f"step {self._step}",
                    do="give the world a method fire(event, **values)",
                )
            world.fire(event["name"], **event.get("with", {}))
        return [str(event["name"]) for event in due]
