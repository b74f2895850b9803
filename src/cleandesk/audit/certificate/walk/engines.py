"""How handles with a reader are walked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.held import kept_leaf, short
from cleandesk.audit.certificate.walk.numbers import record_array
from cleandesk.audit.certificate.walk.packing import ATOMS, atom_bytes, plain_bytes
from cleandesk.audit.certificate.walk.paths import OWN, joined
from cleandesk.audit.certificate.walk.plans import plan_of
from cleandesk.audit.certificate.walk.readers import Reader, reader_of
from cleandesk.audit.certificate.walk.readers.protocol import REST
from cleandesk.audit.certificate.walk.things import expand_object, record_object
from cleandesk.audit.certificate.walk.walker import Opener, Walker


def opener_of(kind: type, own: Sequence[Reader]) -> Opener | None:
    """Return how handles of ``kind`` are recorded, or None if nothing reads them."""
    reader = reader_of(kind, own)
    if reader is None:
        return None

    def record(walk: Walker, path: str, value: Any) -> None:
        if not walk.is_known(path, value):
            walk.tokens[path] = plan_of(kind).token
            walk.later(expand, path, value)

    def expand(walk: Walker, path: str, value: Any) -> None:
        try:
            found = reader.read(value)
        except Exception as error:  # noqa: BLE001 - an engine may refuse for any reason; it is said
            walk.note(f"{path} could not be read: {type(error).__name__}")
            walk.shut(path, f"unreadable: {type(error).__name__}", value)
            return
        if found is None:
            record_object(walk, path, value)
            return
        _record_fields(walk, path, value, found)
        plan = plan_of(kind)
        if plan.attributes is not None or plan.slots:
            walk.met_kind(plan)
            walk.later(expand_object, joined(path, OWN), value)

    return record


def _record_fields(walk: Walker, path: str, handle: Any, found: Mapping[str, object]) -> None:
    for name, below in walk.layout(path, tuple(found), _ALL)[2]:
        item = found[name]
        if type(item) is np.ndarray:
            walk.nodes += 1
            record_array(walk, below, item)
        elif type(item) is Leaf:
            _record_leaf(walk, below, item, handle)
        else:
            walk.child(below, item)
    if REST in found:
        _record_leaf(walk, path, found[REST], handle)


def _record_leaf(walk: Walker, path: str, leaf: Any, handle: Any) -> None:
    walk.nodes += 1
    if leaf.kind is Kind.OPAQUE:
        walk.shut(path, leaf.about, handle)
        return
    if leaf.kind is Kind.ARRAY and not leaf.about:
        record_array(walk, path, leaf.value)
        return
    kind = type(leaf.value)
    data = None
    if kind in ATOMS:
        data = atom_bytes(leaf.value)
    elif kind in _PLAIN:
        data = plain_bytes(leaf.value)
    if data is not None:
        walk.plain(path, data, leaf.about, leaf.kind)
    else:
        made = (leaf.value, leaf.about, leaf.kind)
        walk.hold(path, (short(b"R" + leaf.to_bytes()), kept_leaf, *made))


_ALL: frozenset[str] = frozenset()
_PLAIN = frozenset({dict, list, tuple})
