"""Sweeps, fleets, re-runs and stored references, up to where a rig is built."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import zstandard

from cleandesk.audit.certificate.again import certify_again, compare
from cleandesk.audit.certificate.certificate import (
    Boundary,
    Certificate,
    Class,
    DeclaredField,
    Deviation,
    Divergence,
    Inert,
    Leak,
    Opaque,
    Profile,
)
from cleandesk.audit.certificate.fleet import Fleet, certify_fleet
from cleandesk.audit.certificate.reference import read_reference
from cleandesk.audit.certificate.spelling import to_json
from cleandesk.audit.certificate.sweep import Sweep, fits, fitting, row_of, sweep
from cleandesk.errors import UsageError
from cleandesk.state import encode

PROFILE = Profile(1, 750, (1,), (101,), "mixed")
ROWS = Boundary(1, 1, 101, 200, Class.BIT_IDENTICAL, 10, rows="ab")
STAMP = {"arguments": {}, "reference": "gym:Foo-v1", "reset": "seeded", "packages": {"numpy": "2"}}


def certificate(cls=Class.BIT_IDENTICAL, **more):
    held = {"boundaries": (ROWS,), "stamp": STAMP, **more}
    return Certificate("gym:Foo-v1", "seeded", cls, "because", PROFILE, **held)


# --- Sweeps. ---


@pytest.mark.parametrize(
    ("pattern", "reference"),
    [
        ("gym:*", "gym:CartPole-v1"),
        ("gym:*", "gym:minigrid:MiniGrid-Empty-5x5-v0"),
        ("gym:myrobots/*", "gym:myrobots/Reach-v2"),
        ("gym:myrobots/*", "gym:my_robots:myrobots/Reach-v2"),
        ("gym:MiniGrid-*", "gym:minigrid:MiniGrid-Empty-5x5-v0"),
        ("*", "stub:clean"),
        ("dm_control:cart*", "dm_control:cartpole.balance"),
    ],
)
def test_a_pattern_fits_the_ids_that_are_meant(pattern, reference):
    """C-80."""
    assert fits(pattern, reference)


@pytest.mark.parametrize(
    ("pattern", "reference"),
    [
        ("gym:myrobots/*", "gym:CartPole-v1"),
        ("gym:cartpole*", "gym:CartPole-v1"),
        ("gym:*", "pettingzoo:butterfly.pistonball_v6"),
    ],
)
def test_a_pattern_fits_no_other_id(pattern, reference):
    assert not fits(pattern, reference)


def test_what_is_no_pattern_is_a_reference():
    assert fitting("gym:CartPole-v1") == ["gym:CartPole-v1"]


def test_settings_that_do_not_fit_are_refused_before_anything_is_listed():
    with pytest.raises(UsageError) as raised:
        sweep("gym:*", steps=0)

    assert raised.value.code == "CD-831"


def test_a_row_names_the_leaks_and_not_their_echoes():
    leaks = (Leak("env.x", "leak", "0", "1"), Leak("env.y", "echo", "0", "1"))
    row = row_of("gym:Foo-v1", certificate(Class.FAIL, leaks=leaks, took_s=2.5))

    assert (row.reference, row.cls, row.status) == ("gym:Foo-v1", "FAIL", "FAIL")
    assert (row.leaks, row.took_s) == (("env.x",), 2.5)


def test_a_sweep_is_a_table_of_plain_json():
    failed = certificate(Class.ERROR)
    found = Sweep("gym:*", ("gym:A-v0", "gym:B-v0"), (certificate(), failed), 3.0)

    held = json.loads(json.dumps(found.to_json()))
    assert [row["class"] for row in held["rows"]] == ["BIT-IDENTICAL", "ERROR"]
    assert [row["status"] for row in held["rows"]] == ["PASS", "UNKNOWN"]
    assert (held["pattern"], held["took_s"]) == ("gym:*", 3.0)


# --- Fleets. ---


# certificate: C-79
def test_the_summary_of_a_fleet_is_counts_and_wall_time():
    """C-79."""
    found = Fleet((certificate(), certificate(Class.FAIL), certificate()), 12.34)

    assert found.counts == {"BIT-IDENTICAL": 2, "FAIL": 1}
    assert found.summary().startswith("3 devices: 2 BIT-IDENTICAL, 1 FAIL; 12.3 s; ")
    assert "PASS" not in found.summary()


def test_a_fleet_is_plain_json_with_each_certificate_whole():
    held = json.loads(json.dumps(Fleet((certificate(),), 1.0).to_json()))

    assert held["certificates"] == [to_json(certificate())]
    assert held["classes"] == {"BIT-IDENTICAL": 1}


def test_a_fleet_of_nothing_judges_nothing():
    assert certify_fleet([]).certificates == ()


def test_settings_of_a_fleet_that_do_not_fit_are_refused():
    with pytest.raises(UsageError) as raised:
        certify_fleet(["stub:clean"], episodes=2, seeds=(1,))

    assert raised.value.code == "CD-831"


# --- Again. ---


def test_a_certificate_is_the_same_as_itself_whenever_it_was_made():
    """C-28."""
    found = compare(certificate(took_s=1.0), certificate(took_s=9.0))

    assert found.is_same
    assert found.text().startswith("SAME  gym:Foo-v1\n")
    assert found.to_json()["same"] is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cls": Class.FAIL}, "class: BIT-IDENTICAL, now FAIL"),
        ({"leaks": (Leak("env.x", "leak", "0", "1"),)}, "leaks not found before: env.x"),
        ({"inert": (Inert("env.x", "0", "1", (1,), ""),)}, "inert fields not found before: env.x"),
        ({"opaque": (Opaque("env.w", "World"),)}, "handles that can't be read not found before"),
        ({"varies": ("env.x",)}, "what two fresh builds differ in not found before: env.x"),
        ({"boundaries": (replace(ROWS, rows="cd"),)}, "the rows at boundary 1"),
        ({"boundaries": ()}, "boundaries: 1, now 0"),
        ({"first_divergence": Divergence(1, 2, "info", "0", "1")}, "the first row that differs"),
        ({"deviation": Deviation(largest=1.0)}, "the deviation of the final states"),
    ],
)
def test_what_differs_from_the_certificate_is_named(change, said):
    """C-28."""
    found = compare(certificate(), replace(certificate(), **change))

    assert not found.is_same
    assert said in "; ".join(found.differs)
    assert found.text().startswith("DIFFERS  gym:Foo-v1\n")


def test_a_leak_that_has_another_value_is_another_finding():
    one, other = (
        certificate(Class.FAIL, leaks=(Leak("env.x", "leak", "0", after),)) for after in "12"
    )

    assert compare(one, other).differs == (
        "leaks no longer found: env.x (leak: 0 -> 1)",
        "leaks not found before: env.x (leak: 0 -> 2)",
    )


def test_rows_of_a_rig_that_jitters_are_not_compared():
    one = certificate(Class.STATE_CLEAN, jitter=Deviation(largest=1e-9))

    assert compare(one, replace(one, boundaries=(replace(ROWS, rows="cd"),))).is_same


# certificate: C-28
def test_a_stamp_that_differs_is_said_and_is_no_difference_of_the_verdict():
    found = compare(certificate(), certificate(stamp={**STAMP, "packages": {"numpy": "3"}}))

    assert found.is_same
    assert found.stamp == ("packages.numpy",)
    assert "packages.numpy" in found.text()


def written(tmp_path, **more):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(to_json(certificate(**more))), "utf-8")
    return path


def test_a_certificate_that_does_not_say_what_it_was_made_from_is_refused(tmp_path):
    with pytest.raises(UsageError) as raised:
        certify_again(written(tmp_path, stamp={}))

    assert raised.value.code == "CD-883"


@pytest.mark.parametrize(
    "reference", ["subprocess:run", "os:system", "builtins:exec", "object:os:system", "nobody"]
)
def test_code_that_a_file_names_is_not_run_unless_it_is_ones_own(tmp_path, reference):
    """C-93: what comes from outside is not trusted."""
    with pytest.raises(UsageError) as raised:
        certify_again(
            written(tmp_path, stamp={**STAMP, "reference": reference}), folders=[str(tmp_path)]
        )

    assert raised.value.code == "CD-884"


def test_nor_is_a_file_outside_of_the_folders(tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "evil.py").write_text("raise SystemExit", "utf-8")

    for reference in ("../other/evil.py:make", f"{other}/evil.py:make"):
        with pytest.raises(UsageError) as raised:
            certify_again(written(own, stamp={**STAMP, "reference": reference}), folders=[str(own)])

        assert raised.value.code == "CD-884"


def test_what_a_person_declared_is_declared_again_and_what_the_rig_does_is_not(tmp_path):
    from cleandesk.audit.certificate.again import _from_stamp

    declared = (
        DeclaredField("env.goal", "uniform 0 1", "asked"),
        DeclaredField("env.action_space", "space.sample", "the agent's"),
    )
    reference, settings = _from_stamp(
        certificate(declared=declared, condition="held equal on request: global-rng"), "x.json"
    )

    assert reference == "gym:Foo-v1"
    assert settings["declare"] == ["env.goal=uniform 0 1"]
    assert settings["pin"] == ["global-rng"]
    assert (settings["seeds"], settings["episode_seeds"], settings["steps"]) == ((1,), (101,), 750)


# --- Stored references. ---


# certificate: C-27
def test_without_a_reference_nothing_is_judged(tmp_path):
    """C-27."""
    with pytest.raises(UsageError) as raised:
        read_reference(tmp_path / "none.ref")

    assert raised.value.code == "CD-885"


def packed(value):
    return zstandard.compress(encode(value))


STORED = {
    "arguments": {},
    "episode_seeds": [101],
    "reference": "stub:clean",
    "reset": "seeded",
    "schema": "reference/1",
    "seeds": [1],
    "shown": [{"leaves": {}, "rows": [], "said": {}, "steps": []}],
    "stamp": {},
    "stepped": 0,
    "steps": 10,
    "trace": True,
}


def test_a_stored_reference_holds_its_horizon(tmp_path):
    path = tmp_path / "x.ref"
    path.write_bytes(packed(STORED))
    stored = read_reference(path)

    assert stored.recipe.reference == "stub:clean"
    assert (stored.horizon.seeds, stored.horizon.steps) == ((1,), 10)
    assert len(stored.shown) == 1


# certificate: C-27
def test_a_reference_of_a_rig_that_had_stepped_is_refused(tmp_path):
    """C-27."""
    path = tmp_path / "x.ref"
    path.write_bytes(packed({**STORED, "stepped": 3}))

    with pytest.raises(UsageError) as raised:
        read_reference(path)

    assert raised.value.code == "CD-888"
    assert "3" in raised.value.message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no zstd",
        zstandard.compress(b"no json"),
        packed([1]),
        packed({**STORED, "schema": "reference/2"}),
        packed({**STORED, "shown": []}),
        packed({name: value for name, value in STORED.items() if name != "seeds"}),
        packed(STORED)[:-9],
    ],
)
def test_a_file_that_holds_no_reference_is_refused(tmp_path, data):
    path = tmp_path / "x.ref"
    path.write_bytes(data)

    with pytest.raises(UsageError) as raised:
        read_reference(path)

    assert raised.value.code == "CD-886"
    assert "x.ref" in raised.value.where
