"""How far apart two numbers, or two arrays of numbers, are: in exact arithmetic.

No difference is computed in the numbers' own type, where it could wrap, overflow or
vanish. A result is rounded once, away from zero, so that what differs is never 0.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_NUMERIC = frozenset("biufc")
_IN_DOUBLE = frozenset("?bBhHiIefd")
"""Types whose every value a double holds exactly, by numpy's letter."""

_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "u8"}
_LARGEST = int(sys.float_info.max)
_WHOLE = 2**53
_HUGE = 2.0**1020
_TINY = 1e-290
_NEARLY = 1 - 1e-12
"""Share of the largest modulus below which rounding can't make an element the worst."""


@dataclass(frozen=True, slots=True)
class Apart:
    """How far two sides of one field are apart.

    Attributes:
        largest: The largest difference of two elements that can be ordered.
        is_ordered: Whether all could be: no NaN, no infinity, nothing too large for a float.
        has_bits_only: Whether some element differs in bits or type, and not in value.
    """

    largest: float = 0.0
    is_ordered: bool = True
    has_bits_only: bool = False

    @property
    def is_same(self) -> bool:
        """Whether nothing differs, not even a bit."""
        return self == SAME

    def merged(self, other: Apart) -> Apart:
        """Return what is to be said of both together."""
        return Apart(
            max(self.largest, other.largest),
            self.is_ordered and other.is_ordered,
            self.has_bits_only or other.has_bits_only,
        )


SAME = Apart()
_UNORDERED = Apart(is_ordered=False)
_BITS_ONLY = Apart(has_bits_only=True)


def is_number(value: object) -> bool:
    """Tell whether ``value`` is a number or an array of numbers; a bool is one."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in _NUMERIC
    return type(value) in {bool, int, float, complex, Decimal}


def apart(one: Any, other: Any) -> Apart | None:
    """Return how far two numbers or arrays are apart, or None where their shapes differ.

    Args:
        one: A number or an array, as ``is_number`` says.
        other: The same; its type need not be that of ``one``.
    """
    of_numpy = [isinstance(side, np.ndarray | np.generic) for side in (one, other)]
    if not any(of_numpy):
        return SAME if _is_same_number(one, other) else _each([one], [other])
    if (one.shape if of_numpy[0] else ()) != (other.shape if of_numpy[1] else ()):
        return None
    if all(of_numpy):
        # What numpy would warn of (a NaN that is cast) is no news here.
        with np.errstate(all="ignore"):
            return _arrays(_flat(one), _flat(other))
    return _each([_plain(one)], [_plain(other)])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray | np.generic) else value


def _is_same_number(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if type(one) is float:
        return _is_same_float(one, other)
    if type(one) is complex:
        return _is_same_float(one.real, other.real) and _is_same_float(one.imag, other.imag)
    return one.as_tuple() == other.as_tuple() if type(one) is Decimal else bool(one == other)


def _is_same_float(one: float, other: float) -> bool:
    # As in canon/1: a NaN of Python is the same state as any other.
    is_nan = one != one and other != other
    return is_nan or struct.pack("<d", one) == struct.pack("<d", other)


def _parts(value: Any) -> tuple[Fraction, Fraction] | None:
    """Return the real and the imaginary part as exact rationals; None where one has none."""
    if isinstance(value, complex | np.complexfloating):
        real, imaginary = _rational(value.real), _rational(value.imag)
        return None if real is None or imaginary is None else (real, imaginary)
    real = _rational(value)
    return None if real is None else (real, Fraction(0))


def _rational(value: Any) -> Fraction | None:
    try:
        return Fraction(*value.as_integer_ratio())
    except (ValueError, OverflowError):
        # NaN and the infinities, of whichever type.
        return None


def upward(exact: Fraction | int) -> float:
    """Return the least float that is not below ``exact``, which is not negative; or inf."""
    try:
        nearest = exact.numerator / exact.denominator
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def root_upward(square: Fraction) -> float:
    """Return the least float whose square is not below ``square``; or inf."""
    # 160 bits below the leading one: far more than a float has.
    shift = max(0, 320 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    scaled = (square.numerator << shift) // square.denominator
    # One more than the root of what was cut off: never below the true one.
    bound = upward(Fraction(math.isqrt(scaled) + 1, 1 << shift // 2))
    below = math.nextafter(bound, 0.0)
    while math.isfinite(below) and Fraction(below) ** 2 >= square:
        bound, below = below, math.nextafter(below, 0.0)
    return bound


def _flat(value: Any) -> Array:
    array = np.asarray(value)
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)).ravel()


def _arrays(one: Array, other: Array) -> Apart:
    found = SAME
    if one.dtype == other.dtype:
        changed = _changed(one, other)
        if not changed.any():
            return SAME
        one, other = one[changed], other[changed]
        if one.dtype.kind in "biu":
            return _integers(one, other)
    elif not one.size:
        # No element to tell it, but the type did change.
        found = _BITS_ONLY
    if {one.dtype.char, other.dtype.char} <= _IN_DOUBLE | {"F", "D"} and (
        "c" in {one.dtype.kind, other.dtype.kind}
    ):
        return found.merged(_complexes(one.astype("c16"), other.astype("c16")))
    fit = _fit_in_double(one) & _fit_in_double(other)
    if fit.any():
        found = found.merged(_doubles(one[fit].astype("f8"), other[fit].astype("f8")))
    return found.merged(_each(one[~fit].tolist(), other[~fit].tolist()))


def _fit_in_double(array: Array) -> NDArray[np.bool_]:
    """Tell which elements a double holds exactly."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        return np.asarray((array <= _WHOLE) & (array >= -_WHOLE), dtype=bool)
    return np.full(array.shape, array.dtype.char in _IN_DOUBLE)


def _changed(one: Array, other: Array) -> NDArray[np.bool_]:
    """Tell which elements of two arrays of one type differ in their bits."""
    if one.dtype.char in "gG":
        # Bytes of a long double that carry no value may hold anything.
        equal = (one == other) & (np.signbit(one.real) == np.signbit(other.real))
        equal &= np.signbit(one.imag) == np.signbit(other.imag)
        nans = np.isnan(one) & np.isnan(other)
        return np.asarray(~(equal | nans), dtype=bool)
    word = _WORDS[one.dtype.itemsize]
    differ: Array = one.view(word) != other.view(word)
    words = max(1, one.dtype.itemsize // 8)
    return np.asarray(differ.reshape(one.size, words).any(axis=1), dtype=bool)


def _integers(one: Array, other: Array) -> Apart:
    # In the unsigned type of the same width the difference of any two fits, and wraps to it.
    word = _WORDS[one.dtype.itemsize]
    before, after = one.view(word), other.view(word)
    return Apart(upward(int(np.where(one > other, before - after, after - before).max())))


def _doubles(one: Array, other: Array) -> Apart:
    finite = np.isfinite(one) & np.isfinite(other)
    found = SAME if finite.all() else _UNORDERED
    one, other = one[finite], other[finite]
    equal = one == other
    if equal.any():
        found = found.merged(_BITS_ONLY)
        one, other = one[~equal], other[~equal]
    huge = (np.abs(one) >= _HUGE) | (np.abs(other) >= _HUGE)
    if huge.any():
        found = found.merged(_each(one[huge].tolist(), other[huge].tolist()))
        one, other = one[~huge], other[~huge]
    if not one.size:
        return found
    # What rounding cut off the difference is a double itself (Knuth's sum of two). Where it
    # points away from zero, the true difference lies above the rounded one.
    minus = -other
    rounded = one + minus
    part = rounded - minus
    cut = (one - part) + (minus - (rounded - part))
    size = np.abs(rounded)
    away = np.where(np.sign(rounded) * cut > 0, np.nextafter(size, np.inf), size)
    return found.merged(Apart(float(away.max())))


def _complexes(one: Array, other: Array) -> Apart:
    finite = np.isfinite(one) & np.isfinite(other)
    found = SAME if finite.all() else _UNORDERED
    one, other = one[finite], other[finite]
    size = np.hypot(one.real - other.real, one.imag - other.imag)
    equal = size == 0
    if equal.any():
        found = found.merged(_BITS_ONLY)
    # Each too large to be judged by a rounded modulus, and of the others the largest alone.
    certain = ~equal & (size < _HUGE)
    most = size[certain].max() if certain.any() else 0.0
    least = most * _NEARLY if most > _TINY else 0.0
    worst = ~equal & ((size >= least) | (size >= _HUGE))
    return found.merged(_each(one[worst].tolist(), other[worst].tolist()))


def _each(one: Iterable[Any], other: Iterable[Any]) -> Apart:
    """Return how far apart the pairs are, each by itself in exact rationals."""
    largest: Fraction | int = 0
    square: Fraction | int = 0
    is_ordered, has_bits_only = True, False
    for before, after in zip(one, other, strict=True):
        found = _between(before, after)
        if found is None:
            is_ordered = False
        elif not found[0]:
            has_bits_only = True
        elif found[1]:
            square = max(square, found[0])
        else:
            largest = max(largest, found[0])
    # Both roundings are monotone: rounding the worst one alone is enough.
    bound = max(upward(largest), root_upward(Fraction(square)) if square else 0.0)
    return Apart(bound, is_ordered, has_bits_only)


def _between(one: Any, other: Any) -> tuple[Fraction | int, bool] | None:
    """Return the exact difference and whether it is squared; None where no float can hold it."""
    if isinstance(one, int) and isinstance(other, int):
        whole = abs(one - other)
        return (whole, False) if whole <= _LARGEST else None
    before, after = _parts(one), _parts(other)
    if before is None or after is None:
        return None
    real, imaginary = abs(before[0] - after[0]), abs(before[1] - after[1])
    if not imaginary:
        return (real, False) if real <= _LARGEST else None
    square = real * real + imaginary * imaginary
    return (square, True) if square <= _LARGEST * _LARGEST else None
