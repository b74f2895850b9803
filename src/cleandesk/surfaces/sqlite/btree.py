"""Pages of a table's b-tree: which leaves it has, and which cells lie in a leaf.

Source: the SQLite file format, "B-tree Pages" and "Cell Payload Overflow Pages".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cleandesk.errors import shown

LEAF, INTERIOR = 13, 5
_FILE_HEADER_BYTES = 100
_OVERFLOW_POINTER_BYTES = 4

ReadPage = Callable[[int], bytes]


class PageError(Exception):
    """A page is not what its tree says it is; whoever reads by pages can't tell then."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of some leaves.

    Attributes:
        by_row: Row number -> the cell's bytes, and the pointer to what is elsewhere.
        split: Numbers of the rows of which a part is elsewhere.
    """

    by_row: dict[int, bytes]
    split: set[int]


def kind_of(page: bytes, number: int) -> int:
    """Return the type byte of a page."""
    return page[_start(number)]


def _start(number: int) -> int:
    return _FILE_HEADER_BYTES if number == 1 else 0


def _pointers(page: bytes, start: int, header_bytes: int) -> tuple[int, ...]:
    (count,) = struct.unpack_from(">H", page, start + 3)
    return struct.unpack_from(f">{count}H", page, start + header_bytes)


def children(page: bytes, number: int) -> list[int]:
    """Return the pages below an interior page of a table.

    Raises:
        PageError: It is no such page.
    """
    start = _start(number)
    if page[start] != INTERIOR:
        raise PageError(f"page {number} is no interior page of a table")
    below = [int.from_bytes(page[at : at + 4], "big") for at in _pointers(page, start, 12)]
    return [*below, int.from_bytes(page[start + 8 : start + 12], "big")]


def leaves(root: int, read: ReadPage, below: Callable[[int], list[int]]) -> set[int]:
    """Return the leaf pages of the tree at ``root``: all lie equally deep.

    Args:
        root: Its page.
        read: Gives a page by number.
        below: Gives the children of an interior page.
    """
    level = [root]
    for _ in range(_DEEPEST):
        if kind_of(read(level[0]), level[0]) != INTERIOR:
            return set(level)
        level = [page for number in level for page in below(number)]
    raise PageError(f"the tree at page {root} has no end")


_DEEPEST = 20
"""SQLite's own limit of a tree's depth."""


def cells(numbers: Iterable[int], read: ReadPage, usable_bytes: int) -> Cells:
    """Read the cells of leaf pages.

    Args:
        numbers: The pages.
        read: Gives a page by number.
        usable_bytes: What of a page is used: its size without the reserved bytes.

    Raises:
        PageError: One is no leaf of a table, or its cells don't fit in it.
    """
    found = Cells({}, set())
    for number in numbers:
        page = read(number)
        try:
            _read_leaf(page, number, usable_bytes, found)
        except (IndexError, struct.error) as error:
            raise PageError(f"page {number} is damaged: {shown(error)}") from error
    return found


def _read_leaf(page: bytes, number: int, usable: int, found: Cells) -> None:
    start = _start(number)
    if page[start] != LEAF:
        raise PageError(f"page {number} is no leaf of a table")
    most = usable - 35
    by_row = found.by_row
    for begin in _pointers(page, start, 8):
        at = begin
        size = page[at]
        at += 1
        if size > 127:
            size, at = _varint(page, begin)
        row = page[at]
        at += 1
        if row > 127:
            row, at = _varint(page, at - 1)
        if size <= most:
            by_row[row] = page[begin : at + size]
        else:
            by_row[row] = page[begin : at + _local_bytes(size, usable) + _OVERFLOW_POINTER_BYTES]
            found.split.add(row)


def _local_bytes(size: int, usable: int) -> int:
    least = (usable - 12) * 32 // 255 - 23
    local = least + (size - least) % (usable - 4)
    return local if local <= usable - 35 else least


def _varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = page[at + place]
        value = (value << 7) | (byte & 127)
        if byte < 128:
            return value, at + place + 1
    value = (value << 8) | page[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9
