"""Laws 1 and 3 for surfaces with a base: what differs stands for the whole state."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from cleandesk.checkers.tree import BaseTables, open_tree
from cleandesk.state import Pattern, Snapshot, Table, apply, decode, diff, encode, fingerprint
from cleandesk.state.contract import contract
from cleandesk.state.delta import Delta
from cleandesk.state.diff import from_json, to_json
from cleandesk.state.fingerprint import surface_digest
from cleandesk.state.over import Over
from cleandesk.state.prune import pick
from cleandesk.state.snapshot import leaves
from cleandesk.surfaces import objects

KEYS = st.sampled_from([1, 1.0, 2, 3, "a", "b", ("a", 1), b"x"])
VALUES = st.sampled_from([0, 1, 1.0, True, -0.0, 0.0, "1", None, b"", float("nan")])
ROWS = st.fixed_dictionaries({"v": VALUES, "w": VALUES})
STATES = st.dictionaries(
    st.sampled_from(["one", "two", "three"]), st.dictionaries(KEYS, ROWS, max_size=4), max_size=3
)


def tables(state):
    return {
        name: Table("map", {encode(key): encode(row) for key, row in rows.items()})
        for name, rows in state.items()
    }


def over(base, now):
    held = tables(base)
    fields = sum(leaves(decode(row)) for table in held.values() for row in table.records.values())
    delta = Delta.between(held, tables(now))
    return Over(surface_digest(held), "0" * 64, fields, delta, lambda: held)


def snapshot(base, now):
    return Snapshot("shop/1", {}, {"db": over(base, now)})


@given(STATES, STATES, STATES)
def test_two_states_over_one_base_are_equal_exactly_when_their_fingerprints_are(base, one, other):
    """Law 1."""
    a, b = snapshot(base, one), snapshot(base, other)

    assert (diff(a, b) == ()) == (fingerprint(a) == fingerprint(b))
    assert (fingerprint(a) == fingerprint(b)) == (a.flat() == b.flat())


@given(STATES, STATES, STATES)
def test_what_differs_over_a_base_is_what_differs_in_full(base, one, other):
    """Law 1."""
    a, b = snapshot(base, one), snapshot(base, other)

    assert encode(to_json(diff(a, b))) == encode(to_json(diff(a.flat(), b.flat())))


@given(STATES, STATES, STATES)
def test_a_start_and_its_recorded_change_give_the_end(base, one, other):
    """Law 3: apply(start, change) hashes to the recorded end."""
    start, end = snapshot(base, one), snapshot(base, other)
    recorded = from_json(decode(encode(to_json(diff(start, end)))))

    assert fingerprint(apply(start, recorded)) == fingerprint(end)
    assert apply(start, recorded).flat() == end.flat()


@given(STATES, STATES)
def test_a_state_over_a_base_is_stored_without_it_and_read_back(base, now):
    state = snapshot(base, now)
    read = Snapshot.from_bytes(state.to_bytes(), lambda _name: tables(base))

    assert fingerprint(read) == fingerprint(state)
    assert read.flat() == state.flat()


@given(STATES, STATES)
def test_a_checker_reads_a_state_over_a_base_as_it_is_in_full(base, now):
    state = snapshot(base, now)
    held = BaseTables(tables(base))
    seen = {
        name: dict(rows) for name, rows in open_tree(state.to_bytes(), lambda _: held)["db"].items()
    }

    assert encode(seen) == encode(state.tree()["db"])


@given(STATES, STATES)
def test_fields_that_are_named_are_picked_as_they_are_in_full(base, now):
    state = snapshot(base, now)
    for text in ("db", "db.*", "db.one", "db.one[1]", "db.one[*].v", "db[*][a].w", "db.none[1].v"):
        parts = Pattern.parse(text).parts
        found = state.over["db"].pick(parts[1:])

        assert encode(found) == encode(pick(state.tree(), parts))


@given(STATES, STATES)
def test_fields_are_counted_without_reading_the_base(base, now):
    state = snapshot(base, now)
    # An empty table counts as one leaf where it is read, and as none where it is not.
    assume(all(rows for rows in [*base.values(), *now.values()]))

    assert state.fields_read() == state.flat().fields_read()


@given(STATES, STATES, STATES)
def test_declared_fields_are_left_out_of_a_start_alike_over_a_base_and_in_full(base, one, other):
    terms = contract("shop", "1", db=objects(declared={"one[*].v": "any", "two": "any"}))
    a, b = (terms.start_view(snapshot(base, now)) for now in (one, other))
    full_a, full_b = (terms.start_view(snapshot(base, now).flat()) for now in (one, other))

    assert (fingerprint(a) == fingerprint(b)) == (fingerprint(full_a) == fingerprint(full_b))
