"""Clauses of certificate/1 that one walk, one recipe or one certificate shows by itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cleandesk.audit.certificate.certificate import (
    Certificate,
    Class,
    Opaque,
    Profile,
    ReturnShift,
)
from cleandesk.audit.certificate.recipes import reference_of
from cleandesk.audit.certificate.sentences import OPAQUE_LIMIT, SKIPPED, Sentence
from cleandesk.audit.certificate.spelling import to_json
from cleandesk.audit.certificate.walk import SKIPPED as PASSED_OVER
from cleandesk.audit.certificate.walk import walk
from cleandesk.errors import CleandeskError
from cleandesk.report.advice import advice
from cleandesk.report.certificate import first_screen, render_certificate


class Part:
    def __init__(self, **held):
        vars(self).update(held)


def certificate(cls=Class.FAIL, **given):
    return Certificate("a rig", "seeded", cls, "why", Profile(3, 100, (1,), (101,), "mix"), **given)


def differing(one, other):
    """Paths whose tokens differ between two walks."""
    tokens = [walk({"env": each}).tokens for each in (one, other)]
    return {
        path for path in {**tokens[0], **tokens[1]} if tokens[0].get(path) != tokens[1].get(path)
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros(3), np.array([0.0, 0.0, -0.0])),
        (np.array([np.nan, 1.0]), np.array([np.nan, 2.0])),
    ],
    ids=["shape", "type", "one bit", "beside a NaN"],
)
def test_array_differs_by_its_shape_its_type_or_a_bit(one, other):
    """C-11."""
    assert differing(Part(held=one), Part(held=other)) != set()


def test_array_is_the_same_however_it_lies_in_memory():
    """C-11."""
    array = np.arange(12.0).reshape(3, 4)

    assert differing(Part(held=array), Part(held=np.asfortranarray(array))) == set()


def test_walk_that_ends_at_its_budget_says_so():
    """C-17."""
    many = Part(parts=[Part(number=number) for number in range(200)])

    cut = walk({"env": many}, budget=50)

    assert cut.notes
    assert walk({"env": many}).notes == ()


class Hidden:
    """A part whose attributes can't be had."""

    __slots__ = ("held",)

    def __getattribute__(self, name):
        raise OSError("the device is gone")


def test_field_that_can_not_be_read_does_not_end_the_walk():
    """C-18."""
    found = walk({"env": Part(hidden=Hidden(), after=1)})

    assert "env.after" in found.tokens


def test_lambda_is_refused_with_what_to_give_instead():
    """C-2."""
    with pytest.raises(CleandeskError, match="module:factory"):
        reference_of(lambda: None)


def test_what_the_walk_passes_over_is_listed_in_sentences():
    """C-86."""
    assert len(PASSED_OVER) > 3
    assert SKIPPED(names="x").endswith("x")


def test_json_has_every_key_that_is_promised():
    """C-91."""
    spelled = to_json(certificate())

    assert {
        *("schema", "status", "class", "reason", "leaks", "inert", "declared", "opaque"),
        *("first_divergence", "deviation", "profile", "not_checked", "repro", "stamp"),
        *("rig", "harness", "condition", "cause", "varies", "jitter", "return_shift"),
        *("boundaries", "checks", "took_s"),
    } == spelled.keys()
    assert spelled["schema"] == "certificate/1"
    assert json.loads(json.dumps(spelled, allow_nan=False)) == json.loads(json.dumps(spelled))


@pytest.mark.parametrize("cls", Class)
def test_first_line_is_the_status_and_then_the_class(cls):
    """C-90."""
    line = render_certificate(certificate(cls)).splitlines()[0]

    assert line.startswith(f"{cls.status}  {cls}")


def test_first_screen_fits_and_begins_as_the_certificate_does():
    """C-95: it is the message of a test that fails."""
    found = certificate(opaque=tuple(Opaque(f"env.h{n}", "a handle") for n in range(90)))

    screen = first_screen(found).splitlines()
    assert len(screen) <= 24
    assert screen[0] == render_certificate(found).splitlines()[0]


def test_return_that_a_leak_moves_is_told_in_pairs():
    """C-56."""
    found = certificate(return_shift=ReturnShift(((-3.0, -4.5), (1.0, 1.0)), 0.75, 1.5))

    text = render_certificate(found)
    assert "0.75 on average, 1.5 at most" in text
    assert "-3 -> -4.5" in text


@pytest.mark.parametrize("cls", [each for each in Class if each is not Class.FAIL])
def test_whatever_is_no_pass_says_what_to_do(cls):
    """C-96."""
    assert bool(advice(certificate(cls))) is (cls.status != "PASS")


def test_limit_of_an_opaque_handle_stands_beside_it():
    """C-85."""
    text = render_certificate(certificate(opaque=(Opaque("env.world", "b2World"),)))

    assert "env.world" in text
    assert OPAQUE_LIMIT() in " ".join(text.split())


def test_sentence_takes_braces_of_a_rig_as_they_are():
    """C-93: a name that looks like a blank is not one."""
    said = Sentence("C-93", "it leaks {name}")(name="{reason} {0}")

    assert said == "it leaks {reason} {0}"
