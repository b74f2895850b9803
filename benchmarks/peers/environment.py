"""The environment that holds the peers: made when first needed, apart from ours."""

from __future__ import annotations

import functools
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.meter import ROOT

PEERS = ("inspect-ai==0.3.285",)
_FOLDER = ROOT / ".venv-peers"


@functools.cache
def peers_program(name: str) -> Path | None:
    """Return a program of the peers' environment, or None if it can't be installed."""
    program = _FOLDER / "bin" / name
    if not program.exists():
        _install()
    return program if program.exists() else None


@functools.cache
def _install() -> None:
    sys.stderr.write(f"installing {', '.join(PEERS)} in {_FOLDER.name} ...\n")
    venv.create(_FOLDER, with_pip=True)
    pip = [str(_FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet", *PEERS]
    if subprocess.run(pip, check=False).returncode:
        sys.stderr.write("the peers can't be installed; going on without them\n")
