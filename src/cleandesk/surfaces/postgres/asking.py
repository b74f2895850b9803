"""Questions to the base, for draws."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleandesk.errors import SuiteError, shown
from cleandesk.surfaces.postgres.desk import Desk, failing, rows
from cleandesk.surfaces.postgres.naming import quoted
from cleandesk.surfaces.postgres.rows import reader


def ask(held: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
    """Run one query on the base; see ``Postgres.query``."""
    desk = Desk.load(Path(held["folder"]))
    with (
        failing("CD-242", "the base can't be asked", where="query", do="prepare it again"),
        contextlib.closing(desk.connect(desk.reference)) as connection,
    ):
        if desk.private:
            rows(connection, f"SET ROLE {quoted('postgres')}")
        rows(connection, "SET search_path = public")
        rows(connection, "BEGIN READ ONLY")
        # Not with execute(): it would take several statements in one text.
        return _values(connection.pgconn.exec_params(text.encode(), None), text)


def _values(result: Any, text: str) -> list[dict[str, Any]]:
    if not result.nfields:
        said = result.error_message.decode("utf-8", "replace").strip() or "it returns no rows"
        raise _wrong(said.splitlines()[0], text)
    names = [result.fname(place).decode() for place in range(result.nfields)]
    if len(set(names)) < len(names):
        raise _wrong("two columns have one name", text)
    readers = [reader(result.ftype(place)) for place in range(result.nfields)]
    return [
        {
            name: _value(result.get_value(row, place), read)
            for place, (name, read) in enumerate(zip(names, readers, strict=True))
        }
        for row in range(result.ntuples)
    ]


def _value(data: bytes | None, read: Any) -> Any:
    if data is None:
        return None
    text = data.decode("utf-8", "surrogateescape")
    return text if read is None else read(text)


def _wrong(what: str, text: str) -> SuiteError:
    return SuiteError(
        "CD-419",
        f"the query can't be asked: {shown(what)}",
        where=shown(text),
        do="give one SELECT that the base answers",
    )
