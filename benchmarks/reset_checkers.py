"""What public checkers say of twelve planted leaks and a clean control, beside a certificate.

python -m benchmarks.reset_checkers [--python PATH] [--json]

Every cell is a process of its own, so that no leak reaches another. ``--python`` is an
interpreter that has the checkers, where this one has not (the extra ``peers``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.meter import ROOT
from benchmarks.peers.reset_case import CATCHES, CHECKERS, MISSING, RIGS

PLANTED = {
    "L1 warm start read from t = 5": "WarmStart",
    "L2 list of the class grows": "ClassList",
    "L3 cache of the module": "ModuleMemo",
    "L4 counter arms after 8 resets": "Fuse",
    "L5 wear shows after 50 steps": "Wear",
    "L6 drift of 1e-7 a step": "Drift",
    "L7 generator seeded when built": "OwnGenerator",
    "L8 observation is the buffer": "SharedObservation",
    "L9 state in a temporary file": "KeptFile",
    "L10 state in the environment": "KeptVariable",
    "L11 state in a closure": "Closure",
    "L12 wall clock read from t = 31": "WallClock",
    "clean control": "Clean",
}
"""By what it is: the class in tests/faults/rigs/planted_leaks.py."""

OURS = "cleandesk certify"
_CASE = ROOT / "benchmarks" / "peers" / "reset_case.py"
_PROFILE = ("--episodes", "10", "--steps", "100")
_LONGEST_S = 300
_ABORTED = "ended badly"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one checker said of one rig.

    Attributes:
        said: ``passes``, ``catches it``, ``not installed``, or a class and what it names.
        more: What it said beside.
    """

    said: str
    more: str = ""


def table(python: str) -> dict[str, dict[str, Cell]]:
    """Return for each planted rig what each checker says of it."""
    columns = [*CHECKERS, OURS]
    places = [(rig, column) for rig in PLANTED for column in columns]
    with ThreadPoolExecutor(max_workers=2) as pool:
        cells = list(pool.map(lambda place: _cell(python, *place), places))
    found: dict[str, dict[str, Cell]] = {rig: {} for rig in PLANTED}
    for (rig, column), cell in zip(places, cells, strict=True):
        found[rig][column] = cell
    return found


def _cell(python: str, rig: str, column: str) -> Cell:
    name = PLANTED[rig]
    if column == OURS:
        return _certified(name)
    done = _run([python, str(_CASE), column, name])
    if done.returncode or not done.stdout.strip():
        return Cell(_ABORTED, done.stderr.strip().splitlines()[-1] if done.stderr else "")
    said, _, more = done.stdout.strip().splitlines()[-1].partition("\t")
    return Cell(said, more)


def _certified(name: str) -> Cell:
    reference = f"{RIGS / 'planted_leaks.py'}:{name}"
    command = [sys.executable, "-m", "cleandesk", "certify", reference, *_PROFILE, "--json", "-"]
    done = _run(command)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return Cell(_ABORTED, done.stderr.strip()[-200:])
    if "class" not in said:
        return Cell(_ABORTED, done.stdout.strip()[-200:])
    return Cell(f"{said['class']} {_named(said)}".strip(), said["reason"])


def _named(said: dict[str, Any]) -> str:
    """Return what a certificate names: a cause, fields, or the check that fails it."""
    if said["cause"]:
        return str(said["cause"])
    names = [leak["path"] for leak in said["leaks"] if leak["kind"] == "leak"]
    if names:
        return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
    if said["first_divergence"] is not None:
        return "unnamed"
    failed = [each["name"] for each in said["checks"] if each["blocks"]]
    return f"check {failed[0]}" if said["status"] == "FAIL" and failed else ""


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, check=False, cwd=ROOT, text=True, timeout=_LONGEST_S
    )


def markdown(found: dict[str, dict[str, Cell]]) -> str:
    """Return the table as Markdown; a catch is set in bold."""
    columns = [*CHECKERS, OURS]
    lines = [f"| planted | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 1)}"]
    for rig, cells in found.items():
        shown = [
            f"**{cells[column].said}**" if cells[column].said == CATCHES else cells[column].said
            for column in columns
        ]
        lines.append(f"| {rig} | {' | '.join(shown)} |")
    leaks = [rig for rig in found if rig != "clean control"]
    counts = [str(sum(_is_catch(found[rig][column]) for rig in leaks)) for column in columns]
    lines.append(f"| caught, of {len(leaks)} | {' | '.join(counts)} |")
    return "\n".join(lines)


def _is_catch(cell: Cell) -> bool:
    """A refusal counts: the rig gets no PASS, and the cause is named."""
    return cell.said == CATCHES or cell.said.startswith(("FAIL", "REFUSED"))


def main() -> None:
    """Print the table, and below it what is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reset_checkers")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the checkers")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    found = table(asked.python)
    if asked.json:
        rows = {
            rig: {column: [cell.said, cell.more] for column, cell in cells.items()}
            for rig, cells in found.items()
        }
        print(json.dumps(rows, indent=2))
        return
    print(markdown(found))
    missing = sorted(
        {
            column
            for cells in found.values()
            for column, cell in cells.items()
            if cell.said == MISSING
        }
    )
    for column in missing:
        print(f"\n{column}: not installed here; `pip install cleandesk[peers]`, or give --python")


if __name__ == "__main__":
    main()
