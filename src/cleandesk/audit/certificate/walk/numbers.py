"""How arrays and scalars of numpy are walked, and other memory like them."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind
from cleandesk.audit.certificate.walk.held import (
    LONG_TEXT,
    OBJECT,
    Held,
    array_leaf,
    kept_leaf,
    length_token,
    scalar_leaf,
    short,
    told_token,
)
from cleandesk.audit.certificate.walk.packing import plain_bytes
from cleandesk.audit.certificate.walk.paths import OWN, joined
from cleandesk.audit.certificate.walk.plans import plan_of
from cleandesk.audit.certificate.walk.walker import Opener, Walker

_DTYPE = np.ndarray.dtype.__get__
_SHAPE = np.ndarray.shape.__get__
_LONG = frozenset("gG")
_LONG_WIDTH = np.dtype("g").itemsize
_LONG_BYTES = 10 if platform.machine() in {"AMD64", "i386", "i686", "x86_64"} else None


def opener_of(kind: type) -> Opener | None:
    """Return how values of ``kind`` are recorded, or None if numpy does not make them."""
    if kind is np.ndarray:
        return _array
    if np.ndarray in kind.__mro__:
        return _array_subclass
    if np.generic in kind.__mro__:
        return _scalar
    if np.dtype in kind.__mro__:
        return _dtype
    if kind is bytearray:
        return _bytearray
    return _view if kind is memoryview else None


def without_gaps(value: Any) -> Any:
    """Return an array of the same elements in whose bytes the gaps between them are zero.

    A gap (of aligned records, or behind the ten bytes of a long double) holds whatever was in
    that memory before, which is the same in no two processes.
    """
    dtype = _DTYPE(value)
    if dtype.names is None and dtype.char not in _LONG:
        return value
    made = np.zeros(_SHAPE(value), dtype)
    _fill(made, value)
    return made


def _fill(target: Any, source: Any) -> None:
    dtype = source.dtype
    if dtype.names is not None:
        for name in dtype.names:
            _fill(target[name], source[name])
        return
    if dtype.char in _LONG and _LONG_BYTES is not None:
        source = np.array(source, order="C")
        source.reshape(-1).view("u1").reshape(-1, _LONG_WIDTH)[:, _LONG_BYTES:] = 0
    target[...] = source


def record_array(walk: Walker, path: str, value: Any) -> None:
    """Record an array by a copy of its data; nothing is asked about aliases."""
    dtype = _DTYPE(value)
    if dtype.hasobject or dtype.names is not None:
        _odd_array(walk, path, value, dtype)
        return
    if dtype.byteorder == ">":
        dtype = dtype.newbyteorder("<")
        value = np.ndarray.astype(value, dtype)
    if dtype.char in _LONG:
        value = without_gaps(value)
    record_buffer(walk, path, np.ndarray.tobytes(value), dtype, _SHAPE(value))


def record_buffer(walk: Walker, path: str, data: bytes, dtype: Any, shape: tuple[int, ...]) -> None:
    """Record an array by its bytes; what was there at the last walk is not hashed again."""
    before = walk.before.get(path)
    if (
        before is not None
        and before[2] == data
        and before[4] == shape
        and before[1] is array_leaf
        and before[3] == dtype
    ):
        walk.held[path] = before
        walk.tokens[path] = before[0]
        return
    head = f"A{dtype.str}{shape}".encode()
    walk.hold(path, (short(head + data), array_leaf, data, dtype, shape))


def _array(walk: Walker, path: str, value: Any) -> None:
    if not walk.is_known(path, value):
        record_array(walk, path, value)


def _array_subclass(walk: Walker, path: str, value: Any) -> None:
    if walk.is_known(path, value):
        return
    plan = plan_of(type(value))
    record_array(walk, path, np.ndarray.view(value, np.ndarray))
    walk.tokens[path] = told_token(plan.about, walk.tokens[path])
    walk.met_kind(plan)
    if type(value) is not np.memmap:
        from cleandesk.audit.certificate.walk.things import expand_object

        walk.later(expand_object, joined(path, OWN), value)


def _odd_array(walk: Walker, path: str, value: Any, dtype: Any) -> None:
    """Record an array of objects, or of records, by its elements."""
    shape = _SHAPE(value)
    if dtype.names is not None:
        token = OBJECT + f"numpy:records {dtype.descr} {shape}".encode()
        walk.hold(path, (short(token), kept_leaf, f"{dtype.descr} {shape}", "records", Kind.TOKEN))
        for name in dtype.names:
            record_array(walk, joined(path, name), np.ndarray.__getitem__(value, name))
        return
    items = np.ndarray.tolist(np.ndarray.ravel(value)) if shape else [value[()]]
    about = f"array of objects {shape}"
    data = plain_bytes(items)
    if data is not None:
        walk.nodes += len(items)
        walk.plain(path, data, about)
        return
    walk.tokens[path] = length_token(len(items), about)
    walk.later(_expand_objects, path, value)


def _expand_objects(walk: Walker, path: str, value: Any) -> None:
    shape = _SHAPE(value)
    if not walk.has_room(path, int(np.prod(shape))):
        walk.shut(joined(path, "elements()"), "budget", value)
        return
    for place in np.ndindex(shape):
        name = str(place[0]) if len(place) == 1 else str(place)
        walk.child(joined(path, name), np.ndarray.__getitem__(value, place))


def _scalar(walk: Walker, path: str, value: Any) -> None:
    dtype = np.asarray(value).dtype
    if dtype.hasobject or dtype.names is not None:
        record_array(walk, path, np.asarray(value))
        return
    data = without_gaps(np.asarray(value)).tobytes()
    token = short(f"S{dtype.str} ".encode() + data)
    walk.hold(path, (token, scalar_leaf, data, dtype, None))


def _dtype(walk: Walker, path: str, value: Any) -> None:
    text = value.str if value.names is None else str(value.descr)
    _keep(walk, path, text, "numpy:dtype", Kind.VALUE)


def _bytearray(walk: Walker, path: str, value: Any) -> None:
    if not walk.is_known(path, value):
        data = bytes(value)
        kind = Kind.TOKEN if len(data) > LONG_TEXT else Kind.VALUE
        held: Held = (told_token("bytearray", data), kept_leaf, bytearray(data), "", kind)
        walk.hold(path, held)


def _view(walk: Walker, path: str, value: Any) -> None:
    try:
        _keep(walk, path, value.tobytes(), f"memoryview {value.format}", Kind.TOKEN)
    except ValueError:
        walk.shut(path, "released memoryview", value)


def _keep(walk: Walker, path: str, value: Any, about: str, kind: Kind) -> None:
    data = value if isinstance(value, bytes) else value.encode()
    walk.hold(path, (told_token(about, data), kept_leaf, value, about, kind))
