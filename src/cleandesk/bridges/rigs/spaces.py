"""Gymnasium's spaces as parts of an action, and the generators that they own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from cleandesk.audit.certificate.rig import Declared
from cleandesk.audit.certificate.walk.plans import is_a, own_of
from cleandesk.bridges.rigs.parts import Choice, Either, Few, Grid, Part, Row, Table, Words
from cleandesk.errors import WorldError, shown
from cleandesk.state.reference import spelled

_DEEPEST = 8
_WHY = "a space's own generator is the agent's side, by Gymnasium's contract"


class Sampled:
    """What a space of another kind draws itself, as a copy of it that we seed each time."""

    def __init__(self, space: Any) -> None:
        self._space = copy.deepcopy(space)

    def uniform(self, rng: Any) -> Any:
        """Draw from all that is allowed."""
        self._space.seed(int(rng.integers(2**31)))
        return self._space.sample()

    def extreme(self, rng: Any) -> Any:
        """Draw from the ends."""
        return self.uniform(rng)

    def null(self) -> Any:
        """Return what is nearest to nothing."""
        self._space.seed(0)
        return self._space.sample()

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return name


def part_of(space: Any) -> Part:
    """Return the part that draws members of ``space``.

    Raises:
        WorldError: CD-295, it is no space.
    """
    kind = _kind(space)
    if kind is None:
        return _likened(space) or Sampled(_checked(space))
    return _MAKERS[kind](space)


def _kind(space: Any) -> str | None:
    """Return the known kind whose way of drawing ``space`` has, or None.

    By name, so that a subclass with another ``sample`` is asked itself.
    """
    owner = next((each for each in type(space).__mro__ if "sample" in vars(each)), None)
    is_known = owner is not None and owner.__module__.startswith("gymnasium.spaces.")
    if owner is None or not is_known or owner.__name__ not in _MAKERS:
        return None
    if owner.__name__ == "Sequence" and getattr(space, "stack", False):
        # Stacked in a form of the feature's own.
        return None
    return owner.__name__


def _likened(space: Any) -> Part | None:
    """Return the part of what only says its bounds, as packages do that need no Gymnasium."""
    if callable(getattr(space, "sample", None)):
        return None
    count = getattr(space, "n", None)
    if type(count) is int and count > 0:
        return Choice(count, 0)
    if all(hasattr(space, name) for name in ("low", "high", "shape", "dtype")):
        low, high = (np.broadcast_to(end, space.shape) for end in (space.low, space.high))
        return Grid(low, high, np.dtype(space.dtype))
    return None


def _checked(space: Any) -> Any:
    if callable(getattr(space, "sample", None)) and callable(getattr(space, "seed", None)):
        return space
    raise WorldError(
        "CD-295",
        f"its action space is no space of Gymnasium but {shown(repr(space), 80)}",
        where="action_space",
        do="give it one, or write a rig of your own with the twelve members",
    )


def _discrete(space: Any) -> Part:
    return Choice(int(space.n), int(space.start))


def _box(space: Any) -> Part:
    return Grid(space.low, space.high, space.dtype)


def _multi_discrete(space: Any) -> Part:
    start = np.asarray(space.start)
    return Grid(start, start + np.asarray(space.nvec) - 1, space.dtype)


def _multi_binary(space: Any) -> Part:
    return Grid(np.zeros(space.shape), np.ones(space.shape), space.dtype)


def _text(space: Any) -> Part:
    return Words(int(space.min_length), int(space.max_length), sorted(space.character_set))


def _tuple(space: Any) -> Part:
    return Row([part_of(inner) for inner in space.spaces])


def _dict(space: Any) -> Part:
    return Table({key: part_of(inner) for key, inner in space.spaces.items()})


def _sequence(space: Any) -> Part:
    return Few(part_of(space.feature_space))


def _one_of(space: Any) -> Part:
    return Either([part_of(inner) for inner in space.spaces], is_numbered=True)


_MAKERS: dict[str, Callable[[Any], Part]] = {
    "Discrete": _discrete,
    "Box": _box,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": _multi_binary,
    "Text": _text,
    "Tuple": _tuple,
    "Dict": _dict,
    "Sequence": _sequence,
    "OneOf": _one_of,
}


def generators(roots: Mapping[str, object]) -> list[Declared]:
    """Return as declared the generators of every space that the owners in ``roots`` hold.

    A space that two owners hold is named by both paths: a walk knows it by one of them.
    """
    found: dict[str, None] = {}
    for name, owner in roots.items():
        for path, space in _spaces_of(owner, (name,)):
            _add(space, path, found, ())
    return [Declared(pattern, "space.sample", _WHY) for pattern in found]


def _spaces_of(owner: object, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for name, value in own_of(owner).items():
        yield (*path, name), value
    for kind in type(owner).__mro__:
        for name, value in vars(kind).items():
            if _is_space(value):
                yield (f"class {kind.__qualname__}", name), value


def _add(value: Any, path: tuple[Any, ...], found: dict[str, None], above: tuple[int, ...]) -> None:
    if len(above) > _DEEPEST or id(value) in above:
        return
    inside = (*above, id(value))
    if _is_space(value):
        found[spelled((*path, "_np_random"))] = None
        for name, inner in own_of(value).items():
            _add(inner, (*path, name), found, inside)
    elif is_a(value, dict):
        for key, inner in value.items():
            if _is_space(inner):
                _add(inner, (*path, key), found, inside)
    elif type(value) in {tuple, list} and value and _is_space(value[0]):
        for place, inner in enumerate(value):
            _add(inner, (*path, place), found, inside)


def _is_space(value: Any) -> bool:
    return any(
        kind.__name__ == "Space" and kind.__module__.startswith(("gymnasium.", "gym."))
        for kind in type(value).__mro__
    )
