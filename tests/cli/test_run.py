from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

KEYS = {
    "run",
    "root",
    "proven",
    "episodes",
    "reruns",
    "starts",
    "score",
    "blames",
    "notes",
    "seeds",
    "max_steps",
}


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    return tmp_path_factory.mktemp("a-folder-with-a-long-name") / "and-another-folder-below-it"


@pytest.fixture(scope="module")
def low(cleandesk, deep):
    """One episode with a score of 0, where half is asked for."""
    options = ["--limit", "1", "--fail-under", "0.5", "--log-dir", str(deep)]
    return cleandesk("run", "suite.toml", "-a", "nop", *options)


def test_json_has_the_promised_keys(passed):
    held = passed.json

    assert set(held) >= KEYS
    assert set(held["episodes"]) == {"planned", "scored", "unscored"}
    assert {"verified", "wrong", "source", "fields_read", "not_read"} <= set(held["starts"])
    assert {"mean", "se", "low", "high", "method", "tasks", "episodes"} <= set(held["score"])


def test_proven_run_ends_with_0_and_says_what_it_rests_on(passed, bench):
    held = passed.json

    assert passed.status == 0
    assert passed.err == ""
    assert held["proven"] is True
    assert held["episodes"] == {"planned": 9, "scored": 9, "unscored": 0}
    assert held["seeds"] == [1, 2, 3]
    assert held["max_steps"] == 10
    assert (bench / held["run"] / "root.json").is_file()


def test_each_task_has_its_own_interval(passed):
    row = passed.json["by_task"]["file-letter"]

    assert (row["episodes"], row["scored"], row["mean"], row["high"]) == (3, 3, 1.0, 1.0)
    # Wilson's lower end at 3 of 3: 3 / (3 + 1.95996^2).
    assert row["low"] == pytest.approx(3 / (3 + 1.959964**2), abs=1e-6)


def test_blames_and_notes_are_rows_of_an_episode(mixed):
    held = mixed.json

    assert {frozenset(row) for row in held["blames"]} == {
        frozenset({"episode", "blame", "code", "message"})
    }
    assert {row["blame"] for row in held["blames"]} == {"agent", "unclassified"}
    assert set(held["notes"][0]) == {"episode", "step", "action_error"}
    assert held["notes"][0]["step"] == 1


def test_what_was_set_aside_is_counted_and_bounds_the_score(mixed):
    held = mixed.json

    assert held["episodes"] == {"planned": 12, "scored": 2, "unscored": 10}
    assert held["score"]["mean"] == 0.0
    assert held["bounds"][0] == 0.0
    assert held["bounds"][1] == pytest.approx(10 / 12)


def test_refused_run_has_no_score_and_names_field_and_writer(refused):
    assert refused.status == 1
    assert "score    none: the run was refused at file-letter/2-1" in refused.out
    text = " ".join(refused.out.split())
    assert "room.letters.c: expected 'desk', found 'green' (written by episode" in text
    assert "unproven, in" in refused.out


def test_refused_run_shows_no_mean(refused):
    row = next(line for line in refused.out.splitlines() if line.startswith("file-letter"))

    assert row.split() == ["file-letter", "2", "1", "-", "0.5"]


def test_every_line_for_people_fits_80_columns(refused):
    assert [line for line in refused.out.splitlines() if len(line) > 80] == []


def test_mean_below_fail_under_is_a_finding(low):
    assert low.status == 1
    assert "proven, in" in low.out


def test_more_set_aside_than_allowed_is_undecided(cleandesk, mixed, bench):
    run = mixed.json["run"]
    again = ["run", "suite.toml", "-a", "agents.py:Breaks", "--failed", run]
    said = cleandesk(*again, "--task", "file-letter", "--limit", "1", "--max-unscored", "0")

    assert said.status == 3
    assert "unclassified CD-721 file-letter/1-1" in said.out


def test_path_is_left_whole_so_that_it_can_be_copied(low, deep):
    made = next(deep.iterdir())

    assert str(made) in low.out


def test_log_dir_can_come_from_the_environment(cleandesk, tmp_path):
    env = {"CLEANDESK_LOG_DIR": str(tmp_path)}
    said = cleandesk("run", "suite.toml", "-a", "nop", "--limit", "1", "--json", env=env)

    assert Path(said.json["run"]).parent == tmp_path


def test_verbose_prints_steps_to_standard_error(cleandesk, capfd):
    said = cleandesk("run", "suite.toml", "-a", "agent.py:Clerk", "--limit", "1", "-v", "--json")

    assert capfd.readouterr().err.startswith("file-letter/1-1 step 1: ")
    assert said.json["proven"] is True


def test_dry_run_plans_and_runs_nothing(cleandesk, tmp_path):
    chosen = ["-k", "2", "--seeds", "4-6", "--task", "count-letters", "--limit", "5"]
    options = ["--dry-run", "--json", "--log-dir", str(tmp_path / "none")]
    said = cleandesk("run", "suite.toml", "-a", "agent.py:Clerk", *chosen, *options)

    assert said.status == 0
    assert said.json["episodes"] == 5
    assert said.json["tasks"] == 1
    assert said.json["worlds"] == ["world.py:Drawers"]
    assert not (tmp_path / "none").exists()


def test_dry_run_says_for_people_that_nothing_was_run(cleandesk):
    said = cleandesk("run", "suite.toml", "-a", "nop", "--dry-run")

    assert said.out.splitlines()[-1] == "nothing was run"
    assert "episodes       30" in said.out


def test_print_plan_prints_the_bytes_that_a_run_is_chained_to(cleandesk, passed, bench):
    options = ["-a", "agent.py:Clerk", "--seeds", "1-3", "--print-plan"]
    said = cleandesk("run", "suite.toml", *options)
    run = bench / passed.json["run"]

    assert said.out.encode() == (run / "plan.json").read_bytes()
    assert run.name.endswith(sha256(said.out.encode()).hexdigest()[:8])


def test_failed_takes_only_what_was_no_full_score(cleandesk, mixed):
    options = ["-a", "nop", "--failed", mixed.json["run"], "--print-plan"]
    said = cleandesk("run", "suite.toml", *options)

    assert len(json.loads(said.out)["episodes"]) == 12


def test_argument_of_the_world_keeps_its_type(cleandesk):
    said = cleandesk("run", "inventory", "-a", "nop", "-T", "budget=3", "--print-plan")

    assert json.loads(said.out)["tasks"][0]["with"]["budget"] == 3


def test_heads_leave_to_a_file_and_to_a_program(cleandesk, tmp_path):
    kept, piped = tmp_path / "heads.jsonl", tmp_path / "piped.jsonl"
    base = ["run", "suite.toml", "-a", "agent.py:Clerk", "--limit", "3", "--json"]
    cleandesk(*base, "--heads-to", str(kept))
    said = cleandesk(*base, "--heads-to", f"cmd:tee {piped}")
    heads = [json.loads(line) for line in piped.read_text().splitlines()]

    assert [head["episode"] for head in heads] == [f"file-letter/{seed}-1" for seed in (1, 2, 3)]
    assert len(kept.read_text().splitlines()) == 3
    assert cleandesk("verify", said.json["run"], "--heads", str(piped)).status == 0
