"""Comparing a folder as it is now with the records of its base."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.delta import Delta, Edit
from cleandesk.surfaces.files.database import COMPANIONS
from cleandesk.surfaces.files.ignoring import Ignoring
from cleandesk.surfaces.files.reading import TABLE, Entry, Options, Reading, key_of, with_link
from cleandesk.surfaces.files.stored import Stored
from cleandesk.surfaces.files.walk import (
    Beneath,
    MovedError,
    Seen,
    TooDeepError,
    folders,
    seen,
    stayed,
)

_TRIES = 3
_T = TypeVar("_T")
Links = Callable[[], Mapping[str, str] | None]


class Against:
    """Reads a copy and says what differs from the base.

    Attributes:
        stored: The records of the base.
    """

    def __init__(self, surface: str, terms: SurfaceTerms, stored: Stored, *, unlock: bool) -> None:
        """Take what the contract says, and the records of the base.

        Args:
            surface: The surface's name.
            terms: What the contract says of it.
            stored: The records of the base.
            unlock: Whether what the world has locked must be unlocked to be read.
        """
        self.stored = stored
        self._surface = surface
        self._terms = terms
        self._options = Options.of(terms.source, unlock=unlock)

    def whole(self, root: int, links: Links | None = None) -> Delta:
        """Read everything below ``root``.

        Args:
            root: The root folder.
            links: Returns the links, where the inode numbers do not tell them.

        Raises:
            WorldError: CD-242, it can't be read, or somebody was writing meanwhile.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._whole(root, links)
            except MovedError:
                continue
        return reads(self._surface, lambda: self._whole(root, links))

    def _whole(self, root: int, links: Links | None) -> Delta:
        ignoring = Ignoring(self._surface, self._terms)
        reading = Reading(self._options)
        stored = self.stored
        edits: dict[bytes, Edit] = {}
        found: set[str] = set()
        for path, record in reading.tree(root, links() if links is not None else None):
            text = ignoring.kept(path, record)
            if text is None:
                continue
            found.add(path)
            if not stored.is_same(path, text):
                edits[key_of(path)] = (stored.record(path), text)
        for path in stored.paths:
            if path not in found:
                edits[key_of(path)] = (stored.record(path), None)
        require_still(root, reading.seen, unlock=self._options.unlock)
        return Delta.of({TABLE: edits})

    def some(self, root: int, touched: Iterable[str], links: Mapping[str, str]) -> Delta:
        """Read the entries of ``touched`` alone: whatever else there is, is as at base.

        Args:
            root: The root folder.
            touched: Paths, whether they exist or not.
            links: The links of these paths, as ``walk.linked`` gives them.

        Raises:
            MovedError: Somebody writes meanwhile.
        """
        ignoring = Ignoring(self._surface, self._terms)
        reading = Reading(self._options)
        edits: dict[bytes, Edit] = {}
        with Beneath(root, unlock=self._options.unlock) as beneath:
            for path in sorted(_with_databases(beneath, touched)):
                if ignoring.leaves_out(path):
                    continue
                record = _record(reading, beneath, path)
                text = (
                    None
                    if record is None
                    else ignoring.kept(path, with_link(record, links.get(path)))
                )
                if not self.stored.is_same(path, text):
                    edits[key_of(path)] = (self.stored.record(path), text)
        return Delta.of({TABLE: edits})


def reads(surface: str, read: Callable[[], _T]) -> _T:
    """Return what ``read`` returns; what keeps it from reading is CD-242.

    Raises:
        WorldError: CD-242, a folder can't be read, or somebody was writing meanwhile;
            CD-284, folders are nested too deep.
    """
    try:
        return read()
    except MovedError as error:
        raise WorldError(
            "CD-242",
            f"somebody was writing to {shown(error)!r} while it was read",
            where=f"surface {surface}",
            do="let the world come to rest before its state is read",
        ) from error
    except TooDeepError as error:
        raise too_deep(surface, error) from error
    except (OSError, ValueError) as error:
        raise WorldError(
            "CD-242",
            f"a folder can't be read: {why(error)}",
            where=f"surface {surface}",
            do="see that what runs cleandesk may read all that the world writes",
        ) from error


def too_deep(surface: str, error: TooDeepError) -> WorldError:
    """Return the error for folders that are nested too deep."""
    return WorldError(
        "CD-284",
        f"folders are nested deeper than cleandesk reads: {shown(error, 80)!r}",
        where=f"surface {surface}",
        do="ignoring them does not help; let the world nest them less deep",
    )


def why(error: Exception) -> str:
    """Return what went wrong and with which entry, fit for a terminal."""
    if not isinstance(error, OSError):
        return shown(error)
    name = f" ({shown(error.filename)})" if isinstance(error.filename, str) else ""
    return f"{error.strerror}{name}"


def require_still(root: int, known: Mapping[str, Seen], *, unlock: bool) -> None:
    """Check that everything below ``root`` is as it was seen before.

    Raises:
        MovedError: Something is not.
    """
    left = len(known) - 1
    for folder in folders(root, unlock=unlock):
        for name, held in folder.entries:
            path = folder.prefix + name
            before = known.get(path)
            if before is None or not stayed(before, held):
                raise MovedError(path)
            left -= 1
    if left:
        raise MovedError(".")


def _with_databases(beneath: Beneath, touched: Iterable[str]) -> set[str]:
    """Add to each path what may be one database with it."""
    paths = set(touched)
    for path in tuple(paths):
        for end in COMPANIONS:
            if path.endswith(end):
                paths.add(path.removesuffix(end))
    mains = [path for path in paths if not path.endswith(COMPANIONS) and path != "."]
    for path in sorted(mains):
        held = beneath.seen(path)
        if held is None or held.is_file:
            paths.update(path + end for end in COMPANIONS if beneath.seen(path + end) is not None)
    return paths


def _record(reading: Reading, beneath: Beneath, path: str) -> dict[str, Any] | None:
    if path == ".":
        fd, name = beneath.parent(".") or (-1, "")
        return reading.record(Entry(path, name, fd, seen(os.fstat(fd)), lambda _: None))
    found = beneath.parent(path)
    held = beneath.seen(path)
    if found is None or held is None:
        return None
    fd, name = found

    def beside(other: str) -> Seen | None:
        try:
            return seen(os.stat(other, dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError:
            return None

    return reading.record(Entry(path, name, fd, held, beside))
