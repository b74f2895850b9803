"""What a walk finds at one path, and the bytes by which two of them are compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from cleandesk.state.canon import ALL_BYTES, decode, encode


class Kind(StrEnum):
    """How a leaf is read, and whether its difference can be priced."""

    VALUE = "value"  # a plain value, or a container of nothing but plain values
    ARRAY = "array"  # a numeric array, with a copy of its data
    TOKEN = "token"  # compared by its bytes and never priced: texts, generators, dumps
    OPAQUE = "opaque"  # a handle that can't be read; compared within one rig only
    ALIAS = "alias"  # an object that has a shorter path, which stands here
    LENGTH = "length"  # how many elements a container has
    ORDER = "order"  # in which order a dict holds its keys


@dataclass(frozen=True, slots=True)
class Leaf:
    """One home of state.

    Attributes:
        kind: How it was read.
        value: A value of canon/1 (arrays as numpy arrays of their own memory). Of a
            generator its whole state, so that it can be written back; of a handle None.
        about: What it is, where the value does not say so: ``Box2D b2World``.
    """

    kind: Kind
    value: Any
    about: str = ""

    @property
    def is_priced(self) -> bool:
        """Whether a difference of it is a number."""
        return self.kind in {Kind.VALUE, Kind.ARRAY, Kind.LENGTH}

    def to_bytes(self) -> bytes:
        """Return its canonical bytes; two leaves are the same state when these are equal."""
        return encode([str(self.kind), self.value, self.about], inline_bytes=ALL_BYTES)

    @classmethod
    def from_bytes(cls, data: bytes) -> Leaf:
        """Read what ``to_bytes`` wrote."""
        kind, value, about = decode(data)
        return cls(Kind(kind), value, about)

    def to_parts(self) -> tuple[bytes, bytes]:
        """Return two parts for the wire: of an array the second is its data as it is.

        Spelled as text a large array would cost many times what it takes to compare it.
        """
        held = self.value
        if type(held) is not np.ndarray or held.dtype.hasobject or held.dtype.names:
            return self.to_bytes(), b""
        head = [str(self.kind), held.dtype.str, list(held.shape), self.about]
        return encode(head), held.tobytes()

    @classmethod
    def from_parts(cls, head: bytes, data: bytes) -> Leaf:
        """Read what ``to_parts`` wrote."""
        said = decode(head)
        if len(said) == len(("kind", "value", "about")):
            return cls(Kind(said[0]), said[1], said[2])
        kind, dtype, shape, about = said
        # A copy, which may be written to.
        array = np.frombuffer(bytearray(data), dtype=dtype).reshape(shape)
        return cls(Kind(kind), array, about)


SHORT_BYTES = 48
