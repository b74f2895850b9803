"""``cleandesk certify`` with real processes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cleandesk.audit.certificate.spelling import from_json, read_certificate

pytestmark = pytest.mark.service

DESKS = """
class Counter:
    actions = (0, 1)

    def __init__(self, *, leaks=False, label=""):
        self.leaks, self.label, self.level = leaks, label, 0

    def reset(self, *, seed=None, options=None):
        if not self.leaks:
            self.level = 0
        return self.level, {}

    def step(self, action):
        self.level += 1
        return self.level, 1.0, False, False, {}

    def close(self):
        pass

def broken():
    raise OSError("no such display")
"""
SMALL = ("--steps", "12", "--episodes", "2", "--no-explain")
LEAKY = ("-T", "leaks=true", *SMALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("desks")
    (made / "desks.py").write_text(DESKS)
    (made / "pyproject.toml").write_text("[project]\nname = 'desks'\n")
    return made


@pytest.fixture(scope="module")
def certify(cleandesk, folder):
    return lambda *arguments: cleandesk("certify", *arguments, cwd=folder)


@pytest.fixture(scope="module")
def clean(certify):
    return certify("desks:Counter", *SMALL)


@pytest.fixture(scope="module")
def leaky(certify):
    return certify("desks:Counter", *LEAKY, "--json", "leaky.json", "--html", "leaky.html")


# certificate: C-92
def test_clean_reset_passes(clean):
    """C-92."""
    assert clean.status == 0
    assert clean.out.startswith("PASS  BIT-IDENTICAL  desks:Counter")
    assert clean.err == ""


# certificate: C-92
def test_leaking_reset_is_a_finding_that_names_the_field(leaky):
    """C-92."""
    assert leaky.status == 1
    assert leaky.out.startswith("FAIL  FAIL  desks:Counter")
    assert "leaked       env.level  0 -> " in leaky.out


def test_result_of_a_leaking_reset_is_kept_in_both_files(leaky, folder):
    certificate = read_certificate(folder / "leaky.json")

    assert [leak.path for leak in certificate.leaks] == ["env.level"]
    assert "env.level" in (folder / "leaky.html").read_text()


# certificate: C-55
def test_script_that_reproduces_a_leak_is_written_and_is_run_without_cleandesk(certify, folder):
    said = certify("desks:Counter", "-T", "leaks=true", *SMALL[:4], "--script", "leak.py")
    run = subprocess.run([sys.executable, "leak.py"], cwd=folder, check=False, capture_output=True)

    assert said.status == 1
    assert run.returncode == 1
    assert "cleandesk" not in (folder / "leak.py").read_text()


def test_that_there_is_no_script_is_said(certify, folder):
    said = certify("desks:Counter", *SMALL, "--script", "none.py")

    assert said.status == 0
    assert said.err.startswith("no script was written")
    assert not (folder / "none.py").exists()


def test_json_alone_goes_to_standard_output(certify):
    said = certify("desks:Counter", *SMALL, "--json", "-")

    assert from_json(json.loads(said.out)).cls == "BIT-IDENTICAL"


def test_json_without_a_file_is_standard_output(certify):
    said = certify("desks:Counter", *SMALL, "--no-trace", "--json")

    assert said.status == 3
    assert json.loads(said.out)["class"] == "STATE-ONLY"


# certificate: C-92
def test_rig_that_can_not_be_built_is_no_finding(certify):
    """C-41, C-92."""
    said = certify("desks:broken", *SMALL)

    assert said.status == 4
    assert said.out.startswith("UNKNOWN  ERROR  desks:broken")
    assert "no such display" in said.out


def test_declared_field_is_no_leak(certify):
    said = certify("desks:Counter", *LEAKY, "--declare", "env.level=any", "--no-trace")

    assert said.status == 3
    assert "declared     any: env.level" in said.out


def test_known_leak_is_no_finding_and_its_ticket_is_shown(certify, folder):
    (folder / "known.toml").write_text('[known]\n"level" = "ROB-311"\n"unnamed" = "ROB-311"\n')
    said = certify("desks:Counter", *LEAKY, "--known", "known.toml")

    assert said.status == 0
    assert said.out.startswith("FAIL  FAIL  ")
    assert "known        as listed: ROB-311" in said.out


def test_known_leak_that_is_fixed_is_a_finding(certify, folder):
    (folder / "fixed.toml").write_text('[known]\n"level" = "ROB-311"\n')
    said = certify("desks:Counter", *SMALL, "--known", "fixed.toml")

    assert said.status == 1
    assert said.out.startswith("PASS  BIT-IDENTICAL  ")
    assert "NOT AS LISTED: known and no longer found: level" in said.out


def test_certificate_that_is_run_again_says_the_same(certify, leaky):
    """C-28."""
    said = certify("--again", "leaky.json")

    assert said.status == 0
    assert said.out.startswith("SAME  desks:Counter")


def test_certificate_that_is_edited_is_not_what_a_run_gives(certify, leaky, folder):
    """C-28."""
    held = json.loads((folder / "leaky.json").read_text())
    held["leaks"][0]["path"] = "env.other"
    (folder / "edited.json").write_text(json.dumps(held))
    said = certify("--again", "edited.json", "--json")

    assert said.status == 1
    assert said.json["same"] is False


def test_devices_of_a_fleet_each_have_a_line_and_progress_goes_to_standard_error(certify):
    """C-79."""
    said = certify("desks:Counter", *LEAKY, "--fleet", "2", "-n", "2", "--html", "fleet.html")

    assert said.status == 1
    assert [line.split()[0] for line in said.out.splitlines()[1:5:2]] == ["FAIL", "FAIL"]
    assert "2 rigs: 2 FAIL;" in said.out
    assert len(said.err.splitlines()) == 2


def test_sweep_judges_what_is_installed_and_fits(certify, folder):
    """C-80."""
    said = certify("--sweep", "gym:CliffWalking-v*", *SMALL, "--json", "sweep.json")
    held = json.loads((folder / "sweep.json").read_text())

    assert said.status == 0
    assert [one["class"] for one in held["certificates"]] == ["BIT-IDENTICAL"]
    assert "BIT-IDENTICAL      gym:CliffWalking-v1" in said.out


def test_table_of_a_rig_in_pyproject_is_used_in_a_sweep_too(cleandesk, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.cleandesk.certify]\nepisodes = 2\nsteps = 12\nno-explain = true\n"
        '[tool.cleandesk.certify."gym:CliffWalking-v1"]\nkwargs = { is_slippery = true }\n'
    )
    said = cleandesk(
        "certify", "--sweep", "gym:CliffWalking-v*", "--json", "sweep.json", cwd=tmp_path
    )
    (one,) = json.loads((tmp_path / "sweep.json").read_text())["certificates"]

    assert said.status == 0
    assert one["stamp"]["arguments"] == {"is_slippery": True}


def test_sweep_over_nothing_is_bad_usage(certify):
    said = certify("--sweep", "gym:NoneSuch*")

    assert said.status == 2
    assert said.err.startswith("CD-881 ")


def test_reset_is_judged_against_a_stored_reference(certify, folder):
    """C-29."""
    stored = certify("desks:Counter", *SMALL, "--write-reference", "desks.ref")
    said = certify("desks:Counter", "--reference", "desks.ref")

    assert (stored.status, said.status) == (0, 0)
    assert "stored what 2 fresh builds of desks:Counter show, in desks.ref" in stored.out
    assert said.out.startswith("PASS  BIT-IDENTICAL  desks:Counter")


def test_rig_that_can_not_be_built_gives_no_reference(certify, folder):
    said = certify("desks:broken", "--write-reference", "none.ref")

    assert said.status == 2
    assert "no such display" in said.err
    assert not (folder / "none.ref").exists()


def test_table_of_a_rig_in_pyproject_is_used(cleandesk, tmp_path):
    (tmp_path / "desks.py").write_text(DESKS)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.cleandesk.certify]\nepisodes = 1\nsteps = 7\nno-explain = true\n"
        '[tool.cleandesk.certify."desks:Counter"]\nkwargs = { leaks = true }\n'
    )
    said = cleandesk("certify", "desks:Counter", "--steps", "9", "--json", cwd=tmp_path)
    profile = json.loads(said.out)["profile"]

    assert said.status == 1
    assert (profile["episodes"], profile["steps"]) == (1, 9)


def test_python_dash_m_judges_too(folder):
    command = [sys.executable, "-m", "cleandesk", "certify", "desks.py:Counter", *SMALL]
    said = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)

    assert said.returncode == 0
    assert said.stdout.startswith("PASS  BIT-IDENTICAL  desks.py:Counter")
    assert said.stderr == ""
