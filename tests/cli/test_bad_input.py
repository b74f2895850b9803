"""Bad input never becomes a wrong score (law 14): it gets what, where and what to do."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

import cleandesk as cd
from cleandesk.cli.output import reporting

pytestmark = pytest.mark.service


SUITES = {
    "unknown key": ("CD-403", 'seeds = "1-10"', 'sedes = "1-10"', "did you mean 'seeds'?"),
    "missing world": ("CD-201", "world.py:Drawers", "wrld.py:Drawers", "wrld.py"),
    "missing class": ("CD-201", "world.py:Drawers", "world.py:Drawer", "did you mean 'Drawers'?"),
    "no world": ("CD-405", 'world = "world.py:Drawers"', "", "task 'file-letter'"),
    "duplicate id": ("CD-406", '"count-letters"', '"file-letter"', "give one of them another id"),
    "blank without a value": ("CD-410", 'draw.drawer = ["red", "green"]', "", "add draw.drawer"),
    "bad TOML": ("CD-402", 'name = "', 'name "', "line 1"),
    "wrong type": ("CD-404", 'version = "1"', "version = 1", "`version`"),
    "no such surface": (
        "CD-418",
        '"room.letters[{letter}]"',
        '"rom.letters[{letter}]"',
        "room.letters",
    ),
    "no such table": (
        "CD-418",
        '"room.letters[{letter}]"',
        '"room.lettrs[{letter}]"',
        "room.letters",
    ),
    "unknown limit": ("CD-403", "steps = 10", "stepz = 10", "did you mean 'steps'?"),
}

COMMANDS = {
    "no agent of that name": ("CD-301", "run suite.toml -a clerk", "known: "),
    "no such class": ("CD-301", "run suite.toml -a agent.py:Clark", "did you mean 'Clerk'?"),
    "no such program": ("CD-301", "run suite.toml -a cmd:no-such-program", "no-such-program"),
    "no suite file": ("CD-401", "run nothing.toml -a nop", "nothing.toml"),
    "no suite of that name": ("CD-401", "run nothing -a nop", "calendar"),
    "a folder as a suite": ("CD-401", "run . -a nop", "folder"),
    "seeds backwards": ("CD-409", "run suite.toml -a nop --seeds 5-1", "--seeds"),
    "seeds that are none": ("CD-409", "run suite.toml -a nop --seeds x", "--seeds"),
    "no such task": ("CD-704", "run suite.toml -a nop --task zz", "count-letters"),
    "no such argument": ("CD-213", "run suite.toml -a nop -T foo=1", "'foo'"),
    "failed of no run": ("CD-703", "run suite.toml -a nop --failed none", "none"),
    "verify no run": ("CD-604", "verify .", "plan.json"),
    "diff no state": ("CD-804", "diff a b", "RUN:EPISODE@start"),
    "diff no snapshot": ("CD-104", "diff suite.toml suite.toml", "not a saved snapshot"),
    "diff no episode": ("CD-606", "diff runs:x/1-1 runs:x/1-1", "x/1-1"),
    "init what is there": ("CD-803", "init .", "exists already"),
    "contract of no world": ("CD-201", "contract nothing --propose", "known: "),
    "classify no run": ("CD-609", "classify . a/1-1 world --why x", "root.json"),
}

USAGES = [
    "run suite.toml",
    "run suite.toml -a nop -k 0",
    "run suite.toml -a nop -n 0",
    "run suite.toml -a nop --limit x",
    "run suite.toml -a nop --isolation wrong",
    "run suite.toml -a nop --on-wrong-start wrong",
    "run suite.toml -a nop --fail-under 2",
    "run suite.toml -a nop -T foo",
    "verify",
    "diff a",
    "init",
    "contract world.py:Drawers",
    "classify a b c",
]


def require_error(said, code, word):
    lines = said.err.splitlines()
    assert said.status == 2
    assert said.out == ""
    assert lines[0].startswith(f"{code} ")
    assert lines[1].startswith("  where: ")
    assert lines[2].startswith("  do:    ")
    assert word in said.err


@pytest.mark.parametrize("what", SUITES)
def test_suite_that_cannot_be_used_is_refused_with_what_where_and_what_to_do(
    what, cleandesk, bench
):
    code, old, new, word = SUITES[what]
    text = (bench / "suite.toml").read_text()
    assert old in text
    (bench / "bad.toml").write_text(text.replace(old, new, 1))

    require_error(cleandesk("run", "bad.toml", "-a", "agent.py:Clerk"), code, word)


@pytest.mark.parametrize("what", COMMANDS)
def test_name_that_leads_nowhere_is_refused_with_what_where_and_what_to_do(what, cleandesk):
    code, line, word = COMMANDS[what]

    require_error(cleandesk(*line.split()), code, word)


@pytest.mark.parametrize("line", USAGES)
def test_option_that_does_not_fit_is_bad_usage(line, cleandesk):
    said = cleandesk(*line.split())

    assert said.status == 2
    assert "Usage: " in said.err


def test_bad_input_leaves_no_run_behind(cleandesk, tmp_path):
    for line in ("run nothing -a nop", "run suite.toml -a clerk"):
        cleandesk(*line.split(), "--log-dir", str(tmp_path / "runs"))

    assert not (tmp_path / "runs").exists()


def test_error_as_json_has_its_parts(cleandesk):
    said = cleandesk("run", "nothing", "-a", "nop", "--json")

    assert set(said.json["error"]) == {"code", "message", "where", "do"}
    assert said.json["error"]["code"] == "CD-401"
    assert said.err.startswith("CD-401 ")


def test_folder_that_cannot_be_written_is_no_bad_usage(cleandesk, tmp_path):
    (tmp_path / "file").write_text("")
    options = ["--limit", "1", "--log-dir", str(tmp_path / "file" / "runs")]
    said = cleandesk("run", "suite.toml", "-a", "nop", *options)

    assert said.status == 4
    assert said.err.startswith("CD-602 ")


@pytest.fixture
def other_world(bench):
    """Returns a function that writes the suite over a world with one text replaced."""

    def write(text, by):
        world = (bench / "world.py").read_text()
        assert text in world
        (bench / "other.py").write_text(world.replace(text, by))
        suite = (bench / "suite.toml").read_text()
        (bench / "other.toml").write_text(suite.replace("world.py", "other.py"))
        return "other.toml"

    return write


def test_contract_that_names_a_missing_attribute_stops_the_run(cleandesk, other_world):
    suite = other_world("        self.opened = 0\n", "")
    said = cleandesk("run", suite, "-a", "nop")

    assert said.status == 2
    assert said.err.startswith("CD-211 the contract names 'opened'")


def test_contract_of_a_clean_world_stops_nothing(cleandesk, other_world):
    suite = other_world("Three letters lie on the desk", "Letters lie on the desk")
    said = cleandesk("run", suite, "-a", "nop", "--limit", "1")

    assert said.status == 0


def test_file_where_run_folders_should_be_is_named(cleandesk, tmp_path):
    (tmp_path / "file").write_text("")
    said = cleandesk("run", "suite.toml", "-a", "nop", "--log-dir", str(tmp_path / "file"))

    assert said.status == 4
    assert "the place for run folders is a file" in said.err


def test_file_that_cannot_take_heads_is_named(cleandesk):
    said = cleandesk("run", "suite.toml", "-a", "nop", "--heads-to", "/nonexistent/heads")

    assert said.status == 4
    assert "where: --heads-to /nonexistent/heads" in said.err


def test_program_that_does_not_take_heads_stops_the_run(cleandesk):
    said = cleandesk("run", "suite.toml", "-a", "nop", "--limit", "1", "--heads-to", "cmd:false")

    assert said.status == 4
    assert said.err.startswith("CD-605 ")


def test_agent_that_no_other_process_can_import_is_refused(bench):
    with pytest.raises(cd.CleandeskError, match="CD-308"):
        cd.run(bench / "suite.toml", agent=lambda observation: observation)


def test_error_that_nobody_foresaw_is_never_a_finding():
    @click.command()
    @reporting
    def broken():
        raise KeyError("lost\x1b[2J")

    said = CliRunner().invoke(broken)

    assert said.exit_code == 4
    assert "Traceback" in said.stderr
    assert "CD-801 " in said.stderr
    assert "\x1b" not in said.stderr


@pytest.mark.parametrize("said", ["stopped; 3 of 9 episodes are in runs/R", ""])
def test_interrupt_says_what_is_kept(said):
    @click.command()
    @reporting
    def interrupted():
        raise KeyboardInterrupt(said)

    result = CliRunner().invoke(interrupted)

    assert result.exit_code == 4
    assert result.stderr == (said or "stopped; what was logged is kept") + "\n"


def test_state_that_cannot_be_read_at_the_start_is_said_to_be_so(cleandesk, other_world):
    gone = "    @property\n    def letters(self):\n        raise OSError('gone')\n\n"
    gone += "    @letters.setter\n    def letters(self, held):\n        self.held = held\n\n"
    gone += "    def observe(self):\n        return 0\n\n    def seen(self):\n"
    suite = other_world("    def observe(self):\n", gone)
    said = cleandesk("run", suite, "-a", "nop", "--limit", "1", "--reruns", "0", "--json")

    assert said.json["blames"][0]["message"].startswith("the world raised in capture: OSError")
