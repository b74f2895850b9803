"""What a person may name where state is compared or watched: a database, a folder, a URL."""

from __future__ import annotations

from pathlib import Path

from cleandesk.errors import UsageError, shown
from cleandesk.run.scratch import Scratch
from cleandesk.state import Change
from cleandesk.state.contract import Contract, SurfaceTerms
from cleandesk.state.delta import Delta
from cleandesk.state.diff import changes_between
from cleandesk.state.table import Tables
from cleandesk.surfaces import files, postgres, sqlite
from cleandesk.surfaces.copies import load_base, make_base

_SQLITE = b"SQLite format 3\x00"
_SUFFIXES = (".db", ".sqlite", ".sqlite3", ".db3", ".sql")
_URLS = ("postgresql://", "postgres://")


def source_terms(text: str) -> tuple[str, SurfaceTerms] | None:
    """Return a name and the terms of the surface that ``text`` names, or None if it names none.

    A file that begins as SQLite's do, or whose name ends in ``.sql``, is a database; a
    folder is a tree of files; ``postgresql://`` is a Postgres database.
    """
    if text.startswith(_URLS):
        return "db", postgres(text)
    path = Path(text)
    if path.is_dir():
        return "tree", files(text)
    if path.suffix == ".sql" and path.is_file():
        return "db", sqlite(text)
    return ("db", sqlite(text)) if is_database(path) else None


def require_there(text: str, where: str) -> None:
    """Refuse a text that can only be meant as a file or folder, and names none.

    Raises:
        UsageError: CD-806, there is none, or the file is no database.
    """
    path = Path(text)
    is_meant = path.suffix.lower() in _SUFFIXES or text.endswith("/")
    if is_meant and not path.exists():
        said = f"there is no {shown(text, 120)}"
    elif is_meant and path.is_file():
        said = f"{shown(text, 120)} is no SQLite database"
    else:
        return
    raise UsageError(
        "CD-806", said, where=where, do="name a database file, an SQLite script or a folder"
    )


def is_database(path: Path) -> bool:
    """Tell whether a file begins as those of SQLite do."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def compare_sources(before: str, after: str) -> tuple[Change, ...] | None:
    """Compare two databases or two folders; None where the two texts name neither.

    Raises:
        UsageError: CD-806, a text can only be meant as one, and names none.
        UsageError: CD-804, they are of two kinds.
        WorldError: CD-242 or CD-243, one can't be read.
    """
    one, other = source_terms(before), source_terms(after)
    for text, terms in ((before, one), (after, other)):
        if terms is None:
            require_there(text, "diff")
    if one is None or other is None:
        return None
    (name, old), (_, new) = one, other
    if old.kind != new.kind:
        raise UsageError(
            "CD-804",
            f"{shown(before, 80)} is of kind {old.kind} and {shown(after, 80)} of kind {new.kind}",
            where="diff",
            do="compare two databases of one kind, or two folders",
        )
    return tuple(changes_between(name, Delta(), _delta(name, (before, old), (after, new))))


def _delta(name: str, before: tuple[str, SurfaceTerms], after: tuple[str, SurfaceTerms]) -> Delta:
    paths = [Path(text) for text, _ in (before, after)]
    if before[1].kind == "sqlite" and all(map(is_database, paths)):
        from cleandesk.surfaces.sqlite.comparing import compare

        return compare(paths[0], paths[1], name)
    if before[1].kind == "files":
        from cleandesk.surfaces.files import read_folder

        one, other = (read_folder(path, name)[0] for path in paths)
        return Delta.between(one, other)
    scratch = Scratch()
    try:
        one, other = (
            _tables(name, terms, scratch.folder / side)
            for side, (_, terms) in (("before", before), ("after", after))
        )
        return Delta.between(one, other)
    finally:
        scratch.close()


def _tables(name: str, terms: SurfaceTerms, folder: Path) -> Tables:
    base = make_base(Contract("compared", "1", {name: terms}), name, folder, Path)
    return load_base(base.path, base.object)
