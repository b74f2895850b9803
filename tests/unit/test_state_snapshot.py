"""Snapshots: tables, records, the stored form."""

from __future__ import annotations

import math
from uuid import UUID

import pytest

from cleandesk.errors import StateError
from cleandesk.state import Named, Snapshot, decode, encode, fingerprint


class Opaque:
    pass


def snap(**tables):
    return Snapshot.of("shop/1", {"desk": tables})


def test_a_dict_is_a_table_by_key_a_list_by_place_and_all_else_one_record():
    tables = snap(by_key={"b": 1, "a": 2}, by_place=["x", "y"], one=(1, 2)).surfaces["desk"]

    assert {name: table.kind for name, table in tables.items()} == {
        "by_key": "map",
        "by_place": "list",
        "one": "value",
    }
    assert tables["by_key"].records == {b'"b"': b"1", b'"a"': b"2"}
    assert tables["by_place"].records == {b"0": b'"x"', b"1": b'"y"'}
    assert tables["one"].records == {b"": b'{"$t":[1,2]}'}


def test_a_tree_comes_back_as_it_was_read():
    tree = {"desk": {"events": [{"id": 1, "tags": ("a",)}], "by_no": {7: None}, "next": 2}}

    assert Snapshot.of("shop/1", tree).tree() == tree


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Opaque(), "desk.rows"),
        ([{"a": 1}, {"a": [Opaque()]}], "desk.rows[1].a[0]"),
        ({"x": 1, "y": {"a": Opaque()}}, "desk.rows[y].a"),
        ({7: Opaque()}, "desk.rows[7]"),
        ((1, Opaque()), "desk.rows[1]"),
    ],
)
def test_a_value_that_canon_does_not_know_is_named_with_surface_table_and_record(value, place):
    with pytest.raises(StateError) as caught:
        snap(rows=value)

    assert caught.value.code == "CD-101"
    assert caught.value.where == f"field {place}"


def test_a_record_that_contains_itself_is_named_with_its_table():
    row = {}
    row["self"] = row

    with pytest.raises(StateError) as caught:
        snap(rows=[{"fine": 1}, row])

    assert caught.value.code == "CD-102"
    assert caught.value.where.startswith("field desk.rows[1].self.self")


@pytest.mark.parametrize(
    ("tables", "fields"),
    [
        ({"n": 1}, 1),
        ({"rows": [{"a": 1, "b": 2}, {"a": 1, "b": None}]}, 4),
        ({"rows": []}, 1),
        ({"rows": [{}, [], ()]}, 3),
        ({"rows": [Named("m:C", {"a": 1, "b": (1, 2)})]}, 3),
        ({"rows": [UUID(int=1), {1, 2}, b"12"]}, 3),
    ],
)
def test_fields_read_counts_scalars_and_empty_containers(tables, fields):
    assert snap(**tables).fields_read() == fields


def test_the_stored_form_is_canonical_and_names_its_format():
    stored = snap(rows={"b": 1, "a": [2]}).to_bytes()

    assert stored == (
        b'{"contract":"shop/1","format":"snapshot/1","surfaces":{"desk":{"rows":'
        rb'["map",[["\"a\"","[2]"],["\"b\"","1"]]]}}}'
    )
    assert encode(decode(stored)) == stored


def test_the_stored_form_does_not_depend_on_the_order_of_filling():
    assert snap(rows={"a": 1, "b": 2}).to_bytes() == snap(rows={"b": 2, "a": 1}).to_bytes()


def test_the_places_of_a_long_list_survive_storing():
    rows = [{"no": place} for place in range(12)]

    assert Snapshot.from_bytes(snap(rows=rows).to_bytes()).tree() == {"desk": {"rows": rows}}


BAD = {
    "no JSON": b"",
    "cut short": snap(rows=[1]).to_bytes()[:-2],
    "another format": snap(rows=[1]).to_bytes().replace(b"snapshot/1", b"snapshot/9"),
    "no format": b"{}",
    "a list": b"[1]",
    "a number": b"1",
    "surfaces is a list": b'{"contract":"c","format":"snapshot/1","surfaces":[]}',
    "no contract": b'{"format":"snapshot/1","surfaces":{}}',
    "an unknown kind": b'{"contract":"c","format":"snapshot/1","surfaces":{"s":{"t":["heap",[]]}}}',
    "a record that is no pair": (
        b'{"contract":"c","format":"snapshot/1","surfaces":{"s":{"t":["map",[["1"]]]}}}'
    ),
    "a record that is no text": (
        b'{"contract":"c","format":"snapshot/1","surfaces":{"s":{"t":["map",[["1",2]]]}}}'
    ),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_file_that_is_no_snapshot_is_an_error(data):
    with pytest.raises(StateError) as caught:
        Snapshot.from_bytes(data)

    assert caught.value.code == "CD-104"


def test_two_keys_of_one_spelling_keep_both_records():
    table = {float("nan"): 1, math.nan: 2}

    assert snap(rows=table).tree() != snap(rows={math.nan: 2}).tree()
    assert fingerprint(snap(rows=table)) != fingerprint(snap(rows={math.nan: 2}))
    assert sorted(snap(rows=table).tree()["desk"]["rows"].values()) == [1, 2]
