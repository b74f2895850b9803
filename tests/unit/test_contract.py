"""Contracts: what is ignored, declared and incidental, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cleandesk.errors import ContractError
from cleandesk.state import Snapshot, diff, fingerprint
from cleandesk.state.contract import Contract, contract, parse_time
from cleandesk.surfaces import objects
from cleandesk.worlds.at import At
from cleandesk.worlds.capture import Inside, capture, contract_of


class Desk:
    def __init__(self, contract, **held):
        self.contract = contract
        vars(self).update(held)


def read(terms, **held):
    at = At()
    at.pin(terms.clock)
    return capture(Desk(terms, **held), Inside(at), terms)


def desk(*names, **said):
    return contract("desk", "1", desk=objects(*names, **said))


def test_an_ignored_field_is_not_read():
    terms = desk("rows", ignore={"rows[*].otp": "random per build"})

    one = read(terms, rows=[{"id": 1, "otp": 5}]).snapshot
    other = read(terms, rows=[{"id": 1, "otp": 6}]).snapshot

    assert one.tree() == {"desk": {"rows": [{"id": 1}]}}
    assert fingerprint(one) == fingerprint(other)


def test_an_ignored_table_is_not_read_at_all():
    terms = desk("rows", "cache", ignore={"cache": "warm or cold, by design"})

    held = read(terms, rows=[], cache=object())

    assert held.snapshot.tree() == {"desk": {"rows": []}}
    assert held.ignored == {"desk.cache"}


def test_what_lies_beside_an_ignored_field_is_still_compared():
    terms = desk("rows", ignore={"rows[*].otp": "random per build"})

    one = read(terms, rows=[{"id": 1, "otp": 5}]).snapshot
    other = read(terms, rows=[{"id": 2, "otp": 5}]).snapshot

    assert [change.field for change in diff(one, other)] == ["desk.rows[0].id"]


def test_a_declared_field_is_read_but_two_starts_need_not_share_it():
    terms = desk("rows", "noise", declared={"noise": "uniform 0 1", "rows[*].seat": "integer 1 9"})

    one = read(terms, noise=0.25, rows=[{"seat": 3, "id": 1}]).snapshot
    other = read(terms, noise=0.75, rows=[{"seat": 4, "id": 1}]).snapshot

    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(terms.start_view(one)) == fingerprint(terms.start_view(other))
    assert terms.start_view(one).tree() == {"desk": {"rows": [{"id": 1}]}}


def test_what_lies_beside_a_declared_field_must_be_shared():
    terms = desk("rows", declared={"rows[*].seat": "any"})

    one = read(terms, rows=[{"seat": 3, "id": 1}]).snapshot
    other = read(terms, rows=[{"seat": 3, "id": 2}]).snapshot
    changes = diff(terms.start_view(one), terms.start_view(other))

    assert [change.field for change in changes] == ["desk.rows[0].id"]


def test_a_start_view_is_never_compared_with_a_whole_snapshot():
    """Law 1: a start without its declared fields is another thing than a state."""
    terms = desk("rows", declared={"rows[*].seat": "any"})
    held = read(terms, rows=[{"seat": 3}]).snapshot

    assert terms.start_view(held).contract != held.contract


def test_a_declared_value_outside_its_sampler_is_named():
    terms = desk("rows", "noise", declared={"noise": "uniform 0 1", "rows[*].seat": "integer 1 9"})

    held = read(terms, noise=1.5, rows=[{"seat": 3}, {"seat": 0}]).snapshot

    assert terms.undeclared(held) == [
        ("desk.noise", 1.5, "uniform 0 1"),
        ("desk.rows[*].seat", 0, "integer 1 9"),
    ]


def test_declared_values_within_their_samplers_are_no_finding():
    terms = desk("noise", declared={"noise": "uniform 0 1"})

    assert terms.undeclared(read(terms, noise=0.5).snapshot) == []
    assert terms.undeclared(read(terms, noise=np.float64(0.5)).snapshot) == []
    assert terms.undeclared(read(terms, noise=np.full(3, 0.5)).snapshot) == []
    assert desk("noise").undeclared(read(terms, noise=7).snapshot) == []


def test_an_incidental_field_is_verified_at_the_start_and_covered_when_it_changes():
    terms = desk("rows", "views", incidental=["views", "rows[*].seen"])

    start = read(terms, views=0, rows=[{"id": 1, "seen": 0}]).snapshot
    end = read(terms, views=3, rows=[{"id": 2, "seen": 1}]).snapshot
    changes = diff(start, end)
    free = [any(p.matches(c.surface, c.path) for p in terms.incidental) for c in changes]

    assert fingerprint(terms.start_view(start)) != fingerprint(terms.start_view(end))
    assert [change.field for change in changes] == [
        "desk.rows[0].id",
        "desk.rows[0].seen",
        "desk.views",
    ]
    assert free == [False, True, True]


class Event:
    def __init__(self, title, seen):
        self.title = title
        self.seen = seen


def test_an_incidental_field_of_an_object_is_told_apart_from_its_other_fields():
    terms = desk("rows", incidental=["rows[*].seen"])

    changes = diff(
        read(terms, rows=[Event("Gym", 0)]).snapshot, read(terms, rows=[Event("Gym", 1)]).snapshot
    )

    assert [change.field for change in changes] == ["desk.rows[0].seen"]
    assert terms.incidental[0].matches(changes[0].surface, changes[0].path)


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({"ignore": {"rows[*].opt": "typo"}}, "ignores"),
        ({"ignore": {"raws": "typo"}}, "ignores"),
        ({"declared": {"rows[*].seet": "any"}}, "declares"),
        ({"incidental": ["rows[0].vieuws"]}, "calls incidental"),
        ({"incidental": ["nothing"]}, "calls incidental"),
    ],
)
def test_a_contract_that_names_a_field_that_does_not_exist_is_refused(said, word):
    terms = desk("rows", **said)
    held = read(terms, rows=[{"otp": 1, "seat": 2, "views": 3}])

    with pytest.raises(ContractError) as caught:
        terms.require_fields(held.snapshot, held.ignored)

    assert caught.value.code == "CD-204"
    assert word in caught.value.message
    assert "desk.rows" in caught.value.where


def test_a_contract_whose_fields_all_exist_is_accepted():
    terms = desk(
        "rows",
        "views",
        ignore={"rows[*].otp": "random"},
        declared={"rows[*].seat": "any"},
        incidental=["views"],
    )
    held = read(terms, rows=[{"otp": 1, "seat": 2}], views=0)

    terms.require_fields(held.snapshot, held.ignored)


def test_a_field_of_every_record_is_accepted_while_there_is_no_record():
    terms = desk("rows", ignore={"rows[*].otp": "random"}, incidental=["rows[*].seen"])
    held = read(terms, rows=[])

    terms.require_fields(held.snapshot, held.ignored)


BAD = {
    "no surface": lambda: contract("desk", "1"),
    "ignored without a reason": lambda: desk("rows", ignore={"rows": " "}),
    "ignored and declared": lambda: desk("r", ignore={"r": "why"}, declared={"r": "any"}),
    "ignored and incidental": lambda: desk("r", ignore={"r": "why"}, incidental=["r"]),
    "declared and incidental": lambda: desk("r", declared={"r": "any"}, incidental=["r"]),
    "incidental twice": lambda: desk("r", incidental=["r", "r"]),
    "a clock that is no time": lambda: contract("d", "1", clock="noon", desk=objects("r")),
}


@pytest.mark.parametrize("build", BAD.values(), ids=BAD)
def test_a_term_that_cannot_be_meant_is_refused(build):
    with pytest.raises(ContractError) as caught:
        build()

    assert caught.value.code == "CD-202"
    assert caught.value.do


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"ignore": {"rows[": "why"}}, "CD-203"),
        ({"incidental": [""]}, "CD-203"),
        ({"declared": {"rows": "uniform"}}, "CD-205"),
    ],
)
def test_a_pattern_or_a_sampler_that_is_none_is_refused_when_the_contract_is_made(said, code):
    with pytest.raises(ContractError, match=code):
        desk("rows", **said)


def test_a_world_without_a_contract_is_refused():
    with pytest.raises(ContractError) as caught:
        contract_of(object())

    assert caught.value.code == "CD-206"
    assert "object" in caught.value.message


def test_the_identity_changes_with_the_terms_even_if_the_version_does_not():
    one, other = desk("rows"), desk("rows", ignore={"rows[*].otp": "random"})

    assert one.identity.startswith("desk/1#")
    assert one.identity == desk("rows").identity
    assert one.identity != other.identity


def test_a_contract_survives_being_written_down():
    terms = contract(
        "desk",
        "2.1",
        clock="2023-10-15T15:34:00Z",
        desk=objects("rows", ignore={"rows[*].otp": "r"}, declared={"rows[0]": "any"}, far="a.b"),
    )

    again = Contract.from_plain(terms.to_plain())

    assert again.to_plain() == terms.to_plain()
    assert again.identity == terms.identity


def test_a_time_without_an_offset_is_taken_as_utc():
    assert parse_time("2023-10-15T15:34:00") == parse_time("2023-10-15T15:34:00Z")
    assert parse_time("2023-10-15T15:34:00+02:00").utcoffset().total_seconds() == 7200


def test_a_pinned_clock_is_part_of_what_is_read():
    terms = contract("desk", "1", clock="2023-10-15T15:34:00Z", desk=objects("rows"))
    at = At()
    at.pin(terms.clock)
    world = Desk(terms, rows=[])
    start = capture(world, Inside(at), terms).snapshot
    at.clock.advance(60)
    end = capture(world, Inside(at), terms).snapshot

    assert [change.field for change in diff(start, end)] == ["clock.now"]


def test_states_under_two_contracts_have_two_fingerprints():
    one = Snapshot.of(desk("rows").identity, {"desk": {"rows": []}})
    other = Snapshot.of(desk("rows", "more").identity, {"desk": {"rows": []}})

    assert fingerprint(one) != fingerprint(other)
