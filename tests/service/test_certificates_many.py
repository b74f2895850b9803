"""Sweeps, fleets, re-runs and stored references with rigs that are built."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cleandesk.audit.certificate.again import certify_again
from cleandesk.audit.certificate.against import certify_against
from cleandesk.audit.certificate.certificate import Class
from cleandesk.audit.certificate.certify import certify
from cleandesk.audit.certificate.fleet import certify_fleet, devices_of
from cleandesk.audit.certificate.reference import write_reference
from cleandesk.audit.certificate.spelling import to_json
from cleandesk.audit.certificate.sweep import fitting, sweep
from cleandesk.errors import UsageError

pytestmark = pytest.mark.service

SMALL = {"episodes": 2, "steps": 20}

RIG = '''
import os


class Counter:
    """Counts; a device that leaks does not forget."""

    actions = [0, 1]

    def __init__(self, leaks=False):
        self.leaks = leaks
        self.count = 0
        self.total = 0

    def reset(self, *, seed=None, options=None):
        self.count = 0
        if not self.leaks:
            self.total = 0
        return [self.count, self.total], {}

    def step(self, action):
        self.count += 1
        self.total += 1
        return [self.count, self.total], 0.0, self.count >= 8, False, {}

    def close(self):
        pass


def make(leaks=False):
    return Counter(leaks)


def numbered(device):
    if device == 1:
        raise RuntimeError("device 1 has no battery")
    return Counter(leaks=device == 2)


def powered():
    with open("battery"):
        return Counter()


def hangs():
    while True:
        pass


def dies():
    os._exit(9)
'''


@pytest.fixture
def rigs(tmp_path, monkeypatch):
    (tmp_path / "counters.py").write_text(RIG, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def children():
    """Processes that were started here and still live."""
    own = Path(f"/proc/{os.getpid()}/task")
    return [pid for task in own.iterdir() for pid in (task / "children").read_text().split()]


# certificate: C-79
def test_devices_of_a_fleet_are_judged_each_by_itself_and_one_that_raises_is_an_error(rigs):
    """C-79."""
    said = []
    before = children()
    devices = devices_of("counters.py:numbered", 3)
    found = certify_fleet(devices, workers=2, on_progress=said.append, **SMALL)

    assert [each.arguments for each in devices] == [{"device": number} for number in range(3)]
    assert [each.cls for each in found.certificates] == [
        Class.BIT_IDENTICAL,
        Class.ERROR,
        Class.FAIL,
    ]
    assert "device 1 has no battery" in found.certificates[1].reason
    assert [leak.path for leak in found.certificates[2].leaks] == ["env.total"]
    assert len({each.rig for each in found.certificates}) == 3
    assert found.counts == {"BIT-IDENTICAL": 1, "ERROR": 1, "FAIL": 1}
    assert found.took_s > 0
    assert len(said) == 3
    # Another test of this process may have left one that lives as long as it does.
    assert children() == before


def test_a_factory_that_takes_no_number_is_given_none(rigs):
    devices = devices_of("counters.py:make", 2, arguments={"leaks": True})

    assert [each.arguments for each in devices] == [{"leaks": True}] * 2


# certificate: C-80
def test_a_sweep_is_over_what_is_installed_and_fits(rigs):
    """C-80."""
    found = sweep("stub:[cl]*", workers=2, **SMALL)

    assert found.references == ("stub:clean", "stub:leaky")
    assert [row.cls for row in found.rows] == ["BIT-IDENTICAL", "FAIL"]
    assert found.rows[1].leaks == ("policy.memory",)
    assert all(row.took_s > 0 for row in found.rows)


def test_a_pattern_that_nothing_fits_is_refused_with_the_nearest(rigs):
    with pytest.raises(UsageError) as raised:
        fitting("stub:claen*")

    assert raised.value.code == "CD-881"
    assert "stub:clean" in raised.value.do


# certificate: C-80
@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nowhere:make", "there is no module 'nowhere'"),
        ("counters.py:none", "has no 'none'"),
        ("counters.py:dies", ""),
    ],
)
def test_what_cannot_be_imported_or_built_is_a_row(rigs, reference, said):
    """C-80."""
    (row,) = sweep(reference, **SMALL).rows

    assert (row.cls, row.status) == ("ERROR", "UNKNOWN")
    assert said in row.reason


def test_a_rig_that_never_answers_is_ended_when_its_budget_is_over(rigs):
    """C-45."""
    before = children()
    (row,) = sweep("counters.py:hangs", budget_s=3, **SMALL).rows

    assert row.cls == "ERROR"
    assert row.took_s < 40
    assert "budget" in row.reason
    # Another test of this process may have left one that lives as long as it does.
    assert children() == before


# certificate: C-28
def test_a_certificate_that_is_run_again_is_the_same_until_the_rig_changes(rigs):
    """C-28."""
    path = rigs / "certificate.json"
    made = certify("counters.py:make", arguments={"leaks": True}, **SMALL)
    path.write_text(json.dumps(to_json(made)), "utf-8")

    assert made.cls is Class.FAIL
    same = certify_again(path)
    assert (same.is_same, same.stamp) == (True, ())

    source = (rigs / "counters.py").read_text("utf-8")
    (rigs / "counters.py").write_text(source.replace("if not self.leaks:", "if True:"), "utf-8")
    fixed = certify_again(path)
    assert not fixed.is_same
    assert any("FAIL, now BIT-IDENTICAL" in said for said in fixed.differs)
    assert any("env.total" in said for said in fixed.differs)
    assert fixed.stamp


# certificate: C-29
def test_a_rig_is_judged_against_a_stored_reference(rigs):
    """C-29."""
    path = rigs / "clean.ref"
    write_reference(path, "counters.py:make", **SMALL)
    found = certify_against(path, "counters.py:make")

    assert found.cls is Class.BIT_IDENTICAL
    assert "stored reference" in found.not_checked[0]


# certificate: C-29
def test_a_leak_is_named_against_a_stored_reference(rigs):
    """C-29."""
    path = rigs / "leaky.ref"
    write_reference(path, "stub:leaky", **SMALL)
    found = certify_against(path, "stub:leaky")

    assert found.cls is Class.FAIL
    assert "policy.memory" in [leak.path for leak in found.leaks]
    assert found.first_divergence is not None


# certificate: C-27
def test_a_reference_whose_stamp_differs_is_refused(rigs):
    """C-27."""
    path = rigs / "clean.ref"
    write_reference(path, "counters.py:make", **SMALL)
    source = (rigs / "counters.py").read_text("utf-8")
    (rigs / "counters.py").write_text(source + "\nMORE = 1\n", "utf-8")

    with pytest.raises(UsageError) as raised:
        certify_against(path, "counters.py:make")

    assert raised.value.code == "CD-887"
    assert "model" in raised.value.message


@pytest.mark.parametrize(
    "asked", [{"steps": 30}, {"seeds": (7, 8)}, {"arguments": {"leaks": True}}, {"episodes": 3}]
)
def test_a_horizon_that_the_reference_does_not_hold_is_refused(rigs, asked):
    path = rigs / "clean.ref"
    write_reference(path, "counters.py:make", **SMALL)

    with pytest.raises(UsageError) as raised:
        certify_against(path, "counters.py:make", **asked)

    assert raised.value.code == "CD-887"
    assert next(iter(asked)) in raised.value.message


def test_a_rig_whose_fresh_builds_disagree_can_be_no_reference(rigs):
    with pytest.raises(UsageError) as raised:
        write_reference(rigs / "x.ref", "stub:jitter", arguments={"jitter": 0.5}, **SMALL)

    assert raised.value.code == "CD-888"


def test_a_reset_without_a_seed_can_be_no_reference(rigs):
    with pytest.raises(UsageError) as raised:
        write_reference(rigs / "x.ref", "counters.py:make", reset="unseeded", **SMALL)

    assert raised.value.code == "CD-888"


def test_a_rig_that_cannot_be_built_can_be_no_reference(rigs):
    with pytest.raises(UsageError) as raised:
        write_reference(rigs / "x.ref", "counters.py:numbered", arguments={"device": 1}, **SMALL)

    assert raised.value.code == "CD-888"
    assert "no battery" in raised.value.message


def test_a_rig_that_raises_against_a_stored_reference_is_an_error(rigs):
    """C-41."""
    path = rigs / "clean.ref"
    (rigs / "battery").write_text("full", "utf-8")
    write_reference(path, "counters.py:powered", **SMALL)
    (rigs / "battery").unlink()
    found = certify_against(path, "counters.py:powered")

    assert found.cls is Class.ERROR
    assert "FileNotFoundError" in found.reason
