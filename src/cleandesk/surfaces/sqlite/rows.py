"""Rows as values and as records: exact to the type, whatever the texts hold.

SQLite cells are None, int, float, str or bytes. A text that is not well-formed in the
database's encoding is ``Named("sqlite:text", {"bytes": ...})``.
"""

from __future__ import annotations

import hashlib
import marshal
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import Any

import apsw
import orjson

from cleandesk.errors import WorldError, shown
from cleandesk.state.canon import Named, encode, encode_each
from cleandesk.state.leaving import LEFT_OUT, Leaving
from cleandesk.surfaces.sqlite.layout import SqlTable, quoted

Row = tuple[Any, ...]
Stem = tuple[bytes, str]
"""How a row without a key is named: what its key does hold, and the digits of its content."""

Spelled = tuple[list[tuple[bytes, bytes]], list[tuple[Stem, bytes]]]
"""Records by key; and records of rows without one, each with its stem."""

STEM_DIGITS = 16
_PLAIN = frozenset({int, str, type(None)})
_MANY = 2000
_BATCH_BYTES = 4_000_000
_UNNAMED = "\0"

# As in state/canon.py: orjson is taken only if it spells as the reference does.
_PROBE = [0.1, -0.0, 1.0, 1e15, 1e16, 1e21, 1.5e-5, 1.23e-6, 9.5e-7, 5e-324, 2**63 - 1, -(2**63)]
_ALIKE = orjson.dumps([*_PROBE, {"é": '\x00\x1f\x7f"\\/\n\u2028😀'}]) == encode(
    [*_PROBE, {"é": '\x00\x1f\x7f"\\/\n\u2028😀'}]
)


class RowReader:
    """The rows of one table in the order in which they lie.

    It reads texts as they are and begins anew, byte by byte, where one is not well-formed.
    """

    def __init__(
        self,
        held: apsw.Connection,
        table: SqlTable,
        encoding: str | None,
        tail: str = "",
        values: Sequence[Any] = (),
    ) -> None:
        """Open the table.

        Args:
            held: The database; inside a transaction, for one state.
            table: What to read.
            encoding: As in ``Layout``.
            tail: What follows the name of the table in SQL.
            values: For the question marks in it.
        """
        self._held = held
        self._table = table
        self._codec = encoding
        self._rest = f"FROM {quoted_source(table)} {tail}"
        self._values = tuple(values)
        self._taken = 0
        self._is_careful = encoding is not None
        self._rows = self._careful() if self._is_careful else self._swift()

    def take(self, count: int) -> list[Row]:
        """Return the next rows: ``count`` of them, fewer only at the end."""
        try:
            rows = list(islice(self._rows, count))
        except UnicodeDecodeError:
            if self._is_careful:
                raise
            self._is_careful = True
            self._rows = islice(self._careful(), self._taken, None)
            rows = list(islice(self._rows, count))
        self._taken += len(rows)
        return rows

    def batches(self) -> Iterator[list[Row]]:
        """Yield all rows in lists of a bounded size."""
        count = 16
        while rows := self.take(count):
            yield rows
            count = batch_size(rows)

    def _swift(self) -> Iterator[Row]:
        columns = ", ".join(self._table.expressions) or "1"
        found: Iterator[Row] = iter(
            self._held.execute(f"SELECT {columns} {self._rest}", self._values)
        )
        return found if self._table.expressions else (() for _ in found)

    def _careful(self) -> Iterator[Row]:
        columns = ", ".join(
            f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in self._table.expressions
        )
        for row in self._held.execute(f"SELECT {columns or 1} {self._rest}", self._values):
            yield tuple(
                self._text(value) if kind == "text" else value
                for kind, value in zip(row[::2], row[1::2], strict=False)
            )

    def _text(self, held: bytes) -> Any:
        try:
            return held.decode(self._codec or "utf-8")
        except UnicodeDecodeError:
            return Named("sqlite:text", {"bytes": held})


def quoted_source(table: SqlTable) -> str:
    """Return the table as a statement reads it: itself, and in the order in which it lies.

    An index that holds all columns would be read in its place, in another order.
    """
    return f"main.{quoted(table.name)} NOT INDEXED"


def batch_size(rows: Sequence[Row]) -> int:
    """Return how many rows to hold at once, judged by the last of ``rows``."""
    weight = sum(len(cell) for cell in rows[-1] if isinstance(cell, str | bytes))
    return max(16, min(_MANY, _BATCH_BYTES // (weight + 1)))


def exact(rows: Any) -> bytes:
    """Return bytes that are equal exactly when the rows are, types and signs included."""
    try:
        # Version 2 has no references: the same values are always the same bytes.
        return marshal.dumps(rows, 2)
    except ValueError:
        return encode(rows)


def encode_rows(names: Sequence[str], rows: Sequence[Row]) -> list[bytes]:
    """Return the canonical bytes of each row as ``{name: cell}``.

    Args:
        names: The columns, by code point, no two alike.
        rows: As many cells in each as there are names.
    """
    if not rows:
        return []
    if not _ALIKE or not names or any(name[:1] == "$" for name in names):
        return encode_each([dict(zip(names, row, strict=True)) for row in rows])
    parts: list[Any] = [""] * (2 * len(rows))
    parts[::2] = [dict(zip(names, row)) for row in _tagged(rows)]  # noqa: B905 - a third faster
    # One call for all. Between two maps stands an empty text: a quote that follows "},"
    # and is no closing one begins it, so no text of a cell can look like this seam.
    text = orjson.dumps(parts)
    return [b"{%b}" % held for held in text[2:-5].split(b'},"",{')]


def encode_list(rows: Sequence[Row]) -> bytes:
    """Return the canonical bytes of the rows as a list of lists."""
    if not _ALIKE:
        return encode([list(row) for row in rows])
    return orjson.dumps(_tagged(rows))


def _tagged(rows: Sequence[Row]) -> Sequence[Row]:
    """Put the tagged form of canon/1 in place of cells that are not plain JSON."""
    columns: list[Any] = list(zip(*rows, strict=True))
    is_touched = False
    for place, cells in enumerate(columns):
        kinds = set(map(type, cells))
        if kinds <= _PLAIN:
            continue
        if kinds - _PLAIN == {float}:
            held = cells if kinds == {float} else [cell for cell in cells if type(cell) is float]
            if isfinite(sum(held)):
                continue
        columns[place] = [_tag(cell) for cell in cells]
        is_touched = True
    return list(zip(*columns, strict=True)) if is_touched else rows


def _tag(cell: Any) -> Any:
    if type(cell) is bytes:
        return {"$b": b64encode(cell).decode()}
    if type(cell) is float and not isfinite(cell):
        return {"$f": "inf" if cell > 0 else "-inf"}
    if type(cell) is Named:
        return {"$obj": [cell.name, {"bytes": _tag(cell.fields["bytes"])}]}
    return cell


def encode_keys(values: Sequence[Any]) -> list[bytes]:
    """Return the canonical bytes of keys of one column."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return [b"%d" % value for value in values]
    if kinds == {str}:
        return [_text_key(value) for value in values]
    return encode_each(list(values))


def _text_key(value: str) -> bytes:
    # Printable ASCII is spelled as it is, but for the two that are escaped.
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return b'"%b"' % value.encode()
    return encode(value)


def spell(table: SqlTable, rows: Sequence[Row], leaving: Leaving) -> Spelled:
    """Turn rows into records, without what the contract ignores."""
    if table.is_pruned:
        return _spell_pruned(table, rows, leaving)
    records = encode_rows(table.columns, [row[1:] for row in rows] if table.by_rowid else rows)
    if table.names_no_row:
        return [], [((b"", stem_of(record)), record) for record in records]
    if table.by_rowid or len(table.key) == 1:
        place = 0 if table.by_rowid else table.key[0]
        values = [row[place] for row in rows]
        if None not in values:
            return list(zip(encode_keys(values), records, strict=True)), []
    return _partly_named(table, rows, records)


def _partly_named(table: SqlTable, rows: Sequence[Row], records: Sequence[bytes]) -> Spelled:
    keyed: list[tuple[bytes, bytes]] = []
    loose: list[tuple[Stem, bytes]] = []
    parts = [[row[place] for place in table.key] for row in rows]
    for key, text, record in zip(parts, encode_each(parts), records, strict=True):
        if any(part is None for part in key):
            loose.append(((text[1:-1], stem_of(record)), record))
        else:
            keyed.append((text[1:-1] if len(key) == 1 else b'{"$t":%b}' % text, record))
    return keyed, loose


def _spell_pruned(table: SqlTable, rows: Sequence[Row], leaving: Leaving) -> Spelled:
    """Ask for each row what is ignored of it; a row without a key answers to ``*`` alone."""
    kept: list[Row] = []
    values: list[Any] = []
    for row in rows:
        key = row_key(table, row)
        cells = row[1:] if table.by_rowid else row
        value = dict(zip(table.columns, cells, strict=True))
        value = leaving.record(table.name, _UNNAMED if key is None else key, value)
        if value is not LEFT_OUT:
            kept.append(row)
            values.append(value)
    records = encode_each(values)
    if table.names_no_row:
        return [], [((b"", stem_of(record)), record) for record in records]
    if table.by_rowid:
        return list(zip(encode_keys([row[0] for row in kept]), records, strict=True)), []
    return _partly_named(table, kept, records)


def row_key(table: SqlTable, row: Row) -> Any:
    """Return the key of a row, or None where it has none."""
    if table.by_rowid:
        return row[0]
    parts = tuple(row[place] for place in table.key)
    if not parts or any(part is None for part in parts):
        return None
    return parts[0] if len(parts) == 1 else parts


def stem_of(record: bytes) -> str:
    """Return the first digits of the record's SHA-256."""
    return hashlib.sha256(record).hexdigest()[:STEM_DIGITS]


def number(stem: Stem, place: int) -> bytes:
    """Return the key of the ``place``-th record, from 0, of those that share ``stem``."""
    part, digits = stem
    name = digits if place == 0 else f"{digits}#{place + 1}"
    # What its key does hold stays in front: no text can be the same key by chance.
    return b'{"$t":[%b,"%b"]}' % (part, name.encode()) if part else b'"%b"' % name.encode()


def numbered(loose: Iterable[tuple[Stem, bytes]]) -> dict[bytes, bytes]:
    """Name records without a key: by content, and alike ones in the order of their bytes."""
    groups: dict[Stem, list[bytes]] = {}
    for stem, record in loose:
        groups.setdefault(stem, []).append(record)
    return {
        number(stem, place): record
        for stem, records in groups.items()
        for place, record in enumerate(sorted(records))
    }


def add_by_key(
    table: SqlTable, records: dict[bytes, bytes], keyed: Sequence[tuple[bytes, bytes]]
) -> None:
    """Add records by key.

    Raises:
        WorldError: CD-242, two rows have one key, which only a damaged database allows.
    """
    count = len(records) + len(keyed)
    records.update(keyed)
    if len(records) < count:
        counts = Counter(key for key, _ in keyed)
        key = counts.most_common(1)[0][0] if len(counts) < len(keyed) else keyed[0][0]
        raise WorldError(
            "CD-242",
            "two rows have one key",
            where=f"table {shown(table.name)}, at or near {shown(key.decode())}",
            do="the database is damaged: run PRAGMA integrity_check on it and make it anew",
        )
