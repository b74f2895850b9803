"""How far two states are apart; the oracle is ``fractions.Fraction``."""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cleandesk.audit.certificate.certificate import Deviation
from cleandesk.audit.certificate.deviation import differences, price
from cleandesk.audit.certificate.exact import apart, root_upward, upward
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.state import Named

LARGEST = Fraction(*float(np.finfo("f8").max).as_integer_ratio())


def leaf(value):
    return Leaf(Kind.ARRAY if isinstance(value, np.ndarray) else Kind.VALUE, value)


def token(value, about="random.Random"):
    return Leaf(Kind.TOKEN, value, about)


def priced(one, other):
    return price({"x": leaf(one)}, {"x": leaf(other)})


def bounded(largest, **more):
    return Deviation(largest=largest, worst="x" if largest else "", **more)


NOT_ORDERABLE = Deviation(is_unbounded=True, not_orderable=("x",))
ONE_SIDED = Deviation(is_unbounded=True, one_sided=("x",))


# certificate: C-60 C-61 C-62
@pytest.mark.parametrize(
    ("one", "other", "largest"),
    [
        (np.array([0], "u1"), np.array([255], "u1"), 255.0),
        (np.array([-128], "i1"), np.array([127], "i1"), 255.0),
        (np.array([-(2**63)]), np.array([2**63 - 1]), 2.0**64),
        (np.array([0], "u8"), np.array([2**64 - 1], "u8"), 2.0**64),
        (np.array([True, False]), np.array([True, True]), 1.0),
        (0, 10**300, 1e300),
        (False, True, 1.0),
        (2**53 + 1, 2.0**53, 1.0),
        (np.array([2**53 + 1]), np.array([2.0**53]), 1.0),
        (np.array([2**64 - 1], "u8"), np.array([-(2**63)]), 2.0**64 + 2.0**63),
        (True, 0.5, 0.5),
        (np.array([True]), np.array([0.5]), 0.5),
        (0.5, np.array(0.75), 0.25),
        (np.float32(0.5), 0.75, 0.25),
        (np.array([0.1], "f4"), np.array([0.1], "f8"), 1.4901161138336505e-09),
        (np.array([1.0], "f2"), np.array([1.5], "f2"), 0.5),
        (1.0, 1.0 + 2**-52, 2.0**-52),
        (0.0, 5e-324, 5e-324),
        (3 + 4j, 0j, 5.0),
        (1j, -1j, 2.0),
        (np.array([3 + 4j], "c8"), np.array([0], "c8"), 5.0),
        (np.array([2, 2j, -2j]), np.array([2, 2j, 2j]), 4.0),
        (2 + 0j, 5, 3.0),
        (Decimal("0.5"), Decimal(2), 1.5),
        (Decimal("0.5"), 2, 1.5),
    ],
)
def test_numbers_are_priced_in_no_type_of_their_own(one, other, largest):
    """C-60, C-61, C-62, C-63."""
    assert priced(one, other) == bounded(largest)
    assert priced(other, one) == bounded(largest)


def test_a_long_double_is_priced_beyond_a_doubles_precision():
    one, other = np.array([1], "g"), np.array([1], "g")
    other[0] = np.nextafter(other[0], np.longdouble(2))

    assert 0 < priced(one, other).largest <= 2.0**-52
    assert priced(one, one.copy()) == Deviation()


def test_what_fills_up_a_long_double_is_no_difference():
    one, other = np.array([1.5], "g"), np.array([1.5], "g")
    other.view("u1")[-1] ^= 0xFF

    if other[0] == one[0]:
        assert priced(one, other) == Deviation()


# certificate: C-63
def test_a_difference_in_phase_alone_is_priced():
    """C-63."""
    one = np.array([1 + 0j])
    other = one * np.exp(1e-9j)

    assert abs(one[0]) == abs(other[0])
    assert 0 < priced(one, other).largest < 2e-9


# certificate: C-64 C-65
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (math.nan, 1.0),
        (1, math.nan),
        (math.inf, 1.0),
        (math.inf, -math.inf),
        (1e308, -1e308),
        (10**400, 0),
        (10**400, 0.5),
        (complex(math.nan, 0), 0j),
        (complex(0, math.inf), 0j),
        (complex(1e308, 1e308), complex(-1e308, 0)),
        (np.array([np.nan]), np.array([1.0])),
        (np.array([1e308]), np.array([-1e308])),
        (np.array([math.inf], "f4"), np.array([1], "f8")),
        (Decimal("NaN"), Decimal(1)),
        (Decimal("Infinity"), 1),
        # Nothing of the one can be held against a part of the other.
        (np.array([1, 2]), np.array([1, 2, 3])),
        (np.array([[1, 2]]), np.array([1, 2])),
        (np.array([1]), np.array(["1"])),
        (1, np.array([1])),
        (1, "1"),
        (None, 1),
        (1, None),
        ((1, 2), (1, 2, 3)),
        ([1, 2], (1, 2)),
        ({"a": 1}, [1]),
        (timedelta(1), 1),
    ],
)
def test_what_cannot_be_ordered_is_named_and_the_whole_is_unbounded(one, other):
    """C-64, C-65, C-69."""
    assert priced(one, other) == NOT_ORDERABLE
    assert priced(other, one) == NOT_ORDERABLE


def test_elements_that_can_be_ordered_are_priced_beside_one_that_cannot():
    """C-64."""
    one, other = np.array([1.0, math.nan, 3.0]), np.array([1.5, 0.0, 3.0])

    found = priced(one, other)

    assert (found.largest, found.worst, found.not_orderable) == (0.5, "x", ("x",))
    assert found.is_unbounded


def test_other_fields_are_priced_beside_one_that_cannot_be_ordered():
    found = price({"a": leaf(math.nan), "b": leaf(1)}, {"a": leaf(0.0), "b": leaf(3), "c": leaf(1)})

    assert found == Deviation(
        largest=2.0, is_unbounded=True, worst="b", one_sided=("c",), not_orderable=("a",)
    )


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -0.0,
        10**400,
        complex(math.nan, -0.0),
        np.array([math.nan, math.inf, -0.0]),
        np.array([complex(math.nan, math.inf)]),
        np.array([math.nan], "g"),
        np.array([], "f8"),
        np.array(["a"]),
        np.array(["NaT", "2024-01-01"], "M8[s]"),
        np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")]),
        "text",
        None,
        Decimal("NaN"),
        {"a": [math.nan]},
    ],
)
def test_what_is_equal_in_every_bit_is_equal(value):
    again = value.copy() if isinstance(value, np.ndarray) else value

    assert priced(value, again) == Deviation()


def test_two_nans_of_other_bits_are_not_equal():
    one = np.array([0x7FF8000000000000, 0x7FF8000000000001], "u8").view("f8")

    assert priced(one, one[::-1].copy()) == NOT_ORDERABLE


# certificate: C-66
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (complex(0.0, 1), complex(-0.0, 1)),
        (np.array([0.0, 1]), np.array([-0.0, 1])),
        (np.array([0.0], "f2"), np.array([-0.0], "f2")),
        (np.array([0.0], "g"), np.array([-0.0], "g")),
        (np.array([0j]), np.array([complex(0, -0.0)])),
        (1, 1.0),
        (True, 1),
        (1.0, np.float64(1)),
        (np.float32(1), np.float64(1)),
        (np.array([1]), np.array([1.0])),
        (np.array([], "f4"), np.array([], "f8")),
        (Decimal("1.0"), Decimal("1.00")),
    ],
)
def test_what_differs_in_bits_only_is_named_so(one, other):
    """C-66."""
    assert priced(one, other) == Deviation(bits_only=("x",))
    assert priced(other, one) == Deviation(bits_only=("x",))


def test_a_zero_of_another_sign_is_named_beside_a_priced_element():
    found = priced(np.array([0.0, 1.0]), np.array([-0.0, 1.5]))

    assert found == bounded(0.5, bits_only=("x",))


# certificate: C-67
@pytest.mark.parametrize(
    "value",
    [1, 0.5, True, np.array([1.5]), np.array([], "f8"), {"a": {"b": [1]}}, (None, 1)],
)
def test_a_number_on_one_side_only_is_unbounded_and_named(value):
    """C-67."""
    assert price({"x": leaf(value)}, {}) == ONE_SIDED
    assert price({"x": None}, {"x": leaf(value)}) == ONE_SIDED


@pytest.mark.parametrize(
    "only",
    [
        leaf("text"),
        leaf(None),
        leaf({"a": ["b"]}),
        leaf(np.array(["a"])),
        token(b"123"),
        token(123),
        Leaf(Kind.OPAQUE, None, "Box2D b2World"),
        Leaf(Kind.ALIAS, "env.x"),
    ],
)
def test_what_is_no_number_on_one_side_only_is_not_measurable(only):
    """C-68."""
    assert price({"x": only}, {}) == Deviation(not_measurable=("x",))
    assert price({}, {"x": only}) == Deviation(not_measurable=("x",))


# certificate: C-68
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (token(b"1"), token(b"2")),
        (token([1, 2]), token([1, 3])),
        (leaf("a"), leaf("b")),
        (leaf(b"a"), leaf(b"b")),
        (leaf(None), leaf("b")),
        (leaf("a"), token(b"a")),
        (leaf(datetime(2024, 1, 1, tzinfo=UTC)), leaf(datetime(2025, 1, 1, tzinfo=UTC))),
        (leaf(timedelta(1)), leaf(timedelta(2))),
        (leaf(np.array(["a"])), leaf(np.array(["b"]))),
        (leaf(np.array([1], "M8[s]")), leaf(np.array([2], "M8[s]"))),
        (leaf(np.array([1], "m8[s]")), leaf(np.array([1], "m8[ms]"))),
        (leaf({"a", "b"}), leaf({"a"})),
        (Leaf(Kind.ORDER, ["a", "b"]), Leaf(Kind.ORDER, ["b", "a"])),
        (Leaf(Kind.ALIAS, "env.a"), Leaf(Kind.ALIAS, "env.b")),
        (Leaf(Kind.OPAQUE, None, "socket"), Leaf(Kind.OPAQUE, None, "file")),
        (Leaf(Kind.VALUE, 1, "Colour"), Leaf(Kind.VALUE, 1, "Shape")),
    ],
)
def test_what_is_no_number_is_named_and_not_priced(one, other):
    """C-68."""
    assert price({"x": one}, {"x": other}) == Deviation(not_measurable=("x",))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (token(1), leaf(1)),
        (Leaf(Kind.OPAQUE, None, "file"), leaf(1)),
        (Leaf(Kind.ALIAS, "env.a"), leaf(np.array([1.0]))),
        (Leaf(Kind.LENGTH, 3), leaf(3)),
    ],
)
def test_a_number_against_another_kind_of_leaf_is_not_orderable(one, other):
    assert price({"x": one}, {"x": other}) == NOT_ORDERABLE
    assert price({"x": other}, {"x": one}) == NOT_ORDERABLE


def test_a_length_is_priced():
    assert price({"x": Leaf(Kind.LENGTH, 3)}, {"x": Leaf(Kind.LENGTH, 5)}) == bounded(2.0)


def test_in_a_packed_container_each_place_is_named():
    one = {"total": 1, "name": "a", "gone": 2, "list": [1, 2.0, 3], "a.b": 1, "pair": (1, None)}
    other = {"total": 4, "name": "b", "list": [1, 2.5, 3], "a.b": 2, "pair": (1, 7), "note": "n"}

    found = price({"env.stats": leaf(one)}, {"env.stats": leaf(other)})

    assert found == Deviation(
        largest=3.0,
        is_unbounded=True,
        worst="env.stats.total",
        one_sided=("env.stats.gone",),
        not_orderable=("env.stats.pair[1]",),
        not_measurable=("env.stats.name", "env.stats.note"),
    )
    assert "env.stats[a.b]" in {each.path for each in differences({"env.stats": leaf(one)}, {})} | {
        each.path for each in differences({"env.stats": leaf(one)}, {"env.stats": leaf(other)})
    }


def test_of_a_list_that_grew_the_list_is_named_once():
    found = price({"env.log": leaf([1])}, {"env.log": leaf([1.5, 2, 3])})

    assert found == Deviation(
        largest=0.5, is_unbounded=True, worst="env.log[0]", one_sided=("env.log",)
    )


def test_a_number_that_one_of_two_sets_lacks_is_one_sided():
    assert priced({1, 2}, {1, 3}) == ONE_SIDED


def test_the_fields_of_a_named_value_are_told_apart():
    one = Named("shop:Order", {"total": 1, "note": "a"})
    other = Named("shop:Order", {"total": 3, "note": "a"})

    assert priced(one, other) == Deviation(largest=2.0, worst="x.total")


def test_the_members_of_a_record_array_are_told_apart():
    kind = [("at", "f8"), ("name", "U4")]
    one, other = np.array([(1.0, "a")], kind), np.array([(1.5, "b")], kind)

    assert priced(one, other) == Deviation(largest=0.5, worst="x.at", not_measurable=("x.name",))


def test_strides_and_byte_order_are_no_state():
    one = np.arange(6.0).reshape(2, 3)

    assert priced(one, np.asfortranarray(one)) == Deviation()
    assert priced(one, one.astype(">f8")) == Deviation()
    assert priced(one.T, one.T.copy() + 1) == bounded(1.0)


def test_the_worst_field_is_the_one_with_the_largest_difference():
    fresh = {name: leaf(0.0) for name in "abc"}
    found = price(fresh, {"a": leaf(1.0), "b": leaf(-3.0), "c": leaf(2.0)})

    assert (found.largest, found.worst) == (3.0, "b")


# What follows is held against exact rationals.


def exact(value):
    value = complex(value) if isinstance(value, np.complexfloating) else value
    parts = (value.real, value.imag) if isinstance(value, complex) else (value, 0)
    return [Fraction(*part.as_integer_ratio()) for part in parts]


def is_least_bound(bound, square):
    """Whether ``bound`` is the least float whose square is not below ``square``."""
    below = Fraction(math.nextafter(bound, 0.0))
    return Fraction(bound) ** 2 >= square and (square == 0 or below**2 < square)


def squares(one, other):
    for before, after in zip(one, other, strict=True):
        real, imaginary = (a - b for a, b in zip(exact(before), exact(after), strict=True))
        yield real**2 + imaginary**2


FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(
    st.integers(), st.integers(-(10**320), 10**320), FINITE, st.booleans(), st.integers(-3, 3)
)


@given(NUMBERS, NUMBERS)
@example(1e308, -1e308)
@example(2**53 + 1, 2.0**53)
@example(1.0, -(2.0**-60))
def test_scalars_agree_with_exact_rationals(one, other):
    """C-58."""
    found = apart(one, other)
    square = next(squares([one], [other]))

    if square > LARGEST**2:
        assert not found.is_ordered
    else:
        assert found.is_ordered
        assert is_least_bound(found.largest, square)
    assert found.has_bits_only == (square == 0 and not found.is_same)


TYPES = st.sampled_from(
    ["?", "i1", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
)


@st.composite
def of_types(draw, one, other):
    shape = draw(st.integers(1, 6))
    pair = []
    for kind in (one, other):
        each = arrays.from_dtype(np.dtype(kind), allow_nan=False, allow_infinity=False)
        near = st.one_of(each, st.sampled_from([0, 1]).map(np.dtype(kind).type))
        pair.append(draw(arrays.arrays(kind, shape, elements=near)))
    return pair


@st.composite
def any_arrays(draw):
    one = draw(TYPES)
    other = draw(st.one_of(st.just(one), TYPES))
    return draw(of_types(one, other))


@given(any_arrays())
@example([np.array([1.0, 2.0]), np.array([1 + 2**-53, -(2.0**-60)])])
@example([np.array([1e16, 0.1]), np.array([0.1, 1e16])])
@example([np.array([2.0**1022, 1.0]), np.array([-(2.0**1022), 2.0])])
@example([np.array([2.0**1023]), np.array([-(2.0**970)])])
@example([np.array([1e-310 + 1e-310j, 5e-324]), np.array([0j, 0j])])
def test_arrays_agree_with_exact_rationals(pair):
    """C-58."""
    one, other = pair
    found = apart(one, other)
    each = [*squares(one.tolist(), other.tolist())]
    ordered = [square for square in each if square <= LARGEST**2]

    assert found.is_ordered == (len(ordered) == len(each))
    assert is_least_bound(found.largest, max(ordered, default=0))
    if one.dtype == other.dtype:
        changed = [a.tobytes() != b.tobytes() for a, b in zip(one, other, strict=True)]
        assert found.has_bits_only == any(
            differs and not square for differs, square in zip(changed, each, strict=True)
        )
    else:
        assert found.has_bits_only == any(square == 0 for square in each)


@given(of_types("f8", "f8"), st.lists(st.sampled_from([math.nan, math.inf, -math.inf]), min_size=1))
def test_whatever_stands_beside_them_the_others_are_priced_the_same(pair, strange):
    one, other = pair
    alone = apart(one, other)
    beside = apart(np.append(one, strange), np.append(other, [0.0] * len(strange)))

    assert not beside.is_ordered
    assert beside.largest == alone.largest


# certificate: C-58
@given(st.fractions(min_value=0))
@example(Fraction(1, 10**400))
@example(Fraction(2**53 + 1))
def test_rounding_is_up_and_to_the_next_float(value):
    bound = upward(value)

    assert Fraction(bound) >= value
    assert value == 0 or Fraction(math.nextafter(bound, 0.0)) < value


@given(st.fractions(min_value=0))
@example(Fraction(1, 10**640))
@example(Fraction(10**600))
@example(Fraction(4))
def test_a_root_is_rounded_up_and_to_the_next_float(square):
    if square:
        assert is_least_bound(root_upward(square), square)


def calls_to_price(one, other):
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        priced(one, other)
    finally:
        sys.setprofile(before)
    return count


# certificate: C-59
@pytest.mark.parametrize(
    ("before", "after"), [("i8", "i8"), ("f8", "f8"), ("c16", "c16"), ("i8", "f8"), ("g", "g")]
)
def test_the_price_of_a_large_field_is_linear_in_its_size(before, after):
    """C-59."""
    tenth, whole = (
        calls_to_price(np.zeros(size, before), np.ones(size, after)) for size in (100, 1000)
    )

    # Ten times the size; the square of it would be a hundred times.
    assert whole <= 20 * tenth


# certificate: C-59
@pytest.mark.parametrize("kind", ["i8", "f8", "c16", "g"])
def test_exact_arithmetic_is_for_what_changed(kind):
    """C-59."""
    one = np.ones(1000, kind)
    other = one.copy()
    other[7] = 3

    assert calls_to_price(one, other) <= calls_to_price(one[:8], other[:8]) + 10


@given(any_arrays(), st.integers(0, 9))
def test_what_is_equal_beside_them_moves_no_price(pair, count):
    one, other = pair
    if one.dtype == other.dtype:
        same = np.resize(one, count)
        wide = apart(np.append(one, same), np.append(other, same))

        assert wide == apart(one, other)
