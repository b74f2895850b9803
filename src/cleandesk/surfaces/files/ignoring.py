"""The ignored fields of a files surface; ``files[cache/**]`` is all below a folder."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from cleandesk.state.canon import encode
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.leaving import LEFT_OUT, Leaving
from cleandesk.state.pattern import Pattern
from cleandesk.surfaces.files.reading import TABLE

_ALL_BELOW = "**"


class Ignoring:
    """Takes the ignored fields out of records.

    Attributes:
        below: Prefix of paths (with its slash, empty for the root) -> pattern of the
            contract, from the surface down.
    """

    def __init__(self, surface: str, terms: SurfaceTerms) -> None:
        """Take the patterns of ``terms``."""
        self.below: dict[str, str] = {}
        others: dict[str, str] = {}
        for text, reason in terms.ignore.items():
            prefix = _prefix(Pattern.parse(text).parts)
            if prefix is None:
                others[text] = reason
            else:
                self.below[prefix] = f"{surface}.{text}"
        self._prefixes = tuple(self.below)
        self._leaving = Leaving(surface, dataclasses.replace(terms, ignore=others))
        self._concerns = self._leaving.concerns(TABLE)
        self._is_all = self._leaving.table(TABLE)
        self._matched: set[str] = set()

    @property
    def matched(self) -> frozenset[str]:
        """The patterns that named something so far."""
        return frozenset(self._matched | self._leaving.matched)

    def leaves_out(self, path: str) -> bool:
        """Tell whether ``path`` lies below an ignored folder."""
        return self._is_all or (
            bool(self._prefixes) and path.startswith(self._prefixes) and path != "."
        )

    def kept(self, path: str, record: dict[str, Any]) -> bytes | None:
        """Return the canonical record without its ignored fields; None without any."""
        if self._prefixes:
            self._match(path)
        if self.leaves_out(path):
            return None
        if self._concerns:
            key = path if path.isascii() else os.fsencode(path).decode(errors="replace")
            record = self._leaving.record(TABLE, key, record)
            if record is LEFT_OUT:
                return None
        return encode(record)

    def _match(self, path: str) -> None:
        # A folder that is there and empty is meant too.
        for prefix, text in self.below.items():
            if path.startswith(prefix) or path == prefix[:-1] or not prefix:
                self._matched.add(text)


def _prefix(parts: tuple[str | None, ...]) -> str | None:
    if len(parts) != 2 or parts[0] not in {TABLE, None} or parts[1] is None:
        return None
    key = parts[1]
    if key == _ALL_BELOW:
        return ""
    return key[: -len(_ALL_BELOW)] if key.endswith(f"/{_ALL_BELOW}") else None
