"""The calendar: a week of appointments that an agent adds to and deletes from.

The smallest world on which a score can lie. With ``reset="keep"`` it carries the
planted leak: the appointments that one episode made are there when the next begins.
"""

from __future__ import annotations

from typing import Any, Literal

from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import contract
from cleandesk.surfaces.objects import objects
from cleandesk.worlds.at import At
from cleandesk.worlds.calls import refusal

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_FIRST = (("Mon", 9, "Standup"), ("Wed", 12, "Lunch with Sam"), ("Fri", 10, "Gym"))

Step = tuple[list[dict[str, Any]], float, bool, bool, dict[str, Any]]


class Calendar:
    """A week of appointments; it can keep what the last episode wrote, on purpose.

    Every step pays 0: only the checker knows what was asked.

    Attributes:
        events: Appointment by id: its day, hour (0 to 23) and title.
        next_id: The id that the next appointment gets.
    """

    contract = contract(
        "calendar",
        "1",
        desk=objects("events", "next_id", incidental=["next_id"]),
        clock="2024-01-07T09:00:00Z",
    )
    pays = "end"
    tools = (
        {
            "do": "add",
            "says": "add an appointment",
            "arguments": {"day": "one of " + ", ".join(DAYS), "hour": "0 to 23", "title": "text"},
        },
        {"do": "delete", "says": "delete an appointment", "arguments": {"id": "its number"}},
        {"do": "noop", "says": "do nothing and look again", "arguments": {}},
    )

    def __init__(self, at: At, *, reset: Literal["clean", "keep"] = "clean") -> None:
        """Build the world, without any appointment yet.

        Args:
            at: The place; its clock is pinned by the contract and not moved here.
            reset: ``clean`` restores the first three appointments at every reset;
                ``keep`` only at the first one, which is a leak, planted on purpose.

        Raises:
            WorldError: CD-231, ``reset`` is neither.
        """
        if reset not in {"clean", "keep"}:
            raise WorldError(
                "CD-231",
                f"calendar has no reset {reset!r}",
                where="world 'calendar', with.reset",
                do="write clean or keep",
            )
        self.at = at
        self._keeps = reset == "keep"
        self._is_built = False
        self.events: dict[int, dict[str, Any]] = {}
        self.next_id = 1

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002 -- the calendar is the same for every seed
        options: dict[str, Any] | None = None,  # noqa: ARG002 -- it has none
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return to the three first appointments and show them."""
        if not (self._keeps and self._is_built):
            self.events = {}
            self.next_id = 1
            for day, hour, title in _FIRST:
                self.add_event(day, hour, title)
            self._is_built = True
        return self._observe(), {}

    def step(self, action: Any) -> Step:
        """Carry out one of ``tools``.

        Returns:
            The appointments in the order of the week, 0.0, False, False, and info; an
            action that can't be carried out leaves the calendar as it is.
        """
        problem = refusal(action, self.tools)
        if not problem:
            arguments = {name: value for name, value in action.items() if name != "do"}
            try:
                self._carry_out(action["do"], arguments)
            except ValueError as error:
                problem = str(error)
        info = {"action_error": problem} if problem else {}
        return self._observe(), 0.0, False, False, info

    def add_event(self, day: str, hour: int, title: str) -> int:
        """Add an appointment, as a setup step may, and return its id.

        Raises:
            ValueError: Such a day, hour or title can't be.
        """
        if type(day) is not str or day not in DAYS:
            raise ValueError(f"there is no day {shown(repr(day), 60)}; there are {', '.join(DAYS)}")
        if type(hour) is not int or not 0 <= hour <= 23:
            raise ValueError(f"{shown(repr(hour), 60)} is not an hour from 0 to 23")
        if type(title) is not str or not title.strip():
            raise ValueError(f"{shown(repr(title), 60)} is not a title")
        added = self.next_id
        self.events[added] = {"day": day, "hour": hour, "title": title}
        self.next_id += 1
        return added

    def close(self) -> None:
        """Release nothing; there is nothing to release."""

    def _carry_out(self, kind: str, arguments: dict[str, Any]) -> None:
        if kind == "add":
            self.add_event(**arguments)
        elif kind == "delete":
            self._delete(**arguments)

    def _delete(self, id: Any) -> None:
        if type(id) is not int or id not in self.events:
            raise ValueError(f"there is no appointment {shown(repr(id), 60)}")
        del self.events[id]

    def _observe(self) -> list[dict[str, Any]]:
        rows = [{"id": event_id, **event} for event_id, event in self.events.items()]
        return sorted(rows, key=lambda row: (DAYS.index(row["day"]), row["hour"], row["id"]))
