"""Opening two packed containers: which values in them differ."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.held import LONG_TEXT, order_of
from cleandesk.audit.certificate.walk.paths import ORDER, joined, segments
from cleandesk.state.diff import ABSENT, diff_values
from cleandesk.state.reference import Path

_MANY = 8
_MADE_OF_PARTS = frozenset({dict, list, tuple})

Part = tuple[str, Leaf | None, Leaf | None]


def split(fresh: Leaf, dirty: Leaf, path: str) -> list[Part]:
    """Return what differs between two leaves, as far down as they can be opened.

    Args:
        fresh: The leaf of the one side.
        dirty: The leaf of the other.
        path: Where both stand.

    Returns:
        (path, leaf of ``fresh`` or None, leaf of ``dirty`` or None) for each value of two
        packed containers that differs; for the order of their keys, where nothing else
        differs, a leaf of kind ``order``. Other leaves stay whole; equal ones give nothing.
        A container to which many came, or from which many went, stays whole too.
    """
    if not _is_packed(fresh, dirty):
        return [] if fresh.to_bytes() == dirty.to_bytes() else [(path, fresh, dirty)]
    parts: list[Part] = []
    is_moved = False
    found = list(diff_values(fresh.value, dirty.value))
    crowded = _crowded([below for below, op, _, _ in found if op != "changed"])
    if () in crowded:
        return [(path, fresh, dirty)]
    for above in crowded:
        one, other = _at(fresh.value, above), _at(dirty.value, above)
        parts.append((_spelled(path, above, fresh.value), _leaf(one), _leaf(other)))
    for below, op, one, other in found:
        is_moved = is_moved or op != "changed"
        if any(below[: len(above)] == above for above in crowded):
            continue
        at = _spelled(path, below, dirty.value if one is ABSENT else fresh.value)
        parts.append((at, _leaf(one), _leaf(other)))
    if not is_moved and fresh.about != dirty.about:
        orders = (Leaf(Kind.ORDER, fresh.about), Leaf(Kind.ORDER, dirty.about))
        parts.append((joined(path, ORDER), *orders))
    return parts


def _crowded(paths: list[Path]) -> list[Path]:
    """Return the containers to which many came, the outermost ones."""
    counts = Counter(path[:-1] for path in paths)
    many = [above for above, count in counts.items() if count > _MANY]
    return [each for each in many if not any(each[:size] in many for size in range(len(each)))]


def _at(value: Any, below: Path) -> Any:
    for part in below:
        key = part
        if type(value) is dict:
            key = next(each for each in value if _is_same(each, part))
        value = value[key]
    return value


def _is_packed(fresh: Leaf, dirty: Leaf) -> bool:
    kind = type(fresh.value)
    if fresh.kind is not dirty.kind or kind is not type(dirty.value):
        return False
    if fresh.kind is not Kind.VALUE or kind not in _MADE_OF_PARTS:
        return False
    # What stands before the order of keys says what the container is.
    return _kind_of(fresh) == _kind_of(dirty)


def _kind_of(leaf: Leaf) -> str:
    about = leaf.about
    for start in ("keys ", "order "):
        head, found, _ = about.rpartition(start)
        if found and (not head or head.endswith("; ")):
            return head
    return about


def _leaf(value: Any) -> Leaf | None:
    if value is ABSENT:
        return None
    is_long = type(value) in {str, bytes} and len(value) > LONG_TEXT
    return Leaf(Kind.TOKEN if is_long else Kind.VALUE, value, order_of(value))


def _spelled(path: str, below: tuple[object, ...], value: Any) -> str:
    for part in below:
        if type(value) is dict:
            keys = [*value]
            place = next(at for at, key in enumerate(keys) if _is_same(key, part))
            path = joined(path, segments(keys)[place])
            value = value[keys[place]]
        else:
            path = f"{path}[{part}]"
            value = value[part]
    return path


def _is_same(key: object, part: object) -> bool:
    return key is part or (type(key) is type(part) and (key == part or key != key))
