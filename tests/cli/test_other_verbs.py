from __future__ import annotations

import shutil

import pytest

from cleandesk.suites.starter import FILES

VARYING = """
import random

class Varying:
    def __init__(self, at):
        self.at = at
    def reset(self, *, seed=None, options=None):
        self.rows = {"a": 1, 'b"c': random.random()}
        self.order = [random.random(), random.random()]
        self.lock = iter(())
        return {}, {}
    def step(self, action):
        return {}, 0.0, False, False, {}
    def close(self):
        pass
"""


@pytest.fixture(scope="module")
def proposal(cleandesk, bench):
    (bench / "varying.py").write_text(VARYING)
    return cleandesk("contract", "varying.py:Varying", "--propose")


def test_init_makes_the_files_and_says_what_to_do_next(cleandesk, tmp_path):
    folder = tmp_path / "deep" / "new"
    said = cleandesk("init", str(folder))

    assert said.status == 0
    assert f"cd {folder} && cleandesk run suite.toml --agent agent.py:Clerk" in said.out
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert 'name = "new"' in (folder / "suite.toml").read_text()


def test_init_as_json_names_folder_and_files(cleandesk, tmp_path):
    said = cleandesk("init", str(tmp_path / "new"), "--json")

    assert said.json == {"files": list(FILES), "folder": str(tmp_path / "new")}


def test_init_overwrites_nothing(cleandesk, bench):
    before = (bench / "agent.py").read_text()
    said = cleandesk("init", str(bench))

    assert said.status == 2
    assert (bench / "agent.py").read_text() == before


def test_list_names_each_kind_with_a_line(cleandesk):
    said = cleandesk("list")
    heads = [line for line in said.out.splitlines() if not line.startswith(" ")]

    assert heads == [
        "worlds",
        "bridges (as NAME:ID)",
        "surfaces with a base (beside objects, http and process)",
        "agents",
        "checkers",
        "suites",
    ]
    assert [line for line in said.out.splitlines() if len(line) > 80] == []


def test_list_as_json_is_kind_to_name_to_line(cleandesk):
    held = cleandesk("list", "--json").json

    assert {"calendar", "inventory", "sessions"} <= set(held["world"])
    assert {"nop", "fail", "random", "scripted"} <= set(held["agent"])
    assert "returns" in held["checker"]
    assert "gym" in held["bridge"]
    assert all(line and line[0] != "(" for names in held.values() for line in names.values())


def test_contract_of_a_world_that_varies_is_a_finding(proposal):
    assert proposal.status == 1
    assert "state.rows" in proposal.out
    assert "no start can be verified while these are compared" in " ".join(proposal.out.split())


def test_proposed_contract_is_python_that_makes_one(proposal):
    code = proposal.out.partition("\n\n")[2]
    made = {}
    exec(code, made)

    terms = made["contract"].surfaces["state"]
    assert set(terms.source["tables"]) == {"order", "rows"}
    # Two builds that differ at one place of a list say nothing of the other places.
    assert set(terms.ignore) == {"order", 'rows[b"c]'}


def test_contract_lists_what_it_could_not_read(proposal):
    assert "not read lock" in proposal.out


def test_contract_of_a_world_that_does_not_vary_finds_nothing(cleandesk):
    said = cleandesk("contract", "world.py:Drawers", "--propose", "--json")

    assert said.status == 0
    assert said.json["varies"] == []
    assert said.json["reads"] == ["letters", "opened"]


def test_contract_of_a_world_that_raises_could_not_do_its_job(cleandesk, bench):
    (bench / "raises.py").write_text(VARYING.replace("self.rows =", "raise OSError;"))
    said = cleandesk("contract", "raises.py:Varying", "--propose")

    assert said.status == 4
    assert said.err.startswith("CD-711 ")
    assert "raises.py" in said.err.partition("do:")[2]


@pytest.fixture
def own(mixed, bench, tmp_path):
    return shutil.copytree(bench / mixed.json["run"], tmp_path / "run")


def test_classified_failure_counts_in_a_new_score(cleandesk, own):
    said = cleandesk("classify", str(own), "file-letter/3-1", "agent", "--why", "its bug", "--json")

    assert said.status == 0
    assert said.json["score"]["episodes"] == 3
    assert len(said.json["head"]) == 64
    assert cleandesk("verify", str(own)).status == 0


@pytest.mark.parametrize(
    ("episode", "blame", "why"),
    [
        ("file-letter/3-1", "dog", "x"),
        ("file-letter/99-1", "world", "x"),
        ("file-letter/3-1", "world", " "),
    ],
)
def test_classification_that_says_nothing_is_bad_usage(cleandesk, own, episode, blame, why):
    said = cleandesk("classify", str(own), episode, blame, "--why", why)

    assert said.status == 2
    assert said.err.startswith("CD-610 ")
    assert not (own / "classified.jsonl").exists()


def test_what_passed_is_not_to_be_blamed_on_anybody(cleandesk, passed):
    run, episode = passed.json["run"], "file-letter/1-1"
    said = cleandesk("classify", run, episode, "world", "--why", "a slip")

    assert said.status == 2
    assert "the episode did not fail: it scored 1" in said.err
