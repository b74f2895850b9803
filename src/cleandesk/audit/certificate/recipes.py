"""From a recipe to a rig: the maker of its scheme is found among the entry points.

A maker is registered as ``rig.SCHEME``. What has no registered scheme, ``module:factory``,
``file.py:factory`` and the names of worlds, is the maker's of ``rig.object``.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from cleandesk.audit.certificate.rig import Recipe, Rig
from cleandesk.errors import WorldError, shown, text_of
from cleandesk.finding import look_in, registered

_OBJECT = "object"


class Maker(Protocol):
    """What makes the rigs of one scheme. Register a class as ``rig.SCHEME``."""

    def prepare(self, rest: str, recipe: Recipe) -> None:
        """Import what a build needs, so that forks of this process need not; build nothing.

        Args:
            rest: The reference without its scheme.
            recipe: The whole recipe.

        Raises:
            CleandeskError: There is no such thing, or its import raised.
        """

    def make(self, rest: str, recipe: Recipe) -> Rig:
        """Return the rig; it builds when it is told to.

        Raises:
            CleandeskError: The recipe does not fit.
        """

    def catalogue(self) -> list[str]:
        """Return the full reference of everything of this scheme that is installed."""


def prepare(recipe: Recipe) -> None:
    """Import what a build of ``recipe`` needs; nothing is built.

    Raises:
        CleandeskError: There is no such thing, or its import raised.
    """
    look_in([folder for folder in recipe.path if folder not in sys.path])
    maker, rest = _maker_of(recipe)
    maker.prepare(rest, recipe)


def rig_of(recipe: Recipe) -> Rig:
    """Return the rig that ``recipe`` describes, not built yet.

    Raises:
        CleandeskError: There is no such thing, or the recipe does not fit it.
    """
    maker, rest = _maker_of(recipe)
    return maker.make(rest, recipe)


def references(scheme: str = "") -> list[str]:
    """Return the references of everything that is installed, or of one scheme alone.

    Raises:
        WorldError: CD-291, there is no such scheme.
    """
    if scheme and scheme not in registered("rig"):
        raise WorldError(
            "CD-291",
            f"there is no scheme {shown(repr(scheme), 40)}",
            do=f"there are: {', '.join(registered('rig'))}",
        )
    schemes = [scheme] if scheme else list(registered("rig"))
    return [reference for each in schemes for reference in _maker(each).catalogue()]


def reference_of(factory: Callable[..., Any]) -> str:
    """Return the text by which another process finds ``factory``.

    Raises:
        WorldError: CD-292, none can: it is a lambda, a closure, or made at run time.
    """
    name = getattr(factory, "__qualname__", "")
    module = sys.modules.get(getattr(factory, "__module__", None) or "")
    if module is None or not _is_held(module, name, factory):
        raise unreachable(name or type(factory).__name__)
    return f"{_place_of(module, name)}:{name}"


def unreachable(name: str) -> WorldError:
    """Return the error for what a spawned process can't find by its name."""
    return WorldError(
        "CD-292",
        f"{shown(repr(name), 80)} can't be reached from another process",
        where="a rig is built anew in spawned processes, which import it by its name",
        do="write the factory as a function at the top of a module and pass "
        '"module:factory" or "file.py:factory"; what it should be called with goes beside it, '
        "as keyword arguments",
    )


def _maker_of(recipe: Recipe) -> tuple[Maker, str]:
    reference = recipe.reference
    if "<lambda>" in reference or "<locals>" in reference:
        raise unreachable(reference)
    scheme, colon, rest = reference.partition(":")
    if colon and not rest and scheme in registered("rig"):
        raise WorldError(
            "CD-291",
            f"nothing stands after {scheme}:",
            where=f"rig {shown(repr(reference), 80)}",
            do=f"see what there is: cleandesk certify --sweep '{scheme}:*', or name one of it",
        )
    # What has a dot is a module or a file: then the installed packages need not be searched.
    is_scheme = rest and "." not in scheme and not Path(scheme).exists()
    if is_scheme and scheme != _OBJECT and scheme in registered("rig"):
        return _maker(scheme), rest
    return _maker(_OBJECT), reference


@functools.cache
def _maker(scheme: str) -> Maker:
    try:
        made: Maker = registered("rig")[scheme].load()()
    except KeyError as error:
        raise WorldError(
            "CD-291",
            f"nothing makes rigs of the scheme {shown(repr(scheme), 40)}",
            do=f"there are: {', '.join(registered('rig')) or 'none'}; install cleandesk again",
        ) from error
    except Exception as error:
        raise WorldError(
            "CD-291",
            f"what makes rigs of the scheme {scheme!r} can't be imported: {text_of(error, 300)}",
            where=f"entry point rig.{scheme}",
            do="install what it names, or remove the package that registers it",
        ) from error
    return made


def _is_held(module: ModuleType, name: str, factory: object) -> bool:
    found: Any = module
    for part in name.split("."):
        held: Mapping[str, Any] = getattr(found, "__dict__", {})
        if part not in held:
            return False
        found = held[part]
    return bool(getattr(found, "__func__", found) is factory or found is factory)


def _place_of(module: ModuleType, name: str) -> str:
    """Return the module's name where any process can import it by that, else its file."""
    file = getattr(module, "__file__", None)
    spec = None
    if module.__name__ != "__main__":
        try:
            spec = importlib.util.find_spec(module.__name__)
        except (ImportError, ValueError):
            spec = None
    origin = getattr(spec, "origin", None)
    if origin is not None and (file is None or Path(origin) == Path(file)):
        return module.__name__
    if file is None or not file.endswith(".py"):
        raise unreachable(name)
    return str(Path(file).resolve())
