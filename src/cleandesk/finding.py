"""Finding what a name stands for: a world, an agent, a checker, a suite.

A reference is a registered name (one entry-point group, ``cleandesk``, whose names
begin with the kind: ``world.calendar``), ``module:attribute``, or
``path/to/file.py:attribute``.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cleandesk.errors import (
    AgentError,
    CheckerError,
    CleandeskError,
    SuiteError,
    WorldError,
    shown,
)

if TYPE_CHECKING:
    from importlib import metadata

_ERRORS: dict[str, tuple[type[CleandeskError], str]] = {
    "world": (WorldError, "CD-201"),
    "bridge": (WorldError, "CD-201"),
    "agent": (AgentError, "CD-301"),
    "checker": (CheckerError, "CD-501"),
    "suite": (SuiteError, "CD-401"),
    "surface": (WorldError, "CD-212"),
}


@functools.cache
def registered(kind: str) -> dict[str, metadata.EntryPoint]:
    """Return the registered names of ``kind`` (``world``, ``agent``, ...), sorted."""
    # Slow to import, and not needed where a module or file is named.
    from importlib import metadata

    prefix = f"{kind}."
    found = {
        point.name.removeprefix(prefix): point
        for point in metadata.entry_points(group="cleandesk")
        if point.name.startswith(prefix)
    }
    return dict(sorted(found.items()))


def find(kind: str, reference: str, *, folders: Sequence[str] = ()) -> Any:
    """Return the object that ``reference`` stands for; importing it runs its module.

    Args:
        kind: ``world``, ``bridge``, ``agent``, ``checker``, ``suite`` or ``surface``.
        reference: See the module's text.
        folders: Where a relative path of a file is looked for, before the working
            directory.

    Raises:
        CleandeskError: The kind's own error (CD-201, 212, 301, 401, 501): there is no such
            name, module or attribute, or its module raised while it was imported.
    """
    where, _, attribute = reference.rpartition(":")
    if not where:
        point = registered(kind).get(reference)
        if point is None:
            raise _missing(kind, reference)
        where, attribute = point.module, point.attr
    if where.endswith(".py"):
        where = next(
            (str(path) for each in folders if (path := Path(each, where)).is_file()), where
        )
    module = _module(kind, where, reference)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise _error(
                kind,
                f"{where} has no {attribute!r}",
                reference,
                _nearest(attribute, dir(module)) or "name a class or function that it defines",
            )
        found = getattr(found, part)
    return found


def look_in(folders: Sequence[str]) -> None:
    """Have modules looked for in ``folders``: after Python's own, before installed ones.

    A user's ``calendar.py`` must not stand in for the one that Python itself imports.
    """
    own = str(Path(os.__file__).parent)
    dynamic = f"{own}/lib-dynload"
    places = [at for at, entry in enumerate(sys.path, 1) if entry in {own, dynamic}]
    place = max(places, default=0)
    sys.path[place:place] = folders


def source_digest(found: Any) -> str:
    """Return the SHA-256 of the source file that defines ``found``, or ``unknown``."""
    module = sys.modules.get(getattr(found, "__module__", ""), None)
    path = getattr(module, "__file__", None)
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else "unknown"
    except OSError:
        return "unknown"


def _module(kind: str, where: str, reference: str) -> ModuleType:
    try:
        if where.endswith(".py"):
            return _module_of_file(Path(where))
        return importlib.import_module(where)
    except CleandeskError:
        raise
    except ModuleNotFoundError as error:
        if error.name and where.split(".")[0] != error.name.split(".")[0]:
            raise _error(
                kind,
                f"{where} needs the module {error.name!r}, which is not installed",
                reference,
                f"install {error.name}",
            ) from error
        what = "file" if where.endswith(".py") else "module"
        raise _error(
            kind, f"there is no {what} {where!r}", reference, "check the name and the folder"
        ) from error
    except (Exception, SystemExit) as error:
        raise _error(
            kind,
            f"{where} raised {type(error).__name__} while it was imported: {shown(error)}",
            reference,
            "make `python -c 'import ...'` of it work first",
        ) from error


def _module_of_file(path: Path) -> ModuleType:
    full = path.resolve()
    name = _module_name(full)
    known = sys.modules.get(name)
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(name, full)
    if spec is None or spec.loader is None or not full.exists():
        raise ModuleNotFoundError(f"no file {path}", name=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(full.parent) not in sys.path:
        look_in([str(full.parent)])
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module_name(full: Path) -> str:
    """Return the name of the module of a file: its stem, unless that is another module's."""
    name = full.stem
    known = sys.modules.get(name)
    is_free = known is None and name not in sys.stdlib_module_names
    if is_free or getattr(known, "__file__", None) == str(full):
        return name
    # Not a count: the name is part of what a snapshot says of an object's class.
    return f"{name}_{hashlib.sha256(str(full).encode()).hexdigest()[:8]}"


def _missing(kind: str, reference: str) -> CleandeskError:
    names = list(registered(kind))
    # What has a version at its end is an id of Gymnasium's.
    is_id = kind == "world" and re.fullmatch(r"[\w./-]+-v\d+", reference)
    other = f"gym:{reference}" if is_id else "module:attribute"
    hint = _nearest(reference, names) or f"known: {', '.join(names)}; or write {other}"
    return _error(kind, f"there is no {kind} named {reference!r}", reference, hint)


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _error(kind: str, message: str, reference: str, do: str) -> CleandeskError:
    error, code = _ERRORS[kind]
    return error(code, message, where=f"{kind} {reference!r}", do=do)
