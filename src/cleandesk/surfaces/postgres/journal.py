"""Which blocks were written since a moment, from the server's log of writes.

A clone is block for block as its template. So a row that differs lies in a block that the
log names, on one side or the other, whoever wrote it and however it was committed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cleandesk.state.delta import CannotTell
from cleandesk.surfaces.postgres.desk import rows, said
from cleandesk.surfaces.postgres.lines import several
from cleandesk.surfaces.postgres.naming import literal

_OLDEST, _FLUSHES_AT_ONCE = 160000, 170000
# What stands before this in the log is then written too, so that those who commit without
# waiting are read. A commit of ours would do the same, where the function can't.
_FLUSH = "SELECT pg_logical_emit_message(false, 'cleandesk', '', true)"
_FLUSH_BY_COMMIT = "SELECT pg_logical_emit_message(true, 'cleandesk', '')"
_HERE = "SELECT pg_current_wal_flush_lsn()::text"
_TRUE = "t"
_LAST = "SELECT pg_current_wal_insert_lsn()::text"
_BLOCKS = """
SELECT relfilenode::bigint, array_agg(DISTINCT relblocknumber::bigint ORDER BY relblocknumber::bigint)
FROM pg_get_wal_block_info({}, pg_current_wal_flush_lsn(), false)
WHERE reldatabase = {} AND relforknumber = 0 GROUP BY 1
"""
# What makes or ends a row. Cleaning, hints and statistics of the server itself do not.
_WRITES = """
SELECT EXISTS (SELECT FROM pg_get_wal_block_info({}, pg_current_wal_flush_lsn(), false)
  WHERE reldatabase = {} AND relforknumber = 0
    AND (relfilenode >= 16384 OR relfilenode IN (2613, 2995))
    AND (resource_manager = 'Sequence'
         OR resource_manager = 'Heap' AND record_type ~ 'INSERT|DELETE|UPDATE'
         OR resource_manager = 'Heap2' AND record_type ~ 'MULTI_INSERT'))
"""
# Held by who changes rows or definitions, until the transaction ends; seen for all roles.
_OPEN = """
SELECT EXISTS (SELECT FROM pg_locks WHERE database = {} AND locktype = 'relation' AND granted
  AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')
  AND pid IS DISTINCT FROM pg_backend_pid())
"""


@dataclass(frozen=True, slots=True)
class Look:
    """What the log holds of one database at one moment.

    Attributes:
        is_open: Whether a transaction that writes is open in it.
        until: The end of the log, after everything that was committed before.
        blocks: The number of each file that was written, with its blocks.
    """

    is_open: bool
    until: str
    blocks: Mapping[int, list[int]]


@dataclass(frozen=True, slots=True)
class Journal:
    """The log of a server, as one database's.

    Attributes:
        connection: A session of ours in another database of that server.
        database: The number of the database whose writes count.
    """

    connection: Any
    database: int

    def look(self, since: str) -> Look | CannotTell:
        """Read the log from a moment on."""
        import psycopg

        blocks = _BLOCKS.format(literal(since), self.database)
        try:
            # In this order: who wrote before ``until`` and is not open afterwards has ended,
            # and is seen by whoever reads from now on.
            *_, ((until,),), ((is_open,),), found = self._ask(*self._flush(), self._open, blocks)
        except psycopg.Error as error:
            return CannotTell(f"the log of writes can't be read: {said(error)}")
        numbers = {int(file): [*map(int, each.strip("{}").split(","))] for file, each in found}
        return Look(is_open == _TRUE, until, numbers)

    def here(self) -> str:
        """Return the end of the log, after everything that was committed until now."""
        return self._ask(*self._flush())[-1][0][0]

    def has_open(self) -> bool:
        """Tell whether a transaction that writes is open in the database."""
        return self._ask(self._open)[0][0][0] == _TRUE

    def was_written(self, since: str) -> bool:
        """Tell whether a row was made or ended since a moment, even if nobody sees it yet."""
        import psycopg

        # Most often nothing at all was added, and the log need not be read again.
        if self._ask(_LAST)[0][0][0] == since:
            return False
        writes = _WRITES.format(literal(since), self.database)
        with contextlib.suppress(psycopg.Error):
            return self._ask(*self._flush(), writes)[-1][0][0] == _TRUE
        return True

    @property
    def _open(self) -> str:
        return _OPEN.format(self.database)

    def _flush(self) -> tuple[str, str]:
        if self.connection.info.server_version >= _FLUSHES_AT_ONCE:
            return _FLUSH, _HERE
        rows(self.connection, _FLUSH_BY_COMMIT)
        return "SELECT", _HERE

    def _ask(self, *texts: str) -> list[list[tuple[str, ...]]]:
        return several(self.connection, texts)


def usable(connection: Any) -> str:
    """Return why the log of this server can't be read, or ""; it is made ready in a database of ours."""
    import psycopg

    if connection.info.server_version < _OLDEST:
        return "the server is older than Postgres 16, which has no reader of its log"
    level = rows(connection, "SHOW wal_level")[0][0]
    if level == "minimal":
        return "wal_level is minimal: the server does not log all that is written"
    journal = Journal(connection, 0)
    try:
        rows(connection, "CREATE EXTENSION IF NOT EXISTS pg_walinspect")
    except psycopg.Error as error:
        return f"the role may not read the server's log: {said(error)}"
    found = journal.look(journal.here())
    return found.why if isinstance(found, CannotTell) else ""


@contextlib.contextmanager
def steady(connection: Any) -> Iterator[None]:
    """Read one state of a database, whatever is committed meanwhile."""
    # The state is that of the first statement within.
    rows(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT")
    try:
        yield
    finally:
        if not connection.closed and not connection.broken:
            rows(connection, "ROLLBACK")
