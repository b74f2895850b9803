"""The entries of an episode's log, spelled from parts that are canonical already."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleandesk.log import read_object, write_object
from cleandesk.state import decode, encode
from cleandesk.state.canon import INLINE_BYTES


def splice(parts: Mapping[str, bytes]) -> bytes:
    """Return the canonical object with these keys and ready-made values."""
    inner = b",".join([b'"%s":%s' % (key.encode(), parts[key]) for key in sorted(parts)])
    return b"{%s}" % inner


@functools.lru_cache(maxsize=8)
def stored(folder: Path, name: str) -> bytes:
    """Return an object of the run; the trials of one task and seed share its start."""
    return read_object(folder, name)


def settled(wire: bytes, folder: Path) -> bytes:
    """Return what came over the wire as it is logged: big arrays by digest.

    Their data is stored as objects of the run folder, so that a record can be published
    with these withheld and still verify.
    """
    if len(wire) <= INLINE_BYTES or b'{"$nd":' not in wire:
        return wire
    value = decode(wire)
    for array in _arrays(value):
        data = array.tobytes()
        if len(data) > INLINE_BYTES:
            write_object(folder, data)
    return encode(value)


def _arrays(value: Any) -> list[Any]:
    if hasattr(value, "tobytes"):
        return [value]
    if isinstance(value, Mapping):
        return [array for item in value.values() for array in _arrays(item)]
    if isinstance(value, list | tuple):
        return [array for item in value for array in _arrays(item)]
    return []
