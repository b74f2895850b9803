"""A Postgres database: private clones, the delta from the log of writes, a reset by renaming.

Needs the ``postgres`` extra; nothing of it is imported before a base is prepared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.state.contract import SurfaceTerms
from cleandesk.surfaces.columns import of_every_row
from cleandesk.surfaces.postgres.naming import TAKEN
from cleandesk.surfaces.protocol import Base, Copy

__all__ = ["Postgres", "postgres"]


def postgres(
    source: str,
    *,
    ignore: Mapping[str, str] | None = None,
    incidental: Sequence[str] = (),
    declared: Mapping[str, str] | None = None,
    server: str | None = None,
    pool: int = 2,
) -> SurfaceTerms:
    """Name a Postgres database that holds state.

    Args:
        source: A ``.sql`` file that fills a new database, or the ``postgresql://`` URL of a
            database, which is cloned on its own server and never written.
        ignore: Pattern below the surface -> reason. ``users.otp`` is the column ``otp`` of
            any row of ``users``; ``users[7].otp`` that of one.
        incidental: Patterns verified at the start and free to change.
        declared: Pattern -> sampler; such a field varies per episode.
        server: The URL of a server of yours whose role may create databases; None starts
            a private one for a file, and takes the database's own for a URL.
        pool: How many clones are kept ready for the next resets.

    Example:
        >>> postgres("seed.sql", ignore={"users.otp": "random per build"}).kind
        'postgres'
    """
    return SurfaceTerms(
        "postgres",
        {"from": source, "pool": pool, "server": server},
        {of_every_row(text, TAKEN): reason for text, reason in (ignore or {}).items()},
        tuple(of_every_row(text, TAKEN) for text in incidental),
        {of_every_row(text, TAKEN): sampler for text, sampler in (declared or {}).items()},
    )


class Postgres:
    """A Postgres database (15 or later): on a private server, or a clone on one of yours."""

    def prepare(
        self,
        surface: str,
        terms: SurfaceTerms,
        folder: Path,
        locate: Callable[[str], Path],
    ) -> Base:
        """Make the base and read it; see ``Surface.prepare``.

        The server, or what was made on yours, lasts as long as a process lives that
        called this or holds a copy, and no longer than ``folder``.

        Raises:
            WorldError: CD-243, there is no such source; CD-251, the extra is missing;
                CD-252, the private server does not start; CD-253, somebody is connected
                to the source; CD-254, the server can't be used; CD-255, the file fails.
        """
        from cleandesk.surfaces.postgres.preparing import prepare

        return prepare(surface, terms, folder, locate)

    def open_copy(
        self,
        surface: str,
        terms: SurfaceTerms,
        held: Mapping[str, Any],
        folder: Path,  # noqa: ARG002 - what is written lies with the server
    ) -> Copy:
        """Make a private copy; see ``Surface.open_copy``.

        Raises:
            WorldError: CD-241, it can't be made; CD-252, the base's server has ended.
        """
        from cleandesk.surfaces.postgres.clone import open_clone

        return open_clone(surface, terms, held)

    def query(self, held: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        """Ask the base one SQL query; values come as the records hold them.

        Raises:
            SuiteError: CD-419, the query is wrong, or there is more than one.
        """
        from cleandesk.surfaces.postgres.asking import ask

        return ask(held, text)
