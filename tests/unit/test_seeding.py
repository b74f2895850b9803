"""seeding/1: golden vectors, written from the specification by another program."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from cleandesk.seeding import derive, stream

GOLDEN = Path(__file__).parents[1] / "golden" / "seeding" / "vectors.json"
VECTORS = json.loads(GOLDEN.read_text("utf-8"))["vectors"]


@pytest.fixture(params=VECTORS, ids=lambda vector: f"{vector['seed']}-{vector['names']}")
def vector(request):
    return request.param


def at(vector):
    return stream(int(vector["seed"]), *vector["names"])


def test_a_seed_and_its_names_stand_for_the_golden_number(vector):
    assert derive(int(vector["seed"]), *vector["names"]) == int(vector["derive"])


def test_a_stream_gives_the_golden_bits(vector):
    source = at(vector)

    assert [str(source.bits()) for _ in range(6)] == vector["bits"]


def test_a_stream_gives_the_golden_floats(vector):
    source, wide = at(vector), at(vector)

    assert [source.random() for _ in range(3)] == vector["random"]
    assert [wide.uniform(-1, 3) for _ in range(2)] == vector["uniform_-1_3"]


def test_a_stream_gives_the_golden_integers(vector):
    source, wide = at(vector), at(vector)

    assert [source.integer(0, 9) for _ in range(8)] == vector["integer_0_9"]
    assert [str(wide.integer(-(2**70), 2**70)) for _ in range(2)] == vector["integer_big"]


def test_a_stream_gives_the_golden_choices(vector):
    source, items = at(vector), list(range(6))
    at(vector).shuffle(items)

    assert [source.choice("abc") for _ in range(5)] == vector["choice_abc"]
    assert at(vector).sample(range(10), 5) == vector["sample_5_of_10"]
    assert items == vector["shuffle_6"]


def test_the_number_one_and_the_text_one_are_different_names():
    assert derive(7, "a", 1) != derive(7, "a", "1")


def test_the_border_between_names_counts():
    assert derive(7, "ab", "c") != derive(7, "a", "bc")
    assert derive(7, "a", "") != derive(7, "a")


def test_an_integer_lies_within_its_bounds_and_reaches_both():
    source = stream(3, "dice")
    thrown = Counter(source.integer(1, 6) for _ in range(6000))

    assert set(thrown) == {1, 2, 3, 4, 5, 6}
    # Five standard deviations of a fair die: 29 each.
    assert all(abs(count - 1000) < 145 for count in thrown.values())


def test_floats_lie_in_their_interval_and_fill_it():
    source = stream(3, "floats")
    drawn = [source.uniform(-2, 2) for _ in range(4000)]

    assert -2 <= min(drawn) < -1.9
    assert 1.9 < max(drawn) < 2
    assert abs(sum(drawn) / 4000) < 0.1


def test_normal_draws_have_their_mean_and_deviation():
    source = stream(3, "normal")
    drawn = [source.normal(10, 2) for _ in range(4000)]
    mean = sum(drawn) / len(drawn)

    assert abs(mean - 10) < 0.16
    assert abs(math.sqrt(sum((x - mean) ** 2 for x in drawn) / len(drawn)) - 2) < 0.12


def test_a_sample_has_different_places_and_leaves_its_source_alone():
    items = ["a", "a", "b"]
    drawn = stream(3, "s").sample(items, 3)

    assert sorted(drawn) == items == ["a", "a", "b"]


@pytest.mark.parametrize(
    "draw",
    [
        lambda source: source.integer(2, 1),
        lambda source: source.choice([]),
        lambda source: source.sample([1], 2),
    ],
)
def test_a_draw_from_nothing_is_an_error(draw):
    with pytest.raises(ValueError, match=r"."):
        draw(stream(1))
