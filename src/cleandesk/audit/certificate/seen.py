"""All that was seen of one rig, and what follows from it without judging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cleandesk.audit.certificate.anchor import Anchor
from cleandesk.audit.certificate.certificate import Opaque
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.links import DeviceError
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.audit.certificate.sequence import Horizon, Judged, Passage
from cleandesk.errors import shown

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was seen of one rig.

    Attributes:
        recipe: What it was made from.
        horizon: What was asked for.
        sequence: The judged sequence.
        declaring: What is meant to vary.
        anchor: Whether two fresh builds agree.
        stamp: What the certificate depends on.
        condition: What was held equal on request, in words.
        budget_s: The budget, for the message that it ended.
    """

    recipe: Recipe
    horizon: Horizon
    sequence: Judged
    declaring: Declaring
    anchor: Anchor
    stamp: Mapping[str, Any]
    condition: str = ""
    budget_s: float | None = None

    @property
    def raised(self) -> str:
        """What a fresh build raised, if it did."""
        return next(
            (str(each.fresh["raised"]) for each in self.passages if each.fresh["raised"]), ""
        )

    @property
    def passages(self) -> Sequence[Passage]:
        """The boundaries."""
        return self.sequence.passages

    @property
    def paths(self) -> list[str]:
        """Every field that any walk met."""
        return list({path: None for walked in self.walks() for path in walked["tokens"]})

    @property
    def opaque(self) -> tuple[Opaque, ...]:
        """Every handle that any walk met: a handle that an episode makes counts too."""
        found: dict[str, str] = {}
        for walked in self.walks():
            for path, (about, _) in walked["opaque"].items():
                found.setdefault(path, about)
        kept = self.sequence.kept_handles
        is_known = not self.sequence.cut
        return tuple(
            Opaque(path, about, (path not in kept) if is_known else None)
            for path, about in sorted(found.items())
        )

    def leaf(self, path: str) -> Leaf | None:
        """Return the leaf at ``path`` after the last judged reset, or None: nobody has it now."""
        walked = self.passages[-1].judged["reset"] if self.passages else None
        if walked is None or path not in walked["tokens"]:
            return None
        try:
            return self.sequence.link.leaves("reset", [path])[path]
        except DeviceError:
            return None

    def walks(self) -> Iterator[Mapping[str, Any]]:
        """Yield what was told of every walk."""
        for each in self.passages:
            for said in (each.fresh, each.judged):
                for which in ("reset", "final"):
                    if said[which] is not None:
                        yield said[which]


def listed(texts: Sequence[str]) -> str:
    """Join the first of ``texts``, and say how many more there are."""
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(shown(text, 120) for text in texts[:_NAMED]) + more


def counted(number: int, word: str) -> str:
    """Return ``3 fields``."""
    return f"{number} {word}{'s' * (number != 1)}"
