"""walk(): the entry, and the choice of how each kind of value is recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.walk import containers, engines, numbers, streams, things
from cleandesk.audit.certificate.walk.held import Walk
from cleandesk.audit.certificate.walk.readers import Reader
from cleandesk.audit.certificate.walk.walker import Memory, Opener, Walker

_BUDGET = 2_000_000
_OPENERS: dict[type, Opener] = {}
_MOST_OPENERS = 20_000
_MEMORY = Memory()


def walk(
    roots: Mapping[str, object],
    *,
    readers: Sequence[Reader] = (),
    skip: Collection[int] = (),
    budget: int = _BUDGET,
) -> Walk:
    """Read every home of state that can be reached, without disturbing it.

    Args:
        roots: The owners from which the walk begins, by name.
        readers: Readers of a rig's own; they come before those that are registered.
        skip: Identities of objects that are not looked at.
        budget: How many values are met at most; what was not opened then is opaque.

    Returns:
        One token per path; full leaves on request.

    Raises:
        WorldError: CD-111, a registered reader can't be loaded.
    """
    walker = Walker(_openers(readers), _MEMORY, frozenset(skip), budget)
    walker.run(roots)
    _MEMORY.keep(walker)
    return walker.finished()


def leaf_at(path: str, value: Any, readers: Sequence[Reader] = ()) -> Leaf:
    """Return the leaf that a walk would record for ``value``, were it met for the first time."""
    walker = Walker(_openers(readers), Memory(), frozenset(), _BUDGET)
    walker.child(path, value)
    try:
        return walker.finished().leaf(path)
    except KeyError as error:
        raise LookupError(f"nothing is recorded of what stands at {path}") from error


def owner_of(root: str) -> Any:
    """Return the class, module or function of the last walk that ``root`` stood for, or None."""
    found = _MEMORY.owners.get(root)
    return found and found()


def owners() -> dict[str, Any]:
    """Return the classes, modules and functions of the last walk by what they stand for."""
    return {root: owner for root, found in _MEMORY.owners.items() if (owner := found()) is not None}


def _openers(readers: Sequence[Reader]) -> Callable[[type], Opener]:
    if not readers:
        return _opener_of
    return lambda kind: _chosen(kind, readers)


def _opener_of(kind: type) -> Opener:
    opener = _OPENERS.get(kind)
    if opener is None:
        if len(_OPENERS) > _MOST_OPENERS:
            _OPENERS.clear()
        opener = _OPENERS[kind] = _chosen(kind, ())
    return opener


def _chosen(kind: type, readers: Sequence[Reader]) -> Opener:
    if things.comes_first(kind):
        return things.opener_of(kind)
    return (
        engines.opener_of(kind, readers)
        or numbers.opener_of(kind)
        or streams.opener_of(kind)
        or containers.opener_of(kind)
        or things.opener_of(kind)
    )
