"""Small handles of pygame: rectangles, vectors, colours, and the pixels of surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.readers.protocol import REST

_NUMBERS = frozenset({"Rect", "FRect", "Vector2", "Vector3", "Color"})
_MOST_BYTES = 1 << 20
"""Of larger surfaces the size alone is read: their pixels are what was drawn, not state."""


class Small:
    """Reads what ``pygame`` compiles."""

    def takes(self, kind: type) -> bool:
        """Tell whether ``kind`` is, or extends, one of them."""
        return any(_name(each) for each in kind.__mro__)

    def read(self, handle: Any) -> Mapping[str, object] | None:
        """Return the numbers, or the pixels."""
        kind = next(filter(None, map(_name, type(handle).__mro__)))
        if kind in _NUMBERS:
            return {REST: Leaf(Kind.VALUE, tuple(handle), f"pygame.{kind}")}
        width, height = handle.get_size()
        size = width * height * handle.get_bytesize()
        about = f"pygame.Surface {width}x{height}"
        if size > _MOST_BYTES or handle.get_locked():
            return {REST: Leaf(Kind.OPAQUE, None, about)}
        return {REST: Leaf(Kind.TOKEN, handle.get_buffer().raw, about)}

    def write(self, handle: Any, name: str, leaf: Leaf) -> None:  # noqa: ARG002 - as the Protocol
        """Put numbers back; pixels are refused."""
        kind = next(filter(None, map(_name, type(handle).__mro__)))
        if kind not in _NUMBERS:
            raise LookupError("the pixels of a surface can't be put back")
        handle.update(*leaf.value)


def _name(kind: type) -> str:
    is_one = str(kind.__module__).startswith("pygame") and (
        kind.__name__ in _NUMBERS or kind.__name__ == "Surface"
    )
    return kind.__name__ if is_one else ""
