"""Rows as canonical records, from the text form that COPY writes. Pure.

The text of a value in a pinned session is exact: two values of a column are the same
exactly when their texts are. Numbers, truth values and bytes get their own types.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from cleandesk.state.canon import encode

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

_BOOL, _BYTEA, _NUMERIC = 16, 17, 1700
_INTEGERS = frozenset({20, 21, 23, 26})
_FLOATS = frozenset({700, 701})
_DIGEST_DIGITS = 16


def reader(kind: int) -> Callable[[str], Any] | None:
    """Return what turns a text of the type with this number into a value; None keeps it."""
    if kind in _INTEGERS:
        return int
    if kind in _FLOATS:
        return float
    if kind == _NUMERIC:
        return Decimal
    if kind == _BOOL:
        return "t".__eq__
    if kind == _BYTEA:
        return _bytes
    return None


def fields(line: bytes) -> list[str | None]:
    """Split one line of COPY's text form; None is a null."""
    # A database without an encoding may hold any bytes: they stay apart as surrogates.
    text = line.decode("utf-8", "surrogateescape").removesuffix("\n")
    found = text.split("\t")
    if "\\" not in text:
        return [*found]
    return [None if item == "\\N" else _ESCAPE.sub(_unescaped, item) for item in found]


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table, and how its lines become keys and records.

    Attributes:
        columns: Names, in the order of the lines.
        kinds: The type number of each, domains resolved.
        key: Names of the primary key's columns; none, if the table has no such key.
    """

    columns: tuple[str, ...]
    kinds: tuple[int, ...]
    key: tuple[str, ...]
    _places: tuple[int, ...] = field(init=False, compare=False)
    _readers: tuple[Callable[[str], Any] | None, ...] = field(init=False, compare=False)
    _spelling: tuple[tuple[bytes, int, Callable[[str], bytes]], ...] = field(
        init=False, compare=False
    )

    def __post_init__(self) -> None:
        """Work out once what is the same for all lines."""
        places = tuple(self.columns.index(name) for name in self.key)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_readers", tuple(map(reader, self.kinds)))
        order = sorted(range(len(self.columns)), key=self.columns.__getitem__)
        spelling = tuple(
            (b"%b:" % encode(self.columns[place]), place, _speller(self.kinds[place]))
            for place in order
        )
        # Such a key is escaped by canon/1 in another form of the whole record.
        plain = not any(name.startswith("$") for name in self.columns)
        object.__setattr__(self, "_spelling", spelling if plain else ())

    def value(self, found: list[str | None]) -> dict[str, Any]:
        """Return a row as column -> value."""
        return {
            name: item if item is None or read is None else read(item)
            for name, read, item in zip(self.columns, self._readers, found, strict=False)
        }

    def record(self, found: list[str | None]) -> bytes:
        """Return the canonical bytes of a row: ``encode(value(found))``, at a fraction."""
        if not self._spelling:
            return encode(self.value(found))
        spelled = []
        for name, place, spell in self._spelling:
            item = found[place]
            spelled.append(name + (b"null" if item is None else spell(item)))
        return b"{%b}" % b",".join(spelled)

    def key_of(self, found: list[str | None]) -> Any:
        """Return the primary key's value; of several columns, a tuple."""
        read = [self._read(place, found[place]) for place in self._places]
        return read[0] if len(read) == 1 else tuple(read)

    def spelled_key(self, found: list[str | None]) -> bytes:
        """Return the canonical bytes of the primary key; b"" where there is none."""
        if len(self._places) == 1:
            place = self._places[0]
            item = found[place]
            return encode(None) if item is None else _speller(self.kinds[place])(item)
        return encode(self.key_of(found)) if self._places else b""

    def _read(self, place: int, item: str | None) -> Any:
        read = self._readers[place]
        return item if item is None or read is None else read(item)


def multiset(records: Iterable[bytes]) -> dict[bytes, bytes]:
    """Give each record of a table without a key one: a digest, ``#2`` and so on for more."""
    keyed: dict[bytes, bytes] = {}
    seen: Counter[str] = Counter()
    for record in sorted(records):
        digest = hashlib.sha256(record).hexdigest()[:_DIGEST_DIGITS]
        seen[digest] += 1
        count = seen[digest]
        keyed[encode(digest if count == 1 else f"{digest}#{count}")] = record
    return keyed


def keyed(records: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return a small table of plain values as canonical bytes."""
    return {encode(key): encode(value) for key, value in records.items()}


def _speller(kind: int) -> Callable[[str], bytes]:
    if kind in _INTEGERS:
        return str.encode
    if kind == _NUMERIC:
        return _numeric
    if kind == _BYTEA:
        return _base64
    return _text if reader(kind) is None else partial(_other, kind)


def _numeric(item: str) -> bytes:
    return b'{"$dec":"%b"}' % str(Decimal(item)).encode()


def _base64(item: str) -> bytes:
    return b'{"$b":"%b"}' % base64.b64encode(_bytes(item))


def _other(kind: int, item: str) -> bytes:
    read = reader(kind)
    return encode(item if read is None else read(item))


def _text(item: str) -> bytes:
    try:
        return orjson.dumps(item)
    except TypeError:
        return encode(item)


def _bytes(item: str) -> bytes:
    return bytes.fromhex(item.removeprefix("\\x"))


def _unescaped(match: re.Match[str]) -> str:
    return _MEANT.get(match[1], match[1])
