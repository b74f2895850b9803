"""Which reader opens which class: a rig's own first, then registered, then built-in ones."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from cleandesk.audit.certificate.walk.readers import (
    ale,
    box2d,
    bullet,
    chipmunk,
    mujoco,
    small,
    tensors,
)
from cleandesk.audit.certificate.walk.readers.protocol import Reader
from cleandesk.errors import WorldError, text_of
from cleandesk.finding import registered

_BUILT_IN: tuple[Reader, ...] = (
    mujoco.Mujoco(),
    box2d.Box2d(),
    bullet.Bullet(),
    chipmunk.Chipmunk(),
    ale.Ale(),
    tensors.Tensors(),
    small.Small(),
)


def reader_of(kind: type, own: Sequence[Reader] = ()) -> Reader | None:
    """Return what reads handles of ``kind``, or None."""
    for reader in own:
        if reader.takes(kind):
            return reader
    if kind in _FOUND:
        return _FOUND[kind]
    if len(_FOUND) > _MOST:
        _FOUND.clear()
    every = (*_registered(), *_BUILT_IN)
    found = _FOUND[kind] = next((reader for reader in every if reader.takes(kind)), None)
    return found


_FOUND: dict[type, Reader | None] = {}
_MOST = 20_000


@functools.cache
def _registered() -> tuple[Reader, ...]:
    found: list[Reader] = []
    for name, point in registered("reader").items():
        try:
            loaded = point.load()
            found.append(loaded() if isinstance(loaded, type) else loaded)
        except Exception as error:
            raise WorldError(
                "CD-111",
                f"the reader {name!r} can't be loaded: {text_of(error, 200)}",
                where=f"entry point reader.{name}",
                do="correct it, or remove the package that registers it",
            ) from error
    return tuple(found)
