"""What a surface with a base promises: sqlite, files, postgres, and a user's own.

The base is made once and never written. Each world gets a private copy; whatever it
writes there is a delta, which the copy can name and discard. The copy is held by the
harness, in another process than the world's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.state.table import Tables


@dataclass(frozen=True, slots=True)
class Base:
    """A base that is ready for private copies.

    Attributes:
        held: What ``open_copy`` needs, as values of canon/1: paths, URLs, digests.
        tables: The records at base, without the ignored fields; each table is a ``map``.
        ignored: The ignored patterns, from the surface down, that named something.
        not_read: What this kind of surface can't see here.
    """

    held: Mapping[str, Any]
    tables: Tables
    ignored: frozenset[str] = frozenset()
    not_read: tuple[str, ...] = ()


class Copy(Protocol):
    """A private copy of a base, at base when it is opened.

    Attributes:
        place: What the world is given to reach it: a path or a URL. It stays the same.
        method: How it is put back and read, for people: ``pinned WAL``, ``overlay``.
        holder: The process whose mounts a world must enter to see ``place``, or None.
    """

    place: str
    method: str
    holder: int | None

    def restore(self) -> None:
        """Put the copy back to the base, in the time of the change where that can be.

        Whoever used it may still be alive and hold it open: nothing of theirs may reach
        the next user's state.

        Raises:
            WorldError: CD-241, it can't be put back; the copy is not to be used again.
        """

    def delta(self) -> Delta | CannotTell:
        """Say what differs from the base, in the time of the change, or that it can't be told.

        It never guesses: a writer at work, a change of a kind that the fast way can't
        read, anything unknown is ``CannotTell``.
        """

    def read(self) -> Delta:
        """Read everything and say what differs: the auditor of ``delta``.

        Raises:
            WorldError: CD-242, it can't be read, or somebody was writing meanwhile.
            StateError: CD-101, it holds a value that canon/1 does not know.
        """

    def close(self) -> None:
        """Release and delete the copy."""


class Surface(Protocol):
    """A kind of surface with a base. Register one as ``surface.KIND``."""

    def prepare(
        self,
        surface: str,
        terms: SurfaceTerms,
        folder: Path,
        locate: Callable[[str], Path],
    ) -> Base:
        """Make the base in ``folder`` and read it; the source is never written.

        Args:
            surface: The surface's name in the contract, for messages and patterns.
            terms: What the contract says of it.
            folder: Empty, private, on the disk where copies will be; it outlives all copies.
            locate: Finds a relative path beside the world, the suite, or here.

        Raises:
            WorldError: CD-243, there is no such source or it can't be read.
        """

    def open_copy(
        self,
        surface: str,
        terms: SurfaceTerms,
        held: Mapping[str, Any],
        folder: Path,
    ) -> Copy:
        """Make a private copy in ``folder`` (empty, private), in whichever process will hold it.

        Raises:
            WorldError: CD-241, it can't be made.
        """

    def query(self, held: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        """Ask the base a question in its own language, for draws: rows in order.

        Raises:
            SuiteError: CD-419, it has no such language, or the question is wrong.
        """
