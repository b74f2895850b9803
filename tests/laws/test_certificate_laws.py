"""Laws of the judge, for any evidence."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import struct

from hypothesis import example, given
from hypothesis import strategies as st

from cleandesk.audit.certificate.certificate import Class, Deviation
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.deviation import price
from cleandesk.audit.certificate.judge import Evidence, judge_boundary, judge_sequence
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.rig import Declared
from cleandesk.verdict import Status

PATHS = st.sampled_from(["env.a", "env.b", "env.c.d", "TimeLimit.n"])
PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.binary(max_size=3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=6,
)
LEAVES = st.one_of(
    st.builds(Leaf, st.just(Kind.VALUE), PLAIN),
    st.builds(Leaf, st.just(Kind.TOKEN), st.binary(max_size=3), st.just("rng")),
    st.builds(Leaf, st.just(Kind.LENGTH), st.integers(0, 9)),
)
STATES = st.dictionaries(PATHS, st.none() | LEAVES)


def is_apart(sides):
    one, other = sides
    if one is None or other is None:
        return one is not other
    return one.to_bytes() != other.to_bytes()


# Few and small: these laws are about fields and rows, whatever stands in them.
POOL = [
    None,
    *(Leaf(Kind.VALUE, each) for each in [0, 1, 2, 0.0, -0.0, 1e-7, math.nan, "a", None, [1], [2]]),
    Leaf(Kind.TOKEN, b"1", "rng"),
    Leaf(Kind.TOKEN, b"2", "rng"),
    Leaf(Kind.LENGTH, 1),
]
PAIRS = [(one, other) for one in POOL for other in POOL if is_apart((one, other))]
APART = st.dictionaries(PATHS, st.sampled_from(PAIRS), max_size=3)
JITTER = st.sampled_from(
    [None, Deviation(largest=1e-9), Deviation(largest=1.0), Deviation(is_unbounded=True)]
)
ROWS = st.lists(st.sampled_from("ab"), min_size=1, max_size=4)


def digests(texts):
    return b"".join(hashlib.sha256(text.encode()).digest() for text in texts)


@st.composite
def evidences(draw, number=1):
    has_trace = draw(st.booleans())
    fresh = draw(ROWS)
    judged = draw(st.one_of(st.just(fresh), ROWS))
    return Evidence(
        number,
        number,
        100 + number,
        20,
        9,
        draw(APART),
        digests(fresh) if has_trace else None,
        digests(judged) if has_trace else None,
        draw(APART),
        jitter=draw(JITTER),
    )


DECLARING = st.lists(PATHS, max_size=2).map(
    lambda paths: Declaring(given=[Declared(path, "any", "") for path in paths])
)


@st.composite
def sequences(draw):
    return [draw(evidences(number)) for number in range(1, draw(st.integers(1, 4)) + 1)]


@given(evidences(), DECLARING)
def test_no_boundary_passes_whose_rows_are_not_shown_to_be_those_of_a_fresh_build(seen, declaring):
    """Law 15: no class says more than was read."""
    boundary = judge_boundary(seen, declaring)

    if boundary.cls is Class.BIT_IDENTICAL:
        assert seen.rows_judged is not None
        assert seen.rows_judged == seen.rows_fresh
        assert len(seen.rows_judged) > 32
    if boundary.cls is Class.STATE_CLEAN:
        assert seen.jitter is not None
        assert boundary.differing == ()
        assert not boundary.deviation.is_unbounded
        assert boundary.deviation.bits_only == ()
        assert boundary.deviation.largest <= 1e-6
    if boundary.cls is Class.STATE_ONLY:
        assert boundary.differing == ()


@given(evidences(), DECLARING)
def test_every_difference_is_named_or_declared(seen, declaring):
    """Law 15: nothing is dropped in silence."""
    boundary = judge_boundary(seen, declaring)
    declared = {path for path in seen.apart if declaring.term_of(path) is not None}

    assert set(boundary.differing) | declared == set(seen.apart)


@given(evidences(), DECLARING)
def test_rows_that_differ_are_a_divergence_and_no_others(seen, declaring):
    """Law 7: equal rows are equal traces."""
    boundary = judge_boundary(seen, declaring)

    assert (boundary.divergence is not None) == (seen.rows_judged != seen.rows_fresh)


@given(sequences(), DECLARING)
def test_a_sequence_is_no_better_than_any_of_its_boundaries(evidences, declaring):
    """Law 15: a claim is never wider than what was read."""
    found = judge_sequence(evidences, declaring)
    statuses = {boundary.cls.status for boundary in found.boundaries}

    assert (found.cls.status is Status.FAIL) == (Status.FAIL in statuses)
    assert (found.cls.status is Status.PASS) == (statuses == {Status.PASS})


@given(sequences(), DECLARING)
def test_each_field_that_differs_is_a_leak_or_inert_and_never_both(evidences, declaring):
    """Law 13: what differs is a finding, with both values."""
    found = judge_sequence(evidences, declaring)
    leaks = {leak.path for leak in found.leaks}
    inert = {each.path for each in found.inert}

    assert not leaks & inert
    assert leaks | inert == {path for each in found.boundaries for path in each.differing}
    if leaks:
        assert found.cls is Class.FAIL


@given(sequences(), DECLARING)
def test_without_its_fields_a_sequence_is_judged_no_worse(evidences, declaring):
    """Law 1: an empty difference is never worse than one that is not."""
    bare = [dataclasses.replace(each, apart={}) for each in evidences]
    order = [Class.BIT_IDENTICAL, Class.STATE_CLEAN, Class.STATE_ONLY, Class.FAIL]

    with_fields = order.index(judge_sequence(evidences, declaring).cls)
    assert order.index(judge_sequence(bare, declaring).cls) <= with_fields


NAN = struct.unpack("<d", bytes(6) + b"\xf9\xff")[0]


@given(STATES, STATES)
@example({"x": Leaf(Kind.VALUE, math.nan)}, {"x": Leaf(Kind.VALUE, NAN)})
@example({"x": Leaf(Kind.VALUE, [math.nan])}, {"x": Leaf(Kind.VALUE, [NAN])})
def test_a_deviation_is_nothing_exactly_where_two_states_are_equal(fresh, judged):
    """Law 1: what differs in its canonical bytes is priced or named, and nothing else is."""
    found = price(fresh, judged)
    paths = fresh.keys() | judged.keys()
    is_equal = not any(is_apart((fresh.get(path), judged.get(path))) for path in paths)

    assert (found == Deviation()) == is_equal


@given(STATES, STATES)
def test_a_deviation_is_the_same_from_either_side(fresh, judged):
    """Law 1."""
    assert price(fresh, judged) == price(judged, fresh)


@given(STATES, STATES)
def test_no_deviation_is_a_number_that_hides_another(fresh, judged):
    """C-70; Law 12: what can't be priced is beside the number, and the whole is then unbounded."""
    found = price(fresh, judged)

    assert math.isfinite(found.largest)
    assert found.is_unbounded == bool(found.one_sided or found.not_orderable)
    assert (found.largest > 0) == bool(found.worst)
