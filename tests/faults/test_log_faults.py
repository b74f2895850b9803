"""Law 6, defect by defect: each is planted in a good record, and `verify` must name it.

The clean twin of every defect is the same record before the defect was planted.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cleandesk.errors import LogError
from cleandesk.log import EpisodeWriter, HeadsSink, canonical, sign, verify_run
from cleandesk.verdict import Status

MAKE_GOLDEN = Path(__file__).parents[1] / "golden" / "log" / "make_golden.py"
_spec = importlib.util.spec_from_file_location("make_golden", MAKE_GOLDEN)
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)

REFUND, CART, RERUN = golden.REFUND_FILE, golden.CART_FILE, golden.RERUN_FILE
OBJECT = "objects/7b228344a14532f4e1e3d3bd2546eff9cd9d00670ecd7dbd5f6caad22c34352f.zst"
NOT_NAMESAKE = "its bytes are not the ones that it is named after"
STRANGER = "entry 3 was inserted: it is not part of the chain"
REWRITTEN = "rewritten, point unknown: the chain holds, but its head is not the sealed one"
RESEALED = "rewritten, point unknown: the record holds together, but its root is "
LEAF = "the leaf of cart/add one item/8-0 was edited: its log is the sealed one"
LEAVES = "its leaves do not give its root: one was removed, added or moved"

# What `verify` must say first: file, entry, and how the reason starts.
WITNESSES: dict[str, tuple[str, int | None, str]] = {
    "edit_middle_entry": (REFUND, 3, "entry 3 is not what entry 4 recorded"),
    "edit_first_entry": (REFUND, 0, "entry 0 is not what entry 1 recorded"),
    "edit_last_entry": (CART, None, REWRITTEN),
    "edit_index": (REFUND, 3, "entry 3 was edited: it says that it is entry 9"),
    "edit_previous": (REFUND, 3, "entry 3 was edited: its previous hash is not the one it had"),
    "delete_entry": (REFUND, 2, "entry 2 is missing: entry 3 stands there"),
    "delete_two_entries": (REFUND, 2, "entries 2 to 3 are missing: entry 4 stands there"),
    "insert_linked_entry": (REFUND, 3, STRANGER),
    "insert_unlinked_entry": (REFUND, 3, STRANGER),
    "repeat_entry": (REFUND, 4, "entry 4 was inserted: entry 2 stands there again"),
    "insert_garbage": (REFUND, 3, STRANGER),
    "replace_with_garbage": (REFUND, 3, "entry 3 is not an entry of log/1"),
    "reorder_entries": (REFUND, 2, "entries were reordered: entry 3 stands where entry 2 was"),
    "move_entry": (REFUND, 1, "entries were reordered: entry 4 stands where entry 1 was"),
    "truncate": (REFUND, 5, "truncated: 5 of 7 entries"),
    "empty_log": (REFUND, 0, "truncated: 0 of 7 entries"),
    "torn_tail": (REFUND, 6, "truncated: 6 of 7 entries, and a torn line"),
    "no_last_newline": (REFUND, 6, "truncated: 6 of 7 entries, and a torn line"),
    "extend_log": (REFUND, 7, "extended: 1 more than the 7 entries that were sealed"),
    "extend_with_torn_line": (REFUND, 7, "extended: a torn line follows the last entry"),
    "rewrite_chain": (REFUND, None, REWRITTEN),
    "rewrite_all": ("root.json", None, RESEALED),
    "drop_episode_and_seal_again": ("root.json", None, RESEALED),
    "edit_plan": ("plan.json", None, "it is not the plan that was sealed"),
    "edit_plan_hash_in_root": ("root.json", None, "its plan is not the one that the episodes"),
    "swap_episode_files": (REFUND, 0, "it holds the episode cart/add one item/8-0"),
    "delete_episode_file": (CART, None, "missing: it was sealed with 5 entries"),
    "add_episode_file": ("episodes/refund-late/9-0.jsonl", None, "it is not sealed"),
    "add_other_file": ("episodes/notes.txt", None, "is not a log"),
    "edit_rerun": (RERUN, 2, "entry 2 is not what entry 3 recorded"),
    "delete_rerun": (RERUN, None, "missing: it was sealed with 5 entries"),
    "edit_object": (OBJECT, None, NOT_NAMESAKE),
    "cut_object": (OBJECT, None, NOT_NAMESAKE),
    "extend_object": (OBJECT, None, NOT_NAMESAKE),
    "edit_leaf_head": ("root.json", 1, LEAF),
    "edit_leaf_entries": ("root.json", 1, LEAF),
    "edit_leaf_episode": ("root.json", 1, "the leaf of cart/other/8-0 was edited"),
    "remove_leaf": ("root.json", None, LEAVES),
    "swap_leaves": ("root.json", None, LEAVES),
    "edit_root": ("root.json", None, "its root was edited"),
    "edit_rerun_leaf": ("root.json", 0, LEAF),
    "respell_root": ("root.json", None, "it is not spelled as a seal is written"),
    "garble_root": ("root.json", None, "it is not a seal of log/1"),
    "edit_record_score": ("record.json", None, "its score is not the one that the sealed verdicts"),
    "edit_classification": ("classified.jsonl", 0, "entry 0 is not what entry 1 recorded"),
    "edit_announced_head": ("heads.jsonl", 0, "no log has this head of refund-late/7-0"),
}
NEEDS_THE_ROOT = {"rewrite_all", "drop_episode_and_seal_again"}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "v1"
    return folder, golden.make_good(folder)


@pytest.fixture
def run(good, tmp_path):
    return shutil.copytree(good[0], tmp_path / "v1")


@pytest.fixture
def killed(run):
    """A run that was killed: one episode has ended, its twin is under way."""
    (run / "root.json").unlink()
    (run / "classified.jsonl").unlink()
    cut_lines(run / CART, 3)
    cut_lines(run / "heads.jsonl", 2)
    return run


def cut_lines(path: Path, keep: int) -> None:
    path.write_bytes(b"".join(golden.lines_of(path)[:keep]))


def reason_of(folder: Path, **given) -> tuple[str, int | None, str]:
    verdict = verify_run(folder, **given)
    assert verdict.status is Status.FAIL
    return tuple(verdict.witness.values())


def test_every_defect_has_an_expected_witness():
    assert WITNESSES.keys() == golden.DEFECTS.keys()


@pytest.mark.parametrize("defect", WITNESSES)
def test_planted_defect_is_named_and_its_clean_twin_passes(good, run, defect):
    """Law 6."""
    clean = verify_run(run, good[1], rescore=golden.rescore)
    golden.DEFECTS[defect](run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    file, entry, reason = reason_of(run, root=good[1], rescore=golden.rescore)

    assert clean.status is Status.PASS
    assert (file, entry) == WITNESSES[defect][:2]
    assert reason.startswith(WITNESSES[defect][2])
    # It never edits evidence.
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.parametrize("defect", sorted(WITNESSES.keys() - NEEDS_THE_ROOT))
def test_defect_is_found_by_the_folders_own_seal(run, defect):
    golden.DEFECTS[defect](run)

    assert reason_of(run, rescore=golden.rescore)[:2] == WITNESSES[defect][:2]


@pytest.mark.parametrize("defect", sorted(NEEDS_THE_ROOT))
def test_record_that_was_sealed_again_passes_only_with_its_root_not_kept_apart(run, defect):
    """Law 6."""
    golden.DEFECTS[defect](run)

    verdict = verify_run(run)

    assert verdict.status is Status.PASS
    assert "root not kept apart" in verdict.not_checked


def test_clean_record_passes_and_says_what_was_not_looked_at(good):
    """Law 6."""
    folder, root = good

    with_root = verify_run(folder, root.upper() + "\n", rescore=golden.rescore)
    without = verify_run(folder)

    assert with_root.status is without.status is Status.PASS
    assert with_root.witness is None
    assert "root not kept apart" not in with_root.not_checked
    assert any(text.startswith("reruns: checked against") for text in with_root.not_checked)
    assert not any(text.startswith("reruns: ") for text in without.not_checked)
    assert "root not kept apart" in without.not_checked
    assert "record.json: its score was not computed again" in without.not_checked
    facts = with_root.facts
    assert (facts["root"], facts["complete"], facts["unfinished"]) == (root, True, [])
    assert (facts["entries"], facts["episodes"], facts["reruns"], facts["objects"]) == (17, 2, 1, 1)


def test_log_that_was_rewritten_and_then_extended_is_rewritten(good, run):
    golden.rewrite_chain(run)
    golden.extend_log(run)

    assert reason_of(run, root=good[1]) == (REFUND, None, REWRITTEN)


def test_missing_object_is_withheld_and_listed(good, run):
    (run / OBJECT).unlink()

    verdict = verify_run(run, good[1])

    assert verdict.status is Status.PASS
    assert f"objects withheld: {Path(OBJECT).stem}" in verdict.not_checked
    assert verdict.facts["withheld"] == [Path(OBJECT).stem]


def test_object_that_no_entry_names_by_its_hash_is_a_finding(run):
    (run / "objects" / "picture.png").write_bytes(b"")

    assert reason_of(run)[0] == "objects/picture.png"


def test_objects_are_listed_as_not_checked_without_zstandard(good, monkeypatch):
    without(monkeypatch, "zstandard")

    verdict = verify_run(good[0], good[1])

    assert verdict.status is Status.PASS
    assert any(
        text.startswith("objects: their bytes were not read") for text in verdict.not_checked
    )


def test_link_or_pipe_among_the_logs_is_a_finding_and_is_not_followed(run):
    (run / REFUND).rename(run / "elsewhere.jsonl")
    (run / REFUND).symlink_to(run / "elsewhere.jsonl")
    os.mkfifo(run / "reruns" / "pipe.jsonl")
    (run / "root.json").unlink()

    assert reason_of(run)[0] in {REFUND, "reruns/pipe.jsonl"}


@pytest.mark.parametrize("name", ["episodes", "reruns", "objects"])
def test_folder_that_is_a_link_or_a_file_is_a_finding_and_no_error(good, run, name):
    (run / name).rename(run / "elsewhere")
    (run / name).symlink_to(run / "elsewhere")
    assert verify_run(run, good[1]).status is Status.FAIL

    (run / name).unlink()
    (run / name).write_bytes(b"")
    assert verify_run(run, good[1]).status is Status.FAIL


def test_seal_that_names_a_file_outside_the_folder_does_not_open_it(run):
    golden.edit_seal(
        run, lambda root: root["reruns"]["leaves"][0].update(file="reruns/../../x.jsonl")
    )
    (run.parent / "x.jsonl").write_bytes((run / RERUN).read_bytes())

    assert reason_of(run)[0] == "root.json"


def test_killed_run_is_unknown_and_says_how_far_it_goes(killed):
    """Law 6."""
    verdict = verify_run(killed)

    assert (verdict.status, verdict.witness) == (Status.UNKNOWN, None)
    assert verdict.not_checked == ("no root: the run did not finish",)
    assert verdict.facts["complete"] is False
    assert verdict.facts["root"] is None
    assert verdict.facts["unfinished"] == [{"file": CART, "entries": 3, "torn": False}]
    assert verdict.facts["entries"] == 15


def test_torn_line_of_a_killed_run_is_no_finding(killed):
    (killed / CART).write_bytes((killed / CART).read_bytes() + b'{"entry":{"ki')
    (killed / "heads.jsonl").write_bytes((killed / "heads.jsonl").read_bytes() + b'{"ent')

    verdict = verify_run(killed)

    assert verdict.status is Status.UNKNOWN
    assert verdict.facts["unfinished"] == [{"file": CART, "entries": 3, "torn": True}]


def test_log_without_a_whole_entry_in_a_killed_run_is_no_finding(killed):
    (killed / CART).write_bytes(b"")

    verdict = verify_run(killed)

    assert verdict.status is Status.UNKNOWN
    assert verdict.facts["unfinished"] == [{"file": CART, "entries": 0, "torn": False}]


def test_classifications_of_a_run_without_a_root_are_not_checked(good, killed):
    shutil.copy(good[0] / "classified.jsonl", killed)

    verdict = verify_run(killed)

    assert verdict.status is Status.UNKNOWN
    assert "classified.jsonl: it starts from a root, and there is none" in verdict.not_checked


def test_killed_run_whose_last_head_did_not_leave_says_so(killed):
    cut_lines(killed / "heads.jsonl", 1)

    verdict = verify_run(killed)

    assert verdict.status is Status.UNKNOWN
    assert "1 finished episodes: their heads are not in heads.jsonl" in verdict.not_checked


def test_run_killed_before_its_first_entry_is_unknown(run):
    for name in ("episodes", "reruns", "objects"):
        shutil.rmtree(run / name)
    for name in ("root.json", "classified.jsonl", "heads.jsonl"):
        (run / name).unlink()

    assert verify_run(run).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("defect", "witness"),
    [
        ("edit_middle_entry", (REFUND, 3)),
        ("delete_entry", (REFUND, 2)),
        ("truncate", (REFUND, 5)),
        ("rewrite_chain", (REFUND, None)),
        ("extend_log", (REFUND, None)),
        ("edit_plan", ("plan.json", None)),
        ("edit_rerun", (RERUN, 2)),
        ("delete_rerun", (CART, 3)),
        ("edit_announced_head", (REFUND, None)),
        ("edit_object", (OBJECT, None)),
    ],
)
def test_defect_in_a_killed_run_is_found_by_chains_and_heads(killed, defect, witness):
    """Law 6."""
    golden.DEFECTS[defect](killed)

    assert reason_of(killed)[:2] == witness


def test_log_under_another_name_in_a_killed_run_is_named(killed):
    (killed / REFUND).rename(killed / "episodes" / "refund-late" / "8-0.jsonl")

    file, entry, reason = reason_of(killed)

    assert (file, entry) == ("episodes/refund-late/8-0.jsonl", 0)
    assert reason == "it holds the episode refund-late/7-0"


def test_log_that_does_not_open_an_episode_is_named(killed):
    golden.write_log(
        killed,
        golden.plan_hash_of(killed),
        "episodes/x/1-0.jsonl",
        [canonical({"episode": "x/1-0", "kind": "step"})],
    )

    assert reason_of(killed) == ("episodes/x/1-0.jsonl", 0, "entry 0 does not open an episode")


@pytest.mark.parametrize(
    "edit",
    [
        lambda root: root["reruns"].update(root=None),
        lambda root: root["reruns"].update(root="0" * 64),
        lambda root: root["reruns"].update(leaves=[]),
        lambda root: root.update(reruns={"leaves": [], "root": None}),
        lambda root: root.update(more=1),
    ],
    ids=range(5),
)
def test_edit_of_what_the_seal_says_of_reruns_is_found_by_the_seal_itself(good, run, edit):
    """Law 6."""
    golden.edit_seal(run, edit)

    assert reason_of(run, root=good[1])[0] in {"root.json", RERUN}


def test_seal_that_was_removed_is_missed_when_its_root_was_kept(good, run):
    """Law 6."""
    (run / "root.json").unlink()

    assert reason_of(run, root=good[1])[:2] == ("root.json", None)


def test_logs_of_another_plan_put_the_blame_on_the_plan(killed):
    (killed / CART).unlink()
    golden.edit_plan(killed)

    assert reason_of(killed)[:2] == ("plan.json", None)


def test_heads_kept_apart_agree_with_the_clean_record(good, tmp_path):
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(canonical(another_runs_head()) + b"\n")
    kept.write_bytes(kept.read_bytes() + (good[0] / "heads.jsonl").read_bytes() + b'{"torn')

    assert verify_run(good[0], heads=kept).status is Status.PASS
    renamed = shutil.copytree(good[0], tmp_path / "published")
    assert verify_run(renamed, heads=kept).status is Status.PASS


@pytest.mark.parametrize(
    ("defect", "witness"),
    [
        ("rewrite_all", (REFUND, None, "rewritten, point unknown: the chain holds, but its head")),
        ("drop_episode_and_seal_again", (CART, None, "missing: the head of its 5 entries left")),
    ],
)
def test_record_that_was_sealed_again_is_found_by_heads_kept_apart(good, run, defect, witness):
    """Law 6."""
    golden.DEFECTS[defect](run)

    file, entry, reason = reason_of(run, heads=good[0] / "heads.jsonl")

    assert (file, entry) == witness[:2]
    assert reason.startswith(witness[2])


def test_episode_whose_head_never_left_is_found_by_heads_kept_apart(good, run, tmp_path):
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(b"".join(golden.lines_of(good[0] / "heads.jsonl")[:2]))

    assert reason_of(run, heads=kept) == (
        CART,
        None,
        "its head never left: it was added or rewritten",
    )


def test_plan_that_was_changed_under_the_whole_record_is_found_by_heads_kept_apart(good, tmp_path):
    folder = tmp_path / "again" / "v1"
    golden.make_good(folder)
    for name in ("episodes", "reruns", "heads.jsonl", "root.json", "classified.jsonl"):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    golden.edit_plan(folder)

    assert reason_of(folder, heads=good[0] / "heads.jsonl")[0] == "plan.json"


def test_heads_that_are_not_of_this_run_leave_it_undecided(good, tmp_path):
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(canonical(another_runs_head()) + b"\n")
    verdict = verify_run(good[0], good[1], heads=kept)

    assert verdict.status is Status.UNKNOWN
    assert "the heads in kept.jsonl: none of them is of this run" in verdict.not_checked


def test_heads_of_another_run_of_the_same_plan_are_left_aside(good, tmp_path):
    kept = tmp_path / "kept.jsonl"
    other = another_runs_head() | {"plan": golden.plan_hash_of(good[0])}
    kept.write_bytes(canonical(other) + b"\n" + (good[0] / "heads.jsonl").read_bytes())

    assert verify_run(good[0], good[1], heads=kept).status is Status.PASS


def test_heads_of_two_other_runs_of_the_plan_leave_it_undecided(good, tmp_path):
    kept = tmp_path / "kept.jsonl"
    plan_hash = golden.plan_hash_of(good[0])
    heads = [another_runs_head() | {"plan": plan_hash, "run": name} for name in "ab"]
    kept.write_bytes(b"".join(canonical(head) + b"\n" for head in heads))

    verdict = verify_run(good[0], heads=kept)
    assert verdict.status is Status.UNKNOWN
    assert (
        "the heads in kept.jsonl: they are of 2 runs of this plan, none of them named v1"
        in verdict.not_checked
    )


def test_file_that_holds_no_heads_is_refused(good):
    with pytest.raises(LogError, match="CD-606 this line is not a head") as caught:
        verify_run(good[0], heads=good[0] / REFUND)
    assert caught.value.where.endswith("line 1")
    with pytest.raises(LogError, match="CD-606 can't read"):
        verify_run(good[0], heads=good[0] / "no.jsonl")


def test_head_that_is_spelled_in_another_way_is_named(run):
    golden.replace_in(run / "heads.jsonl", b'{"entries":7,', b'{"entries": 7,')

    assert reason_of(run) == ("heads.jsonl", 0, "this line is not a head")


@pytest.mark.parametrize(
    "line", [b"[]", b"{}", b"\xff", b'{"entries":1, "x":2}', b"[" * 100_000], ids=range(5)
)
def test_line_in_heads_jsonl_that_is_no_head_is_named(run, line):
    path = run / "heads.jsonl"
    path.write_bytes(path.read_bytes() + line + b"\n")

    assert reason_of(run) == ("heads.jsonl", 3, "this line is not a head")


def test_head_of_another_plan_in_heads_jsonl_is_named(run):
    with HeadsSink.open(run, "0" * 64) as sink:
        sink.send("a/7-0", "0" * 64, 3)

    assert reason_of(run) == ("heads.jsonl", 3, "this head left under another plan")


def test_torn_line_in_a_sealed_runs_heads_or_classifications_is_named(good, run):
    (run / "classified.jsonl").write_bytes((run / "classified.jsonl").read_bytes()[:-1])
    assert reason_of(run)[:2] == ("classified.jsonl", 1)
    (run / "classified.jsonl").unlink()
    (run / "heads.jsonl").write_bytes((run / "heads.jsonl").read_bytes()[:-1])
    assert reason_of(run)[:2] == ("heads.jsonl", 2)


def test_classifications_of_another_root_are_named(good, run):
    lines = golden.lines_of(run / "classified.jsonl")
    data, _ = golden.rechain(lines, "0" * 64, 9, b"", b"")
    (run / "classified.jsonl").write_bytes(data)

    assert reason_of(run, root=good[1]) == (
        "classified.jsonl",
        0,
        "entry 0 does not start from this root",
    )


def test_signed_seal_names_its_key_and_an_edited_signature_is_named(good, run, monkeypatch):
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    sign(run / "root.json", pem)
    public = key.public_key().public_bytes_raw().hex()

    verdict = verify_run(run, good[1])
    assert (verdict.status, verdict.facts["signed_by"]) == (Status.PASS, public)
    assert f"root.sig: whose key {public} is" in verdict.not_checked

    with monkeypatch.context() as patch:
        without(patch, "cryptography")
        verdict = verify_run(run, good[1])
        assert "root.sig: cryptography is not installed" in verdict.not_checked

    golden.replace_in(run / "root.sig", public[:8].encode(), b"00000000")
    assert reason_of(run, root=good[1])[0] == "root.sig"


def test_last_entry_that_is_no_verdict_is_named(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "plan.json").write_bytes(b"{}\n")
    plan_hash = golden.plan_hash_of(folder)
    entries = golden.entries_of("a/1-0", [], 1.0)[:-1]
    golden.seal(
        folder, plan_hash, [golden.write_log(folder, plan_hash, "episodes/a/1-0.jsonl", entries)]
    )

    assert reason_of(folder) == ("episodes/a/1-0.jsonl", 2, "the last entry is not a verdict")


@pytest.mark.parametrize("record", [b"[]", b"{", b"{}", b'{"score":{"mean":1,"n":2}}'])
def test_record_without_the_score_of_its_verdicts_is_named(run, record):
    (run / "record.json").write_bytes(record)

    assert reason_of(run, rescore=golden.rescore)[0] == "record.json"


def test_score_that_differs_in_the_last_bit_only_agrees(good, run):
    (run / "record.json").write_text('{"score":{"mean":0.7500000000000001,"n":2}}')

    assert verify_run(run, good[1], rescore=golden.rescore).status is Status.PASS


@pytest.mark.parametrize(
    ("bounds", "status"), [("0.30000000000000004", Status.PASS), ("0.3001", Status.FAIL)]
)
def test_bounds_in_a_score_are_compared_one_by_one(good, run, bounds, status):
    (run / "record.json").write_text('{"score":{"bounds":[' + bounds + ",1]}}")

    verdict = verify_run(run, good[1], rescore=lambda verdicts: {"bounds": (0.3, 1)})

    assert verdict.status is status


def test_score_that_can_not_be_computed_again_is_not_checked(good):
    verdict = verify_run(good[0], good[1], rescore=lambda verdicts: {}["mean"])

    assert any("can't be computed again" in text for text in verdict.not_checked)


def test_record_that_is_not_there_is_not_checked(good, run):
    (run / "record.json").unlink()

    verdict = verify_run(run, good[1], rescore=golden.rescore)

    assert "record.json: there is none, so no score to check" in verdict.not_checked


def test_folder_without_a_plan_is_no_run_folder(tmp_path):
    with pytest.raises(LogError, match="CD-604") as caught:
        verify_run(tmp_path)
    assert caught.value.do


def test_root_that_is_no_hash_is_refused(good):
    with pytest.raises(LogError, match="CD-606 'abc' is not a root"):
        verify_run(good[0], "abc")


def test_run_killed_with_its_process_verifies_as_far_as_it_goes(tmp_path):
    """A process that dies by SIGKILL in the middle of an episode loses nothing it wrote."""
    (tmp_path / "plan.json").write_bytes(b"{}\n")
    program = (
        "import os, signal, sys, pathlib\n"
        "from cleandesk.log import EpisodeWriter\n"
        "writer = EpisodeWriter(pathlib.Path(sys.argv[1]), sys.argv[2])\n"
        'writer.append(b\'{"episode":"a/1-0","kind":"open"}\')\n'
        'writer.append(b\'{"kind":"step"}\')\n'
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "episodes" / "a" / "1-0.jsonl"
    words = [sys.executable, "-c", program, str(path), golden.plan_hash_of(tmp_path)]
    subprocess.run(words, check=False)

    verdict = verify_run(tmp_path)

    assert verdict.status is Status.UNKNOWN
    assert verdict.facts["unfinished"] == [
        {"file": "episodes/a/1-0.jsonl", "entries": 2, "torn": False}
    ]
    with EpisodeWriter.reopen(path, golden.plan_hash_of(tmp_path)) as writer:
        assert writer.entries == 2


def another_runs_head() -> dict[str, object]:
    return {"entries": 1, "episode": "a/1-0", "head": "1" * 64, "plan": "2" * 64, "run": "other"}


def without(patch: pytest.MonkeyPatch, package: str) -> None:
    """Make an installed package as absent as one that was never installed."""
    real = builtins.__import__

    def importing(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    patch.setattr(builtins, "__import__", importing)
