"""Sessions: three layers of state, of which a partial reset forgets one.

A visitor must choose the side that the seed names. A cookie, a visit counter and a
remembered choice live on after an episode. ``reset="partial"`` clears the first two
and keeps the remembered choice, which is the planted leak; that it is sometimes the
right one shows that a wrong start and a failed task are two different things.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import contract
from cleandesk.surfaces.objects import objects
from cleandesk.worlds.calls import refusal

SIDES = ("left", "right")

_LEFTOVER_VISITS = 7

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


@dataclass(slots=True)
class _Profile:
    seed: int
    target: str
    cookies: dict[str, bool] = field(default_factory=dict)
    visits: int = 0
    cache: str | None = None


class Sessions:
    """One visitor's profile per seed; the profile in use is what the contract reads."""

    contract = contract(
        "sessions", "1", profile=objects("seed", "target", "cookies", "visits", "cache")
    )
    pays = "end"
    tools = (
        {"do": "choose", "says": "choose a side", "arguments": {"side": "left or right"}},
        {
            "do": "contaminate",
            "says": "leave behind what a finished visit leaves behind",
            "arguments": {},
        },
    )

    def __init__(
        self, *, reset: Literal["complete", "partial"] = "complete", leftovers: bool = True
    ) -> None:
        """Build the world, without any profile yet.

        Args:
            reset: ``complete`` rebuilds the profile of the seed at every reset;
                ``partial`` rebuilds it the first time and from then on clears cookies
                and visits only.
            leftovers: A profile that was used is contaminated before it is used again,
                as the visits of other people would do.

        Raises:
            WorldError: CD-231, ``reset`` is neither.
        """
        if reset not in {"complete", "partial"}:
            raise WorldError(
                "CD-231",
                f"sessions has no reset {reset!r}",
                where="world 'sessions', with.reset",
                do="write complete or partial",
            )
        self._keeps_cache = reset == "partial"
        self._leaves = leftovers
        self._profiles: dict[int, _Profile] = {}
        self._use = _Profile(0, SIDES[0])

    @property
    def seed(self) -> int:
        """The seed of the profile in use."""
        return self._use.seed

    @property
    def target(self) -> str:
        """The side to choose: ``left`` for even seeds, ``right`` for odd ones."""
        return self._use.target

    @property
    def cookies(self) -> dict[str, bool]:
        """The visitor's cookies."""
        return self._use.cookies

    @property
    def visits(self) -> int:
        """How often a side was chosen since the counter was cleared."""
        return self._use.visits

    @property
    def cache(self) -> str | None:
        """The remembered choice, or None."""
        return self._use.cache

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 -- it has none
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return to the start of ``seed``, as far as the kind of reset goes."""
        number = self._use.seed if seed is None else seed
        used = self._profiles.get(number)
        if used is not None and self._leaves:
            self._contaminate(used)
        if used is not None and self._keeps_cache:
            used.cookies = {}
            used.visits = 0
            self._use = used
        else:
            self._use = _Profile(number, SIDES[number % 2])
        self._profiles[number] = self._use
        return self._observe(), {}

    def step(self, action: Any) -> Step:
        """Carry out one of ``tools``; choosing a side ends nothing by itself."""
        problem = refusal(action, self.tools)
        if problem:
            return self._observe(), 0.0, False, False, {"action_error": problem}
        if action["do"] == "contaminate":
            self._contaminate(self._use)
            return self._observe(), 0.0, False, False, {}
        side = action["side"]
        if type(side) is not str or side not in SIDES:
            problem = f"a side is left or right, not {shown(repr(side), 60)}"
            return self._observe(), 0.0, False, False, {"action_error": problem}
        self._use.cache = side
        self._use.visits += 1
        return self._observe(), 0.0, False, False, {}

    def close(self) -> None:
        """Release nothing; there is nothing to release."""

    @staticmethod
    def _contaminate(profile: _Profile) -> None:
        profile.cookies["seen_before"] = True
        profile.visits += _LEFTOVER_VISITS
        if profile.seed % 2:
            profile.cache = SIDES[1 - SIDES.index(profile.target)]

    def _observe(self) -> dict[str, Any]:
        held = self._use
        return {"target": held.target, "cache": held.cache, "visits": held.visits}
