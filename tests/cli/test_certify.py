"""``cleandesk certify`` up to where a rig is built; the rest is in test_certify_rigs.py."""

from __future__ import annotations

import json

import pytest


def test_nothing_to_judge_is_bad_usage(cleandesk):
    said = cleandesk("certify")

    assert said.status == 2
    assert said.err.startswith("CD-874 nothing is named that is to be judged")


def test_world_that_was_taken_for_the_file_of_json_is_found_out(cleandesk):
    said = cleandesk("certify", "--json", "gym:CartPole-v1")

    assert said.status == 2
    assert "was gym:CartPole-v1 meant as WORLD? then write --json - before it" in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("gym:X-v0", "--sweep", "gym:*"),
        ("gym:X-v0", "--again", "x.json"),
        ("--sweep", "gym:*", "--again", "x.json"),
        ("--sweep", "gym:*", "--fleet", "2"),
    ],
)
def test_two_things_to_judge_are_bad_usage(cleandesk, arguments):
    said = cleandesk("certify", *arguments)

    assert said.status == 2
    assert said.err.startswith("CD-874 ")
    assert " and --" in said.err.splitlines()[0]


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_file_in_no_folder_is_refused_before_anything_is_judged(cleandesk, option):
    said = cleandesk("certify", "gym:X-v0", option, "none/x")

    assert said.status == 2
    assert said.err.startswith("CD-873 ")
    assert "none/x" in said.err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--seeds", "1,x", "write 1,2,7-9"),
        ("--seeds", "", "write 1,2,7-9"),
        ("--seeds", "9-1", "names no seed"),
        ("--seeds", "1-99999999999", "more than 10000"),
        ("--ep-seeds", "1--", "write 1,2,7-9"),
        ("--declare", "env.level", "is not PATTERN=SAMPLER"),
        ("--declare", "=any", "is not PATTERN=SAMPLER"),
        ("--kwargs", "control", "is not key=value"),
        ("--pin", "moon", "global-rng"),
        ("--episodes", "0", "x>=1"),
        ("--budget", "0", "x>0"),
    ],
)
def test_option_that_can_not_be_meant_is_bad_usage(cleandesk, option, value, said):
    got = cleandesk("certify", "gym:X-v0", option, value)

    assert got.status == 2
    assert said in got.err


def test_wrong_option_in_pyproject_is_bad_usage(cleandesk, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.cleandesk.certify]\nepisode = 3\n")
    said = cleandesk("certify", "gym:X-v0", cwd=tmp_path)

    assert said.status == 2
    assert said.err.startswith("CD-872 there is no option 'episode'")
    assert "did you mean 'episodes'?" in said.err


def test_error_is_one_json_object_where_json_goes_to_standard_output(cleandesk, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.cleandesk.certify]\nepisode = 3\n")
    said = cleandesk("certify", "gym:X-v0", "--json", "-", cwd=tmp_path)

    assert json.loads(said.out)["error"]["code"] == "CD-872"


def test_error_is_not_printed_as_json_where_json_goes_to_a_file(cleandesk, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.cleandesk.certify]\nepisode = 3\n")
    said = cleandesk("certify", "gym:X-v0", "--json", "x.json", cwd=tmp_path)

    assert said.out == ""
    assert not (tmp_path / "x.json").exists()
