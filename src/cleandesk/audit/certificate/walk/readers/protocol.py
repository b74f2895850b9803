"""What a reader is: a plug-in that opens one family of handles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from cleandesk.audit.certificate.leaf import Leaf

REST = ""
"""The name of the handle itself: a leaf of it says what of it can't be read."""


class Reader(Protocol):
    """Opens handles of an engine; registered as an entry point ``reader.NAME``.

    Reading must not change what is read, and must give the same for the same state in
    any process: no addresses, no uninitialised memory, no order that depends on either.
    A reader may have ``one(handle, name)`` too, which returns one part of what ``read``
    would: a path that is asked for at every step is then read faster.
    """

    def takes(self, kind: type) -> bool:
        """Tell whether handles of ``kind`` are read; asked once per class."""

    def read(self, handle: object) -> Mapping[str, object] | None:
        """Return what a handle holds, by name, or None if this one can't be read.

        A value is a ``Leaf``, or anything that the walk records as if it were an
        attribute: a number, an array (copied), a list, another handle. The name ``""``
        is the handle itself; give it a leaf of kind ``opaque`` to say that the rest of
        it was not read.
        """

    def write(self, handle: object, name: str, leaf: Leaf) -> None:
        """Put back what ``read`` gave under ``name``.

        Raises:
            LookupError: It can't be put back.
        """
