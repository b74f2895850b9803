"""Taking a contract's ignored fields out of records while they are read."""

from __future__ import annotations

from typing import Any

from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.pattern import Pattern, fits
from cleandesk.state.prune import prune

LEFT_OUT: Any = object()
"""What ``Leaving.record`` returns for a record that is ignored as a whole."""


class Leaving:
    """The ignored fields of one surface, and which of them named something.

    Attributes:
        matched: The ignored patterns, from the surface down, that fitted so far.
    """

    def __init__(self, surface: str, terms: SurfaceTerms) -> None:
        """Take the patterns of ``terms``."""
        self._patterns = [(Pattern.parse(text).parts, f"{surface}.{text}") for text in terms.ignore]
        self.matched: set[str] = set()

    def table(self, name: str) -> bool:
        """Tell whether the table is ignored as a whole."""
        found = [text for parts, text in self._patterns if parts in {(name,), (None,)}]
        self.matched.update(found)
        return bool(found)

    def concerns(self, name: str) -> bool:
        """Tell whether anything in the table is ignored: else its records may be taken as they are."""
        return any(parts[0] in {None, name} for parts, _ in self._patterns)

    def empty(self, name: str) -> None:
        """Note that the table has no records: what names fields of any record fits it."""
        self.matched.update(
            text
            for parts, text in self._patterns
            if parts[0] in {None, name} and len(parts) > 1 and parts[1] is None
        )

    def record(self, name: str, key: Any, value: Any) -> Any:
        """Return the record without its ignored fields, or ``LEFT_OUT``."""
        for parts, text in self._patterns:
            if parts[0] not in {None, name} or len(parts) < 2:
                continue
            if not fits(parts[1], key):
                continue
            if len(parts) == 2:
                self.matched.add(text)
                return LEFT_OUT
            value, is_named = prune(value, parts[2:])
            if is_named:
                self.matched.add(text)
        return value
