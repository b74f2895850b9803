"""Law 6, at random: no edit of what the proof covers ever passes."""

from __future__ import annotations

import importlib.util
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cleandesk.log import canonical, episode_file, link, verify_run, walk
from cleandesk.log.tree import inclusion, is_included, root
from cleandesk.verdict import Status

MAKE_GOLDEN = Path(__file__).parents[1] / "golden" / "log" / "make_golden.py"
_spec = importlib.util.spec_from_file_location("make_golden", MAKE_GOLDEN)
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)

COVERED = (
    "plan.json",
    "root.json",
    golden.REFUND_FILE,
    golden.CART_FILE,
    golden.RERUN_FILE,
)
LOGS = COVERED[2:]
PLAN = sha256(b"{}").hexdigest()

random_edits = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
entries = st.lists(
    st.dictionaries(st.text(max_size=3), st.text(max_size=5) | st.integers(), max_size=3),
    min_size=2,
    max_size=6,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("law") / "v1"
    return folder, golden.make_good(folder)


def status_with(run: tuple[Path, str], file: str, data: bytes, *, is_root_kept: bool) -> Status:
    """Verify the record with other bytes in one file, and put the old ones back."""
    folder, kept = run
    old = (folder / file).read_bytes()
    try:
        (folder / file).write_bytes(data)
        return verify_run(folder, kept if is_root_kept else None).status
    finally:
        (folder / file).write_bytes(old)


@random_edits
@given(st.sampled_from(COVERED), st.integers(0), st.integers(1, 255), st.booleans())
def test_no_changed_byte_passes(run, file, at, mask, is_root_kept):
    """Law 6."""
    data = bytearray((run[0] / file).read_bytes())
    data[at % len(data)] ^= mask

    assert status_with(run, file, bytes(data), is_root_kept=is_root_kept) is Status.FAIL


@random_edits
@given(st.sampled_from(COVERED), st.integers(0), st.integers(0), st.booleans())
def test_no_removed_stretch_passes(run, file, start, size, is_root_kept):
    """Law 6."""
    data = (run[0] / file).read_bytes()
    start %= len(data)
    end = start + 1 + size % (len(data) - start)

    changed = data[:start] + data[end:]
    assert status_with(run, file, changed, is_root_kept=is_root_kept) is Status.FAIL


@random_edits
@given(st.sampled_from(COVERED), st.integers(0), st.binary(min_size=1, max_size=8), st.booleans())
def test_no_inserted_bytes_pass(run, file, at, extra, is_root_kept):
    """Law 6."""
    data = (run[0] / file).read_bytes()
    at %= len(data) + 1

    changed = data[:at] + extra + data[at:]
    assert status_with(run, file, changed, is_root_kept=is_root_kept) is Status.FAIL


@random_edits
@given(st.sampled_from(LOGS), st.data(), st.booleans())
def test_no_other_choice_or_order_of_lines_passes(run, file, data, is_root_kept):
    """Law 6."""
    lines = golden.lines_of(run[0] / file)
    picked = data.draw(st.lists(st.sampled_from(lines), max_size=len(lines) + 2))
    status = status_with(run, file, b"".join(picked), is_root_kept=is_root_kept)

    assert status is (Status.PASS if picked == lines else Status.FAIL)


@pytest.mark.parametrize("file", LOGS)
def test_each_removed_line_is_named(run, file):
    """Law 6."""
    lines = golden.lines_of(run[0] / file)
    for index in range(len(lines)):
        data = b"".join(lines[:index] + lines[index + 1 :])
        old = (run[0] / file).read_bytes()
        (run[0] / file).write_bytes(data)
        verdict = verify_run(run[0], run[1])
        (run[0] / file).write_bytes(old)

        assert (verdict.witness["file"], verdict.witness["entry"]) == (file, index)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_folder_of_junk_gets_an_answer_and_never_a_pass(tmp_path_factory, junk):
    """Laws 6 and 13: a bad record is a finding, never an exception."""
    folder = tmp_path_factory.mktemp("junk")
    for name in ("plan.json", "heads.jsonl", "classified.jsonl", "root.sig", "record.json"):
        (folder / name).write_bytes(junk)
    (folder / "episodes" / "a").mkdir(parents=True)
    (folder / "episodes" / "a" / "1-0.jsonl").write_bytes(junk)

    assert verify_run(folder).status is not Status.PASS
    (folder / "root.json").write_bytes(junk)
    assert verify_run(folder).status is Status.FAIL
    shutil.rmtree(folder)


@given(entries, st.data())
def test_edited_entry_is_the_one_that_is_named(values, data):
    """Law 6: unless it is the last, which nothing in the chain has recorded."""
    head, lines = PLAN, []
    for index, value in enumerate(values):
        line, head = link(head, canonical(value), index)
        lines.append(line)
    at = data.draw(st.integers(0, len(lines) - 1))
    previous = walk(b"".join(line + b"\n" for line in lines[:at]), PLAN).head
    lines[at], _ = link(previous, canonical({"edited": values[at]}), at)

    held = walk(b"".join(line + b"\n" for line in lines), PLAN)

    if at == len(lines) - 1:
        assert held.fault is None
        assert held.head != head
    else:
        assert (held.fault.entry, held.entries) == (at, at)


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40), st.data())
def test_leaf_is_included_exactly_under_its_root(leaves, data):
    index = data.draw(st.integers(0, len(leaves) - 1))
    path = inclusion(leaves, index)

    assert is_included(leaves[index], index, len(leaves), path, root(leaves))
    assert not is_included(leaves[index] + b"x", index, len(leaves), path, root(leaves))
    assert not is_included(leaves[index], index, len(leaves), path, root([*leaves, b""]))


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_two_episodes_never_share_a_file_and_no_file_leaves_the_folder(names):
    files = [episode_file(f"{name}/7-0") for name in names]

    assert files[0] != files[1]
    for file in files:
        parts = file.split("/")
        assert parts[0] == "episodes"
        assert not any(part in ("", ".", "..") for part in parts)
        assert file.isascii()
