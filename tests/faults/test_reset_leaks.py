"""Planted leaks, each named by a certificate, and their clean twins, on which it is silent."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gymnasium")

from cleandesk.audit.certificate.certify import certify
from cleandesk.verdict import Status

# Some eighty certificates, each with processes of its own.
pytestmark = pytest.mark.service

RIGS = Path(__file__).parent / "rigs"
AT_A_TIME = 3


@dataclass(frozen=True, eq=False)
class Case:
    """One certificate: of which rig, and how."""

    file: str
    name: str
    chosen: dict[str, Any] = field(default_factory=dict)

    def certificate(self):
        chosen = {"episodes": 3, "steps": 100, "explain": False, **self.chosen}
        return certify(f"{RIGS / f'planted_{self.file}.py'}:{self.name}", **chosen)


def case(file, name, *more, leaks=True, **chosen):
    if not leaks:
        chosen = {**chosen, "arguments": {"leaks": False, **chosen.get("arguments", {})}}
    return pytest.param(Case(file, name, chosen), *more, id=name)


def judged(*cases, names="found"):
    return pytest.mark.parametrize(names, cases, indirect=["found"])


def of(file, name, **chosen):
    return judged(case(file, name, **chosen))


@pytest.fixture(scope="module")
def certificates(request):
    """The certificates that the chosen tests want, made a few at a time."""
    wanted = [
        item.callspec.params["found"]
        for item in request.session.items
        if item.path == request.path and "found" in getattr(item, "fixturenames", ())
    ]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        futures = {each: pool.submit(each.certificate) for each in wanted}
        yield futures
        for future in futures.values():
            future.cancel()


@pytest.fixture
def found(request, certificates):
    return certificates[request.param].result()


def leaked(found):
    return [leak.path for leak in found.leaks if leak.kind == "leak"]


def check(found, name):
    (wanted,) = [each for each in found.checks if each.name == name]
    return wanted


ONE_FIELD = [
    ("leaks", "WarmStart", "env._warm"),
    ("leaks", "ClassList", "[class ClassList].seen_before"),
    ("leaks", "ModuleMemo", "[module planted_leaks].MEMO"),
    ("leaks", "Wear", "env._wear"),
    ("leaks", "Drift", "env._drift"),
    ("leaks", "OwnGenerator", "env._own"),
    ("leaks", "Closure", "closure.worn"),
    ("cases", "ThirdWrite", "env._load"),
    ("cases", "OneSided", "env._extra"),
    ("cases", "Ring", "env.queue"),
    ("cases", "Slotted", "env.motor._heat"),
    ("cases", "UnseededStream", "env._stream"),
    ("cases", "DictOrder", "env.limbs"),
    ("cases", "DefaultArgument", ".defaults[0]"),
    ("cases", "CachedFunction", "_draw].cache"),
    ("cases", "wrapped", "_Smoothed._mean"),
    ("cases", "Huge", "env.table[row 31337].x"),
    ("harness", "Tank", "tank.heat"),
]
"""C-3 C-6 C-7 C-8 C-10 C-12 C-13 C-14 C-40: the field that each of them leaves behind."""


@judged(*(case(*row) for row in ONE_FIELD), names=("found", "field"))
def test_reset_that_omits_one_field_is_failed_for_that_field_alone(found, field):
    assert str(found.cls) == "FAIL"
    assert found.status is Status.FAIL
    assert leaked(found)
    assert [path for path in leaked(found) if field not in path] == []
    assert found.first_divergence is not None


@of("together", "Together")
def test_clean_twins_are_bit_identical_and_nothing_is_named(found):
    """C-36: fifty clean twins in one rig, any of which would break the silence."""
    assert (str(found.cls), found.leaks, found.inert) == ("BIT-IDENTICAL", (), ())
    assert [each.name for each in found.checks if each.status is Status.FAIL and each.blocks] == []


CLEAN = [
    ("leaks", "Clean"),
    ("leaks", "SharedObservation"),
    ("leaks", "KeptFile"),
    ("leaks", "KeptVariable"),
    ("cases", "Huge"),
    ("cases", "wrapped"),
    ("harness", "Tank"),
]


@judged(*(case(*row, leaks=False) for row in CLEAN))
def test_clean_twin_by_itself_is_bit_identical(found):
    """C-36 C-70: and no deviation has anything to name."""
    assert (str(found.cls), found.status) == ("BIT-IDENTICAL", Status.PASS)
    assert (found.leaks, found.inert) == ((), ())
    assert [each.name for each in found.checks if each.status is Status.FAIL] == []


@of("leaks", "Fuse", episodes=5)
def test_counter_that_arms_after_eight_resets_is_inert_and_then_a_leak(found):
    """C-47 C-48 C-49 C-71: inert at four boundaries, fused at the fifth."""
    assert str(found.cls) == "FAIL"
    assert leaked(found) == ["env._resets"]
    assert "fused at 5" in found.leaks[0].note
    assert [str(each.cls) for each in found.boundaries] == ["BIT-IDENTICAL"] * 4 + ["FAIL"]


@of("leaks", "Fuse")
def test_counter_that_has_not_armed_is_inert_and_accumulates(found):
    """C-47 C-49: it is named with its evidence, and is no bar to a PASS."""
    assert str(found.cls) == "BIT-IDENTICAL"
    assert [(each.path, each.boundaries) for each in found.inert] == [("env._resets", (1, 2, 3))]
    assert found.inert[0].evidence
    assert "accumulates" in found.inert[0].note


@judged(
    case("cases", "Fused", "env._wear"),
    case("cases", "HorizonFuse", "env._count"),
    names=("found", "field"),
)
def test_field_that_is_read_only_later_is_fused_there(found, field):
    """C-48: inert at the first boundary, a leak at the second."""
    (fused,) = [leak for leak in found.leaks if leak.path == field]
    assert str(found.cls) == "FAIL"
    assert "fused at 2" in fused.note
    assert str(found.boundaries[0].cls) == "BIT-IDENTICAL"


UNNAMED = [("leaks", "KeptFile", "env._file"), ("cases", "Compiled", "env.hidden")]


@judged(*(case(*row) for row in UNNAMED), names=("found", "handle"))
def test_state_that_can_not_be_read_fails_unnamed_with_its_handle_listed(found, handle):
    """C-15 C-44 C-85: the certificate explains in the same breath why it names no field."""
    assert (str(found.cls), found.leaks) == ("FAIL", ())
    assert handle in [each.path for each in found.opaque]
    assert "outside what was read" in found.reason


@of("leaks", "KeptVariable")
def test_environment_variable_fails_unnamed_and_the_probe_names_it(found):
    """C-44 C-78."""
    assert (str(found.cls), found.leaks) == ("FAIL", ())
    assert "PLANTED_WEAR" in check(found, "outside").says


@of("cases", "CStruct")
def test_c_struct_that_is_not_reset_is_named_or_listed_as_opaque(found):
    """C-15 C-16."""

    paths = [*leaked(found), *(each.path for each in found.opaque)]
    assert str(found.cls) == "FAIL"
    assert any(path.startswith("env.struct") for path in paths)


@of("cases", "LateHandle")
def test_handle_that_an_episode_makes_is_a_difference_and_listed(found):
    """C-15 C-85: it did not exist at the start of a fresh episode."""
    assert str(found.cls) == "FAIL"
    assert leaked(found) == ["env._handle"]
    assert "env._handle" in [each.path for each in found.opaque]


@of("cases", "LateHandle", leaks=False)
def test_handle_that_an_episode_makes_and_a_clean_reset_drops_is_listed_all_the_same(found):
    """C-85: it stands in the final state alone."""
    assert str(found.cls) == "BIT-IDENTICAL"
    assert "env._handle" in [each.path for each in found.opaque]


@of("leaks", "SharedObservation")
def test_observation_that_is_the_rigs_own_buffer_fails_by_the_check_alone(found):
    """C-42 C-72: each trace is equal, and holding an observation is not safe."""
    assert (str(found.cls), found.leaks, found.first_divergence) == ("FAIL", (), None)
    assert check(found, "alias").status is Status.FAIL


@of("cases", "Neighbour")
def test_rigs_that_share_a_field_of_their_class_disturb_each_other_and_that_is_said(found):
    """C-42 C-74: the reset of one alone is clean."""
    assert check(found, "neighbour").status is Status.FAIL
    assert (str(found.cls), found.leaks) == ("BIT-IDENTICAL", ())


@judged(case("cases", "Property"), case("cases", "Property", leaks=False))
def test_property_with_a_side_effect_does_not_fire_and_is_clean(found):
    """C-9."""
    assert (str(found.cls), found.inert) == ("BIT-IDENTICAL", ())


@of("cases", "Statistics")
def test_statistics_that_are_kept_on_purpose_are_inert(found):
    """C-47."""
    assert str(found.cls) == "BIT-IDENTICAL"
    assert {each.path for each in found.inert} == {"env.total", "env.episodes"}


@of("cases", "Statistics", declare=["env.total=any", "env.episodes=any"])
def test_statistics_that_are_declared_are_taken_out_and_listed(found):
    """C-46."""

    mine = {each.pattern: each for each in found.declared if each.paths}
    assert (str(found.cls), found.inert) == ("BIT-IDENTICAL", ())
    assert {"env.total", "env.episodes"} <= set(mine)


@of("leaks", "Clean", declare=["env.nothing_of_that_name=any"])
def test_declaration_that_names_no_field_fails(found):
    """C-46."""
    assert str(found.cls) == "FAIL"
    assert [each.problem for each in found.declared if "nothing_of" in each.pattern] != [""]


@of("cases", "Statistics", declare=["env.total=any", "env.episodes=uniform 0 0.5"])
def test_declared_value_that_its_sampler_can_not_draw_fails(found):
    """C-46."""

    (mine,) = [each for each in found.declared if each.pattern == "env.episodes"]
    assert str(found.cls) == "FAIL"
    assert mine.problem


@of("cases", "Accumulating")
def test_list_that_grows_unread_is_inert_and_accumulates(found):
    """C-49."""
    assert str(found.cls) == "BIT-IDENTICAL"
    assert found.inert
    assert all(each.path.startswith("env.log") for each in found.inert)
    assert any("accumulates" in each.note for each in found.inert)


@of("cases", "Echo", explain=True)
def test_fields_that_follow_from_the_leak_are_its_echoes(found):
    """C-50 C-51 C-52: restoring one field clears three others, and makes the trace equal."""

    kinds = {leak.path: (leak.kind, leak.is_confirmed) for leak in found.leaks}
    assert kinds.pop("env._load") == ("leak", True)
    assert {path: kind for path, (kind, _) in kinds.items()} == {
        "env.mass": "echo",
        "env.inertia": "echo",
        "env.reach": "echo",
    }


@of("cases", "ThirdWrite", explain=True)
def test_leak_is_traced_to_the_line_that_wrote_it_and_to_a_script(found):
    """C-53 C-55: the script runs by itself and shows the leak."""

    (leak,) = found.leaks
    assert leak.is_confirmed
    assert leak.written is not None
    assert Path(leak.written.file).name == "planted_cases.py"
    assert "_load" in leak.written.source
    assert found.repro is not None
    assert "cleandesk" not in found.repro


@of("cases", "SecondReset", explain=True)
def test_leak_that_two_resets_show_needs_no_step(found):
    """C-55 C-73: the smallest history is two resets."""
    assert str(found.cls) == "FAIL"
    assert "env._resets" in leaked(found)
    assert check(found, "first-reset").status is Status.FAIL
    assert found.first_divergence.step == 0
    assert found.repro is not None
    assert "step(" not in found.repro.split("def ")[-1] or "actions = []" in found.repro


@of("cases", "OneResetLate")
def test_reset_that_shows_what_the_one_before_drew_is_caught_by_the_judged_reset_itself(found):
    """C-31 C-33: a second reset would hide it."""
    assert str(found.cls) == "FAIL"
    assert (found.first_divergence.boundary, found.first_divergence.step) == (1, 0)
    assert found.first_divergence.channel == "observation"
    assert found.first_divergence.fresh != found.first_divergence.judged


@of("cases", "LeftValue", arguments={"kind": "nan"})
def test_rows_that_differ_in_info_alone_fail_and_say_so(found):
    """C-32 C-43 C-64: the deviation holds what the value alone makes of it."""
    assert str(found.cls) == "FAIL"
    assert found.first_divergence.channel == "info"
    assert leaked(found) == ["env.value"]
    assert found.deviation.not_orderable == ("env.value",)
    assert found.deviation.is_unbounded


PRICES = {
    "int64-wrap": 2.0**64,
    "uint8-wrap": 255.0,
    "mixed-kind": 1.0,
    "phase": math.sqrt(2),
    "tiny": 5e-324,
}
"""C-58 C-60 C-61 C-62 C-63; 2^64 - 1 is rounded once, away from zero."""


@judged(
    *(case("cases", "LeftValue", kind, arguments={"kind": kind}) for kind in PRICES),
    names=("found", "kind"),
)
def test_difference_has_its_exact_price(found, kind):
    """C-57 C-58 C-60 C-61 C-62 C-63."""
    assert found.deviation.largest == pytest.approx(PRICES[kind], rel=1e-15, abs=0.0)
    assert found.deviation.worst.startswith("env.value")
    assert not found.deviation.is_unbounded


@of("cases", "LeftValues")
def test_what_can_not_be_priced_is_named_by_what_can_not_be_said(found):
    """C-64 C-65 C-66 C-68 C-69 C-70."""
    deviation = found.deviation

    def kinds(paths):
        return {path.removeprefix("env.values").strip(".[").split("]")[0] for path in paths}

    assert deviation.is_unbounded
    assert {"nan", "inf", "both-inf", "huge", "beyond-floats"} <= kinds(deviation.not_orderable)
    assert {"text", "bytes"} <= kinds(deviation.not_measurable)
    assert "signed-zero" in kinds(deviation.bits_only)


@of("cases", "OneSided")
def test_field_of_one_side_is_unbounded_and_named(found):
    """C-67."""
    deviation = found.deviation

    assert deviation.is_unbounded
    assert deviation.one_sided == ("env._extra",)


@of("leaks", "Wear", trace=False)
def test_leak_without_a_trace_is_failed_without_one(found):
    """C-34 C-50 C-70."""
    assert (str(found.cls), found.first_divergence) == ("FAIL", None)
    assert leaked(found) == ["env._wear"]


@of("leaks", "Clean", trace=False)
def test_clean_rig_without_a_trace_is_state_only(found):
    """C-34 C-38."""
    assert (str(found.cls), found.status) == ("STATE-ONLY", Status.UNKNOWN)


@of("refusals", "Jittered", arguments={"size": 1e-12})
def test_jitter_of_a_clean_rig_is_state_clean_with_its_deviation(found):
    """C-23 C-37."""
    assert (str(found.cls), found.status) == ("STATE-CLEAN", Status.PASS)
    assert 0 < found.deviation.largest <= 1e-6
    assert found.jitter is not None


@of("refusals", "Jittered", arguments={"size": 0.0})
def test_stub_without_jitter_is_its_clean_control(found):
    """C-23 C-36."""
    assert str(found.cls) == "BIT-IDENTICAL"


@of("refusals", "Jittered", arguments={"size": 1e-2})
def test_jitter_beyond_the_tolerance_is_never_a_pass(found):
    """C-21 C-23."""
    assert str(found.cls) == "REFUSED-AT-ANCHOR"
    assert str(found.cause) == "ENTROPY"


@of("refusals", "JitteredLeak", arguments={"size": 1e-12})
def test_leak_beside_jitter_is_named(found):
    """C-23 C-40."""
    assert str(found.cls) == "FAIL"
    assert leaked(found) == ["env._load"]


REFUSED = [
    ("leaks", "WallClock", "WALL-CLOCK", ""),
    ("refusals", "BuiltWithGlobalDraw", "GLOBAL-RNG", "env.bias"),
    ("refusals", "BuiltWithNumpyDraw", "GLOBAL-RNG", "env.bias"),
    ("refusals", "BuiltWithEntropy", "ENTROPY", "env.bias"),
    ("refusals", "OwnUnseeded", "ENTROPY", "env._own"),
    ("refusals", "GlobalStream", "GLOBAL-RNG", ""),
    ("refusals", "HashOrder", "HASH-ORDER", "env.order"),
    ("refusals", "StartedAt", "WALL-CLOCK", "env.started"),
    ("harness", "TouchyTank", "WALK", ""),
]


@judged(*(case(*row) for row in REFUSED), names=("found", "cause", "field"))
def test_rig_whose_fresh_builds_disagree_is_refused_with_the_cause(found, cause, field):
    """C-19 C-20 C-21 C-22 C-39: no reset is judged, and nothing is called a leak."""
    assert (str(found.cls), found.status) == ("REFUSED-AT-ANCHOR", Status.UNKNOWN)
    assert str(found.cause) == cause
    assert found.leaks == ()
    assert any(path.startswith(field) for path in found.varies or (field,))


@of("refusals", "BuiltWithGlobalDraw", pin=["global-rng"])
def test_rig_that_draws_from_a_global_stream_is_judged_while_it_is_held_equal(found):
    """C-24: the condition is printed with the class."""
    assert str(found.cls) == "BIT-IDENTICAL"
    assert "global-rng" in found.condition


@of("refusals", "GlobalStream", leaks=False)
def test_clean_rig_that_seeds_the_global_stream_is_told_that_it_draws_from_it(found):
    """C-77."""
    assert (found.leaks, found.first_divergence) == ((), None)
    assert check(found, "global-streams").status is not Status.PASS


@of("refusals", "LookedAt")
def test_part_that_counts_who_looks_at_it_is_refused_or_not_woken(found):
    """C-9 C-19."""
    assert str(found.cls) in {"BIT-IDENTICAL", "REFUSED-AT-ANCHOR"}
    assert found.leaks == ()
    assert found.cause is None or str(found.cause) == "WALK"


RAISING = [
    ("BuildRaises", "no licence found"),
    ("StepRaises", "joint 3 is out of its limits"),
    ("UsedUpRaises", "no room for another body"),
    ("Exits", ""),
]


@judged(*(case("refusals", *row) for row in RAISING), names=("found", "words"))
def test_rig_that_raises_or_ends_is_an_error_with_its_words(found, words):
    """C-1 C-41."""
    assert (str(found.cls), found.status) == ("ERROR", Status.UNKNOWN)
    assert words in found.reason


@of("refusals", "ResetHangs", budget_s=6.0)
def test_reset_that_hangs_ends_within_the_budget(found):
    """C-45."""
    assert found.status is Status.UNKNOWN
    assert found.took_s < 20


@of("refusals", "Threaded")
def test_thread_for_every_reset_is_told(found):
    """C-78."""
    assert "env.threads" in {each.path for each in (*found.leaks, *found.inert)}


@of("refusals", "Threaded", leaks=False)
def test_thread_that_lives_as_long_as_its_clean_rig_is_no_leak(found):
    """C-1: a rig that can't be forked is judged all the same."""
    assert (str(found.cls), found.leaks) == ("BIT-IDENTICAL", ())


@of("cases", "Hostile", explain=True)
def test_hostile_names_and_values_do_not_reach_a_terminal_raw(found):
    """C-93."""
    from cleandesk.report.certificate import render_certificate

    text = render_certificate(found)

    assert "FAIL" in text.splitlines()[0]
    assert [char for char in text if char != "\n" and not char.isprintable()] == []


UNSEEDED = {"explain": False, "reset": "unseeded"}


@judged(*[case("streams", name, **UNSEEDED) for name in ("OfModule", "OfClosure", "OfEverybody")])
def test_unseeded_reset_goes_on_from_streams_that_no_attribute_holds(found):
    """C-5 C-36."""
    assert (str(found.cls), found.leaks) == ("BIT-IDENTICAL", ())


@of("streams", "NeverSeeded", **UNSEEDED)
def test_stream_that_no_reset_seeds_is_refused_also_where_resets_take_no_seed(found):
    """C-21 C-22."""
    assert (str(found.cls), str(found.cause)) == ("REFUSED-AT-ANCHOR", "GLOBAL-RNG")


@of("leaks", "Clean")
def test_everything_that_limits_a_certificate_is_in_it(found):
    """C-5 C-26 C-30 C-35 C-84 C-88 C-89 C-90."""
    from cleandesk.report.certificate import render_certificate

    profile = found.profile
    assert (profile.episodes, profile.steps) == (3, 100)
    assert not set(profile.seeds) & set(profile.episode_seeds)
    assert profile.distinct > 1
    assert sum(profile.endings.values()) >= 3
    assert profile.policy
    assert {"machine", "packages", "model", "harness", "reset"} <= set(found.stamp)
    assert found.boundaries[-1].episode_steps < found.boundaries[0].episode_steps
    assert render_certificate(found).startswith("PASS  BIT-IDENTICAL")
