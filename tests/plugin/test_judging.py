"""The plugin judging for real, in one inner run under xdist."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cleandesk.audit.certificate.spelling import from_json

pytestmark = pytest.mark.service

IS_INSTALLED = bool(metadata.entry_points(group="pytest11", name="cleandesk"))
WORLDS = """
import random

class Counter:
    actions = (0, 1)

    def __init__(self, leaks=False, noise=False):
        self.leaks, self.noise, self.level = leaks, noise, 0

    def reset(self, *, seed=None, options=None):
        self.at = random.Random(seed).randrange(9)
        if not self.leaks:
            self.level = 0
        return self.at + (random.SystemRandom().random() if self.noise else 0), {}

    def step(self, action):
        self.level += 1
        return self.at + self.level, float(self.level), False, self.level % 5 == 0, {}

    def close(self):
        pass

def clean():
    return Counter()

def leaky():
    return Counter(leaks=True)

def noisy():
    return Counter(noise=True)
"""
CONFTEST = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

gymnasium.register("OnlyHere-v0", entry_point=CartPoleEnv)
"""
TESTS = """
import pytest
import counters
from cleandesk.report.assertion import assert_resets

SMALL = {"steps": 12, "episodes": 2, "explain": False}

@pytest.mark.reset_certificate("counters:clean", "counters:leaky", "counters:noisy", **SMALL)
def test_marked():
    pass

@pytest.mark.reset_certificate("counters:noisy", allow_unknown=True, **SMALL)
def test_undecided_is_allowed(reset_certificate):
    assert reset_certificate.cls == "REFUSED-AT-ANCHOR"

def test_function_of_a_module():
    assert assert_resets(counters.clean, **SMALL).cls == "BIT-IDENTICAL"

def test_known_leak(assert_resets):
    assert_resets("counters:leaky", known={"level": "ROB-311", "unnamed": "ROB-311"}, **SMALL)

def test_known_leak_that_is_fixed(assert_resets):
    assert_resets("counters:clean", known={"level": "ROB-311"}, **SMALL)

def test_id_of_the_conftest(assert_resets):
    assert_resets("gym:OnlyHere-v0", **SMALL)

def own():
    return counters.Counter()

def test_function_of_the_test_module():
    assert_resets(own, **SMALL)
"""


@dataclass(frozen=True)
class Ran:
    """What an inner run left behind."""

    out: str
    folder: Path

    def case(self, name):
        tree = ElementTree.parse(self.folder / "junit.xml")
        (found,) = [each for each in tree.iter("testcase") if each.get("name") == name]
        return found

    def outcome(self, name):
        children = {child.tag for child in self.case(name)} - {"properties", "system-out"}
        return (children or {"passed"}).pop()

    def message(self, name):
        return next(child.text for child in self.case(name) if child.tag in {"failure", "error"})


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inner")
    (folder / "counters.py").write_text(WORLDS)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_counters.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text(
        textwrap.dedent("""\
            [tool.pytest.ini_options]
            addopts = "--strict-markers"
            filterwarnings = ["error"]
            pythonpath = ["."]
        """)
    )
    loaded = () if IS_INSTALLED else ("-p", "cleandesk_pytest")
    options = ("-n", "2", "-m", "reset", "--junit-xml=junit.xml", "--reset-json=kept")
    said = subprocess.run(
        [sys.executable, "-m", "pytest", *loaded, *options],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    return Ran(said.stdout + said.stderr, folder)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("test_marked[counters:clean]", "passed"),
        ("test_marked[counters:leaky]", "failure"),
        ("test_marked[counters:noisy]", "failure"),
        ("test_undecided_is_allowed[counters:noisy]", "passed"),
        ("test_function_of_a_module", "passed"),
        ("test_known_leak", "passed"),
        ("test_known_leak_that_is_fixed", "failure"),
        ("test_id_of_the_conftest", "failure"),
    ],
)
def test_each_world_is_a_case_of_its_own(ran, name, outcome):
    assert ran.outcome(name) == outcome, ran.out


# certificate: C-95
def test_failure_is_the_first_screen_of_the_certificate(ran):
    message = ran.message("test_marked[counters:leaky]")

    assert message.startswith("FAIL  FAIL  counters:leaky")
    assert "env.level" in message
    assert message.endswith("for the rest: cleandesk certify counters:leaky")
    assert len(message.splitlines()) <= 26


def test_undecided_fails_with_its_reason(ran):
    message = ran.message("test_marked[counters:noisy]")

    assert message.startswith("UNKNOWN  REFUSED-AT-ANCHOR  counters:noisy")
    assert "two fresh builds disagree" in message


def test_known_leak_that_is_fixed_is_named(ran):
    assert "NOT AS LISTED: known and no longer found: level" in " ".join(
        ran.message("test_known_leak_that_is_fixed").split()
    )


def test_id_that_a_conftest_registers_is_told_apart_from_one_that_there_is_not(ran):
    message = ran.message("test_id_of_the_conftest")

    assert "CD-876 OnlyHere-v0 is registered in this process alone" in message
    assert "'gym:MODULE:OnlyHere-v0'" in message


def test_each_case_carries_its_certificate(ran):
    case = ran.case("test_marked[counters:leaky]")
    (held,) = [
        each.get("value")
        for each in case.iter("property")
        if each.get("name") == "reset_certificate"
    ]

    assert from_json(json.loads(held)).cls == "FAIL"


def test_certificates_are_kept_in_a_folder_on_request(ran):
    names = {path.name for path in (ran.folder / "kept").glob("*.json")}

    assert "test_counters.py.test_marked_counters_clean_.json" in names
    assert len(names) == 8
