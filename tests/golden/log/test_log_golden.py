"""Golden run folders of log/1: frozen, judged by us and by the specification's verifier."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from cleandesk.log import verify_run
from cleandesk.verdict import Status

HERE = Path(__file__).parent
SPEC = HERE.parents[2] / "docs" / "spec" / "log-1.md"
ROOT = "3448374ad245150a8e19fa29ce1f7b336bf209f1488d5860599548bfc3cf96a3"
BAD = sorted(path.name for path in (HERE / "bad").iterdir())
# The specification's verifier says that it does not look at these.
BESIDE_THE_LOGS = {
    "cut_object",
    "edit_announced_head",
    "edit_classification",
    "edit_object",
    "edit_record_score",
    "extend_object",
}

_spec = importlib.util.spec_from_file_location("make_golden", HERE / "make_golden.py")
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


@pytest.fixture(scope="module")
def verifier(tmp_path_factory):
    [program] = re.findall(r"```python\n(.*?)```", SPEC.read_text(), re.DOTALL)
    path = tmp_path_factory.mktemp("spec") / "verify.py"
    path.write_text(program)
    return path


def status_of(verifier: Path, folder: Path, *root: str) -> int:
    words = [sys.executable, "-I", "-S", str(verifier), str(folder), *root]
    return subprocess.run(words, check=False, capture_output=True, timeout=30).returncode


def test_golden_files_are_the_ones_that_were_frozen():
    lines = (HERE / "SHA256SUMS").read_text().splitlines()
    frozen = {file: hashed for hashed, file in (line.split("  ", 1) for line in lines)}
    here = {
        path.relative_to(HERE).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in golden.frozen_files()
    }

    assert here == frozen


def test_every_defect_has_a_golden_folder():
    assert set(BAD) == golden.DEFECTS.keys()


def test_writer_still_writes_what_the_good_folder_holds(tmp_path):
    root = golden.make_good(tmp_path / "v1")
    good = HERE / "good" / "v1"

    assert root == ROOT
    for path in good.rglob("*"):
        if path.is_file() and path.suffix != ".zst":  # zstd's bytes depend on its version
            assert (tmp_path / "v1" / path.relative_to(good)).read_bytes() == path.read_bytes()


def test_good_folder_passes():
    assert verify_run(HERE / "good" / "v1", ROOT, rescore=golden.rescore).status is Status.PASS


@pytest.mark.parametrize("defect", BAD)
def test_bad_folder_fails(defect):
    """Law 6."""
    verdict = verify_run(HERE / "bad" / defect, ROOT, rescore=golden.rescore)

    assert verdict.status is Status.FAIL


def test_verifier_of_the_specification_passes_the_good_folder(verifier):
    assert status_of(verifier, HERE / "good" / "v1") == 0
    assert status_of(verifier, HERE / "good" / "v1", ROOT) == 0
    assert status_of(verifier, HERE / "good" / "v1", "0" * 64) == 1


@pytest.mark.parametrize("defect", BAD)
def test_verifier_of_the_specification_fails_the_bad_folder(verifier, defect):
    """Law 6."""
    expected = 0 if defect in BESIDE_THE_LOGS else 1

    assert status_of(verifier, HERE / "bad" / defect, ROOT) == expected
