from __future__ import annotations

import dataclasses
import json
import math
import pprint

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleandesk.audit.certificate.certificate import (
    Boundary,
    Certificate,
    Check,
    Class,
    DeclaredField,
    Deviation,
    Divergence,
    Inert,
    Leak,
    Opaque,
    Profile,
    ReturnShift,
)
from cleandesk.audit.certificate.spelling import from_json, read_certificate, to_json
from cleandesk.errors import UsageError

PROMISED = {
    *("status", "class", "reason", "leaks", "inert", "declared", "opaque", "first_divergence"),
    *("deviation", "profile", "not_checked", "repro", "stamp"),
    *("schema", "rig", "harness", "cause", "varies", "boundaries", "checks", "return_shift"),
    *("jitter", "condition", "took_s"),
}
STAMPS = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=6,
    ),
    max_size=4,
)
TEXTS = st.text(max_size=4)
NAMES = st.lists(TEXTS, max_size=2).map(tuple)
NUMBERS = st.lists(st.integers(), max_size=2).map(tuple)
DEVIATIONS = st.none() | st.builds(Deviation, st.floats(), st.booleans(), TEXTS, NAMES, NAMES)
DIVERGENCES = st.none() | st.builds(Divergence)
PROFILES = st.builds(
    Profile,
    seeds=NUMBERS,
    endings=st.dictionaries(TEXTS, st.integers(0, 9), max_size=3),
    distinct=st.integers(),
)
PARTS = {
    "leaks": st.builds(Leak, boundaries=NUMBERS, is_confirmed=..., written=...),
    "inert": st.builds(Inert, boundaries=NUMBERS),
    "declared": st.builds(DeclaredField, TEXTS, TEXTS, TEXTS, NAMES),
    "opaque": st.builds(Opaque, is_new=...),
    "boundaries": st.builds(Boundary, divergence=DIVERGENCES, deviation=DEVIATIONS),
    "checks": st.builds(Check, blocks=...),
    "varies": TEXTS,
    "not_checked": TEXTS,
}
SHIFTS = st.builds(ReturnShift, st.tuples(st.tuples(st.floats(), st.floats())))
CERTIFICATES = st.builds(
    Certificate,
    stamp=STAMPS,
    profile=PROFILES,
    cause=...,
    first_divergence=DIVERGENCES,
    deviation=DEVIATIONS,
    return_shift=st.none() | SHIFTS,
    repro=st.none() | st.text(),
    took_s=st.floats(),
    **{name: st.lists(part, max_size=2).map(tuple) for name, part in PARTS.items()},
)
ONE = Certificate("gym:X-v0", "seeded", Class.FAIL, "a reason", Profile(1, 2, (3,), (4,), "mixed"))


def written(certificate):
    return json.dumps(to_json(certificate), allow_nan=False)


def as_text(certificate):
    """What two of them are compared by: a NaN is not equal to itself."""
    return pprint.pformat(dataclasses.asdict(certificate))


@settings(max_examples=50)
@given(CERTIFICATES)
def test_what_is_read_back_is_what_was_written(certificate):
    assert as_text(from_json(json.loads(written(certificate)))) == as_text(certificate)


@settings(max_examples=20)
@given(CERTIFICATES)
def test_every_certificate_has_exactly_the_keys_that_are_promised(certificate):
    """C-91."""
    assert to_json(certificate).keys() == PROMISED


@pytest.mark.parametrize("cls", Class)
def test_status_and_class_are_spelled_apart(cls):
    held = to_json(Certificate("r", "h", cls, "", ONE.profile))

    assert (held["status"], held["class"]) == (str(cls.status), str(cls))


def test_leak_is_spelled_with_kind_and_both_sides():
    leak = Leak("env.level", "leak", "0", "3", boundaries=(1, 2))
    (held,) = to_json(Certificate("r", "h", Class.FAIL, "", ONE.profile, leaks=(leak,)))["leaks"]

    assert (
        held.items()
        >= {
            "path": "env.level",
            "kind": "leak",
            "before": "0",
            "after": "3",
        }.items()
    )
    assert held["boundaries"] == [1, 2]


def test_what_is_not_there_is_null():
    held = to_json(ONE)

    assert [held[name] for name in ("first_divergence", "deviation", "repro", "cause")] == [
        None
    ] * 4


def test_no_number_is_spelled_that_json_does_not_have():
    shift = ReturnShift(((math.nan, math.inf), (-math.inf, 1.0)), math.nan, math.inf)
    certificate = Certificate(
        "r", "h", Class.FAIL, "", ONE.profile, return_shift=shift, stamp={"x": [math.nan]}
    )

    assert "NaN" not in written(certificate)
    assert "Infinity" not in written(certificate)


def test_unbounded_deviation_keeps_a_finite_number_beside_it():
    deviation = Deviation(largest=2.5, is_unbounded=True, not_orderable=("env.x",))
    held = to_json(Certificate("r", "h", Class.FAIL, "", ONE.profile, deviation=deviation))

    assert held["deviation"]["largest"] == 2.5
    assert held["deviation"]["is_unbounded"] is True


def test_key_of_a_later_version_is_passed_over():
    assert from_json({**to_json(ONE), "later": {"$x": 1}}) == ONE


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "certificate/2"}, "certificate/2"),
        ({"status": "PASS"}, "does not follow from its class"),
        ({"class": "CLEAN"}, "CLEAN"),
        ({"leaks": [{"path": "x"}]}, "$.leaks[0]"),
        ({"profile": None}, "$.profile"),
        ({"took_s": "long"}, "$.took_s"),
        ({"boundaries": [1]}, "TypeError"),
        ({"stamp": {"x": {"$f": []}}}, ""),
    ],
)
def test_what_is_no_certificate_is_refused_with_its_reason(change, said):
    with pytest.raises(UsageError) as caught:
        from_json({**to_json(ONE), **change})

    assert caught.value.code == "CD-871"
    assert said in caught.value.message


@pytest.mark.parametrize("value", [None, [], "certificate/1", {}, 1])
def test_json_of_another_kind_is_refused(value):
    with pytest.raises(UsageError, match="CD-871"):
        from_json(value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"schema": "other"}', "\xff"])
def test_file_that_holds_no_certificate_is_named(tmp_path, text):
    (tmp_path / "x.json").write_text(text, "latin-1")
    with pytest.raises(UsageError) as caught:
        read_certificate(tmp_path / "x.json")

    assert caught.value.code == "CD-871"
    assert "x.json" in caught.value.where


def test_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match="CD-871"):
        read_certificate(tmp_path / "none.json")


def test_certificate_is_read_from_the_file_it_was_written_to(tmp_path):
    (tmp_path / "x.json").write_text(written(ONE))

    assert read_certificate(tmp_path / "x.json") == ONE
