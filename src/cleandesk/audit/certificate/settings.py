"""What a person chooses for one certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.certificate import Cause
from cleandesk.audit.certificate.declaring import parse_declared
from cleandesk.audit.certificate.rig import Declared, Recipe
from cleandesk.audit.certificate.sequence import Horizon
from cleandesk.errors import UsageError, shown

EPISODES, STEPS = 5, 750
_EPISODE_SEEDS = 101
_FEWEST_TO_REPEAT = 3
_LONGEST_S = 1_000_000
PINS = {
    "global-rng": Cause.GLOBAL_RNG,
    "hash-order": Cause.HASH_ORDER,
    "wall-clock": Cause.WALL_CLOCK,
}
"""What can be held equal in both builds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one certificate.

    Attributes:
        arguments: Keyword arguments of what is built; plain values.
        episodes: Boundaries judged, at least 1; 5, or as many as there are seeds.
        steps: Steps of each trace, at least 1; also the most that an episode has.
        seeds: Seeds of the judged resets; 1, 2, 3 and so on, and the first again at the end
            of three or more.
        episode_seeds: Seeds of the episodes before them; 101, 102 and so on.
        reset: ``seeded``, ``unseeded``, or a mode of the rig's own.
        trace: Whether traces are run; without them STATE-ONLY is the best class.
        declare: State that is meant to vary: ``PATTERN=SAMPLER``.
        pin: What is held equal in both builds: ``global-rng``, ``hash-order``,
            ``wall-clock``. The certificate is then conditional on it.
        budget_s: Wall seconds; what is not judged by then is said.
        path: Folders in which references are looked for; the working folder if empty.
        explain: Whether a FAIL is traced to its true writes and to a script.
        order: Whether the seeds are judged in other orders too.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    episodes: int | None = None
    steps: int = STEPS
    seeds: Sequence[int] = ()
    episode_seeds: Sequence[int] = ()
    reset: str = "seeded"
    trace: bool = True
    declare: Sequence[str | Declared] = ()
    pin: Sequence[str] = ()
    budget_s: float | None = None
    path: Sequence[str] = ()
    explain: bool = True
    order: bool = False

    def __post_init__(self) -> None:
        """Refuse what can't be meant.

        Raises:
            UsageError: CD-831, numbers and seeds do not fit together; CD-832, nothing of
                that name can be held equal.
        """
        for name in ("declare", "pin", "path"):
            if isinstance(getattr(self, name), str):
                raise _unfit(f"{name} is one text", f"give a list: {name}=[..]")
        unknown = [name for name in self.pin if name not in PINS]
        if unknown:
            raise UsageError(
                "CD-832",
                f"{shown(repr(unknown[0]), 40)} can't be held equal",
                where="certify, pin",
                do=f"name one of: {', '.join(PINS)}",
            )
        if self.budget_s is not None and not 0 < self.budget_s <= _LONGEST_S:
            do = f"give seconds above 0 and up to {_LONGEST_S:,}, or leave it out for no limit"
            raise _unfit(f"a budget of {self.budget_s} s", do)
        horizon = self.horizon
        numbers = (self.steps, self.count, *horizon.seeds, *horizon.episode_seeds)
        if any(type(number) is not int for number in numbers) or self.steps < 1 or self.count < 1:
            raise _unfit("a number is none, or below 1", "give whole numbers of 1 or more")
        if not len(horizon.seeds) == len(horizon.episode_seeds) == self.count:
            raise _unfit(
                f"{self.count} episodes, {len(horizon.seeds)} seeds and "
                f"{len(horizon.episode_seeds)} seeds of episodes",
                "give as many seeds as there are episodes",
            )
        alike = [
            one
            for one, other in zip(horizon.seeds, horizon.episode_seeds, strict=True)
            if one == other
        ]
        if alike:
            raise _unfit(
                f"a reset with seed {alike[0]} after an episode with that seed",
                "give each episode before a reset another seed than the reset's",
            )

    @property
    def count(self) -> int:
        """How many boundaries are judged."""
        return self.episodes or len(self.seeds) or len(self.episode_seeds) or EPISODES

    @property
    def horizon(self) -> Horizon:
        """Seeds and lengths."""
        seeds = tuple(self.seeds or self._from(1, self.episode_seeds))
        if not self.seeds and self.count >= _FEWEST_TO_REPEAT and self.episode_seeds == ():
            # What a rig keeps by seed is met only by a seed that was played before.
            seeds = (*seeds[:-1], seeds[0])
        before = tuple(self.episode_seeds or self._from(_EPISODE_SEEDS, seeds))
        return Horizon(self.steps, seeds, before, self.trace)

    def _from(self, first: int, others: Sequence[int]) -> Iterator[int]:
        """Return as many numbers as there are boundaries, without those of ``others``."""
        return islice((number for number in count(first) if number not in others), self.count)

    @property
    def clock(self) -> str:
        """Return the clock of every device, as ``Bench`` takes it."""
        return "frozen" if Cause.WALL_CLOCK in self.pinned else "real"

    @property
    def pinned(self) -> frozenset[Cause]:
        """The causes that are held equal."""
        return frozenset(PINS[name] for name in self.pin)

    @property
    def declared(self) -> list[Declared]:
        """The declarations.

        Raises:
            CleandeskError: One can't be read.
        """
        return [parse_declared(each) if isinstance(each, str) else each for each in self.declare]

    def to_plain(self) -> dict[str, Any]:
        """Return what else is needed to ask for the same certificate again."""
        return {
            "declare": [f"{each.pattern}={each.sampler}" for each in self.declared],
            "explain": self.explain,
            "order": self.order,
            "pin": list(self.pin),
            "steps": self.steps,
            "trace": self.trace,
        }

    def recipe(self, reference: str) -> Recipe:
        """Return what the rig is made from."""
        path = tuple(self.path) or (str(Path.cwd()),)
        return Recipe(reference, dict(self.arguments), self.reset, path)


def _unfit(what: str, do: str) -> UsageError:
    return UsageError("CD-831", f"{what} can't be judged", where="certify", do=do)
