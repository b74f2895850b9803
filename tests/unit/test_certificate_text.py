from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleandesk.audit.certificate.certificate import (
    Boundary,
    Cause,
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
    Write,
)
from cleandesk.audit.certificate.known import Known, settle
from cleandesk.audit.certificate.sentences import NOT_HIDDEN, OVER_BUDGET, REFUSED_ENTROPY
from cleandesk.report.certificate import first_screen, render_certificate
from cleandesk.verdict import Status

PROFILE = Profile(
    5, 750, (1, 2, 3, 4, 5), (11, 12, 13, 14, 15), "mixed", {"terminated": 12, "cut": 5}, 3210
)
NOTHING = Profile(0, 0, (1,), (11,), "")
LEAK = Leak(
    "env.interval._step",
    "leak",
    "0",
    "17",
    (1, 2, 3, 5),
    is_confirmed=True,
    written=Write(2, 31, "/x/site-packages/pkg/interval.py", 412, "    self._step += 1"),
)
FAILED = Certificate(
    "gym:pkg/World-v0",
    "reset(seed)",
    Class.FAIL,
    "one field survives the reset",
    PROFILE,
    leaks=(LEAK, Leak("env.zombies", "echo", "0", "1", (1,))),
    first_divergence=Divergence(1, 7, "observation", "array([0.1, 0.2])", "array([0.1, 0.3])"),
    return_shift=ReturnShift(((12.0, 8.0), (3.0, 3.0)), 2.0, 4.0),
    repro="import pkg\n\nfor seed in (1, 2):\n\tpkg.play(seed)\n",
    stamp={"python": "3.11"},
)
CLEAN = Certificate(
    "gym:Clean-v1",
    "reset(seed)",
    Class.BIT_IDENTICAL,
    "no field differs",
    PROFILE,
    boundaries=tuple(
        Boundary(number, number, 10 + number, 30, Class.BIT_IDENTICAL, 72) for number in range(1, 6)
    ),
)
REFUSED = replace(CLEAN, cls=Class.REFUSED, boundaries=(), varies=("env.noise", "info"))
HOSTILE = "\x1b[2J\x1b[31mPASS\r\n\u202eevil\u2066\x9b31m\x00end"


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("cls", Class)
def test_first_line_says_status_then_class_then_rig(cls):
    """C-90."""
    first = render_certificate(replace(CLEAN, cls=cls)).splitlines()[0]

    assert first == f"{cls.status}  {cls}  gym:Clean-v1"


def test_condition_stands_on_the_line_of_the_class():
    """C-24."""
    first = render_certificate(replace(CLEAN, condition="held equal: hash-order")).splitlines()[0]

    assert first == "PASS  BIT-IDENTICAL  gym:Clean-v1  (held equal: hash-order)"


def test_leak_is_named_with_both_values_who_wrote_it_and_that_it_is_confirmed():
    text = render_certificate(FAILED)

    assert "leaked       env.interval._step  0 -> 17\n" in text
    assert "written in episode 2, step 31 by self._step += 1\n" in text
    assert "  pkg/interval.py:412\n" in text
    assert "confirmed by restoring it; boundaries 1-3, 5\n" in text


def test_leak_that_was_written_by_a_reset_in_compiled_code_says_so():
    leak = replace(LEAK, written=Write(3, 0), is_confirmed=False)
    text = render_certificate(replace(FAILED, leaks=(leak,)))

    assert "written in episode 3, its reset, by compiled code\n" in text
    assert "not confirmed; boundaries 1-3, 5\n" in text


def test_what_else_is_known_of_a_leak_is_said():
    leak = replace(LEAK, note="fused at 3", ticket="ROB-311")

    assert "known as ROB-311; confirmed by restoring it; fused at 3" in render_certificate(
        replace(FAILED, leaks=(leak,))
    )


def test_a_long_note_of_a_leak_is_wrapped_and_not_cut():
    leak = replace(LEAK, note="read by the reset itself; it no longer differs after it")
    text = flat(render_certificate(replace(FAILED, leaks=(leak,))))

    assert "it no longer differs after it; boundaries 1-3, 5" in text


# certificate: C-54 C-96
def test_known_leaks_are_said_with_the_exit_status_and_what_to_do():
    text = flat(render_certificate(*listed({"env.interval": "ROB-311"})))

    assert "known as listed: ROB-311 (exit status 0)" in text
    assert "do it has its ticket; once it is mended, take it off the list" in text


# certificate: C-54 C-96
def test_an_entry_that_is_fixed_is_said_with_the_exit_status_and_what_to_do():
    text = flat(render_certificate(*listed({"env.interval": "ROB-311", "env.gone": "ROB-1"})))

    assert "known and no longer found: env.gone (exit status 1)" in text
    assert "take off the list what is gone" in text


# certificate: C-96
def test_what_was_declared_already_is_not_to_be_declared_again():
    declared = DeclaredField("env.interval", "any", "", (LEAK.path,))
    text = flat(render_certificate(replace(FAILED, declared=(declared,))))

    assert "--declare" not in text
    assert "what is declared is read after the reset all the same" in text


def listed(tickets):
    settled = settle(FAILED, Known.parse(tickets))
    return settled.certificate, settled


def test_echo_is_told_apart_from_the_leak():
    text = render_certificate(FAILED)

    assert "echo         1 field cleared by restoring it: env.zombies\n" in text
    assert text.count("env.zombies") == 1


def test_divergence_is_shown_with_place_and_both_values():
    text = render_certificate(FAILED)

    assert "diverges     boundary 1, step 7, in observation\n" in text
    assert "fresh  array([0.1, 0.2])\n" in text
    assert "judged array([0.1, 0.3])\n" in text


def test_divergence_of_the_reset_itself_is_called_that():
    found = Divergence(2, 0, "info", "1", "2")

    assert "boundary 2, the reset itself, in info" in render_certificate(
        replace(FAILED, first_divergence=found)
    )


def test_divergence_of_two_fresh_builds_is_called_that():
    found = Divergence(0, 3, "reward", "1.0", "2.0")
    text = render_certificate(replace(REFUSED, first_divergence=found))

    assert "diverges     two fresh builds, step 3, in reward\n" in text
    assert "               one    1.0\n               other  2.0\n" in text


def test_long_values_are_cut_so_that_their_difference_is_seen():
    start = "array([" + "0.25, " * 200
    found = Divergence(1, 7, "observation", f"{start}1.5])", f"{start}2.5])")
    text = render_certificate(replace(FAILED, first_divergence=found))

    assert "1.5])" in text
    assert "2.5])" in text


def test_move_of_the_return_is_said_with_its_largest_example():
    text = flat(render_certificate(FAILED))

    assert "return of fixed actions moves by 2 on average, 4 at most: 12 -> 8" in text


def test_script_stands_last_indented_and_whole():
    text = render_certificate(FAILED)

    assert text.endswith("\n\n    import pkg\n\n    for seed in (1, 2):\n        pkg.play(seed)\n")


def test_failure_says_what_to_restore_and_the_line_that_declares_it():
    """C-96."""
    text = render_certificate(FAILED)

    assert "restore it in reset()" in text
    assert "\n             --declare env.interval._step=any\n" in text


def test_declaration_of_a_path_with_quotes_is_one_word_of_a_shell():
    leak = replace(LEAK, path="env.table['a b'].x")
    text = render_certificate(replace(FAILED, leaks=(leak,)))

    assert """--declare 'env.table['"'"'a b'"'"'].x=any'""" in text


def test_leak_inside_a_handle_asks_for_a_new_handle_and_no_declaration():
    leak = replace(LEAK, path="env.world.contacts[0].x", is_confirmed=False)
    handle = Opaque("env.world", "Box2D b2World", is_new=False)
    text = flat(render_certificate(replace(FAILED, leaks=(leak,), opaque=(handle,))))

    assert "do make env.world anew in reset()" in text
    assert "--declare" not in text


def test_what_is_true_of_all_leaks_is_said_once():
    leaks = tuple(replace(LEAK, path=f"env.a{k}", written=None) for k in range(3))
    text = render_certificate(replace(FAILED, leaks=leaks))

    assert text.count("confirmed by restoring it") == 1
    assert "             all: confirmed by restoring it; boundaries 1-3, 5\n" in text


def test_return_that_does_not_move_is_called_that():
    shift = ReturnShift(((12.0, 12.0),), 0.0, 0.0)

    assert "return       the same actions return the same" in render_certificate(
        replace(FAILED, return_shift=shift)
    )


def test_leak_with_a_ticket_is_not_to_be_declared():
    leak = replace(LEAK, ticket="ROB-311")

    assert "--declare" not in render_certificate(replace(FAILED, leaks=(leak,)))


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (Cause.GLOBAL_RNG, "--pin global-rng"),
        (Cause.HASH_ORDER, "--pin hash-order"),
        (Cause.WALL_CLOCK, "--pin wall-clock"),
        (Cause.ENTROPY, "seed in reset(seed)"),
        (Cause.WALK, "looking at it changes it"),
        (None, "seed in reset(seed)"),
    ],
)
def test_refusal_says_what_varies_and_what_to_do_about_its_cause(cause, said):
    """C-96."""
    text = flat(render_certificate(replace(REFUSED, cause=cause)))

    assert "varies env.noise, info" in text
    assert said in text
    assert "--declare env.noise=any" in text
    assert "--declare info=any" not in text


def test_refusal_that_nothing_held_equal_explains_names_what_is_no_stream():
    """C-22 C-96."""
    reason = REFUSED_ENTROPY(varies="env.buffer")
    found = replace(REFUSED, cause=Cause.ENTROPY, reason=reason)
    text = flat(render_certificate(found))

    assert "memory that nobody wrote (np.empty)" in text
    assert "a file that both builds wrote to" not in text

    text = flat(render_certificate(replace(found, not_checked=(NOT_HIDDEN(why="not permitted"),))))
    assert "a file that both builds wrote to" in text


def test_rig_that_ran_out_of_its_budget_is_told_how_to_get_more():
    reason = OVER_BUDGET(budget=3, done=0, asked=5)
    found = replace(CLEAN, cls=Class.ERROR, reason=reason, boundaries=(), profile=NOTHING)
    text = flat(render_certificate(found))

    assert "do give it more seconds with --budget" in text
    assert "profile" not in text


def test_unnamed_failure_points_at_the_handles():
    found = replace(FAILED, leaks=(), opaque=(Opaque("env.world", "Box2D b2World", is_new=False),))
    text = flat(render_certificate(found))

    assert "opaque 1 handle whose content can't be read: env.world (Box2D b2World)" in text
    assert "do make the handles listed as opaque anew in reset()" in text


def test_long_lists_are_cut_at_five():
    inert = tuple(Inert(f"env.a{k}", "0", "1", (1,), "750 rows equal") for k in range(42))
    text = flat(render_certificate(replace(CLEAN, inert=inert)))

    assert (
        "42 fields different, and no row moved by it (750 rows equal): "
        "env.a0, env.a1, env.a2, env.a3, env.a4, +37 more in --json" in text
    )


def test_inert_field_that_grows_is_named():
    inert = (Inert("env.log", "0", "1", (1,), "750 rows equal", "accumulates"),)

    assert "accumulates: env.log" in render_certificate(replace(CLEAN, inert=inert))


def test_everything_that_is_not_measurable_is_named_beside_the_deviation():
    found = Deviation(2.5, True, "env.x", ("env.one",), ("env.nan",), ("env.rng",), ("env.zero",))
    text = flat(render_certificate(replace(FAILED, deviation=found)))

    assert "deviation unbounded; the largest that can be measured is 2.5, in env.x" in text
    for said in (
        "1 field on one side only: env.one",
        "1 field not measurable in full: env.nan",
        "1 field not measurable, compared by bytes alone: env.rng",
        "1 field different in bits only: env.zero",
    ):
        assert said in text


def test_names_that_are_not_measurable_are_said_of_a_pass_too():
    """C-70."""
    found = Deviation(not_measurable=("env.rng",))

    assert "env.rng" in render_certificate(replace(CLEAN, deviation=found))


def test_declared_field_is_shown_with_sampler_and_what_is_wrong_first():
    declared = (
        DeclaredField("env.level", "integers 0 9", "drawn for each episode", ("env.level",)),
        DeclaredField("env.nothing", "any", "", problem="it names no field"),
    )
    text = render_certificate(replace(CLEAN, declared=declared))

    assert "declared     any: env.nothing  WRONG: it names no field\n" in text
    assert "integers 0 9: env.level  (drawn for each episode)\n" in text


def test_checks_that_fail_come_before_those_that_pass():
    checks = (
        Check("alias", Status.PASS, "kept"),
        Check("neighbour", Status.FAIL, "it moves the other at step 3", blocks=True),
        Check("order", Status.UNKNOWN, "not run"),
        Check("outside", Status.PASS, "nothing changed"),
    )
    text = flat(render_certificate(replace(CLEAN, checks=checks)))

    assert (
        "checks FAIL neighbour: it moves the other at step 3 "
        "UNKNOWN order: not run PASS alias, outside" in text
    )


def test_horizon_and_limits_are_printed_beside_a_pass():
    """C-84, C-89."""
    text = flat(render_certificate(replace(CLEAN, not_checked=("sockets of other processes",))))

    assert "boundaries 1-5 BIT-IDENTICAL; 72 fields read" in text
    assert "profile 5 boundaries, traces of 750 steps, mixed" in text
    assert "episodes ended cut 5, terminated 12; 3,210 distinct observations" in text
    assert "not checked sockets of other processes" in text


def test_limit_with_a_paragraph_of_its_own_is_not_said_twice():
    limits = ("1 handle whose content can't be read: env.world", "sockets")
    found = replace(CLEAN, opaque=(Opaque("env.world", "b2World"),), not_checked=limits)
    text = render_certificate(found)

    assert text.count("whose content can't be read") == 1
    assert "not checked  sockets\n" in text


def test_what_is_declared_alike_is_declared_together():
    declared = tuple(DeclaredField(f"env.{k}", "any", "a sentence") for k in "ab")

    assert "declared     any: env.a, env.b  (a sentence)\n" in render_certificate(
        replace(CLEAN, declared=declared)
    )


def test_what_there_is_not_takes_no_line():
    labels = {line[:13].strip() for line in render_certificate(CLEAN).splitlines()[3:]}

    assert labels - {""} == {"boundaries", "profile", "harness", "stamp"}


def test_first_screen_of_a_failure_with_many_leaks_has_the_advice_too():
    leaks = tuple(replace(LEAK, path=f"env.{'deep.' * 20}field{k}") for k in range(60))
    screen = first_screen(replace(FAILED, leaks=leaks, reason="because " * 60))

    assert len(screen.splitlines()) < 24
    assert "more in --json" in screen
    assert "diverges" in screen
    assert "restore them in reset()" in screen


def test_first_screen_is_the_beginning_of_the_whole():
    for certificate in (FAILED, CLEAN, REFUSED):
        assert render_certificate(certificate).startswith(first_screen(certificate))


def hostile():
    return Certificate(
        HOSTILE,
        HOSTILE,
        Class.FAIL,
        HOSTILE,
        replace(PROFILE, policy=HOSTILE, endings={HOSTILE: 1}),
        varies=(HOSTILE,),
        leaks=(
            Leak(HOSTILE, "leak", HOSTILE, HOSTILE, (1,), True, Write(1, 1, HOSTILE, 1, HOSTILE)),
            Leak(HOSTILE, "leak", HOSTILE, "", (), ticket=HOSTILE, note=HOSTILE),
            Leak(HOSTILE, "echo", HOSTILE, HOSTILE),
        ),
        inert=(Inert(HOSTILE, HOSTILE, HOSTILE, (1,), HOSTILE, HOSTILE),),
        declared=(DeclaredField(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), HOSTILE),),
        opaque=(Opaque(HOSTILE, HOSTILE),),
        first_divergence=Divergence(1, 1, HOSTILE, HOSTILE, HOSTILE),
        deviation=Deviation(1.0, True, HOSTILE, (HOSTILE,), (HOSTILE,), (HOSTILE,), (HOSTILE,)),
        checks=(Check(HOSTILE, Status.FAIL, HOSTILE), Check(HOSTILE, Status.PASS, HOSTILE)),
        not_checked=(HOSTILE,),
        repro=HOSTILE,
        condition=HOSTILE,
    )


def test_texts_of_a_rig_move_no_cursor():
    """C-93."""
    text = render_certificate(hostile())

    assert [char for char in text if not char.isprintable() and char != "\n"] == []


TEXTS = st.text(max_size=200) | st.sampled_from([HOSTILE, "x" * 500, "word " * 60])
LEAKS = st.builds(
    Leak, TEXTS, st.sampled_from(["leak", "echo"]), TEXTS, TEXTS, note=TEXTS, ticket=TEXTS
)


@settings(max_examples=40)
@given(
    cls=st.sampled_from(Class),
    reason=TEXTS,
    leaks=st.lists(LEAKS, max_size=9).map(tuple),
    varies=st.lists(TEXTS, max_size=9).map(tuple),
    channel=TEXTS,
)
def test_every_screen_fits_whatever_a_rig_says(cls, reason, leaks, varies, channel):
    found = Divergence(1, 1, channel, reason, channel)
    certificate = replace(
        FAILED, cls=cls, reason=reason, leaks=leaks, varies=varies, first_divergence=found
    )
    lines = first_screen(certificate).splitlines()
    # A line to be copied is whole.
    wide = [line for line in lines if len(line) > 80 and "--declare" not in line]

    assert len(lines) < 24
    assert wide == []
