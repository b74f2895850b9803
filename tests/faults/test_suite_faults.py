"""Each planted defect of a suite file gets its own message; the clean twin loads."""

from __future__ import annotations

import pytest

from cleandesk.errors import CheckerError, SuiteError
from cleandesk.tasks import fill, load_suite

HEAD = 'name = "s"\nworld = "w"\n'
TASK = '[[task]]\nid = "a"\ngoal = "Do {n}."\ndraw.n = "1..9"\n'
CLEAN = HEAD + TASK

DEFECTS = {
    "unknown suite key": ('seedz = "1-3"\n' + CLEAN, "CD-403", "'seedz'", "did you mean 'seeds'?"),
    "unknown task key": (CLEAN + 'gaol = "x"', "CD-403", "'gaol'", "did you mean 'goal'?"),
    "unknown limit": (CLEAN + "limits = {step = 3}", "CD-403", "'step'", "'steps'"),
    "unknown expect key": (CLEAN + 'expect.add = {"a.b" = []}', "CD-403", "'add'", "'added'"),
    "unknown check key": (CLEAN + 'check = {ref="m:f", wieght=2}', "CD-403", "'wieght'", "'weight'"),
    "unknown disturb key": (
        HEAD + '[[disturb]]\non="q"\nfault="x"\nshares=1\n' + TASK,
        "CD-403",
        "'shares'",
        "'share'",
    ),
    "unknown network key": (HEAD + 'network={wrld=[]}\n' + TASK, "CD-403", "'wrld'", "'world'"),
    "unknown key without a near one": (CLEAN + "zzzzzz = 1", "CD-403", "'zzzzzz'", "the keys are"),
    "no world": (TASK, "CD-405", "names no world", "gym:ID"),
    "duplicate id": (CLEAN + TASK, "CD-406", "two tasks have the id 'a'", "another id"),
    "no task": (HEAD, "CD-407", "no task", "[[task]]"),
    "no file": (HEAD + '[[tasks]]\nfrom="t/*.jsonl"', "CD-408", "matches no file", "pattern"),
    "absolute pattern": (HEAD + '[[tasks]]\nfrom="/etc/*"', "CD-404", "/etc", "below"),
    "tasks without from": (HEAD + '[[tasks]]\ncheck="m:f"', "CD-404", "needs the key from", "from"),
    "bad TOML": ("a = 1\nb = = 2\n", "CD-402", "line 2", "mend the line"),
    "not UTF-8": (b"name = \"\xff\"\n", "CD-402", "not TOML", "mend"),
    "deep nesting": ("a = " + "[" * 5000, "CD-402", "not TOML", "mend"),
    "negative limit": (CLEAN + "limits = {steps = -1}", "CD-404", "`steps`", "suite.md"),
    "zero seconds": (CLEAN + "limits = {agent_seconds = 0}", "CD-404", "`agent_seconds`", ""),
    "steps as a truth value": (CLEAN + "limits = {steps = true}", "CD-404", "got `bool`", ""),
    "no trials": ("trials = 0\n" + CLEAN, "CD-404", "`trials`", ""),
    "unknown isolation": ('isolation = "none"\n' + CLEAN, "CD-404", "`isolation`", ""),
    "share above one": (
        HEAD + '[[disturb]]\non="q"\nfault="x"\nshare=1.5\n' + TASK,
        "CD-404",
        "`share`",
        "",
    ),
    "no goal": (HEAD + '[[task]]\nid="a"', "CD-404", "`goal`", ""),
    "no id": (HEAD + '[[task]]\ngoal="a"', "CD-404", "`id`", ""),
    "accept all": (CLEAN + 'accept = "all"', "CD-404", "`accept`", ""),
    "combine xor": (CLEAN + 'combine = "xor"', "CD-404", "`combine`", ""),
    "malformed seeds": ('seeds = "9-1"\n' + CLEAN, "CD-409", "runs backwards", "1-10"),
    "blank in the goal": (CLEAN.replace("{n}", "{m}"), "CD-410", "{m}", "draw.m"),
    "blank in an answer": (CLEAN + 'answer = "{m}"', "CD-410", "{m}", "draw.m"),
    "blank in a key": (
        CLEAN + 'expect.changed = {"d.t[{m}]" = 1}',
        "CD-410",
        "{m}",
        "draw.m",
    ),
    "blank in a setup step": (CLEAN + 'setup = [{call="f", with={x="{m}"}}]', "CD-410", "{m}", ""),
    "blank in options": (CLEAN + 'options = {x = ["{m}"]}', "CD-410", "{m}", ""),
    "blank in with": (CLEAN + 'with = {x = "{m}"}', "CD-410", "{m}", ""),
    "field of a number": (CLEAN.replace("{n}", "{n.id}"), "CD-410", "'id'", ""),
    "brace": (CLEAN.replace("{n}", "{n"), "CD-411", "not a blank", "{{"),
    "unknown draw": (CLEAN.replace('"1..9"', '{chioce=[1]}'), "CD-412", "chioce", "choice"),
    "bad parameter name": (CLEAN.replace("draw.n", 'draw."a b"'), "CD-412", "'a b'", "letters"),
    "infeasible with expect": (CLEAN + "infeasible=true\nexpect={}", "CD-413", "expect", "infeasible"),
    "infeasible with answer": (CLEAN + "infeasible=true\nanswer=1", "CD-413", "answer", ""),
    "setup with two verbs": (CLEAN + 'setup=[{call="a", wait="b"}]', "CD-413", "call, wait", ""),
    "setup without a verb": (CLEAN + "setup=[{timeout_s=1}]", "CD-413", "timeout_s", "wait ="),
    "call that times out": (CLEAN + 'setup=[{call="a", timeout_s=1}]', "CD-413", "timeout_s", ""),
    "no right answer": (CLEAN + "expect = []", "CD-413", "lists no right answer", "expect = {}"),
    "no accepted answer": (CLEAN + "answer = []", "CD-413", "no accepted answer", ""),
    "event at step 0": (HEAD + '[[event]]\nname="e"\nstep=0\n' + TASK, "CD-413", "begins at 1", ""),
    "event at no step": (HEAD + '[[event]]\nname="e"\nstep="5-2"\n' + TASK, "CD-413", "'5-2'", ""),
    "date in options": (CLEAN + "options = {day = 2026-01-05}", "CD-414", "2026-01-05", "quotes"),
    "NaN in with": (CLEAN + "with = {x = nan}", "CD-414", "nan", "number"),
    "malformed field": (CLEAN + 'expect.changed = {"a..b" = 1}', "CD-415", "'a..b'", "surface"),
    "surface as a field": (CLEAN + 'expect.added = {"desk" = []}', "CD-415", "'desk'", "table"),
}  # fmt: skip


def test_clean_twin_loads(tmp_path):
    (tmp_path / "s.toml").write_text(CLEAN)

    suite = load_suite(tmp_path / "s.toml")

    assert [fill(task, 1).task_id for task in suite.tasks] == ["a"]


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_is_named_with_its_place_and_a_next_action(tmp_path, defect):
    text, code, said, do = DEFECTS[defect]
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "s.toml").write_bytes(data)

    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path / "s.toml")

    error = caught.value
    assert error.code == code
    assert said in error.message
    assert do in error.do
    assert error.do
    assert "s.toml" in error.where


def test_defects_in_a_task_name_the_task(tmp_path):
    (tmp_path / "s.toml").write_text(CLEAN + 'answer = "{m}"')

    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path / "s.toml")

    assert caught.value.where == "s.toml, task 'a', answer"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('{"id": "b", "goal": "B",}', "CD-402", "trailing comma"),
        ("[1]", "CD-404", "not an object"),
        ('{"id": "b", "goal": "B", "gaol": 1}', "CD-403", "'gaol'"),
        ('{"id": "b", "goal": "{m}"}', "CD-410", "{m}"),
        ("[" * 20000, "CD-402", "not JSON"),
    ],
)
def test_defect_in_a_jsonl_file_names_its_line(tmp_path, line, code, said):
    (tmp_path / "t.jsonl").write_text('{"id": "a", "goal": "A"}\n' + line)
    (tmp_path / "s.toml").write_text('world="w"\n[[tasks]]\nfrom="t.jsonl"')

    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path / "s.toml")

    assert (caught.value.code, said in caught.value.message) == (code, True)
    assert caught.value.where.startswith("t.jsonl line 2")


def test_one_id_in_two_files_names_both_places(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"id": "a", "goal": "A"}')
    (tmp_path / "s.toml").write_text(CLEAN + '[[tasks]]\nfrom="t.jsonl"')

    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path / "s.toml")

    assert caught.value.code == "CD-406"
    assert caught.value.where == "s.toml, task 'a'; t.jsonl line 1, task 'a'"


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_suite_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path / name)

    assert caught.value.code == "CD-401"
    assert str(tmp_path) in caught.value.where


def test_control_characters_of_a_file_never_reach_the_terminal(tmp_path):
    (tmp_path / "s.toml").write_text(CLEAN + '"\\u001b[2J" = 1')

    with pytest.raises(SuiteError) as caught:
        load_suite(tmp_path / "s.toml")

    assert "\x1b" not in str(caught.value)


def test_an_expectation_that_no_checker_can_read_is_refused_when_the_suite_is_loaded(tmp_path):
    path = tmp_path / "suite.toml"
    path.write_text(CLEAN + 'expect.changed = { "a.b" = { "$dek" = "1.0" } }\n')

    with pytest.raises(CheckerError) as refused:
        load_suite(path)

    assert refused.value.code == "CD-511"
    assert "'a'" in refused.value.where
