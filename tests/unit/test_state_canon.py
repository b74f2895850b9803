"""canon/1: golden vectors, what it refuses, and how it names the place."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from cleandesk.errors import StateError
from cleandesk.state import Named, decode, encode
from cleandesk.state.reference import encode_reference, float_text

GOLDEN = Path(__file__).parents[1] / "golden" / "canon" / "vectors.json"
VECTORS = json.loads(GOLDEN.read_text("utf-8"))["vectors"]
NAMES = {
    kind.__name__: kind
    for kind in (Named, date, datetime, time, timedelta, timezone, Decimal, UUID)
} | {"UTC": UTC, "np": np}


@pytest.fixture(params=VECTORS, ids=lambda vector: vector["value"][:50])
def vector(request):
    return request.param


def value_of(vector):
    # The expressions are ours: they stand in a file of this repository.
    return eval(vector["value"], NAMES)


def test_a_value_is_spelled_as_its_golden_vector_says(vector):
    canon = encode(value_of(vector))

    assert canon.decode() == vector["canon"]
    assert hashlib.sha256(canon).hexdigest() == vector["sha256"]


def test_the_reference_encoder_agrees_with_the_golden_vector(vector):
    assert encode_reference(value_of(vector)).decode() == vector["canon"]


def test_a_golden_vector_reads_back_to_the_same_bytes(vector):
    assert encode(decode(vector["canon"].encode())).decode() == vector["canon"]


def test_golden_vectors_are_all_different_and_many():
    assert len({vector["value"] for vector in VECTORS}) == len(VECTORS) >= 60
    # One pair is meant to agree: byte order is no state.
    assert len({vector["canon"] for vector in VECTORS}) == len(VECTORS) - 1


def test_a_tag_of_every_kind_has_a_golden_vector():
    texts = ["$u", "$b", "$ba", "$uuid", "$dt", "$d", "$tm", "$td"]
    tags = [*texts, "$i", "$f", "$dec", "$c", "$t", "$set", "$fset", "$map", "$nd", "$obj"]

    missing = [tag for tag in tags if not any(f'{{"{tag}":' in row["canon"] for row in VECTORS)]

    assert missing == []


@pytest.mark.parametrize(
    ("number", "text"),
    [(9.5e-6, "9.5e-6"), (1e-5, "0.00001"), (123456.75, "123456.75"), (-1e300, "-1e+300")],
)
def test_a_float_always_shows_a_point_or_an_e(number, text):
    assert float_text(number) == text


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Opaque(), "the value itself"),
        ([1, {"a": (Opaque(),)}], "[1].a[0]"),
        ({"a b": [Opaque()]}, "[a b][0]"),
        (Named("m:C", {"f": Opaque()}), "f"),
        ({1: Opaque()}, "[1]"),
        (np.array([Opaque()], dtype=object), "items[0]"),
    ],
)
def test_a_type_that_canon_does_not_know_is_an_error_that_names_the_path(value, place):
    with pytest.raises(StateError) as caught:
        encode(value)

    assert caught.value.code == "CD-101"
    assert "test_state_canon.Opaque" in caught.value.message
    assert place in caught.value.where
    assert caught.value.do


def test_a_class_without_a_module_is_named_all_the_same():
    # Classes of compiled code may have none; made here by a caller without a name.
    bare = eval('type("Bare", (), {})', {})

    with pytest.raises(StateError, match=r"CD-101 .* unknown\.Bare"):
        encode(bare())


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        Text("a"),
        {Text("a"): 1},
        [Text("a")],
        memoryview(b"a"),
        range(3),
        np.ma.array([1, 2], mask=[0, 1]),
        np.dtype("f8"),
        type(None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subclass_or_a_look_alike_is_refused_rather_than_guessed(value):
    with pytest.raises(StateError, match="CD-101"):
        encode(value)


def nested(depth, wrap):
    value = 0
    for _ in range(depth):
        value = wrap(value)
    return value


WRAPS = {
    "list": lambda inner: [inner],
    "dict": lambda inner: {"k": inner},
    "tuple": lambda inner: (inner,),
    "map": lambda inner: {1: inner},
    "object": lambda inner: Named("m:C", {"f": inner}),
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_values_nest_to_two_hundred_levels_and_no_further(wrap):
    deep = nested(200, wrap)

    assert encode(decode(encode(deep))) == encode_reference(deep)
    for too_deep in (nested(201, wrap), nested(230, wrap), nested(3000, wrap)):
        with pytest.raises(StateError, match="CD-102"):
            encode(too_deep)
        with pytest.raises(StateError, match="CD-102"):
            encode_reference(too_deep)


def test_a_value_that_contains_itself_is_an_error_that_names_the_path():
    held = {"a": []}
    held["a"].append(held)

    with pytest.raises(StateError) as caught:
        encode(held)

    assert caught.value.code == "CD-102"
    assert "a[0].a[0]" in caught.value.where


def test_a_tag_that_canon_does_not_have_is_an_error():
    with pytest.raises(StateError) as caught:
        decode(b'[{"$later":1}]')

    assert caught.value.code == "CD-103"
    assert "$later" in caught.value.message


def test_text_that_looks_like_a_tag_stays_text():
    assert decode(encode(["$b", {"a": "$t"}])) == ["$b", {"a": "$t"}]


def test_an_array_up_to_the_inline_size_comes_back_as_an_array():
    array = np.arange(12, dtype=np.int16).reshape(3, 4)

    again = decode(encode(array))

    assert again.dtype == array.dtype
    assert (again == array).all()
    assert again.flags.writeable


def test_a_larger_array_is_spelled_by_digest_and_keeps_its_spelling():
    array = np.arange(1025, dtype=np.uint8)

    again = decode(encode(array))

    assert again == Named(
        "numpy.ndarray",
        {"dtype": "|u1", "sha256": hashlib.sha256(array.tobytes()).hexdigest(), "shape": [1025]},
    )
    assert encode(again) == encode(array)
    assert (decode(encode(array, inline_bytes=2000)) == array).all()


def test_a_numpy_scalar_comes_back_as_a_scalar_that_can_be_a_key():
    again = decode(encode({np.int64(3): np.float32(1.5)}))

    assert again == {np.int64(3): np.float32(1.5)}
    assert [type(key) for key in again] == [np.int64]


def test_the_layout_of_an_array_in_memory_is_no_state():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)

    assert encode(np.asfortranarray(array)) == encode(array)
    assert encode(np.repeat(array, 2, axis=1)[:, ::2]) == encode(array)
    assert encode(array.astype(">i4")) == encode(array)
