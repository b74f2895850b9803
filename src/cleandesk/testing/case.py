"""What a rule is told of a surface: how it is made, and what may be written into it."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleandesk.errors import UsageError, shown
from cleandesk.finding import find
from cleandesk.state import encode

if TYPE_CHECKING:
    from cleandesk.state.contract import SurfaceTerms
    from cleandesk.surfaces.protocol import Surface

Write = Callable[[str], object]
"""Changes the state at a place. It runs in a process that ends with it."""

Hold = Callable[[str], Iterator[object]]
"""Opens a place, writes, yields, and writes again through what it has open."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SurfaceCase:
    """A surface, and what may happen to a copy of it.

    All functions are importable: they stand at the top of a module, or are
    ``functools.partial`` of such with plain values. Each does the same thing whenever it
    meets the same state, and uses nothing but the place that it is given.

    Attributes:
        surface: The kind, an object of a class that is made without arguments.
        terms: What a contract says of the surface.
        writes: Each changes something else in a copy that is at base; they can also run
            one after the other, in this order. Together they touch each kind of record.
        folder: Where relative paths in ``terms`` are found.
        undo: Pairs: a write, and one that puts back by hand what it changed.
        ignored: Writes that change nothing but fields which ``terms`` ignore.
        holds: Generator functions that keep the place open: whatever they write after
            their first ``yield``, through what they opened before it, belongs to an
            episode that is over.
        spoils: Writes after which the state can't be read, such as half a file.
        name: The surface's name in the contract.
        is_source: Whether a base can be made of a copy's place: the same kind of path
            or URL as ``terms.source["from"]``.
        on_disk: Whether base and source are files that stay the same byte for byte; on a
            server they are compared by their records alone.
        rounds: How often each crash and each race is tried.
        slow: Whether a base takes seconds to make; then all rules share one.
    """

    surface: Surface
    terms: SurfaceTerms
    writes: Sequence[Write]
    folder: str | Path = "."
    undo: Sequence[tuple[Write, Write]] = ()
    ignored: Sequence[Write] = ()
    holds: Sequence[Hold] = ()
    spoils: Sequence[Write] = ()
    name: str = "state"
    is_source: bool = True
    on_disk: bool = True
    rounds: int = 8
    slow: bool = False

    def __post_init__(self) -> None:
        """Check that every function can be found by another process."""
        if not self.writes:
            raise UsageError("CD-811", "a case without writes shows nothing", do="give writes=")
        pairs = (write for pair in self.undo for write in pair)
        for function in (*self.writes, *pairs, *self.ignored, *self.holds, *self.spoils):
            reference(function)
        reference(type(self.surface))


def named(function: Callable[..., object]) -> str:
    """Return how messages call a function of a case."""
    if isinstance(function, functools.partial):
        words = [*map(repr, function.args), *(f"{k}={v!r}" for k, v in function.keywords.items())]
        return f"{named(function.func)}({shown(', '.join(words))})"
    return str(getattr(function, "__name__", function))


def reference(function: Callable[..., object]) -> list[Any]:
    """Return plain values by which ``resolve`` finds a class or function in another process.

    Raises:
        UsageError: CD-811, it can't be found there.
        StateError: CD-101, a ``partial`` with a value that is not plain.
    """
    if isinstance(function, functools.partial):
        given = [list(function.args), dict(function.keywords)]
        encode(given)
        return [*reference(function.func), *given]
    name = getattr(function, "__qualname__", "<")
    module = sys.modules.get(getattr(function, "__module__", ""))
    if "<" in name or module is None:
        raise UsageError(
            "CD-811",
            f"{shown(function)} can't be found by another process",
            where="SurfaceCase",
            do="define it at the top of a module",
        )
    file = getattr(module, "__file__", None)
    return [module.__name__, str(Path(file).resolve()) if file else "", name]


def resolve(held: Sequence[Any]) -> Any:
    """Return the class or function that ``reference`` stands for.

    Raises:
        CleandeskError: CD-212, it can't be imported.
    """
    name, file, attribute, *given = held
    if not _is_at(name, file):
        found = find("surface", f"{file}:{attribute}")
    else:
        found = find("surface", f"{name}:{attribute}")
    return functools.partial(found, *given[0], **given[1]) if given else found


def _is_at(name: str, file: str) -> bool:
    """Tell whether the module of this name is the one of this file.

    A test runner may give modules names that nobody else can import them by.
    """
    try:
        module = importlib.import_module(name)
    except ImportError:
        return False
    found = getattr(module, "__file__", None)
    return name != "__main__" and (str(Path(found).resolve()) if found else "") == file
