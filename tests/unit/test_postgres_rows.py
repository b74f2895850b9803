"""Rows of Postgres as canonical records, without a server."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleandesk.state.canon import decode, encode
from cleandesk.surfaces.postgres.reading import in_step, ranges
from cleandesk.surfaces.postgres.rows import Layout, fields, multiset

BOOL, BYTEA, INT, TEXT, FLOAT, NUMERIC = 16, 17, 20, 25, 701, 1700
ESCAPES = {
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def copied(values):
    """Spell a row as COPY's text form does."""
    return (
        "\t".join(
            "\\N" if value is None else "".join(ESCAPES.get(char, char) for char in value)
            for value in values
        ).encode()
        + b"\n"
    )


def shown(kind, value):
    """Spell a value as Postgres does."""
    if value is None:
        return None
    if kind == BOOL:
        return "t" if value else "f"
    if kind == BYTEA:
        return f"\\x{value.hex()}"
    if kind == NUMERIC:
        return value if isinstance(value, str) else format(value, "f")
    return str(value)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
VALUES = {
    BOOL: st.booleans(),
    BYTEA: st.binary(max_size=8),
    INT: st.integers(-(2**63), 2**63 - 1),
    TEXT: texts,
    FLOAT: st.floats(),
    NUMERIC: st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20
    ),
}
names = st.lists(texts.filter(bool), unique=True, min_size=1, max_size=5)


@given(st.data())
def test_a_line_becomes_the_record_that_canon_spells(data):
    columns = data.draw(names)
    kinds = [data.draw(st.sampled_from(sorted(VALUES))) for _ in columns]
    row = [data.draw(st.none() | VALUES[kind]) for kind in kinds]
    found = fields(copied([shown(kind, value) for kind, value in zip(kinds, row, strict=True)]))
    layout = Layout(tuple(columns), tuple(kinds), tuple(columns[:1]))

    assert encode(layout.value(found)) == encode(dict(zip(columns, row, strict=True)))
    assert layout.record(found) == encode(dict(zip(columns, row, strict=True)))
    assert layout.spelled_key(found) == encode(layout.key_of(found)) == encode(row[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [((NUMERIC, "1.0"), (NUMERIC, "1.00")), ((INT, "1"), (NUMERIC, "1")), ((INT, "1"), (FLOAT, "1")),
     ((INT, "1"), (TEXT, "1")), ((FLOAT, "0"), (FLOAT, "-0")), ((TEXT, ""), (TEXT, None)),
     ((TEXT, "\\N"), (TEXT, None)), ((BYTEA, "\\x"), (TEXT, ""))],
)  # fmt: skip
def test_values_that_are_not_the_same_have_two_records(one, other):
    records = {
        Layout(("a",), (kind,), ()).record(fields(copied([text]))) for kind, text in (one, other)
    }

    assert len(records) == 2


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "0.0000001", "12345678901234567890.10"]
)
def test_a_number_keeps_every_digit(text):
    record = Layout(("a",), (NUMERIC,), ()).record(fields(copied([text])))

    assert record == encode({"a": Decimal(text)})


def test_a_key_of_several_columns_is_a_tuple():
    layout = Layout(("a", "b", "c"), (INT, TEXT, TEXT), ("c", "a"))

    assert layout.spelled_key(fields(b"1\tx\ty\n")) == encode(("y", 1))


def test_a_column_whose_name_needs_escaping_is_escaped():
    layout = Layout(("$b", "a"), (INT, INT), ())

    assert decode(layout.record(fields(b"1\t2\n"))) == {"$b": 1, "a": 2}


def test_bytes_that_are_no_text_stay_apart():
    layout = Layout(("a",), (TEXT,), ())

    assert layout.record(fields(b"\xff\n")) != layout.record(fields(b"\xfe\n"))


def test_equal_rows_without_a_key_are_counted():
    keys = [decode(key) for key in multiset([b'{"a":1}', b'{"a":2}', b'{"a":1}'])]
    digests = {key.partition("#")[0] for key in keys}

    assert len(keys) == 3
    assert len(digests) == 2
    assert sum(key.endswith("#2") for key in keys) == 1
    assert all(len(digest) == 16 for digest in digests)


class Plain:
    """Lines ``key=record``, as the records of a table."""

    def of(self, line):
        key, _, record = line.partition(b"=")
        return key, record


rows = st.dictionaries(st.integers(0, 30), st.integers(0, 2))


@given(rows, rows)
def test_two_readings_in_step_find_what_differs(old, new):
    """Law 1: what is found is what differs, whatever was put in, taken out or changed."""
    old_lines, new_lines = (
        [b"%d=%d" % pair for pair in sorted(side.items())] for side in (old, new)
    )
    expected = {
        b"%d" % key: tuple(None if key not in side else b"%d" % side[key] for side in (old, new))
        for key in old.keys() | new.keys()
        if old.get(key) != new.get(key)
    }

    assert in_step(old_lines, new_lines, Plain(), Plain()) == expected


@given(st.sets(st.integers(0, 60)))
def test_runs_of_blocks_cover_each_block_once(blocks):
    runs = list(ranges(sorted(blocks)))

    assert [block for first, end in runs for block in range(first, end)] == sorted(blocks)
    assert all(end < first for (_, end), (first, _) in pairwise(runs))
