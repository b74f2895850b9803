"""Checkers that fail, each by one defect, and their clean twin."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
import threading


def passes(change):
    """Clean: passes whatever was done."""
    return 1.0


def raises(change):
    raise LookupError("planted in a checker")


def hangs(change):
    threading.Event().wait()


def ends(change):
    os._exit(9)


def exits(change):
    sys.exit(2)


def says_nothing(change):
    """Forgets to return."""


def says_nan(change):
    return float("nan")


def says_too_much(change):
    return 1.5


def writes(change):
    pathlib.Path("written-by-a-checker.txt").write_text("not pure")
    return 1.0


def starts_a_program(change):
    subprocess.run(["true"], check=True)
    return 1.0


def connects_out(change):
    with socket.socket() as reached:
        reached.connect(("192.0.2.1", 80))
    return 1.0


def asserts(change):
    assert len(change) == 2
    return 1.0


def prints(change):
    """Clean: what a checker prints is kept, and changes nothing."""
    sys.stdout.write("printed by the checker\n")
    return 1.0
