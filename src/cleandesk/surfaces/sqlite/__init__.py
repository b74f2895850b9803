"""State in SQLite databases: a base file, private copies of it, and what was written since.

Importing this is cheap: the SQLite library is loaded when a base is first made or opened.
It is the one inside apsw and no other: two SQLite libraries on one file in one process
drop each other's locks. Worlds write from processes of their own, with any library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleandesk.state.contract import SurfaceTerms
from cleandesk.surfaces.columns import of_every_row

if TYPE_CHECKING:
    from cleandesk.surfaces.protocol import Base, Copy

__all__ = ["Sqlite", "sqlite"]

_BY_KEY = frozenset({"sqlite_pragma", "sqlite_schema", "sqlite_sequence"})
"""Tables whose records people name by key: ``sqlite_pragma.user_version`` is a record."""


def sqlite(
    source: str,
    *,
    ignore: Mapping[str, str] | None = None,
    incidental: Sequence[str] = (),
    declared: Mapping[str, str] | None = None,
    wal: bool = True,
) -> SurfaceTerms:
    """Name a SQLite database that holds state.

    Args:
        source: A database file, never written; or a ``.sql`` script, which is run on an
            empty database.
        ignore: Pattern below the surface -> reason. ``table.column`` is that column in
            every row, the same as ``table[*].column``.
        incidental: Patterns verified at the start and free to change.
        declared: Pattern -> sampler; such a field varies per episode.
        wal: Keep the copy in write-ahead mode, so that a reset and a diff cost the change
            and not the size. A world that insists on another journal mode, or locks the
            file for itself alone, needs False: then each costs the size.

    Example:
        >>> sqlite("seed.db", ignore={"users.otp": "random per build"}, incidental=["sessions"])
    """
    return SurfaceTerms(
        "sqlite",
        {"from": source, "wal": wal},
        {of_every_row(text, _BY_KEY): reason for text, reason in (ignore or {}).items()},
        tuple(of_every_row(text, _BY_KEY) for text in incidental),
        {of_every_row(text, _BY_KEY): sampler for text, sampler in (declared or {}).items()},
    )


class Sqlite:
    """A SQLite database file, or an SQL script that makes one."""

    def prepare(
        self,
        surface: str,
        terms: SurfaceTerms,
        folder: Path,
        locate: Callable[[str], Path],
    ) -> Base:
        """Make the base in ``folder`` and read it.

        Raises:
            WorldError: CD-243, there is no such source, or the script fails; CD-242, it
                is no database, is damaged, or is being written.
        """
        from cleandesk.surfaces.sqlite.preparing import prepare

        return prepare(surface, terms, folder, locate)

    def open_copy(
        self,
        surface: str,
        terms: SurfaceTerms,
        held: Mapping[str, Any],
        folder: Path,
    ) -> Copy:
        """Make a private copy in ``folder``, which is the copy's alone: it is emptied at restore.

        Raises:
            WorldError: CD-241, it can't be made.
        """
        from cleandesk.surfaces.sqlite.copies import open_copy

        return open_copy(surface, terms, held, folder)

    def query(self, held: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        """Ask the base one question in SQL.

        Raises:
            SuiteError: CD-419, the question is wrong.
        """
        from cleandesk.surfaces.sqlite.reading import query

        return query(held, text)
