"""Folders: every entry with its content, mode, owner, attributes and links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from cleandesk.errors import SuiteError
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.table import Tables
from cleandesk.surfaces.protocol import Base, Copy

__all__ = ["Files", "files", "read_folder"]


class Chosen(TypedDict, total=False):
    """What else may be said of a files surface.

    Attributes:
        mtime: Keep the modification times of all but folders.
        method: ``auto``, ``overlay`` or ``portable``.
    """

    mtime: bool
    method: Literal["auto", "overlay", "portable"]


def files(
    source: str,
    *,
    ignore: Mapping[str, str] | None = None,
    incidental: Sequence[str] = (),
    declared: Mapping[str, str] | None = None,
    readers: Mapping[str, str] | None = None,
    **chosen: Unpack[Chosen],
) -> SurfaceTerms:
    """Name a folder that a world writes to; each world gets a private copy of it.

    There is one table, ``files``; its keys are the paths below the folder, with ``.``
    for the folder itself.

    Args:
        source: The folder, relative to the world, the suite, or here.
        ignore: Pattern below the surface -> reason; such a field is never compared.
            ``files[cache/**]`` is everything below the folder ``cache``.
        incidental: Patterns verified at the start and free to change.
        declared: Pattern -> sampler; such a field varies per episode.
        readers: Glob of a path or a name -> ``lines``, ``json``, ``office``, ``sqlite``
            or ``bytes``; what it names is not read by its usual reader.
        chosen: ``mtime=True`` keeps the modification times of all but folders;
            ``method`` is ``auto``, ``overlay`` or ``portable``: how copies are made.

    Raises:
        WorldError: CD-281, there is no such reader; CD-282, there is no such method.

    Example:
        >>> files("home/", ignore={"files[cache/**]": "made anew by each start"})
    """
    return SurfaceTerms(
        "files",
        _source(source, dict(readers or {}), dict(chosen)),
        dict(ignore or {}),
        tuple(incidental),
        dict(declared or {}),
    )


def _source(source: str, readers: dict[str, str], chosen: dict[str, object]) -> dict[str, Any]:
    from cleandesk.surfaces.files.content import require_method, require_readers

    unknown = sorted(chosen.keys() - Chosen.__annotations__.keys())
    if unknown:
        raise TypeError(f"files() got an unexpected keyword argument {unknown[0]!r}")
    method = str(chosen.get("method", "auto"))
    require_readers(readers)
    require_method(method)
    is_kept = bool(chosen.get("mtime", False))
    return {"from": source, "method": method, "mtime": is_kept, "readers": readers}


class Files:
    """A folder: its files line by line, their modes and links, and what known formats hold."""

    def prepare(
        self, surface: str, terms: SurfaceTerms, folder: Path, locate: Callable[[str], Path]
    ) -> Base:
        """Copy the source once and read it."""
        from cleandesk.surfaces.files.kind import prepare

        return prepare(surface, terms, folder, locate)

    def open_copy(
        self, surface: str, terms: SurfaceTerms, held: Mapping[str, Any], folder: Path
    ) -> Copy:
        """Make a private copy: an overlay where that can be, else a folder of its own."""
        from cleandesk.surfaces.files.kind import open_copy

        return open_copy(surface, terms, held, folder)

    def query(self, held: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        """Files have no language for questions."""
        del held
        raise SuiteError(
            "CD-419",
            f"files can't be asked {text[:80]!r}: they have no query language",
            do="draw from a database, or list the values in the task",
        )


def read_folder(
    path: Path, surface: str, terms: SurfaceTerms | None = None
) -> tuple[Tables, frozenset[str], tuple[str, ...]]:
    """Read any folder as it lies; see ``kind.read_folder``."""
    from cleandesk.surfaces.files.kind import read_folder as read

    return read(path, surface, terms)
