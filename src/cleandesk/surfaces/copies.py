"""The surfaces with a base, all of one contract: their bases, and private copies of them.

A base is made once and known to every process of a run as plain values. Whoever holds a
world's surfaces opens copies, tells the world their places, puts them back before each
episode and reads what was written.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cleandesk.errors import StateError, WorldError
from cleandesk.finding import find, registered
from cleandesk.state.canon import decode, encode
from cleandesk.state.contract import Contract
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.fingerprint import surface_digest
from cleandesk.state.over import Over
from cleandesk.state.snapshot import Snapshot, tables_of
from cleandesk.state.table import Tables
from cleandesk.surfaces.holders import holders_of_deleted, holders_of_unmounted
from cleandesk.surfaces.protocol import Base, Copy, Surface

_LIBC = "libc"
WORLD_SIDE = frozenset({"objects", "process", "http"})
"""Kinds that are read in the world's own process and have no base."""


@dataclass(frozen=True, slots=True)
class HeldBase:
    """A base as every process of a run knows it.

    Attributes:
        kind: The kind of surface.
        held: What its copies need.
        fingerprint: Of the surface at base: its node of fingerprint/1.
        object: SHA-256 of its snapshot.
        path: File that holds that snapshot.
        fields: Leaves at base.
        tables: The names of its tables.
        ignored: Ignored patterns that named something.
        not_read: What can't be seen here.
    """

    kind: str
    held: Mapping[str, Any]
    fingerprint: str
    object: str
    path: str
    fields: int
    tables: tuple[str, ...]
    ignored: tuple[str, ...]
    not_read: tuple[str, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return the parts as plain values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_plain(cls, given: Mapping[str, Any]) -> HeldBase:
        """Read what ``to_plain`` returned."""
        texts = {name: tuple(given[name]) for name in ("tables", "ignored", "not_read")}
        return cls(**{**given, **texts})

    def over(self, delta: Delta) -> Over:
        """Return the state that ``delta`` makes of this base."""
        path, name = self.path, self.object
        return Over(self.fingerprint, name, self.fields, delta, lambda: load_base(path, name))

    def query(self, text: str) -> list[dict[str, Any]]:
        """Ask the base a question in its own language; rows in order.

        Raises:
            SuiteError: CD-419, it has no such language, or the question is wrong.
        """
        return _surface(self.kind).query(self.held, text)


@functools.lru_cache(maxsize=4)
def load_base(path: str, name: str) -> Tables:
    """Read the tables of a base from the file that holds its snapshot.

    Raises:
        StateError: CD-108, the file is not what it was.
    """
    data = Path(path).read_bytes()
    if hashlib.sha256(data).hexdigest() != name:
        raise StateError("CD-108", "the stored base is not what it was", where=path)
    return tables_of(data)


def needs_copies(terms: Contract) -> bool:
    """Tell whether a world under this contract is given anything of its own on this machine."""
    kinds = {held.kind for held in terms.surfaces.values()}
    return terms.tier == _LIBC or not kinds <= {"objects", "http"}


def names_with_base(terms: Contract) -> list[str]:
    """Return the surfaces of a contract that have a base."""
    return [name for name, held in terms.surfaces.items() if held.kind not in WORLD_SIDE]


def make_base(
    terms: Contract, surface: str, folder: Path, locate: Callable[[str], Path]
) -> HeldBase:
    """Make the base of one surface in ``folder`` and read it.

    Raises:
        WorldError: CD-212, no such kind; CD-241, there is no room; CD-243, there is no
            such source; and what the kind raises.
        ContractError: CD-204, the contract names a field that the base does not have.
    """
    held = terms.surfaces[surface]
    place, path = folder / "base", folder / "base.snapshot"
    with room(surface):
        place.mkdir(parents=True)
        base: Base = _surface(held.kind).prepare(surface, held, place, locate)
    snapshot = Snapshot(terms.identity, {surface: base.tables})
    terms.require_fields(snapshot, base.ignored, of_base=True)
    data = snapshot.to_bytes()
    with room(surface):
        path.write_bytes(data)
    return HeldBase(
        kind=held.kind,
        held=base.held,
        fingerprint=surface_digest(base.tables),
        object=hashlib.sha256(data).hexdigest(),
        path=str(path),
        fields=snapshot.fields_read(),
        tables=tuple(sorted(base.tables)),
        ignored=tuple(sorted(base.ignored)),
        not_read=tuple(f"{surface}: {text}" for text in base.not_read),
    )


class Copies:
    """Private copies of a contract's bases, for one world at a time.

    Attributes:
        places: Surface -> what the world is given: a path or a URL.
        paths: ``surface: method: fast`` or ``full: why`` -> how often it was read so.
        is_broken: One could not be put back; then none is to be used again.
    """

    def __init__(
        self, terms: Contract, bases: Mapping[str, HeldBase], folder: Path, *, audit: int
    ) -> None:
        """Open a copy of each base.

        Args:
            terms: The contract.
            bases: Surface -> base.
            folder: Takes the copies; it is made.
            audit: Every how many readings the fast path is compared with a full one; 0
                for never.

        Raises:
            WorldError: CD-241, a copy can't be made.
        """
        self._terms = terms
        self._bases = bases
        # Surface -> the fields of its base that lie outside their sampler, with their number.
        self._astray: dict[str, Counter[bytes]] = {}
        self._audit = audit
        self._readings = 0
        self.paths: Counter[str] = Counter()
        self.is_broken = False
        kinds = {surface.kind for surface in terms.surfaces.values()}
        self._own = {
            name: folder / name
            for name, is_needed in (("temp", "process" in kinds), ("clock", terms.tier == _LIBC))
            if is_needed
        }
        self._copies: dict[str, Copy] = {}
        try:
            for name, base in bases.items():
                place, surface = folder / name, _surface(base.kind)
                with room(name):
                    place.mkdir(parents=True)
                    made = surface.open_copy(name, terms.surfaces[name], base.held, place)
                self._copies[name] = made
        except BaseException:
            self.close()
            raise
        self.places = {name: copy.place for name, copy in self._copies.items()}

    @property
    def not_read(self) -> list[str]:
        """What can't be seen in these surfaces."""
        return [text for base in self._bases.values() for text in base.not_read]

    @property
    def ignored(self) -> list[str]:
        """The ignored patterns that named something at the bases."""
        return [text for base in self._bases.values() for text in base.ignored]

    def fresh_folders(self) -> dict[str, str]:
        """Make the empty folders that a new world needs, and return them by name.

        ``temp`` is for its temporary files, where they are state; ``clock`` for what shows
        the time to programs that it serves.
        """
        for folder in self._own.values():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return {name: str(folder) for name, folder in self._own.items()}

    def holder(self) -> int | None:
        """Return the process whose mounts a world must see, or None if there are none."""
        return next(
            (copy.holder for copy in self._copies.values() if copy.holder is not None), None
        )

    def restore(self) -> None:
        """Put every copy back to its base.

        Raises:
            WorldError: CD-241, one can't be put back.
        """
        # Until all of them are: one that failed half-way is not to be used again.
        self.is_broken = True
        for copy in self._copies.values():
            copy.restore()
        self.is_broken = False

    def require_let_go(self) -> None:
        """Check that nobody works on a file that the last restore replaced.

        Raises:
            WorldError: CD-245, somebody does: what is written there would not be read.
        """
        places = [place for place in self.places.values() if place.startswith("/")]
        for process, path in (*holders_of_unmounted(places), *holders_of_deleted(places)):
            raise WorldError(
                "CD-245",
                f"process {process} of the world still has the copy open that the reset replaced",
                where=path,
                do="open it in reset() and not before, leave the folder before, or restart the "
                "program that holds it there; "
                "or use --isolation fork",
            )

    def look(self) -> dict[str, Over]:
        """Read what was written in every copy, by the fast path where it can tell.

        Raises:
            WorldError: CD-242, a copy can't be read, or somebody was writing meanwhile.
            StateError: CD-110, the fast path and the full reading disagree.
        """
        is_audit = bool(self._audit) and self._readings % self._audit == 0
        self._readings += 1
        return {
            name: self._bases[name].over(self._read(name, copy, is_audit=is_audit))
            for name, copy in self._copies.items()
        }

    def undeclared(self, state: Mapping[str, Over]) -> list[list[Any]]:
        """Return the declared fields that lie outside their sampler: pattern, value, sampler.

        The bases are looked through once; each time only what was written since.
        """
        declared = {
            name: over for name, over in state.items() if self._terms.surfaces[name].declared
        }
        found: Counter[bytes] = Counter()
        for name, over in declared.items():
            if name not in self._astray:
                self._astray[name] = self._outside(name, over.with_delta(Delta()))
            before, now = (
                Counter(map(_spelled, self._terms.outside({name: over.delta.side(side)})))
                for side in (0, 1)
            )
            found += self._astray[name] - before + now
        return [decode(row) for row in sorted(found)]

    def _outside(self, name: str, base: Over) -> Counter[bytes]:
        return Counter(
            _spelled((pattern.text, value, sampler.text))
            for pattern, sampler in self._terms.declared.items()
            if pattern.parts[0] == name and sampler.text != "any"
            for value in base.pick(pattern.parts[1:])
            if not sampler.holds(value)
        )

    def _read(self, name: str, copy: Copy, *, is_audit: bool) -> Delta:
        told = copy.delta()
        if isinstance(told, CannotTell):
            self.paths[f"{name}: {copy.method}: full: {told.why}"] += 1
            return copy.read()
        self.paths[f"{name}: {copy.method}: fast"] += 1
        if is_audit and copy.read() != told and copy.delta() == told:
            raise StateError(
                "CD-110",
                f"the fast reading of {name!r} and the full one disagree",
                where=f"{copy.method} of surface {name}",
                do="report it with the base; until then run with --audit 1 to see each case",
            )
        return told

    def close(self) -> None:
        """Release and delete the copies."""
        for copy in self._copies.values():
            with contextlib.suppress(OSError, WorldError):
                copy.close()


def _spelled(row: tuple[str, Any, str]) -> bytes:
    return encode([*row])


@contextlib.contextmanager
def room(surface: str) -> Iterator[None]:
    """Turn what the system says of a folder of ours into a message.

    Raises:
        WorldError: CD-241, the system refused.
    """
    try:
        yield
    except OSError as error:
        raise WorldError(
            "CD-241",
            f"no room for a base or a copy: {error.strerror or error}",
            where=f"surface {surface}: {error.filename or 'the folder of private copies'}",
            do="free some space, or name another place in the variable CLEANDESK_SCRATCH",
        ) from error


def _surface(kind: str) -> Surface:
    if kind not in registered("surface"):
        raise WorldError(
            "CD-212",
            f"no reader for surfaces of kind {kind!r}",
            do=f"there are: {', '.join([*sorted(WORLD_SIDE), *registered('surface')])}; "
            f"a package registers one as the entry point surface.{kind}",
        )
    made: Surface = find("surface", kind)()
    return made
