from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cleandesk as cd

VERBS = [
    *("certify", "classify", "contract", "demo", "diff", "init", "list", "run", "verify", "watch")
]


@pytest.fixture(scope="module", params=VERBS)
def help_of(request, cleandesk):
    return cleandesk(request.param, "--help")


def test_help_of_a_verb_fits_80_columns(help_of):
    assert help_of.status == 0
    assert [line for line in help_of.out.splitlines() if len(line) > 80] == []


def test_help_of_a_verb_has_an_example_that_begins_with_the_command(help_of):
    assert re.search(r"^  Examples?:\n      cleandesk \w+", help_of.out, re.MULTILINE)


def test_help_of_a_verb_says_what_each_exit_status_means(help_of):
    table = help_of.out.partition("Exit status:")[2]

    assert re.findall(r"^      (\d)  \S", table, re.MULTILINE) == ["0", "1", "2", "3", "4"]


def test_help_of_a_verb_names_its_public_twin_in_python(help_of):
    twin = re.search(r"In Python:\n      cleandesk\.(\w+)\(", help_of.out)

    assert twin is not None
    assert twin[1] in cd.__all__


def test_help_of_an_option_is_one_sentence_that_is_not_cut(help_of):
    assert "..." not in help_of.out.partition("Options:")[2].replace("cmd:...", "")


def test_help_names_every_verb_with_a_line(cleandesk):
    table = cleandesk("-h").out.partition("Commands:")[2]

    assert re.findall(r"^  (\w+) +[A-Z].*\.$", table, re.MULTILINE) == VERBS


def test_no_verb_at_all_shows_the_help(cleandesk):
    said = cleandesk()

    assert said.status == 2
    assert "Commands:" in said.err


def test_unknown_verb_is_bad_usage(cleandesk):
    said = cleandesk("frobnicate")

    assert said.status == 2
    assert "frobnicate" in said.err


def test_version_is_one_line(cleandesk):
    assert re.fullmatch(r"cleandesk \d+\.\d+\.\d+\n", cleandesk("--version").out)


def test_python_dash_m_is_the_command(cleandesk):
    own = [str(Path(sys.executable).with_name("cleandesk")), "--help"]
    module = [sys.executable, "-m", "cleandesk", "--help"]
    outputs = [
        subprocess.run(command, check=False, capture_output=True, text=True)
        for command in (own, module)
    ]

    assert outputs[0].stdout == outputs[1].stdout
    assert outputs[1].returncode == 0
