"""Each further test fires on its defect and is silent on the clean twin."""

from __future__ import annotations

import os
import types
from pathlib import Path

import pytest

from cleandesk.audit.certificate.checks import said
from cleandesk.audit.certificate.checks.inside import OPERATIONS
from cleandesk.audit.certificate.device import Device
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.audit.certificate.surroundings import Surroundings, settle_in
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES
from cleandesk.verdict import Status

# Each runs in a fork of its own, and there are many.
pytestmark = pytest.mark.service

RIGS = Path(__file__).with_name("planted_rigs.py")
PLAN = {"rng": [3, 1], "seed": 5, "steps": 40}


def answered(defect, *operations, episodes=()):
    """Build a planted rig in a process of its own, have it play, and return what it answers."""
    if defect == "file" and not may_hide():
        pytest.skip("this process may not mount")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            settle_in(Surroundings())
            device = Device(Recipe(f"{RIGS}:Planted", {"defect": defect}))
            device.build()
            for seed in episodes:
                device.play({**PLAN, "seed": seed})
            served = types.SimpleNamespace(device=device)
            data = encode(
                [OPERATIONS[name](served, plan) for name, plan in operations],
                inline_bytes=ALL_BYTES,
            )
        except Exception as error:  # noqa: BLE001 - the test is to see it
            data = encode(f"raised {error!r}")
        with os.fdopen(write, "wb") as out:
            out.write(data)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as held:
        answer = decode(held.read())
    os.waitpid(child, 0)
    assert not isinstance(answer, str), answer
    return answer


def may_hide():
    """Tell whether this process may give a device folders of its own at the same paths."""
    pid = os.fork()
    if pid == 0:
        os._exit(any("both see" in gap for gap in settle_in(Surroundings()).not_checked))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def asked(defect, name, plan=PLAN, episodes=()):
    return answered(defect, (name, plan), episodes=episodes)[0]


def fresh_rows(defect, seed=5):
    """A trace of a new build is what ``process`` gives where nothing ran before."""
    return asked(defect, "process", {**PLAN, "seed": seed})["rows"]


# certificate: C-72
@pytest.mark.parametrize("defect", ["alias", "alias below"])
def test_an_observation_that_is_overwritten_later_fails_the_certificate(defect):
    check = said.alias(asked(defect, "alias"), 40)

    assert (check.status, check.blocks) == (Status.FAIL, True)
    assert "the observation that the reset returned was overwritten by step 1" in check.says


def test_an_info_that_is_used_again_is_mentioned_and_passes():
    check = said.alias(asked("alias of info", "alias"), 40)

    assert check.status is Status.PASS
    assert "info" in check.says
    assert "step 1" in check.says


def test_what_is_said_anew_each_time_passes_the_alias_test():
    check = said.alias(asked("", "alias"), 40)

    assert check.status is Status.PASS
    assert "40 steps" in check.says


# certificate: C-73
def test_a_second_reset_that_differs_from_the_first_fails_the_certificate():
    check = said.first_reset(asked("first reset", "first-reset"), fresh_rows("first reset"))

    assert (check.status, check.blocks) == (Status.FAIL, True)
    assert "from row 0 on" in check.says


def test_fields_alone_that_differ_after_a_second_reset_are_named_and_pass():
    defect = "first reset, unread"
    rows, fields = answered(defect, ("first-reset", PLAN))[0], asked(defect, "first-reset-fields")
    check = said.first_reset(rows, fresh_rows(defect), fields)

    assert (check.status, check.blocks) == (Status.PASS, False)
    assert "not read: env.kept" in check.says


def test_a_second_reset_that_equals_the_first_passes():
    check = said.first_reset(asked("", "first-reset"), fresh_rows(""), [])

    assert check.status is Status.PASS


# certificate: C-74
@pytest.mark.parametrize("defect", ["class attribute", "module global"])
def test_two_rigs_that_share_state_fail_the_neighbour_test(defect):
    check = said.neighbour(asked(defect, "neighbour"), fresh_rows(defect))

    assert (check.status, check.blocks) == (Status.FAIL, False)


def test_a_rig_that_raises_beside_another_fails_with_what_it_raised():
    check = said.neighbour(
        asked("raises beside another", "neighbour"), fresh_rows("raises beside another")
    )

    assert not check.blocks
    assert "two of us" in check.says


@pytest.mark.parametrize("defect", ["", "alias", "first reset", "global stream"])
def test_rigs_that_share_nothing_pass_the_neighbour_test(defect):
    check = said.neighbour(asked(defect, "neighbour"), fresh_rows(defect))

    assert (check.status, check.blocks) == (Status.PASS, False)


# certificate: C-75
@pytest.mark.parametrize("defect", ["class attribute", "module global", "environment", "file"])
def test_a_new_build_in_a_used_process_that_is_not_fresh_fails(defect):
    check = said.process(asked(defect, "process", episodes=(1, 2)), fresh_rows(defect))

    assert (check.status, check.blocks) == (Status.FAIL, False)


@pytest.mark.parametrize("defect", ["", "first reset", "global stream", "print options"])
def test_a_new_build_in_a_used_process_that_is_fresh_passes(defect):
    check = said.process(asked(defect, "process", episodes=(1, 2)), fresh_rows(defect))

    assert check.status is Status.PASS


def orders_of(defect):
    orders = ([4, 5, 6], [6, 5, 4], [5, 4, 6])
    answers = [
        (seeds, asked(defect, "order", {"plans": [{**PLAN, "seed": seed} for seed in seeds]}))
        for seeds in orders
    ]
    return said.order(answers, {seed: fresh_rows(defect, seed) for seed in orders[0]})


# certificate: C-76
def test_seeds_that_depend_on_what_came_before_fail_the_order_test():
    check = orders_of("class attribute")

    assert (check.status, check.blocks) == (Status.FAIL, True)
    assert "seed 5 gives another trace after 4" in check.says


def test_seeds_that_do_not_depend_on_their_order_pass():
    check = orders_of("")

    assert check.status is Status.PASS
    assert "each of 3 seeds gives its own trace in 3 orders" in check.says


# certificate: C-77
def test_a_rig_that_draws_from_a_global_stream_is_named_and_does_not_block():
    check = said.global_streams(asked("global stream", "global-streams"))

    assert (check.status, check.blocks) == (Status.FAIL, False)
    assert "step drew 60 words from the global stream of numpy" in check.says


def test_a_rig_that_seeds_a_global_stream_is_named():
    check = said.global_streams(asked("seeds the global stream", "global-streams"))

    assert "reset seeded, or drew much from, the global stream of python" in check.says


def test_a_rig_with_a_generator_of_its_own_passes_the_test_of_global_streams():
    assert said.global_streams(asked("", "global-streams")).status is Status.PASS


def outside_of(defect):
    return said.outside(asked(defect, "outside"), asked(defect, "outside", episodes=(1, 2)))


# certificate: C-78
@pytest.mark.parametrize(
    ("defect", "name"),
    [
        ("environment", "outside.environment.PLANTED as before the build -> '30'"),
        ("file", "outside.files[/tmp/planted-state] as before the build -> file of 2 bytes"),
        (
            "print options",
            "outside.settings[numpy print options precision] as before the build -> 3",
        ),
    ],
)
def test_state_that_no_object_holds_is_named_and_does_not_block(defect, name):
    check = outside_of(defect)

    assert (check.status, check.blocks) == (Status.FAIL, False)
    assert name in check.says


def test_a_module_that_is_imported_on_the_way_is_no_state():
    check = outside_of("lazy import")

    assert check.status is Status.PASS


def test_a_rig_that_leaves_nothing_outside_passes():
    check = outside_of("")

    assert check.status is Status.PASS
    assert "as after the reset of a fresh build" in check.says


@pytest.mark.parametrize(
    ("fresh", "judged", "is_same"),
    [
        ("/dev/shm/ViZDoomSM3WVy2iGSgr", "/dev/shm/ViZDoompQ81xLm0ZaTu", True),
        ("/dev/shm/pym-25288-yqokhb2m (deleted)", "/dev/shm/pym-25301-ab0zkxw7 (deleted)", True),
        ("/tmp/episode-0001", "/tmp/episode-0006", False),
        ("/tmp/100000001", "/tmp/987654321", False),
        ("/tmp/anchor", "/tmp/anchors/a", False),
    ],
)
def test_a_name_drawn_by_chance_is_no_state_and_a_counter_is(fresh, judged, is_same):
    names = said.outside_names({"files": {fresh: "1"}}, {"files": {judged: "1"}})

    assert (not names) is is_same
    more = {"files": {judged: "1", "/dev/shm/ViZDoom0000AAAAbbbb": "1"}}
    assert said.outside_names({"files": {fresh: "1"}}, more)


def test_who_reads_a_clock_is_named_with_file_and_line_under_whatever_name():
    readers = said.readers(asked("clock", "time-readers"))
    line = 1 + next(
        n for n, text in enumerate(RIGS.read_text().splitlines()) if "time.time()" in text
    )

    assert readers == (
        f"step: datetime.now, 30 times (planted_rigs.py:{line})",
        f"step: time.perf_counter, 30 times (planted_rigs.py:{line})",
        f"step: time.time, 30 times (planted_rigs.py:{line})",
    )


def test_who_draws_entropy_is_named_by_what_it_called():
    readers = "\n".join(said.readers(asked("entropy", "time-readers")))

    assert "os.urandom (by token_bytes), 30 times" in readers
    assert "os.urandom (by uuid4), 30 times" in readers
    assert "os.urandom (by random), 30 times" in readers


def test_a_rig_that_reads_no_clock_names_nobody():
    assert said.readers(asked("", "time-readers")) == ()


def test_what_a_rig_says_of_itself_is_fit_for_a_terminal():
    check = said.not_run("neighbour", "it could not be made: \x1b[2J")

    assert "\x1b" not in check.says
    assert check.status is Status.UNKNOWN
