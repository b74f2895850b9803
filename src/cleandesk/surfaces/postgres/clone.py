"""One private copy: a clone of the base, put back by renaming the next one into its place."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.postgres.comparing import Comparison, Side, load
from cleandesk.surfaces.postgres.desk import Desk, failing, rows, said, with_database
from cleandesk.surfaces.postgres.holding import Line
from cleandesk.surfaces.postgres.journal import Journal, steady
from cleandesk.surfaces.postgres.naming import quoted
from cleandesk.surfaces.postgres.reading import ReferenceBlocks

_LEAVE_S = 10.0
_LOOK_S = 0.0005
_AGAIN = "end what holds the database, and run again with a new copy"

_END = "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
_LEFT = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
_NUMBERS = "SELECT datname = %s, oid::bigint FROM pg_database WHERE datname IN (%s, %s)"


def open_clone(surface: str, terms: SurfaceTerms, held: Mapping[str, Any]) -> Clone:
    """Make a private copy of the base that ``held`` names.

    Raises:
        WorldError: CD-241, it can't be made; CD-252, the base's server has ended.
    """
    folder = Path(held["folder"])
    desk = Desk.load(folder)
    with failing("CD-241", "the copy can't be made", where=f"surface {surface}", do=_AGAIN):
        return Clone(desk, Line(folder), surface, terms)


class Clone:
    """A private copy.

    Attributes:
        place: The URL of its database; it stays the same.
        method: How it is put back and read.
        holder: Nobody: a database is reached from anywhere.
    """

    def __init__(self, desk: Desk, line: Line, surface: str, terms: SurfaceTerms) -> None:
        """Take the first clone from the keeper."""
        self.holder: int | None = None
        self._desk = desk
        self._line = line
        self._where = f"surface {surface}"
        self._surface, self._terms = surface, terms
        self._name = f"{desk.mark}_{secrets.token_hex(4)}"
        self._replaced = 0
        self._since, self._number = "", 0
        self._own: Any = None
        self._office: Any = None
        self._reference: Any = None
        self.place = with_database(desk.world, self._name)
        self.method = f"clone by renaming, {'whole reading' if desk.log else 'log of writes'}"
        try:
            line.tell(copy=self._name, pool=int(terms.source.get("pool", 2)))
            self._office = desk.connect(desk.office)
            self._reference = desk.connect(desk.reference)
            self._base: Side = load(self._reference)
            self._blocks = ReferenceBlocks(self._reference)
            self._swap()
        except BaseException:
            self.close()
            raise

    def restore(self) -> None:
        """Put the copy back; see ``Copy.restore``.

        Raises:
            WorldError: CD-241, nobody could make a clone, or a session does not end.
        """
        with failing("CD-241", "the copy can't be put back", where=self._where, do=_AGAIN):
            self._leave()
            self._swap()

    def delta(self) -> Delta | CannotTell:
        """Read what the log of writes names; see ``Copy.delta``."""
        import psycopg

        if self._desk.log:
            return CannotTell(self._desk.log)
        try:
            return self._fast_delta()
        except psycopg.Error as error:
            return CannotTell(f"the copy can't be read: {said(error)}")

    def _fast_delta(self) -> Delta | CannotTell:
        journal = Journal(self._office, self._number)
        seen = journal.look(self._since)
        if isinstance(seen, CannotTell):
            return seen
        if seen.is_open:
            return CannotTell("a transaction is open in the copy")
        if not seen.blocks and self._base.is_logged:
            return Delta()
        # Each statement reads a state of its own; all are one if nobody writes until the end.
        comparison = self._comparison(self._connected())
        now = comparison.now(seen.blocks)
        if comparison.has_new_definitions(now):
            return CannotTell("the schema was changed")
        found = comparison.touched(now, seen.blocks)
        if journal.was_written(seen.until):
            return CannotTell("somebody was writing while it was read")
        return found

    def read(self) -> Delta:
        """Read everything; see ``Copy.read``.

        Raises:
            WorldError: CD-242, it can't be read, or a transaction that writes is open.
        """
        with failing("CD-242", "the copy can't be read", where=self._where, do=_AGAIN):
            own = self._connected()
            journal = Journal(self._office, self._number)
            with steady(own):
                comparison = self._comparison(own)
                now = comparison.now()
                since = "" if self._desk.log else journal.here()
                # Before anything that an open transaction could hold back.
                if journal.has_open():
                    raise self._is_written("left a transaction open")
                found = comparison.whole(now)
            if journal.has_open() or (since and journal.was_written(since)):
                raise self._is_written("was writing while the copy was read")
            return found

    def close(self) -> None:
        """Release and delete the copy; closing twice is fine."""
        for connection in (self._own, self._office, self._reference):
            if connection is not None:
                with contextlib.suppress(Exception):
                    connection.close()
        # The keeper drops what was made for this line.
        self._line.close()

    def _is_written(self, what: str) -> WorldError:
        return WorldError(
            "CD-242",
            f"somebody {what}",
            where=self._where,
            do="commit, and stop what writes, before the state is captured",
        )

    def _comparison(self, own: Any) -> Comparison:
        leaving = Leaving(self._surface, self._terms)
        return Comparison(own, self._reference, self._base, leaving, self._blocks)

    def _connected(self) -> Any:
        if self._own is None or self._own.closed or self._own.broken:
            self._own = self._desk.connect(self._name)
        return self._own

    def _leave(self) -> None:
        if self._own is not None:
            self._own.close()
            self._own = None

    def _swap(self) -> None:
        """Put the next clone in the place of the one that is there, in one transaction."""
        # While the keeper may still work on it, the state of the copy is untouched.
        spare = self._line.ask(next=True)
        if "error" in spare:
            raise WorldError(
                "CD-241",
                f"no clone can be made: {shown(spare['error'])}",
                where=self._where,
                do="see that the server's disk has room and that its role may create databases",
            )
        words = []
        used, name = f"{self._name}_o{self._replaced}", spare["name"]
        numbers = dict(rows(self._office, _NUMBERS, [name, name, self._name]))
        # A world that owns its database may have dropped it.
        if False in numbers:
            self._empty()
            words.append(f"ALTER DATABASE {quoted(self._name)} RENAME TO {quoted(used)}")
        words.append(f"ALTER DATABASE {quoted(name)} RENAME TO {quoted(self._name)}")
        words.append(f"ALTER DATABASE {quoted(self._name)} ALLOW_CONNECTIONS true")
        # Nobody could write it before; whatever is in the log later is the world's.
        self._since = str(rows(self._office, "SELECT pg_current_wal_insert_lsn()::text")[0][0])
        rows(self._office, ";".join(["BEGIN", *words, "COMMIT"]))
        self._number = numbers[True]
        if False in numbers:
            self._line.tell(drop=used)
        self._replaced += 1

    def _empty(self) -> None:
        """End every session in the copy, and let none in again."""
        rows(self._office, f"ALTER DATABASE {quoted(self._name)} ALLOW_CONNECTIONS false")
        deadline = time.monotonic() + _LEAVE_S
        rows(self._office, _END, [self._name])
        while rows(self._office, _LEFT, [self._name])[0][0]:
            if time.monotonic() > deadline:
                raise WorldError(
                    "CD-241",
                    f"a session in {self._name} does not end",
                    where=self._where,
                    do=_AGAIN,
                )
            time.sleep(_LOOK_S)
            rows(self._office, _END, [self._name])
