"""Bases and copies of folders."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cleandesk.errors import WorldError, shown
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.table import Table, Tables
from cleandesk.surfaces import mounts
from cleandesk.surfaces.files.against import Against, reads, require_still, too_deep, why
from cleandesk.surfaces.files.clone import Cloning
from cleandesk.surfaces.files.content import require_method
from cleandesk.surfaces.files.discard import discard
from cleandesk.surfaces.files.ignoring import Ignoring
from cleandesk.surfaces.files.overlay import Overlay
from cleandesk.surfaces.files.portable import Portable
from cleandesk.surfaces.files.reading import TABLE, Options, Reading, key_of
from cleandesk.surfaces.files.stored import Stored, store
from cleandesk.surfaces.files.walk import MovedError, TooDeepError, linked, root_of
from cleandesk.surfaces.mounts import UnavailableError
from cleandesk.surfaces.protocol import Base, Copy

_TREE = "tree"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_NEVER_READ = (
    "times of access, change and of folders, and inode numbers",
    "file flags and the machine's security labels",
)
_NORMALISED = {
    "json": "the spelling of JSON files: spaces, order of keys",
    "office": "of zip-based documents: times, order and compression of members, order of shared texts",
    "sqlite": "of SQLite files: pages, free space and locks",
}


def prepare(surface: str, terms: SurfaceTerms, folder: Path, locate: Callable[[str], Path]) -> Base:
    """Copy the source into ``folder`` and read the copy; see ``protocol.Surface``."""
    require_method(str(terms.source.get("method", "auto")))
    reading = Reading(Options.of(terms.source, unlock=False))
    source = locate(str(terms.source["from"]))
    tree = folder / _TREE
    lost = _copied(surface, source, tree)
    records, ignoring = _read(surface, terms, tree, reading)
    links = linked(reading.seen.items())
    index = store(folder, records, links)
    times = () if terms.source.get("mtime") else ("times of modification",)
    return Base(
        held={"folder": str(folder), "index": index, "links": len(links)},
        tables=_tables(records),
        ignored=ignoring.matched,
        not_read=(
            *times,
            *_NEVER_READ,
            *(_NORMALISED[name] for name in sorted(reading.content.used)),
            *(f"the source's {name}: only root can give it to a copy" for name in sorted(lost)),
        ),
    )


def open_copy(surface: str, terms: SurfaceTerms, held: Mapping[str, Any], folder: Path) -> Copy:
    """Make a private copy in ``folder``; see ``protocol.Surface``."""
    method = str(terms.source.get("method", "auto"))
    require_method(method)
    base = Path(held["folder"])
    try:
        stored = Stored(base, held["index"])
    except (OSError, ValueError) as error:
        raise WorldError(
            "CD-241", f"the base can't be read: {why(error)}", where=f"surface {surface}",
            do="run it anew: the base is made from the source each time",
        ) from error  # fmt: skip
    reason = ""
    if mounts.stays():
        reason = "this process keeps its mounts"
    elif method == "auto" and held["links"]:
        reason = "hard links do not outlive a write in an overlay"
    elif method != "portable":
        try:
            against = Against(surface, terms, stored, unlock=False)
            return Overlay(surface, base / _TREE, folder, against)
        except UnavailableError as error:
            reason = f"no overlay: {error}"
            if method == "overlay":
                raise WorldError(
                    "CD-283",
                    f"an overlay can't be used here: {shown(error)}",
                    where=f"surface {surface}",
                    do='say method="auto", which does without where it must',
                ) from error
    against = Against(surface, terms, stored, unlock=True)
    return Portable(surface, base / _TREE, folder, against, reason=reason)


def read_folder(
    path: Path, surface: str, terms: SurfaceTerms | None = None
) -> tuple[Tables, frozenset[str], tuple[str, ...]]:
    """Read any folder as it lies.

    Args:
        path: The folder; it may be reached by a link.
        surface: The surface's name, for messages and patterns.
        terms: What a contract says of it; None for everything, by the usual readers.

    Returns:
        The tables; the ignored patterns that named something; what was not read.

    Raises:
        WorldError: CD-242, it can't be read, or somebody was writing meanwhile; CD-243,
            there is no such folder.
    """
    terms = terms or SurfaceTerms("files", {})
    if not path.is_dir():
        raise _no_source(surface, path, "there is no such folder")
    reading = Reading(Options.of(terms.source, unlock=False))
    records, ignoring = _read(surface, terms, path.resolve(), reading)
    times = () if terms.source.get("mtime") else ("times of modification",)
    normalised = tuple(_NORMALISED[name] for name in sorted(reading.content.used))
    return _tables(records), ignoring.matched, (*times, *_NEVER_READ, *normalised)


def _copied(surface: str, source: Path, tree: Path) -> set[str]:
    """Copy the source; return what could not be given to the copy."""
    if not source.is_dir():
        raise _no_source(surface, source, "there is no such folder")
    # The source itself may be reached by a link; below it none is followed.
    source = source.resolve()
    if tree.resolve().is_relative_to(source):
        raise _no_source(surface, source, "it holds the folder of the copies")
    for left in (2, 1, 0):
        discard(tree)
        tree.mkdir(mode=0o700)
        try:
            with root_of(str(source)) as old, root_of(str(tree)) as new:
                cloning = Cloning(old, new)
                cloning.all()
                return cloning.lost
        except TooDeepError as error:
            raise too_deep(surface, error) from error
        except MovedError as error:
            if not left:
                raise _no_source(surface, source, f"somebody writes to {shown(error)!r}") from error
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise WorldError(
                    "CD-241", "there is no room for the base", where=f"surface {surface}",
                    do="make room on the disk, or name another place for copies",
                ) from error  # fmt: skip
            raise _no_source(surface, source, why(error)) from error
    return set()


def _no_source(surface: str, source: Path, reason: str) -> WorldError:
    return WorldError(
        "CD-243",
        f"the folder {shown(source)!r} can't be taken as a base: {reason}",
        where=f"surface {surface}",
        do="name a folder that can be read, beside the world, the suite, or here",
    )


def _read(
    surface: str, terms: SurfaceTerms, tree: Path, reading: Reading
) -> tuple[dict[str, bytes], Ignoring]:
    ignoring = Ignoring(surface, terms)
    records: dict[str, bytes] = {}

    def read() -> None:
        with root_of(str(tree)) as root:
            for path, record in reading.tree(root):
                text = ignoring.kept(path, record)
                if text is not None:
                    records[path] = text
            require_still(root, reading.seen, unlock=False)

    reads(surface, read)
    return records, ignoring


def _tables(records: Mapping[str, bytes]) -> Tables:
    return {TABLE: Table("map", {key_of(path): text for path, text in sorted(records.items())})}
