"""What two sides of a reset say, judged: classes, leaks, inert fields, and every rule needed."""

from __future__ import annotations

import functools
import hashlib
import importlib
import math
import sys
import types
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from cleandesk.audit.certificate.certificate import Class, Deviation, Divergence, Opaque
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.fields import do_nodes_grow
from cleandesk.audit.certificate.judge import (
    Evidence,
    farthest,
    judge_boundary,
    judge_sequence,
    unnamed_line,
    worst,
)
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.rig import Declared
from cleandesk.audit.certificate.texts import text_of_leaf

NOTHING = Declaring()
STEPS = 750


def value(item):
    return Leaf(Kind.ARRAY if isinstance(item, np.ndarray) else Kind.VALUE, item)


def token(item):
    return Leaf(Kind.TOKEN, item, "random.Random")


@functools.cache
def rows(*said, steps=STEPS):
    """Digests of rows of which the last ones say ``said``."""
    texts = [str(place) for place in range(steps + 1 - len(said))] + [str(each) for each in said]
    return b"".join(hashlib.sha256(text.encode()).digest() for text in texts)


def seen(
    apart=None, *, number=1, equal=True, traced=True, final=None, jitter=None, steps=STEPS, **more
):
    """What was seen of one boundary; by default everything is equal."""
    return Evidence(
        number=number,
        seed=number,
        episode_seed=100 + number,
        episode_steps=200,
        fields=10,
        apart={path: tuple(sides) for path, sides in (apart or {}).items()},
        rows_fresh=rows(steps=steps) if traced else None,
        rows_judged=rows(*([] if equal else ["other"]), steps=steps) if traced else None,
        final={path: tuple(sides) for path, sides in (final or {}).items()},
        jitter=jitter,
        **more,
    )


def cls_of(evidence, declaring=NOTHING):
    return judge_boundary(evidence, declaring).cls


X = {"env.x": (value(0), value(1))}
SMALL = Deviation(largest=1e-9, worst="env.q")


def final(one, other):
    return {"env.q": (value(one), value(other))}


# --- One boundary. ---


def test_where_nothing_differs_the_class_is_bit_identical():
    """C-36."""
    boundary = judge_boundary(seen(nodes=7), NOTHING)

    assert boundary.cls is Class.BIT_IDENTICAL
    assert boundary.differing == ()
    assert boundary.divergence is None
    assert boundary.deviation == Deviation()
    assert boundary.rows == hashlib.sha256(rows()).hexdigest()
    assert (boundary.fields, boundary.nodes, boundary.episode_steps) == (10, 7, 200)


def test_a_field_that_differs_while_every_row_is_equal_is_no_bar():
    """C-47."""
    boundary = judge_boundary(seen(X, final={"env.x": X["env.x"]}), NOTHING)

    assert boundary.cls is Class.BIT_IDENTICAL
    assert boundary.differing == ("env.x",)


def test_a_field_that_differs_while_rows_differ_is_a_fail():
    """C-40, C-50."""
    boundary = judge_boundary(seen(X, equal=False), NOTHING)

    assert boundary.cls is Class.FAIL
    assert boundary.differing == ("env.x",)


def test_without_a_trace_a_field_that_differs_is_a_fail():
    """C-50."""
    boundary = judge_boundary(seen(X, traced=False), NOTHING)

    assert (boundary.cls, boundary.rows, boundary.deviation) == (Class.FAIL, "", None)


def test_without_a_trace_nothing_better_than_state_only_is_said():
    """C-34, C-38."""
    assert cls_of(seen(traced=False)) is Class.STATE_ONLY


def test_the_row_of_the_reset_alone_shows_nothing_of_later_steps():
    assert cls_of(seen(steps=0)) is Class.STATE_ONLY
    assert cls_of(seen(X, steps=0)) is Class.FAIL
    assert cls_of(seen(steps=0, equal=False)) is Class.FAIL


def test_rows_that_differ_in_a_rig_without_jitter_are_a_fail_however_close_it_ends():
    assert cls_of(seen(equal=False)) is Class.FAIL
    assert cls_of(seen(equal=False, final=final(0.0, 1e-9))) is Class.FAIL


def test_rows_of_a_rig_that_jitters_may_differ_while_it_ends_within_the_tolerance():
    """C-37."""
    boundary = judge_boundary(seen(equal=False, jitter=SMALL, final=final(0.0, 1e-6)), NOTHING)

    assert boundary.cls is Class.STATE_CLEAN
    assert boundary.deviation.largest == 1e-6
    assert boundary.divergence is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, math.nextafter(1e-6, 1)),
        (0.0, math.nan),
        (0.0, math.inf),
        (0.0, -0.0),
        (0, 1),
        (np.array([0.0]), np.array([0.0, 0.0])),
        (1e308, -1e308),
    ],
)
def test_a_rig_that_jitters_and_ends_farther_away_or_in_no_order_is_a_fail(one, other):
    """C-37, C-66."""
    assert cls_of(seen(equal=False, jitter=SMALL, final=final(one, other))) is Class.FAIL


def test_a_number_on_one_side_of_the_final_states_bars_state_clean():
    one_sided = {"env.q": (None, value(0.0))}

    assert cls_of(seen(equal=False, jitter=SMALL, final=one_sided)) is Class.FAIL


def test_a_token_that_differs_in_the_final_states_is_named_and_bars_nothing():
    """C-68."""
    tokens = {"env.rng": (token(b"a"), token(b"b"))}
    boundary = judge_boundary(seen(equal=False, jitter=SMALL, final=tokens), NOTHING)

    assert boundary.cls is Class.STATE_CLEAN
    assert boundary.deviation.not_measurable == ("env.rng",)


def test_a_field_that_differs_in_a_rig_that_jitters_is_a_fail():
    assert cls_of(seen(X, equal=False, jitter=SMALL)) is Class.FAIL


@pytest.mark.parametrize("jitter", [Deviation(largest=1e-5), Deviation(is_unbounded=True)])
def test_a_rig_whose_own_jitter_is_beyond_the_tolerance_is_never_clean(jitter):
    assert cls_of(seen(equal=False, jitter=jitter)) is Class.FAIL


def test_rows_are_compared_also_where_one_trace_is_shorter():
    evidence = seen()
    shorter = Evidence(
        1, 1, 101, 200, 10, {}, rows_fresh=evidence.rows_fresh, rows_judged=rows()[:-32]
    )

    boundary = judge_boundary(shorter, NOTHING)

    assert boundary.cls is Class.FAIL
    assert boundary.divergence.step == STEPS


def test_the_divergence_that_was_read_is_kept():
    """C-33, C-43."""
    info = Divergence(1, STEPS, "info", "0", "1")

    assert judge_boundary(seen(equal=False, divergence=info), NOTHING).divergence == info
    assert judge_boundary(seen(divergence=info), NOTHING).divergence is None


def test_a_divergence_that_nobody_read_has_at_least_its_row():
    assert judge_boundary(seen(equal=False), NOTHING).divergence.step == STEPS


# --- Declared fields. ---

ANY = Declaring(given=[Declared("env.x", "any", "")])
UNIT = Declaring(given=[Declared("env.x", "uniform 0 1", "")])


def test_a_declared_field_is_out_of_the_comparison():
    """C-46."""
    assert cls_of(seen(X), ANY) is Class.BIT_IDENTICAL
    assert cls_of(seen(X, traced=False), ANY) is Class.STATE_ONLY
    assert judge_boundary(seen(X), ANY).differing == ()


def test_a_declared_field_is_out_of_the_deviation_too():
    apart = {"env.x": (value(0), value(7)), "env.q": (value(0.0), value(1e-9))}
    boundary = judge_boundary(seen(equal=False, jitter=SMALL, final=apart), ANY)

    assert boundary.cls is Class.STATE_CLEAN
    assert (boundary.deviation.largest, boundary.deviation.worst) == (1e-9, "env.q")


def test_rows_that_differ_beside_a_declared_field_are_still_a_fail():
    assert cls_of(seen(X, equal=False), ANY) is Class.FAIL


def test_a_declared_field_outside_its_sampler_is_a_leak_whatever_the_rows_say():
    """C-46."""
    outside = {"env.x": (value(0.5), value(3.0)), "env.y": (value(1), value(2))}

    found = judge_sequence([seen(outside)], UNIT)

    assert found.cls is Class.FAIL
    assert [(leak.path, leak.note) for leak in found.leaks] == [
        ("env.x", "3.0 lies outside 'uniform 0 1'")
    ]
    assert [inert.path for inert in found.inert] == ["env.y"]


# --- Sequences. ---


def test_the_class_of_a_sequence_is_the_worst_of_its_boundaries():
    """C-42, C-71."""
    found = judge_sequence([seen(), seen(X, number=2, equal=False), seen(number=3)], NOTHING)

    assert found.cls is Class.FAIL
    assert [each.cls for each in found.boundaries] == [
        Class.BIT_IDENTICAL,
        Class.FAIL,
        Class.BIT_IDENTICAL,
    ]
    assert worst(found.boundaries).number == 2


def test_of_equally_bad_boundaries_the_earliest_is_the_worst():
    evidences = [seen(), seen(X, number=2, equal=False), seen(X, number=3, equal=False)]

    assert worst(judge_sequence(evidences, NOTHING).boundaries).number == 2


def test_one_boundary_without_steps_makes_the_sequence_state_only():
    assert judge_sequence([seen(), seen(number=2, traced=False)], NOTHING).cls is Class.STATE_ONLY


def test_one_boundary_that_is_clean_but_for_jitter_makes_the_sequence_state_clean():
    second = seen(number=2, equal=False, jitter=SMALL)

    assert judge_sequence([seen(), second], NOTHING).cls is Class.STATE_CLEAN


def test_inert_holds_for_one_boundary_and_a_field_that_leaks_later_is_fused():
    """C-48."""
    evidences = [
        seen(X),
        seen({"env.x": (value(0), value(2))}, number=2),
        seen({"env.x": (value(0), value(3))}, number=3, equal=False),
    ]

    found = judge_sequence(evidences, NOTHING)

    assert found.cls is Class.FAIL
    assert found.inert == ()
    (leak,) = found.leaks
    assert (leak.path, leak.kind, leak.boundaries) == ("env.x", "leak", (3,))
    assert (leak.before, leak.after) == ("0", "3")
    assert leak.note == "fused at 3; accumulates"
    assert not leak.is_confirmed


def test_a_field_that_is_inert_after_it_leaked_is_not_fused():
    found = judge_sequence([seen(X, equal=False), seen(X, number=2)], NOTHING)

    assert [(leak.boundaries, leak.note) for leak in found.leaks] == [((1,), "")]
    assert found.inert == ()


def test_an_inert_field_is_named_with_both_values_and_the_rows_as_evidence():
    """C-47."""
    found = judge_sequence([seen(), seen(X, number=2)], NOTHING)

    (inert,) = found.inert
    assert (inert.path, inert.before, inert.after) == ("env.x", "0", "1")
    assert inert.boundaries == (2,)
    assert "751" in inert.evidence


@pytest.mark.parametrize(
    ("sides", "is_growing"),
    [
        ([(0, 1), (0, 2), (0, 3)], True),
        ([(0, -1), (0, -2), (0, -3)], True),
        ([(5, 6), (9, 11), (2, 5)], True),
        ([(0, 1), (0, 1), (0, 2)], False),
        ([(0, 3), (0, 2), (0, 1)], False),
        ([(0, 1), (0, 2)], False),
        # Three fractions are in order by chance too often.
        ([(0.0, 0.5), (0.0, 0.6), (0.0, 0.7)], False),
        ([(0.0, 0.5), (0.0, 0.6), (0.0, 0.7), (0.0, 0.8), (0.0, 0.9)], True),
        ([(0, True), (0, 2), (0, 3)], False),
        ([(0, "a"), (0, "b"), (0, "c")], False),
        ([(0.0, math.nan)] * 5, False),
    ],
)
def test_a_field_that_grows_from_boundary_to_boundary_accumulates(sides, is_growing):
    """C-49."""
    evidences = [
        seen({"env.x": (value(one), value(other))}, number=number)
        for number, (one, other) in enumerate(sides, 1)
    ]

    (inert,) = judge_sequence(evidences, NOTHING).inert

    assert inert.note == ("accumulates" if is_growing else "")


def test_a_length_that_grows_accumulates_also_where_a_fresh_build_has_none():
    evidences = [
        seen({"env.seen.len": (None, Leaf(Kind.LENGTH, number))}, number=number)
        for number in (1, 2, 3)
    ]

    (inert,) = judge_sequence(evidences, NOTHING).inert

    assert (inert.before, inert.note) == ("absent", "accumulates")


def test_a_field_that_does_not_differ_everywhere_does_not_accumulate():
    evidences = [seen(X), seen({"env.x": (value(0), value(2))}, number=2), seen(number=3)]

    (inert,) = judge_sequence(evidences, NOTHING).inert

    assert inert.note == ""


def test_objects_that_grow_in_number_are_noticed():
    def nodes(*counts):
        evidences = [seen(number=at, nodes=count) for at, count in enumerate(counts, 1)]
        return judge_sequence(evidences, NOTHING).boundaries

    assert do_nodes_grow(nodes(100, 120, 140))
    assert not do_nodes_grow(nodes(100, 120, 120))
    assert not do_nodes_grow(nodes(100, 120))


def test_the_first_divergence_is_that_of_a_boundary_that_fails():
    jittered = seen(equal=False, jitter=SMALL, divergence=Divergence(1, 3, "reward", "0", "1"))
    failed = seen(X, number=2, equal=False, divergence=Divergence(2, 9, "info", "0", "1"))

    assert judge_sequence([jittered, failed], NOTHING).divergence.boundary == 2
    assert judge_sequence([jittered], NOTHING).divergence.boundary == 1
    assert judge_sequence([seen()], NOTHING).divergence is None


def test_the_deviation_is_that_of_the_states_farthest_apart():
    """C-57."""
    near, far = Deviation(largest=1.0), Deviation(largest=2.0)
    unbounded = Deviation(is_unbounded=True, one_sided=("x",))

    assert farthest([near, far, near]) == far
    assert farthest([near, unbounded, far]) == unbounded
    assert farthest([Deviation(), Deviation(bits_only=("x",))]).bits_only == ("x",)
    assert farthest([]) is None
    assert judge_sequence([seen(final=final(0, 2)), seen(number=2)], NOTHING).deviation.largest == 2


# --- A FAIL that names no field. ---

WORLD = Opaque("env.world", "Box2D b2World")


def test_an_unnamed_fail_says_that_it_lives_outside_what_was_read_and_names_the_handles():
    """C-44."""
    line = unnamed_line(judge_boundary(seen(equal=False), NOTHING), [WORLD])

    assert "outside" in line
    assert "1 opaque handle recorded: env.world (Box2D b2World)" in line


def test_an_unnamed_fail_without_handles_says_that_there_are_none():
    line = unnamed_line(judge_boundary(seen(equal=False), NOTHING), [])

    assert "0 opaque handles recorded" in line


@pytest.mark.parametrize(
    "sides", [(None, value(1.0)), (value(0.0), value(math.nan)), (value(1), value("a"))]
)
def test_the_line_stands_down_where_the_final_states_name_what_carries_the_divergence(sides):
    """C-44."""
    boundary = judge_boundary(seen(equal=False, final={"env.q": sides}), NOTHING)
    line = unnamed_line(boundary, [WORLD])

    assert "env.q" in line
    assert "outside" not in line
    assert "b2World" not in line


def test_the_name_of_a_token_alone_does_not_stand_it_down():
    """C-44."""
    tokens = {"env.rng": (token(b"a"), token(b"b"))}
    boundary = judge_boundary(seen(equal=False, final=tokens), NOTHING)

    assert "env.world" in unnamed_line(boundary, [WORLD])


def test_nor_does_a_difference_that_was_priced():
    boundary = judge_boundary(seen(equal=False, final=final(0, 1)), NOTHING)

    assert "env.world" in unnamed_line(boundary, [WORLD])


def test_a_declared_field_that_differed_is_named_as_another_place():
    boundary = judge_boundary(seen(X, equal=False), ANY)

    assert "env.x" in unnamed_line(boundary, [WORLD], declared=["env.x"])


def test_there_is_no_such_line_where_a_field_is_named_or_nothing_failed():
    assert unnamed_line(judge_boundary(seen(X, equal=False), NOTHING), [WORLD]) == ""
    assert unnamed_line(judge_boundary(seen(), NOTHING), [WORLD]) == ""
    assert unnamed_line(judge_boundary(seen(equal=False, jitter=SMALL), NOTHING), [WORLD]) == ""


# --- Texts of leaves. ---


@pytest.mark.parametrize(
    ("leaf", "text"),
    [
        (None, "absent"),
        (value(3), "3"),
        (value("a\x1b[2J"), r"'a\x1b[2J'"),
        (value({"a": 1}), "{'a': 1}"),
        (value(np.float32(0.5)), "0.5 (float32)"),
        (value(np.array([1.0, 2.0])), "float64[2] 1.0, 2.0"),
        (value(np.zeros((2, 3), "u1")), "uint8[2, 3] 0, 0, 0, 0, ..."),
        (value(np.array([], "f4")), "float32[0]"),
        (value(10**5000), "an integer of 16610 bits"),
        (value([0] * 1000), "list of 1000"),
        (Leaf(Kind.LENGTH, 7), "7"),
        (Leaf(Kind.ALIAS, "env.a"), "the same object as env.a"),
        (Leaf(Kind.OPAQUE, None, "Box2D b2World"), "Box2D b2World"),
    ],
)
def test_a_leaf_has_a_short_text(leaf, text):
    assert text_of_leaf(leaf) == text


def test_the_text_of_a_token_tells_two_apart_and_does_not_show_them():
    one, other = text_of_leaf(token(b"secret")), text_of_leaf(token(b"other"))

    assert one != other
    assert one.startswith("random.Random #")
    assert "secret" not in one


def test_a_text_is_never_longer_than_asked():
    for leaf in [value("a" * 999), value(b"\0" * 999), token("x"), value(list(range(100)))]:
        assert len(text_of_leaf(leaf, 40)) <= 40


# --- Every rule is needed: with one dropped, a verdict of these rigs changes. ---

FOLDER = "cleandesk.audit.certificate"


def prices(deviation):
    pairs = [
        (0, 255),
        (np.array([0], "u1"), np.array([255], "u1")),
        (np.array([-(2**63)]), np.array([2**63 - 1])),
        (2**53 + 1, 2.0**53),
        (1.0, -(2.0**-60)),
        (np.array([1.0, 2.0]), np.array([-(2.0**-60), 2.0])),
        (0.0, -0.0),
        (np.array([0.0]), np.array([-0.0])),
        (math.nan, -math.nan),
        (math.nan, 0.0),
        (1e308, -1e308),
        (10**400, 0),
        (1 + 0j, 1j),
        (np.array([1 + 0j, 3j, 0]), np.array([1j, 0, 0])),
        (np.array([2.0, math.inf]), np.array([1.0, 1.0])),
        (np.array([complex(2, math.inf), 1]), np.array([0j, 0])),
        (np.array([1]), np.array([1, 2])),
        (np.array([1]), np.array([1.0])),
        (np.array([], "f4"), np.array([], "f8")),
        (np.array([2**60 + 1]), np.array([2.0**60])),
        (np.array([1], "g"), np.nextafter(np.array([1], "g"), np.longdouble(2))),
        (None, 1),
        ("a", "b"),
        ({1}, {2}),
        ({"a": "x", "b": {"c": 1}}, {"a": "y", "b": {"c": 3}}),
        ([1], [1, 2]),
    ]
    found = [deviation.price({"x": value(one)}, {"x": value(other)}) for one, other in pairs]
    return [
        *found,
        deviation.price({"x": value(1)}, {}),
        deviation.price({}, {"x": token(b"1")}),
        deviation.price({"x": token(1)}, {"x": token(2)}),
        deviation.price({"x": token(1)}, {"x": token(1)}),
        deviation.price({"x": token(1)}, {"x": value(1)}),
        deviation.price({"x": Leaf(Kind.LENGTH, 1)}, {"x": value(1)}),
        deviation.price({"x": Leaf(Kind.VALUE, 1, "A")}, {"x": Leaf(Kind.VALUE, 1, "B")}),
        deviation.price({"a": value(0), "b": value(0)}, {"a": value(2), "b": value(1)}),
    ]


def sequences():
    x_and_q = {**X, **final(0.0, 1e-9)}
    two = {"env.x": (value(0), value(2))}
    return [
        [seen()],
        [seen(traced=False)],
        [seen(steps=0)],
        [seen(X)],
        [seen(X, traced=False)],
        [seen(X, steps=0)],
        [seen(X, equal=False)],
        [seen(equal=False)],
        [seen(), seen(number=2, traced=False)],
        [seen(), seen(number=2, equal=False)],
        [seen(), seen(number=2, equal=False, jitter=SMALL)],
        [seen(X), seen(two, number=2), seen(two, number=3, equal=False)],
        [seen(X, equal=False), seen(two, number=2, equal=False)],
        [seen(equal=False, jitter=SMALL)],
        [seen(equal=False, jitter=SMALL, final=x_and_q)],
        [seen(equal=False, jitter=Deviation(largest=1e-3))],
        [seen(equal=False, jitter=SMALL, final=final(0.0, 1e-3))],
        [seen(equal=False, jitter=SMALL, final=final(0.0, -0.0))],
        [seen(equal=False, jitter=SMALL, final=final(0.0, math.nan))],
        [seen(equal=False, jitter=SMALL, final={"env.q": (None, value(0.0))})],
        [seen(equal=False, jitter=SMALL), seen(X, number=2, equal=False)],
        [seen({"env.x": (value(0.5), value(3.0))})],
        [seen({"env.x": (value(0), value(step))}, number=step) for step in (1, 2, 3)],
        [seen({"env.x": (value(0), value(4 - step))}, number=step) for step in (1, 2, 3)],
        [seen({"env.x": (value(0.0), value(step / 2))}, number=step) for step in (1, 2, 3)],
    ]


def verdicts(judge, deviation):
    """What the given modules say of a row of small rigs."""

    def evidence(held):
        return judge.Evidence(**{each.name: getattr(held, each.name) for each in fields(held)})

    judged = [
        judge.judge_sequence([evidence(each) for each in sequence], declaring)
        for sequence in sequences()
        for declaring in (NOTHING, UNIT, ANY)
    ]
    worsts = [judge.worst(each.boundaries) for each in judged]
    lines = [judge.unnamed_line(each, [WORLD]) for each in worsts]
    far = judge.farthest([Deviation(largest=2.0), Deviation(is_unbounded=True)])
    return repr((prices(deviation), judged, worsts, lines, far))


NEEDS = {
    "exact": ["exact", "deviation", "judge"],
    "deviation": ["deviation", "judge"],
    "fields": ["fields", "judge"],
    "judge": ["judge"],
}
"""For each module: itself, and those that import from it."""


@functools.cache
def source(name):
    return Path(importlib.import_module(f"{FOLDER}.{name}").__file__).read_text("utf-8")


@functools.cache
def compiled(name, text):
    return compile(text, name, "exec")


def mutated(name, old, new):
    """The modules judge and deviation, with ``old`` replaced by ``new`` in one of the modules."""
    assert source(name).count(old) == 1, f"{old!r} is not once in {name}"
    before = {each: sys.modules[f"{FOLDER}.{each}"] for each in NEEDS[name]}
    try:
        for each in NEEDS[name]:
            text = source(each).replace(old, new) if each == name else source(each)
            fresh = types.ModuleType(f"{FOLDER}.{each}")
            sys.modules[fresh.__name__] = fresh
            exec(compiled(each, text), fresh.__dict__)
        return sys.modules[f"{FOLDER}.judge"], sys.modules[f"{FOLDER}.deviation"]
    finally:
        sys.modules.update({f"{FOLDER}.{each}": module for each, module in before.items()})


# The module, the rule as it stands, and what stands there without it.
DROPPED = [
    ("judge", "if declaring.outside(evidence.apart):", "if False:"),
    ("judge", "elif evidence.are_unread:", "elif False:"),
    ("judge", "    elif kept:\n", "    elif False:\n"),
    ("judge", "elif not is_diverged:", "elif False:"),
    ("judge", "return self.are_rows_equal and self.steps > 0", "return self.are_rows_equal"),
    ("judge", "return self.are_rows_equal and self.steps > 0", "return self.steps > 0"),
    ("judge", "return self.rows_fresh == self.rows_judged", "return True"),
    ("judge", "if jitter is None or deviation is None:", "if deviation is None:"),
    ("judge", "is_within(jitter) and is_within(deviation)", "is_within(deviation)"),
    ("judge", "is_within(jitter) and is_within(deviation)", "is_within(jitter)"),
    ("judge", "is_bounded = not deviation.is_unbounded", "is_bounded = True"),
    ("judge", " and not deviation.bits_only and", " and"),
    ("judge", " and deviation.largest <= TOLERANCE", ""),
    ("judge", "TOLERANCE = 1e-6", "TOLERANCE = 1e-2"),
    ("judge", "kept, _ = declaring.split_off(evidence.apart)", "kept = evidence.apart"),
    ("judge", "kept, _ = declaring.split_off(evidence.final)", "kept = evidence.final"),
    ("judge", "Class.FAIL: 5", "Class.FAIL: -1"),
    ("judge", "Class.STATE_ONLY: 2", "Class.STATE_ONLY: -1"),
    ("judge", "Class.STATE_CLEAN: 1", "Class.STATE_CLEAN: -1"),
    ("judge", "-each.number)", "each.number)"),
    ("judge", "(failed or diverged)[0]", "diverged[0]"),
    ("judge", "return deviation.is_unbounded, deviation", "return False, deviation"),
    ("judge", "{*deviation.one_sided, *deviation.not_orderable}", "{*deviation.one_sided}"),
    ("judge", "{*deviation.one_sided, *deviation.not_orderable}", "{*deviation.not_orderable}"),
    ("judge", "{*deviation.one_sided, *deviation.not_orderable}", "{*deviation.not_measurable}"),
    ("judge", "if boundary.cls is not Class.FAIL or boundary.differing:", "if False:"),
    ("fields", "evidence.are_unread and path not in found", "evidence.are_unread"),
    ("fields", "evidence.are_unread and path not in found", "path not in found"),
    ("fields", "        if path not in leaking\n", ""),
    ("fields", "min(unread.get(path, numbers)) < numbers[0]", "False"),
    ("fields", "1 if known and known[0] > 0 else -1", "-1"),
    ("fields", "_FEW_TO_GROW, _MANY_TO_GROW = 3, 5", "_FEW_TO_GROW, _MANY_TO_GROW = 5, 5"),
    ("fields", "_FEW_TO_GROW, _MANY_TO_GROW = 3, 5", "_FEW_TO_GROW, _MANY_TO_GROW = 3, 3"),
    ("fields", "all(one < other for", "all(True for"),
    ("deviation", "bool(found[How.ONE_SIDED] or found[How.NOT_ORDERABLE])", "False"),
    (
        "deviation",
        "bool(found[How.ONE_SIDED] or found[How.NOT_ORDERABLE])",
        "bool(found[How.ONE_SIDED])",
    ),
    ("deviation", "if difference.has_bits_only:", "if False:"),
    ("deviation", "if difference.largest > largest:", "if difference.largest >= 0:"),
    ("deviation", "sorted(fresh.keys() | judged.keys())", "sorted(fresh.keys() & judged.keys())"),
    ("deviation", "How.ONE_SIDED if _is_priced(leaf)", "How.ONE_SIDED if False"),
    ("deviation", "return leaf.is_priced and holds_number", "return holds_number"),
    ("deviation", "if one.is_priced and other.is_priced and lengths", "if lengths"),
    ("deviation", " and lengths[0] is lengths[1]:", ":"),
    ("deviation", "if not found and one.about != other.about:", "if False:"),
    ("deviation", "elif _is_priced(one) or _is_priced(other):", "elif False:"),
    ("deviation", "elif one.to_bytes() != other.to_bytes():", "else:"),
    ("deviation", "elif one.to_bytes() != other.to_bytes():", "elif False:"),
    ("deviation", "How.ONE_SIDED if holds_number(value)", "How.ONE_SIDED if False"),
    ("deviation", "place = inner[:-1] if type(inner[-1]) is int else inner", "place = inner"),
    ("deviation", "if found is None:", "if found is None and False:"),
    ("deviation", "How.PRICED if found.is_ordered else How.NOT_ORDERABLE", "How.PRICED"),
    ("deviation", "if not (holds_number(one) or holds_number(other)):", "if True:"),
    ("deviation", "How.ONE_SIDED if is_set else How.NOT_ORDERABLE", "How.NOT_ORDERABLE"),
    ("exact", "nearest if Fraction(nearest) >= exact else", "nearest if True else"),
    ("exact", "(whole, False) if whole <= _LARGEST else None", "(whole, False)"),
    ("exact", "(real, False) if real <= _LARGEST else None", "(real, False)"),
    (
        "exact",
        "if before is None or after is None:\n        return None",
        "if False:\n        pass",
    ),
    ("exact", "if not imaginary:", "if True:"),
    (
        "exact",
        "elif not found[0]:\n            has_bits_only = True",
        "elif not found[0]:\n            pass",
    ),
    ("exact", 'struct.pack("<d", one) == struct.pack("<d", other)', "one == other"),
    ("exact", "return is_nan or struct", "return struct"),
    ("exact", "before, after = one.view(word), other.view(word)", "before, after = one, other"),
    ("exact", "np.sign(rounded) * cut > 0", "False"),
    ("exact", "np.full(array.shape, array.dtype.char in _IN_DOUBLE)", "np.full(array.shape, True)"),
    ("exact", "(array <= _WHOLE) & (array >= -_WHOLE)", "array == array"),
    (
        "exact",
        "    if equal.any():\n        found = found.merged(_BITS_ONLY)\n        one",
        "    if equal.any():\n        one",
    ),
    ("exact", "        found = _BITS_ONLY\n    if {", "        pass\n    if {"),
    ("exact", "size >= least", "size > most"),
    ("exact", "self.is_ordered and other.is_ordered", "self.is_ordered"),
    ("exact", "self.is_ordered and other.is_ordered", "other.is_ordered"),
]


@pytest.fixture(scope="module")
def healthy():
    return verdicts(*mutated("judge", "TOLERANCE = 1e-6", "TOLERANCE = 1e-6"))


@pytest.mark.parametrize(("module", "rule", "dropped"), DROPPED)
def test_with_a_rule_dropped_a_verdict_changes(healthy, module, rule, dropped):
    modules = mutated(module, rule, dropped)
    try:
        sick = verdicts(*modules)
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        sick = str(error)

    assert (sick == healthy) is False
