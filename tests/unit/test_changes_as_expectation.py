"""What ``watch`` prints as an expectation claims these changes, and no others."""

from __future__ import annotations

import datetime as dt
import hashlib
import tomllib
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cleandesk.checkers import judge_change, premises
from cleandesk.checkers.premise import expected_answers
from cleandesk.errors import CheckerError
from cleandesk.report.changes import as_expectation, change_rows
from cleandesk.state import ABSENT, Change, Named, Pattern, Snapshot, diff, encode
from cleandesk.tasks.task import Task

NASTY = 'a"b\\c{d}{{e}}\n\t\x1b\x7f\x80\u202e😀é\'"] '


START = Snapshot.of(
    "c", {"own": {"t": {7: {"id": 7}, 8: {"id": 8}, "k": {"lines": ["x", "x", "x"]}}, "keys": {}}}
)


def answers_of(lines):
    expect = tomllib.loads("\n".join(lines)).get("expect", {})
    return Task(id="t", goal="g", expect=(expect,)).spec({})


def judged(lines, changes, start=START):
    (expect,) = expected_answers(answers_of(lines))
    return judge_change(changes, expect, start=start).value


def said(*changes):
    lines, why = as_expectation(changes)
    assert not why
    assert all(char.isprintable() for line in lines for char in line)
    return lines


def added(record, key="k", table="t", surface="own"):
    return Change(surface, (table, key), "added", ABSENT, record)


def removed(record, key="k", table="t", surface="own"):
    return Change(surface, (table, key), "removed", record, ABSENT)


def changed(after, *path, before=0):
    return Change("own", path or ("t", "k", "f"), "changed", before, after)


@pytest.mark.parametrize(
    ("change", "near"),
    [
        (added({"lines": ["a"]}, "in/a.txt"), added({"lines": ["a"]}, "in/b.txt")),
        (added({}, "a"), added({}, "b")),
        (added({"name": "a"}, "a"), added({"name": "a"}, "b")),
        (added({"n": None}), added({"n": 0})),
        (added({"n": Decimal("5.50")}), added({"n": Decimal("5.5")})),
        (added(["a", "b"]), added(["b", "a"])),
        (added(None), added(False)),
        (added({"id": 7, "n": None}, 7), added({"id": 7, "n": 1}, 7)),
        (added({"a": 1, "b": "x", "n": None}, (1, "x")), added({"a": 1, "b": "y"}, (1, "y"))),
        (removed({"a": 1, "b": "x"}, (1, "x")), removed({"a": 1, "b": "y"}, (1, "y"))),
        (removed({"id": 7}, 7), removed({"id": 8}, 8)),
        (removed({"lines": []}, "a{b}.txt"), removed({"lines": []}, "ab.txt")),
        (
            Change("own", ("t", "k", "seen"), "removed", 3, ABSENT),
            Change("own", ("t", "k", "text"), "removed", "seen", ABSENT),
        ),
        (
            Change("own", ("t", "k", "lines", 2), "added", ABSENT, "x"),
            Change("own", ("t", "k", "lines", 3), "added", ABSENT, "x"),
        ),
        (
            Change("own", ("t", "k", "lines", 2), "removed", "x", ABSENT),
            Change("own", ("t", "k", "rows", 2), "removed", "x", ABSENT),
        ),
        (Change("own", ("new",), "added", ABSENT, {1: {"id": 1}}), added({"id": 1}, 1, "new")),
        (changed(None), changed(0)),
        (changed({"from": 1, "to": 2}), changed(2, before=1)),
        (changed({"$dec": "1"}), changed(Decimal(1))),
        (changed({"$null": True}), changed(None)),
        (changed((1, 2)), changed([1, 2])),
        (changed({1, 2}), changed([1, 2])),
        (changed(b"\x00\xff"), changed(b"\x00")),
        (changed(UUID(int=5)), changed(str(UUID(int=5)))),
        (changed(dt.date(2026, 1, 5)), changed("2026-01-05")),
        (
            changed(dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)),
            changed(dt.datetime(2026, 1, 5, 9, 1, tzinfo=dt.UTC)),
        ),
        (changed(Named("sqlite:text", {"bytes": b"\xff"})), changed(b"\xff")),
        (changed(float("nan")), changed(float("inf"))),
        (changed(2**70), changed(2**70 + 1)),
        (changed(-0.0, before=1), changed(0.0, before=1)),
        (changed(NASTY), changed(NASTY[:-1])),
    ],
)
def test_the_expectation_claims_this_change_and_not_what_looks_like_it(change, near):
    lines = said(change)

    assert judged(lines, [change]) == 1
    assert judged(lines, [near]) == 0


def test_rows_without_a_key_are_named_by_what_they_hold():
    def keyed(record, more=""):
        return hashlib.sha256(encode(record)).hexdigest()[:16] + more

    row, other = {"name": "tea", "n": None}, {"name": "tea", "n": 1}
    come, gone = added(row, keyed(row)), removed(row, keyed(row, "#2"))

    assert said(come) == [
        'expect.added = { "own.t" = [{ "n" = { "$null" = true }, "name" = "tea" }] }'
    ]
    assert said(gone) == [
        'expect.removed = { "own.t" = [{ "n" = { "$null" = true }, "name" = "tea" }] }'
    ]
    assert judged(said(gone), [gone]) == 1
    assert judged(said(come), [added(other, keyed(other))]) == 0
    # A file may have the name of a digest, and is no such row.
    assert said(added(row, "0123456789abcdef"))[0].startswith('expect.added = { "own.t[0123456789')


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=4)
    | st.decimals()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.uuids(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.text(st.sampled_from("ab.[]\"'*{} $😀é\x1b/-#"), max_size=8) | st.text(max_size=4)


def can_be_spelled(name):
    text = str(name)
    is_one_line = "".join(text.splitlines()) == text
    return is_one_line and not ('"]' in text and "']" in text)


@given(
    st.lists(NAMES, min_size=2, max_size=4).filter(lambda names: all(map(can_be_spelled, names)))
)
def test_a_field_is_spelled_so_that_it_is_read_back(path):
    change = Change("own", tuple(path), "changed", 0, 1)

    assert Pattern.parse(change.field).parts == ("own", *path)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (("events", 3, "title"), "own.events[3].title"),
        (("files", "a.txt", "lines", 0), "own.files[a.txt].lines[0]"),
        (("hr.person", 1, "name"), 'own["hr.person"][1].name'),
        (("t", (1, "a")), "own.t[(1, 'a')]"),
        (("t", "*"), 'own.t["*"]'),
        (("t", "a]"), 'own.t["a]"]'),
        (("t", '"]'), "own.t['\"]']"),
        (("t", ""), "own.t[]"),
    ],
)
def test_fields_are_quoted_only_where_they_must_be(path, field):
    assert Change("own", path, "changed", 0, 1).field == field
    assert Pattern.parse(field).parts == ("own", *map(str, path))


def loose(value):
    """As TOML has it: a list stands for a tuple, and keys are texts."""
    if isinstance(value, (list, tuple)):
        return [loose(item) for item in value]
    if isinstance(value, dict):
        return {str(key): loose(item) for key, item in value.items()}
    return value


@given(VALUES, VALUES, NAMES)
def test_any_value_that_comes_or_changes_is_claimed_and_no_other(value, other, key):
    assume(can_be_spelled(key))
    for change in (added(value, key), changed(value, "t", key, "f", before=object)):
        lines, why = as_expectation([change])
        assert judged(lines, [change]) == 1, why
        if encode(loose(value)) != encode(loose(other)):
            near = Change(change.surface, change.path, change.op, change.before, other)
            assert judged(lines, [near]) == 0


@given(st.dictionaries(NAMES.filter(can_be_spelled), VALUES, min_size=1, max_size=3))
def test_what_is_printed_holds_at_its_own_start(rows):
    start = Snapshot.of("c", {"own": {"t": {"there": {"n": 1}}, "keys": {}}})
    end = Snapshot.of("c", {"own": {"t": {}, "keys": rows}})
    changes = diff(start, end)
    lines, why = as_expectation(changes)

    assert premises(answers_of(lines), start) == [], why
    assert judged(lines, changes, start) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([changed(1, "t", key) for key in range(41)], "more than 40 changes"),
        ([Change("own", ("old",), "removed", {}, ABSENT)], "the whole table own.old went"),
        ([added(1, "a\nb.txt")], "no key of a suite can name own.t[a\\nb.txt]"),
        ([added(1, "\"]']")], "no key of a suite can name"),
        ([added(1, "\udcff")], "bytes in it that are no UTF-8"),
        ([added(1, 1), added(1, "1")], "two fields read own.t[1]"),
        ([added("x" * 30_000)], "more than 20000 characters long"),
    ],
)
def test_what_no_suite_can_say_is_named(changes, why):
    lines, said_why = as_expectation(changes)

    assert lines == []
    assert why in said_why
    assert said_why.isprintable()


def test_no_change_needs_no_claim():
    assert as_expectation([]) == ([], "")


@pytest.mark.parametrize(
    "value",
    [
        {"$nul": True},
        {"$null": False},
        {"$null": 1},
        {"$list": 1},
        {"$dec": 5.5},
        {"$dec": "five"},
        {"$b": "é"},
        {"$dt": "yesterday"},
        {"$set": [[1]]},
        {"$ref": "x"},
    ],
)
@pytest.mark.parametrize("where", [{"f": "in a row"}, "plain"])
def test_a_tag_that_can_not_be_read_is_refused(value, where):
    held = [{"f": value}] if isinstance(where, dict) else value

    with pytest.raises(CheckerError) as caught:
        judge_change([], {"added": {"own.t": held}})

    assert caught.value.code == "CD-511"
    assert "own.t" in caught.value.where


def test_a_table_whose_key_looks_like_a_tag_is_written_as_pairs():
    change = changed({"$ref": "x"})

    assert judge_change([change], {"changed": {"own.t[k].f": {"$map": [["$ref", "x"]]}}}).value == 1


def test_the_rows_of_json_have_a_side_for_each_even_where_there_is_none():
    (row,) = change_rows([added(None, 1)])

    assert row == {
        "surface": "own",
        "op": "added",
        "path": "/t/1",
        "segments": ["t", 1],
        "before": None,
        "after": None,
    }
