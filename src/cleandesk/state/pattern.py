"""How a contract, a task or a person names fields: ``desk.events[*].title``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cleandesk.errors import ContractError
from cleandesk.state.reference import Path

_PART = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<quote>[\"']?)(?P<key>.*?)(?P=quote)\]")


_BELOW = "/**"


def fits(part: str | None, segment: object) -> bool:
    """Tell whether one part of a pattern names a segment of a path.

    None stands for any one; ``logs/**`` for every key below ``logs/``.
    """
    if part is None:
        return True
    text = str(segment)
    return part == text or (part.endswith(_BELOW) and text.startswith(part[:-2]))


def holds(part: str | None, segment: object) -> bool:
    """Tell whether ``part`` names what may come below ``segment``: ``logs/**`` below ``logs``."""
    return part is not None and part.endswith(_BELOW) and part[: -len(_BELOW)] == str(segment)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A field, or many: the field that it names and everything below it.

    Attributes:
        text: As it was written.
        parts: Segments as text, surface first; None stands for any one segment.
    """

    text: str
    parts: tuple[str | None, ...]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read a pattern; ``.name`` and ``[name]`` are the same, ``*`` is any segment.

        ``[logs/**]`` is every key that begins with ``logs/``.

        Raises:
            ContractError: CD-203, the text is not a pattern.
        """
        parts: list[str | None] = []
        at = 0
        while at < len(text):
            match = _PART.match(text, at)
            if match is None or match.end() == at:
                raise ContractError(
                    "CD-203",
                    f"{text!r} does not name a field",
                    where=f"character {at + 1}",
                    do="write surface.table[key].field, with * for any one key",
                )
            part = match["name"] if match["name"] is not None else match["key"]
            parts.append(None if part == "*" and not match["quote"] else part)
            at = match.end()
        if not parts:
            raise ContractError("CD-203", "an empty text names no field", do="name a field")
        return cls(text, tuple(parts))

    def matches(self, surface: str, path: Path) -> bool:
        """Tell whether the field is the one named here, or lies below it."""
        if len(path) + 1 < len(self.parts):
            return False
        return all(map(fits, self.parts, (surface, *path)))

    def under(self, surface: str) -> Pattern:
        """Return this pattern as written inside ``surface``."""
        return Pattern(f"{surface}.{self.text}", (surface, *self.parts))
