"""Making a base: a template from a file or a database, a reference, and its records."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from cleandesk.errors import WorldError
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.leaving import Leaving
from cleandesk.surfaces.postgres.comparing import base_tables
from cleandesk.surfaces.postgres.desk import (
    Desk,
    connect,
    failing,
    require_extra,
    rows,
    said,
    shown_url,
    with_database,
)
from cleandesk.surfaces.postgres.holding import release, start_keeper
from cleandesk.surfaces.postgres.journal import steady, usable
from cleandesk.surfaces.postgres.keeper import clone
from cleandesk.surfaces.postgres.naming import quoted
from cleandesk.surfaces.postgres.source import clone_source, is_url, load_file
from cleandesk.surfaces.protocol import Base

_OLDEST = 150000
_STAYING = ("postgres", "template1")
_RIGHTS = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
_USE = "give the URL of a role that may create databases, on Postgres 15 or later"

NOT_READ = (
    "other databases, roles, tablespaces and settings of the server",
    "settings of the database (ALTER DATABASE ... SET), which a clone does not take over",
    "temporary tables, and rows of foreign tables",
    "statistics, comments, casts, operators, collations, publications, text search",
)


def prepare(surface: str, terms: SurfaceTerms, folder: Path, locate: Callable[[str], Path]) -> Base:
    """Make the base and read it; see ``Postgres.prepare``."""
    source, server = str(terms.source["from"]), terms.source.get("server")
    file = None if is_url(source) else _file(locate(source), surface)
    is_private = file is not None and server is None
    require_extra(private=is_private)
    desk = _desk(source, server, surface, folder, private=is_private)
    try:
        what = shown_url(source) if file is None else str(file)
        with failing("CD-254", "the server can't be used", where=what, do=_USE):
            if file is None:
                clone_source(desk, source)
            else:
                load_file(desk, file)
            desk = _finish(desk, folder)
        leaving = Leaving(surface, terms)
        with (
            failing("CD-243", "the base can't be read", where=what, do=_USE),
            contextlib.closing(desk.connect(desk.reference)) as connection,
            steady(connection),
        ):
            tables = base_tables(connection, leaving)
    except BaseException:
        release(folder)
        raise
    held = {"folder": str(folder), "mark": desk.mark}
    return Base(held, tables, frozenset(leaving.matched), NOT_READ)


def _file(path: Path, surface: str) -> Path:
    if path.is_file():
        return path
    raise WorldError(
        "CD-243",
        f"there is no file {str(path)!r}",
        where=f"surface {surface}",
        do="give a .sql file, or the postgresql:// URL of a database",
    )


def _desk(source: str, server: str | None, surface: str, folder: Path, *, private: bool) -> Desk:
    """Return how the server is reached, after its keeper was started."""
    mark = f"cd_{secrets.token_hex(5)}"
    if private:
        start_keeper(folder, mark, private=True)
        return Desk.load(folder)
    url = str(server or source)
    if is_url(source) and urlsplit(url).netloc.rpartition("@")[2] != _place(source):
        raise WorldError(
            "CD-254",
            "the source lies on another server than the one that is given",
            where=f"surface {surface}",
            do="leave out server=: a database is cloned on its own server",
        )
    desk = Desk(_admin(url, staying=server is None), url, mark)
    desk.save(folder)
    start_keeper(folder, mark, private=False)
    return desk


def _place(source: str) -> str:
    return urlsplit(source).netloc.rpartition("@")[2]


def _admin(url: str, *, staying: bool) -> str:
    """Return the URL under which databases are made, after a look at what its role may do."""
    import psycopg

    # A database that is cloned must have nobody in it: not us either.
    urls = [with_database(url, name) for name in _STAYING] if staying else [url]
    problem = ""
    for each in urls:
        try:
            connection = connect(each)
        except psycopg.Error as error:
            problem = said(error)
            continue
        with contextlib.closing(connection):
            if connection.info.server_version < _OLDEST:
                problem = "it is older than Postgres 15"
            elif not rows(connection, _RIGHTS)[0][0]:
                problem = "its role may not create databases"
            else:
                return each
    raise WorldError(
        "CD-254", f"the server can't be used: {problem}", where=shown_url(url), do=_USE
    )


def _finish(desk: Desk, folder: Path) -> Desk:
    """Close the template, and make what stands beside it: the reference, a place to work."""
    with contextlib.closing(desk.connect(desk.template)) as connection:
        # Rows are settled for good: no clone has to look up or note down who wrote them.
        rows(connection, "VACUUM (FREEZE, ANALYZE)")
    with contextlib.closing(connect(desk.admin)) as connection:
        rows(connection, f"ALTER DATABASE {quoted(desk.template)} ALLOW_CONNECTIONS false")
        clone(connection, desk, desk.template, desk.reference, is_open=True)
        if desk.private:
            rows(connection, f"ALTER DATABASE {quoted(desk.reference)} OWNER TO CURRENT_USER")
        reference = quoted(desk.reference)
        rows(connection, f"REVOKE CONNECT ON DATABASE {reference} FROM PUBLIC")
        rows(connection, f"ALTER DATABASE {reference} SET default_transaction_read_only = on")
        if desk.private:
            return desk
        rows(connection, f"CREATE DATABASE {quoted(desk.office)} TEMPLATE template0")
    with contextlib.closing(desk.connect(desk.office)) as connection:
        desk = dataclasses.replace(desk, log=usable(connection))
    desk.save(folder)
    return desk
