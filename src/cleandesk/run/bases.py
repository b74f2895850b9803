"""The bases of a run's worlds: made before its plan, copied by its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from cleandesk.errors import SuiteError
from cleandesk.log import write_object
from cleandesk.run.importers import RUNS, Importer, Importers
from cleandesk.run.scratch import Scratch
from cleandesk.state.contract import Contract
from cleandesk.surfaces import mounts
from cleandesk.surfaces.copies import Copies, HeldBase, make_base, names_with_base, needs_copies
from cleandesk.tasks.draws import Ask


class Bases:
    """The bases of every world of a run, in a folder of their own."""

    def __init__(self, path: Sequence[str]) -> None:
        """Look for sources beside the world, then in ``path``."""
        self._path = path
        self._scratch: Scratch | None = None
        self._terms: dict[str, Contract] = {}
        self._held: dict[str, dict[str, HeldBase]] = {}
        self._answers: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        self._lent: dict[tuple[str, str], Copies] = {}

    @property
    def folder(self) -> Path | None:
        """The folder of bases and copies, or None where no world has a base."""
        return self._scratch.folder if self._scratch is not None else None

    def make(self, references: Iterable[str], importers: Importers) -> None:
        """Make the bases of these worlds.

        Raises:
            CleandeskError: A base can't be made; see ``make_base``.
        """
        for number, reference in enumerate(references):
            importer = importers.of(reference, RUNS)
            terms = importer.contract
            if terms is None or not needs_copies(terms):
                continue
            self._scratch = self._scratch or Scratch()
            folder = self._scratch.folder / f"world-{number}"
            locate = locate_in(beside(importer, self._path))
            self._terms[reference] = terms
            self._held[reference] = {}
            for name in names_with_base(terms):
                base = make_base(terms, name, folder / name, locate)
                self._held[reference][name] = base

    def paths(self) -> dict[str, str]:
        """Return object -> file of every base, for whoever reads states."""
        return {base.object: base.path for held in self._held.values() for base in held.values()}

    def asking(self, reference: str) -> Ask:
        """Return a function that asks the bases of a world: surface, question -> rows."""

        def ask(surface: str, text: str) -> list[dict[str, Any]]:
            held = self._held.get(reference, {})
            if surface not in held:
                raise SuiteError(
                    "CD-419",
                    f"{surface!r} is no surface with a base",
                    where=f"world {reference!r}",
                    do=f"it has: {', '.join(held) or 'none'}",
                )
            key = (reference, surface, text)
            if key not in self._answers:
                self._answers[key] = held[surface].query(text)
            return self._answers[key]

        return ask

    def copies(self, reference: str, use: str = "") -> Copies | None:
        """Return copies of a world's bases for this process, or None if it has none.

        They are the same each time: whoever builds a world on them puts them back first.

        Args:
            reference: The world.
            use: Two builds that must share nothing, not even a path, give two names.

        Raises:
            WorldError: CD-241, they can't be made.
        """
        if reference not in self._held or self._scratch is None:
            return None
        if (reference, use) not in self._lent:
            folder = self._scratch.folder / f"lent-{len(self._lent)}"
            # This process is whoever called us, and must stay where it is.
            with mounts.staying():
                self._lent[reference, use] = Copies(
                    self._terms[reference], self._held[reference], folder, audit=0
                )
        return self._lent[reference, use]

    def tables(self, reference: str) -> list[tuple[str, str]]:
        """Return the (surface, table) pairs of a world's bases."""
        held = self._held.get(reference, {})
        return [(surface, table) for surface, base in held.items() for table in base.tables]

    def fingerprints(self, reference: str) -> dict[str, str]:
        """Return surface -> fingerprint of its base, for the plan."""
        return {name: base.fingerprint for name, base in self._held.get(reference, {}).items()}

    def to_plain(self) -> dict[str, Any]:
        """Return what workers need: world -> its contract and its bases."""
        return {
            reference: {
                "bases": {name: base.to_plain() for name, base in held.items()},
                "contract": self._terms[reference].to_plain(),
            }
            for reference, held in self._held.items()
        }

    def store(self, folder: Path) -> None:
        """Keep the bases among the objects of a run folder, each once.

        Raises:
            LogError: They can't be written.
        """
        for held in self._held.values():
            for base in held.values():
                write_object(folder, Path(base.path).read_bytes())

    def close(self) -> None:
        """Release the copies and delete the folder."""
        for copies in self._lent.values():
            copies.close()
        self._lent.clear()
        if self._scratch is not None:
            self._scratch.close()


def beside(importer: Importer, path: Sequence[str]) -> list[str]:
    """Return where the sources of a world are looked for: beside its file, then in ``path``."""
    return [str(Path(importer.file).parent), *path] if importer.file else list(path)


def locate_in(folders: Sequence[str]) -> Callable[[str], Path]:
    """Return a function that finds a text in the first of ``folders`` that has it."""

    def locate(text: str) -> Path:
        places = [Path(folder, text) for folder in folders]
        return next((place for place in places if place.exists()), Path(text))

    return locate
