"""A base, its copies and those who write into them, as a rule puts them together."""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from cleandesk.errors import CleandeskError, UsageError, shown
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.fingerprint import surface_digest
from cleandesk.state.over import Over
from cleandesk.state.snapshot import Snapshot
from cleandesk.state.table import Table
from cleandesk.testing.case import SurfaceCase, Write, named, reference
from cleandesk.testing.evidence import changes, digest, moved
from cleandesk.testing.processes import Hand, HandLostError, SaidNoError
from cleandesk.testing.wire import delta_of, tables_of


class FoundError(Exception):
    """What a rule found, in lines."""

    def __init__(self, what: str, lines: Sequence[str] = ()) -> None:
        super().__init__("\n".join([what, *(f"  {line}" for line in lines)]))


@dataclass(frozen=True, slots=True)
class Made:
    """A base that is there.

    Attributes:
        hand: The process that made it; it lives as long as the base.
        held: What its copies need.
        tables: Its records.
        ignored: Ignored patterns that named something.
        folder: Where it lies.
    """

    hand: Hand
    held: Mapping[str, Any]
    tables: Mapping[str, Table]
    ignored: frozenset[str]
    folder: Path


class Stage:
    """One base and whatever a rule needs of it; everything ends with it.

    Attributes:
        case: The case.
        made: The base.
    """

    def __init__(self, case: SurfaceCase, folder: Path) -> None:
        """Make the base, or take the one that all rules share."""
        self.case = case
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder.resolve()
        self._numbers = itertools.count(1)
        self._hands: list[Hand] = []
        try:
            self.made = _shared(case) if case.slow else self.prepare(case.terms)
        except BaseException:
            self.close()
            raise
        self._watched = [str(self.made.folder)]
        source = case.terms.source.get("from")
        if isinstance(source, str):
            self._watched.append(str(Path(case.folder, source).resolve()))
        self._still = self._digest()

    def prepare(self, terms: SurfaceTerms, beside: Hand | None = None) -> Made:
        """Make a base, in a process of its own or in the one of ``beside``."""
        hand = beside or self.hand()
        return _prepared(self.case, terms, hand, self._new_folder())

    def hand(self) -> Hand:
        """Start a process."""
        hand = _hand(self.case)
        self._hands.append(hand)
        return hand

    def copy(self, hand: Hand | None = None) -> HeldCopy:
        """Open a copy, in a process of its own unless ``hand`` is to hold it."""
        hand = hand or self.hand()
        verb, given = self.opening(hand)
        where = hand.ask(verb, *given)
        hand.spare_the_next()
        return HeldCopy(self, hand, given[0], Path(given[2]), where)

    def introduce(self, hand: Hand) -> None:
        """Tell a process which surface it is about."""
        hand.ask("meet", *_introduced(self.case, self.case.terms))

    def opening(self, hand: Hand) -> tuple[str, list[Any]]:
        """Return what is to be asked of ``hand`` so that it opens a copy."""
        self.introduce(hand)
        number = next(self._numbers)
        return "open_copy", [number, dict(self.made.held), str(self._new_folder())]

    def in_each_state(self) -> Iterator[tuple[str, HeldCopy]]:
        """Yield a copy in each state that the writes make, each in a copy of its own."""
        hand = self.hand()
        for after, writes in states(self.case):
            copy = self.copy(hand)
            copy.write(*writes)
            yield after, copy
            copy.close()

    def snapshot(self, delta: Delta) -> Snapshot:
        """Return the state that a delta stands for."""
        tables = self.made.tables
        over = Over(surface_digest(tables), "0" * 64, 0, delta, lambda: tables)
        return Snapshot("case/1", {}, {self.case.name: over})

    def require_still(self, after: str) -> None:
        """Check that base and source are what they were, byte for byte.

        Raises:
            FoundError: They are not.
        """
        now = self._digest()
        if now != self._still:
            raise FoundError(
                f"after {after} the base or its source has changed:", moved(self._still, now)
            )

    def _digest(self) -> dict[str, Any]:
        return digest(self._watched) if self.case.on_disk else {}

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="place-", dir=self._folder))

    def close(self) -> None:
        """End every process."""
        for hand in reversed(self._hands):
            hand.kill()

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()


class HeldCopy:
    """A copy that another process holds.

    Attributes:
        stage: Where it belongs.
        hand: The process.
        folder: The folder that it was given.
        place: What a world is told.
        method: How it says that it works.
    """

    def __init__(
        self, stage: Stage, hand: Hand, number: int, folder: Path, where: Sequence[Any]
    ) -> None:
        self.stage = stage
        self.hand = hand
        self.number = number
        self.folder = folder
        self.place, self.method, self._holder = where

    def delta(self) -> Delta | CannotTell:
        """Ask the fast path."""
        return delta_of(self.hand.ask("delta", self.number))

    def read(self) -> Delta:
        """Ask the full path."""
        told = delta_of(self.hand.ask("read", self.number))
        if isinstance(told, CannotTell):
            raise FoundError(f"read() answered CannotTell({told.why!r}); nobody else could tell")
        return told

    def restore(self) -> None:
        """Put it back."""
        self.hand.ask("restore", self.number)

    def close(self) -> None:
        """Release it."""
        self.hand.ask("close", self.number)

    def where(self) -> str:
        """Return its place now."""
        place: str = self.hand.ask("where", self.number)[0]
        return place

    def writer(self) -> Hand:
        """Start a process that sees the copy as a world does."""
        hand = self.stage.hand()
        if self._holder is not None:
            hand.ask("enter", self._holder)
        return hand

    def write_at_once(self) -> None:
        """Run all writes of the case in one process.

        Raises:
            UsageError: CD-811, one fails.
        """
        hand = self.writer()
        for write in self.stage.case.writes:
            self._run(hand, write)
        hand.end()

    def write(self, *writes: Write, tolerant: bool = False) -> None:
        """Run writes, each in a process of its own.

        Raises:
            UsageError: CD-811, one fails, and ``tolerant`` is not said.
        """
        for write in writes:
            hand = self.writer()
            try:
                self._run(hand, write)
            except UsageError:
                if not tolerant:
                    raise
            hand.end()

    def _run(self, hand: Hand, write: Write) -> None:
        try:
            hand.ask("run", reference(write), self.place)
        except SaidNoError as error:
            raise UsageError(
                "CD-811",
                f"the write {named(write)} fails: {shown(error.text.strip().splitlines()[-1])}",
                where=f"a copy at {shown(self.place)}",
                do="correct the case: its writes work on a copy at base, and in their order",
            ) from error

    def digest(self) -> dict[str, Any]:
        """Return what lies at the place, byte for byte; nothing for a URL."""
        hand = self.writer()
        found: dict[str, Any] = hand.ask("digest", [self.place])
        hand.end()
        return found

    def told(self) -> Delta:
        """Return what a run would record: the fast answer where there is one."""
        told = self.delta()
        return self.read() if isinstance(told, CannotTell) else told

    def answers(self) -> Iterator[tuple[str, Delta | CannotTell | None]]:
        """Ask both paths; None stands for an error that says that it can't be read now."""
        for verb in ("delta", "read"):
            try:
                yield f"{verb}()", self.delta() if verb == "delta" else self.read()
            except SaidNoError as error:
                if not _is_honest(error.error):
                    raise
                yield f"{verb}()", None

    def require_base(self, after: str) -> None:
        """Check that both paths say that nothing differs.

        Raises:
            FoundError: One says something else.
        """
        told = self.delta()
        for verb, found in (("delta()", told), ("read()", self.read())):
            if isinstance(found, Delta) and found:
                name = self.stage.case.name
                raise FoundError(
                    f"after {after} the copy is not at base; {verb} says:",
                    changes(name, Delta(), found),
                )

    def require_state(self, wanted: Delta, after: str) -> None:
        """Check that both paths say that the state is ``wanted``.

        Raises:
            FoundError: One says something else.
        """
        told = self.delta()
        for verb, found in (("delta()", told), ("read()", self.read())):
            if isinstance(found, Delta) and found != wanted:
                raise FoundError(
                    f"after {after} {verb} says another state than before:",
                    changes(self.stage.case.name, wanted, found),
                )


def _is_honest(error: CleandeskError | None) -> bool:
    """Tell whether an error says that a state can't be read, and not that something broke."""
    return error is not None and error.code in {"CD-101", "CD-102", "CD-242"}


def _introduced(case: SurfaceCase, terms: SurfaceTerms) -> list[Any]:
    plain = {
        "declared": dict(terms.declared),
        "ignore": dict(terms.ignore),
        "incidental": list(terms.incidental),
        "kind": terms.kind,
        "source": dict(terms.source),
    }
    return [reference(type(case.surface)), case.name, plain]


def _hand(case: SurfaceCase) -> Hand:
    return Hand([reference(type(case.surface)), *map(reference, case.writes)])


def _prepared(case: SurfaceCase, terms: SurfaceTerms, hand: Hand, folder: Path) -> Made:
    hand.ask("meet", *_introduced(case, terms))
    made = hand.ask("prepare", str(folder), str(Path(case.folder).resolve()))
    hand.spare_the_next()
    tables = tables_of(made["tables"])
    return Made(hand, made["held"], tables, frozenset(made["ignored"]), folder)


@functools.cache
def _shared(case: SurfaceCase) -> Made:
    folder = Path(tempfile.mkdtemp(prefix="cleandesk-case-"))
    hand = _hand(case)

    @atexit.register
    def _end() -> None:
        hand.end()
        shutil.rmtree(folder, ignore_errors=True)

    return _prepared(case, case.terms, hand, folder)


def with_source(terms: SurfaceTerms, source: str) -> SurfaceTerms:
    """Return the terms for another source."""
    return replace(terms, source={**terms.source, "from": source})


def states(case: SurfaceCase) -> list[tuple[str, Sequence[Write]]]:
    """Return the states that a case makes from the base: a name, and the writes."""
    each = [(named(write), [write]) for write in case.writes]
    return [("nothing", []), *each, ("all writes", case.writes)]


@contextlib.contextmanager
def refusal() -> Iterator[list[CleandeskError | None]]:
    """Catch what a hand raises; the list then holds the error of cleandesk's, or None."""
    found: list[CleandeskError | None] = []
    try:
        yield found
    except HandLostError:
        raise
    except SaidNoError as error:
        found.append(error.error)
