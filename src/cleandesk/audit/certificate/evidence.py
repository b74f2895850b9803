"""What two devices show of one reset, compared: tokens, rows and final states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cleandesk.audit.certificate.certificate import Divergence
from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.links import Link
from cleandesk.audit.certificate.rows import difference, first_unequal
from cleandesk.audit.certificate.walk import split

Sides = tuple[Leaf | None, Leaf | None]


@dataclass(frozen=True, slots=True)
class Shown:
    """What one device showed of one judged reset.

    Attributes:
        link: The device, which still holds the walks and rows.
        said: The answer to ``judge``.
    """

    link: Link
    said: Mapping[str, Any]

    @property
    def rows(self) -> bytes:
        """Digests of the rows."""
        return bytes(self.said["rows"])

    def tokens(self, which: str) -> dict[str, bytes]:
        """Return the tokens of the walk after the reset, or at the end of the trace."""
        walked = self.said[which]
        return dict(walked["tokens"]) if walked is not None else {}


def leaves_apart(fresh: Shown, judged: Shown, which: str) -> dict[str, Sides]:
    """Return both sides of every leaf that differs, by path.

    A container of plain values counts as one leaf on the wire; here it is opened, so that
    the path is that of the part that differs.
    """
    one, other = fresh.tokens(which), judged.tokens(which)
    paths = [path for path in {**one, **other} if one.get(path) != other.get(path)]
    held = fresh.link.leaves(which, [path for path in paths if path in one])
    found = judged.link.leaves(which, [path for path in paths if path in other])
    apart: dict[str, Sides] = {}
    for path in paths:
        before, after = held.get(path), found.get(path)
        if before is not None and after is not None:
            apart.update({name: (was, now) for name, was, now in _opened(before, after, path)})
        else:
            apart[path] = (before, after)
    return dict(sorted(apart.items()))


def _opened(before: Leaf, after: Leaf, path: str) -> list[tuple[str, Leaf | None, Leaf | None]]:
    return split(before, after, path) or [(path, before, after)]


def divergence_of(fresh: Shown, judged: Shown, boundary: int) -> Divergence | None:
    """Return the first row in which two traces differ, with both values, or None."""
    place = first_unequal(fresh.rows, judged.rows)
    if place is None:
        return None
    one = fresh.link.call("row", {"place": place})
    other = judged.link.call("row", {"place": place})
    steps = [side["step"] for side in (one, other) if side["step"] is not None]
    if len(steps) < 2:
        said = [
            "(it had ended)" if side["step"] is None else "(it went on)" for side in (one, other)
        ]
        return Divergence(boundary, steps[0] if steps else 0, "observation", *said)
    if one["channels"] is None or other["channels"] is None:
        # Which channel it was is not known, and nothing is guessed.
        return Divergence(
            boundary, steps[0], "unknown", "(too large to keep)", "(too large to keep)"
        )
    return Divergence(boundary, steps[0], *difference(one["channels"], other["channels"]))
