"""Reading a database that a world keeps in its own memory, in the world's process.

Only databases in memory: of a file, two SQLite libraries in one process would drop each
other's locks. Its pages are handed over as bytes, so nothing is asked of the connection
that its settings (a row factory, a text factory) could change.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.sqlite.reading import NO_TERMS, Side, read_side


def is_in_memory(held: sqlite3.Connection) -> bool:
    """Tell whether no database of this connection lies in a file.

    Raises:
        sqlite3.ProgrammingError: It is closed.
    """
    cursor = held.cursor()
    cursor.row_factory = None
    return not any(path for _, _, path in cursor.execute("PRAGMA database_list"))


def read_connection(held: sqlite3.Connection) -> dict[str, Any]:
    """Return table -> key -> row of a database in memory; what is not committed counts."""
    import apsw

    with contextlib.closing(apsw.Connection(":memory:")) as copy:
        data = held.serialize()
        if data:
            copy.deserialize("main", data)
        tables = read_side(Side.of(copy, NO_TERMS), Leaving("", NO_TERMS))
    return {name: table.value() for name, table in tables.items()}
