"""What a walk holds of each leaf: a token, and what the leaf is made of again."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cleandesk.audit.certificate.leaf import SHORT_BYTES, Kind, Leaf
from cleandesk.audit.certificate.walk.packing import value_of

Held = tuple[bytes, Callable[..., Leaf], Any, Any, Any]
"""Token, what makes the leaf, and its three arguments; data comes first."""

LONG_TEXT = 4096
"""Texts and bytes longer than this are tokens: a difference of them is not priced."""

# The first byte of a token that is a leaf by itself. marshal begins no plain value so.
ALIAS, OPAQUE, OBJECT, LENGTH = b"=", b"?", b"@", b"L"
FUNCTION, CLASS, MODULE, DIGEST, TOLD = b"&", b"^", b"%", b"#", b"~"

_NAMED = {
    OBJECT[0]: "object",
    FUNCTION[0]: "function",
    CLASS[0]: "class",
    MODULE[0]: "module",
}


def told_token(about: str, data: bytes) -> bytes:
    """Return the token of ``data`` that means nothing without ``about``."""
    return short(TOLD + about.encode(errors="surrogatepass") + b"\0" + data)


def short(data: bytes) -> bytes:
    """Return ``data`` itself if it is short, or its digest."""
    return data if len(data) <= SHORT_BYTES else DIGEST + hashlib.sha256(data).digest()


def length_token(count: int, about: str) -> bytes:
    """Return the token of a container of ``count`` elements."""
    return b"L%d %b" % (count, about.encode(errors="surrogatepass"))


def plain_leaf(data: bytes, about: str, kind: Kind | None) -> Leaf:
    """Make the leaf of a plain value from its bytes."""
    value = value_of(data)
    about = "; ".join(filter(None, (about, order_of(value))))
    if kind is None:
        is_long = type(value) in {str, bytes} and len(value) > LONG_TEXT
        kind = Kind.TOKEN if is_long else Kind.VALUE
    return Leaf(kind, value, about)


def set_leaf(data: bytes, about: str, kind: type) -> Leaf:
    """Make the leaf of a set of plain values from the sorted bytes of its elements."""
    return Leaf(Kind.VALUE, kind(map(value_of, value_of(data))), about)


def array_leaf(data: bytes, dtype: Any, shape: tuple[int, ...]) -> Leaf:
    """Make the leaf of an array; it has memory of its own."""
    return Leaf(Kind.ARRAY, np.frombuffer(bytearray(data), dtype=dtype).reshape(shape))


def scalar_leaf(data: bytes, dtype: Any, _: None) -> Leaf:
    """Make the leaf of a scalar of numpy."""
    return Leaf(Kind.VALUE, np.frombuffer(data, dtype=dtype).reshape(())[()])


def kept_leaf(value: Any, about: str, kind: Kind) -> Leaf:
    """Make the leaf of an immutable value that was kept as it is."""
    return Leaf(kind, value, about)


def leaf_of_token(token: bytes) -> Leaf:
    """Make a leaf whose token is all there is to it."""
    head, text = token[0], token[1:].decode(errors="surrogatepass")
    named = _NAMED.get(head)
    if named is not None:
        return Leaf(Kind.TOKEN, text, named)
    if head == ALIAS[0]:
        return Leaf(Kind.ALIAS, text)
    if head == OPAQUE[0]:
        return Leaf(Kind.OPAQUE, None, text)
    count, _, about = text.partition(" ")
    return Leaf(Kind.LENGTH, int(count), about)


_SELF = frozenset((*_NAMED, ALIAS[0], OPAQUE[0], LENGTH[0]))


def order_of(value: Any) -> str:
    """Say in which order the dicts in a plain value hold their keys, or nothing.

    canon/1 sorts keys, so that without this two orders would be one leaf.
    """
    orders = _orders(value)
    if orders is None:
        return ""
    if type(value) is dict and orders[1] is None:
        text = "keys " + " ".join(map(str, value))
        if len(text) <= SHORT_BYTES and text.isprintable():
            return text
    return "order " + hashlib.sha256(marshal.dumps(orders, 2)).hexdigest()[:16]


def _orders(value: Any) -> tuple[Any, Any] | None:
    """Return the keys of every dict of more than one in ``value``, or None if there is none."""
    kind = type(value)
    if kind is dict:
        keys = [*value] if len(value) > 1 else None
        below = {key: found for key, item in value.items() if (found := _orders(item))}
    elif kind is list or kind is tuple:
        keys = None
        below = {place: found for place, item in enumerate(value) if (found := _orders(item))}
    else:
        return None
    return (keys, below or None) if keys or below else None


@dataclass(frozen=True, slots=True)
class Walk:
    """What one walk found.

    Attributes:
        tokens: Path to what stands for the leaf there: equal exactly when it is the same
            state. It is short.
        opaque: Path to (what it is, identity) of every handle that can't be read. An
            identity has a meaning within one process only.
        notes: What was cut or could not be read, a sentence each.
        nodes: How many values were met.
        held: What leaves are made of again; not for callers.
    """

    tokens: Mapping[str, bytes]
    opaque: Mapping[str, tuple[str, int]]
    notes: tuple[str, ...]
    nodes: int
    held: Mapping[str, Held] = field(repr=False)

    def leaf(self, path: str) -> Leaf:
        """Return the leaf at ``path`` as it was when it was walked.

        Raises:
            KeyError: The walk found nothing there.
        """
        held = self.held.get(path)
        if held is not None:
            return held[1](*held[2:])
        token = self.tokens[path]
        if token[0] in _SELF:
            return leaf_of_token(token)
        return plain_leaf(token, "", None)

    def leaves_below(self, path: str) -> dict[str, Leaf]:
        """Return the leaf at ``path`` and every leaf below it."""
        below = (f"{path}.", f"{path}[")
        return {
            each: self.leaf(each) for each in self.tokens if each == path or each.startswith(below)
        }

    def fingerprint(self) -> str:
        """Return the SHA-256 over all tokens, sorted by path, in hex."""
        return hashlib.sha256(marshal.dumps(sorted(self.tokens.items()), 2)).hexdigest()
