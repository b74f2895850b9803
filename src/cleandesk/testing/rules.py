"""The rules by name, in the order in which a new surface best learns to keep them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cleandesk.testing import keeping, laws, racing
from cleandesk.testing.case import SurfaceCase
from cleandesk.testing.processes import SaidNoError
from cleandesk.testing.stage import FoundError, Stage


class RuleBrokenError(AssertionError):
    """A surface does not keep a rule; the message says which, after what, and the fields."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Its text is what it asks for; call it to check a surface.

    Attributes:
        text: A sentence.
        check: Raises what it finds.
        is_long: Whether it starts and kills many processes.
    """

    text: str
    check: Callable[[Stage], None]
    is_long: bool = False

    def __str__(self) -> str:
        return self.text

    def __call__(self, case: SurfaceCase, folder: str | Path) -> None:
        """Check that the surface of ``case`` keeps this rule.

        Args:
            case: The surface and what may be written into it.
            folder: An empty folder for bases and copies, on the disk where they would be.

        Raises:
            RuleBrokenError: It does not.
            unittest.SkipTest: The case names nothing to check it with.
            UsageError: CD-811, the case itself does not work.
        """
        try:
            with Stage(case, Path(folder)) as stage:
                self.check(stage)
        except (FoundError, SaidNoError) as error:
            kind = type(case.surface).__name__
            # What a hand raised is in the text already, with its lines.
            raise RuleBrokenError(f"{kind} breaks a rule: {self.text}\n{error}") from None


def surface_rules(*, long: bool | None = None) -> tuple[Rule, ...]:
    """Return the rules of a surface with a base.

    Args:
        long: True for those that start and kill many processes, False for the others;
            None for all.
    """
    return tuple(rule for rule in _RULES if long is None or rule.is_long is long)


_RULES = (
    Rule("a fresh copy is at base", keeping.fresh),
    Rule("the same source gives the same base", keeping.same_base),
    Rule("a source that is not there is CD-243", keeping.no_source),
    Rule("a question that can't be asked is CD-419", keeping.no_question),
    Rule("records are canonical, and an edit changes something", keeping.canonical),
    Rule("every write is named", keeping.named_writes),
    Rule("a write that is undone by hand leaves nothing", keeping.undone),
    Rule("what is ignored is in no base and in no delta", keeping.ignored),
    Rule("a copy is its base and its delta, and nothing else", keeping.whole),
    Rule("the fast path says what the full one says, or that it can't tell", laws.fast_and_full),
    Rule("law 1: states are equal exactly when their fingerprints are", laws.law_1),
    Rule("law 2: looking changes nothing", laws.law_2),
    Rule("law 3: what is put back is at base", laws.law_3),
    Rule("what can't be read is never taken for the base", keeping.unreadable),
    Rule("copies share nothing with each other or with the base", keeping.apart),
    Rule("a copy that is closed leaves nothing behind", keeping.closed),
    Rule("what can't be put back for want of space says CD-241", racing.full_disk),
    Rule("who holds a copy open never reaches the next state", racing.holders),
    Rule("a writer at work is never taken for nothing", racing.writers, is_long=True),
    Rule("copies share nothing while both are at work", racing.at_once, is_long=True),
    Rule("a crash while a copy is opened spares the base", racing.crash_opening, is_long=True),
    Rule("a crash while it is written spares the base", racing.crash_writing, is_long=True),
    Rule("a crash while it is read spares the base", racing.crash_reading, is_long=True),
    Rule("a crash while it is put back spares the base", racing.crash_restoring, is_long=True),
)
