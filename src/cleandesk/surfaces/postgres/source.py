"""Filling the template: from a ``.sql`` file, or as a clone of a database."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from cleandesk.errors import WorldError, shown
from cleandesk.surfaces.postgres.desk import Desk, connect, rows, said, shown_url, with_database
from cleandesk.surfaces.postgres.naming import quoted
from cleandesk.surfaces.postgres.script import Part, parts

_SESSIONS = """
SELECT pid, coalesce(usename, ''), coalesce(application_name, '') FROM pg_stat_activity
WHERE datname = %s ORDER BY pid LIMIT 5
"""


def is_url(source: str) -> bool:
    """Tell whether the source is a database and not a file."""
    return source.startswith(("postgresql://", "postgres://"))


def load_file(desk: Desk, path: Path) -> None:
    """Make the template by executing a file.

    Raises:
        WorldError: CD-255, Postgres refuses something in it.
    """
    owner = f" OWNER {quoted('postgres')}" if desk.private else ""
    with contextlib.closing(connect(desk.admin)) as connection:
        rows(connection, f"CREATE DATABASE {quoted(desk.template)}{owner}")
    url = with_database(desk.world if desk.private else desk.admin, desk.template)
    with contextlib.closing(_plain(url)) as connection:
        for part in parts(path.read_bytes()):
            _execute(connection, part, path)
        if connection.info.transaction_status:
            raise _refused("it ends within a transaction", str(path))
    if desk.private:
        with contextlib.closing(connect(desk.admin)) as connection:
            # What it made is its own; from now on it is an ordinary role.
            rows(connection, f"ALTER ROLE {quoted('postgres')} NOSUPERUSER")


def clone_source(desk: Desk, source: str) -> None:
    """Make the template as a clone of a database, which is only read.

    Raises:
        WorldError: CD-243, there is no such database; CD-253, somebody is connected to it;
            CD-254, it may not be cloned.
    """
    import psycopg

    name = unquote(urlsplit(source).path.removeprefix("/"))
    with contextlib.closing(connect(desk.admin)) as connection:
        try:
            rows(
                connection,
                f"CREATE DATABASE {quoted(desk.template)} TEMPLATE {quoted(name)}"
                " STRATEGY file_copy",
            )
        except psycopg.errors.ObjectInUse as error:
            sessions = rows(connection, _SESSIONS, [name])
            named = ", ".join(f"{pid} ({user} {program})" for pid, user, program in sessions)
            raise WorldError(
                "CD-253",
                f"somebody is connected to the source: {shown(named or 'a session just ended')}",
                where=shown_url(source),
                do="end these sessions while the base is made, or give a .sql file",
            ) from error
        except psycopg.errors.InvalidCatalogName as error:
            raise WorldError(
                "CD-243",
                f"there is no database {shown(name)!r}",
                where=shown_url(source),
                do="correct the URL",
            ) from error


def _plain(url: str) -> Any:
    """Open a session as a program of the user's would: the file sets what it needs."""
    import psycopg

    return psycopg.connect(url, autocommit=True, client_encoding="utf8")


def _execute(connection: Any, part: Part, path: Path) -> None:
    import psycopg

    try:
        if part.data is None:
            connection.execute(part.text)
            return
        with connection.cursor() as cursor, cursor.copy(part.text) as copy:
            copy.write(part.data)
    except psycopg.Error as error:
        place = error.diag.statement_position
        within = part.text.decode("utf-8", "replace")[: int(place or 1) - 1].count("\n")
        raise _refused(said(error), f"{path}:{part.line + within}") from error


def _refused(what: str, where: str) -> WorldError:
    return WorldError(
        "CD-255",
        f"the file can't be loaded: {what}",
        where=where,
        do="write plain SQL, such as pg_dump --no-owner makes; commands of psql are not known",
    )
