from __future__ import annotations

import json
import shutil

import pytest


@pytest.fixture
def copy(passed, bench, tmp_path):
    """A copy of a good run that may be spoilt."""
    return shutil.copytree(bench / passed.json["run"], tmp_path / "run")


def test_json_has_the_promised_keys(cleandesk, passed):
    held = cleandesk("verify", passed.json["run"], "--json").json

    assert {"status", "entries", "witness", "not_checked"} <= set(held)
    assert held["status"] == "PASS"
    assert held["witness"] is None
    assert held["entries"] == 3 * (5 + 4 + 4)


def test_pass_without_a_root_kept_apart_says_so(cleandesk, passed):
    said = cleandesk("verify", passed.json["run"])

    assert said.status == 0
    assert "not checked  root not kept apart" in said.out


def test_pass_with_the_root_leaves_nothing_open(cleandesk, passed):
    said = cleandesk("verify", passed.json["run"], "--root", passed.json["root"], "--json")

    assert said.status == 0
    assert said.json["not_checked"] == []


def test_edited_entry_is_a_finding_with_file_and_entry(cleandesk, copy):
    path = copy / "episodes" / "count-letters" / "2-1.jsonl"
    path.write_text(path.read_text().replace('"answer":3', '"answer":4'))
    said = cleandesk("verify", str(copy), "--json")

    assert said.status == 1
    assert said.json["status"] == "FAIL"
    assert set(said.json["witness"]) == {"file", "entry", "reason"}
    assert said.json["witness"]["file"] == "episodes/count-letters/2-1.jsonl"
    assert said.json["witness"]["entry"] == 2


def test_other_root_is_a_finding_whose_point_is_unknown(cleandesk, copy):
    said = cleandesk("verify", str(copy), "--root", "0" * 64)

    assert said.status == 1
    assert said.out.startswith("FAIL ")
    assert "rewritten, point unknown" in said.out


def test_run_without_a_root_is_undecided_and_says_how_far_it_holds(cleandesk, copy):
    (copy / "root.json").unlink()
    said = cleandesk("verify", str(copy))

    assert said.status == 3
    assert said.out.startswith("UNKNOWN ")
    assert "no root" in said.out


def test_changed_score_beside_a_good_chain_is_a_finding(cleandesk, copy):
    record = json.loads((copy / "record.json").read_text())
    record["score"]["mean"] = 0.5
    (copy / "record.json").write_text(json.dumps(record))
    said = cleandesk("verify", str(copy))

    assert said.status == 1
    assert "record.json" in said.out


@pytest.mark.parametrize("root", ["xyz", "0" * 63, ""])
def test_text_that_is_no_root_is_bad_usage(cleandesk, passed, root):
    said = cleandesk("verify", passed.json["run"], "--root", root)

    assert said.status == 2
    assert said.err.startswith("CD-606 ")


def test_every_line_fits_80_columns(cleandesk, passed):
    said = cleandesk("verify", passed.json["run"], "--root", "0" * 64)

    assert [line for line in said.out.splitlines() if len(line) > 80] == []
