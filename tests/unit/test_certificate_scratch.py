"""The folder of a bench: nothing of it stays, not even where its process was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cleandesk.audit.certificate import scratch
from cleandesk.audit.certificate.scratch import Scratch

KILLED = """
import os, signal
from cleandesk.audit.certificate.scratch import Scratch
own = Scratch()
print(own.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "_YOUNG_S", -1.0)
    return tmp_path


def test_what_a_killed_process_left_is_removed_by_the_next(place):
    environment = {**os.environ, "TMPDIR": str(place)}
    run = subprocess.run(
        [sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True, check=False
    )
    left = Path(run.stdout.strip())
    assert left.is_dir()

    own = Scratch()

    assert [each.name for each in place.iterdir()] == [Path(own.name).name]
    own.cleanup()
    own.cleanup()
    assert not any(place.iterdir())


def test_what_another_one_still_uses_stays(place):
    first, second = Scratch(), Scratch()

    assert {first.name, second.name} == {str(each) for each in place.iterdir()}
    first.cleanup()
    second.cleanup()


def test_what_is_called_alike_and_is_no_folder_stays(place):
    (place / "cleandesk-certify-file").write_text("x")
    (place / "elsewhere").mkdir()
    (place / "cleandesk-certify-way").symlink_to(place / "elsewhere")

    Scratch().cleanup()

    names = {each.name for each in place.iterdir()}
    assert names == {"cleandesk-certify-file", "cleandesk-certify-way", "elsewhere"}
