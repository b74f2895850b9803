"""The private copies that one worker holds for its worlds."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleandesk.state.contract import Contract
from cleandesk.surfaces.copies import Copies, HeldBase, room


class WorkerCopies:
    """The private copies of one worker: one set for each world and use of it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Take what ``Bases.to_plain`` returned, from the worker's settings."""
        self._number = settings["core"]
        self._audit = settings["audit"]
        self._scratch = settings["scratch"]
        self._terms: dict[str, Contract] = {}
        self._bases: dict[str, dict[str, HeldBase]] = {}
        for reference, held in settings["bases"].items():
            self._terms[reference] = Contract.from_plain(held["contract"])
            self._bases[reference] = {
                name: HeldBase.from_plain(base) for name, base in held["bases"].items()
            }
        self._open: dict[tuple[str, str], Copies] = {}

    def of(self, owner: str, reference: str) -> Copies | None:
        """Return the copies that ``owner`` uses of a world, or None if it has no base.

        Raises:
            WorldError: CD-241, they can't be made.
        """
        if reference not in self._bases:
            return None
        key = (owner, reference)
        if key in self._open and self._open[key].is_broken:
            # One that could not be put back is not to be used again.
            self._open.pop(key).close()
        if key not in self._open:
            # A worker that was killed had this number too.
            with room(f"the copies of world {reference!r}"):
                folder = Path(tempfile.mkdtemp(prefix=f"worker-{self._number}-", dir=self._scratch))
            self._open[key] = Copies(
                self._terms[reference], self._bases[reference], folder, audit=self._audit
            )
        return self._open[key]

    def paths(self) -> dict[str, str]:
        """Return object -> file of every base, for whoever reads states."""
        return {base.object: base.path for held in self._bases.values() for base in held.values()}

    def readings(self) -> dict[str, int]:
        """Return how the copies were read since this was last asked: path -> count."""
        total: Counter[str] = Counter()
        for copies in self._open.values():
            total += copies.paths
            copies.paths.clear()
        return dict(total)

    def close(self) -> None:
        """Release and delete every copy."""
        for copies in self._open.values():
            copies.close()
