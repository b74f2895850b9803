"""Importing cleandesk, and asking it for help, costs nothing that is not needed.

What may import what is checked by import-linter (``[tool.importlinter]``, `make check`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"numpy", "scipy", "rich", "gymnasium", "minigrid", "mujoco", "Box2D", "cryptography"}
IMPORT = "import cleandesk"
HELP = """
import contextlib, io
from cleandesk.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as text:
    main(["--help"])
assert "Usage" in text.getvalue()
"""


@pytest.mark.parametrize("code", [IMPORT, HELP], ids=["import cleandesk", "cleandesk --help"])
def test_nothing_heavy_is_imported_by(code):
    print_modules = "import sys, json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{print_modules}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.split(".")[0] for name in json.loads(result.stderr.splitlines()[-1])}

    assert loaded & HEAVY == set()


def test_every_package_has_its_layer_in_the_house():
    """Exhaustive for single modules too, which the import linter leaves out silently."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (house,) = [
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["id"] == "house"
    ]
    layered = {name.strip() for layer in house["layers"] for name in layer.split(":")}
    source = ROOT / "src" / "cleandesk"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    modules = {path.stem for path in source.glob("*.py")} - {"__init__"}

    assert layered == packages | modules
