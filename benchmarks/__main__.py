"""Measure everything, or the named subjects, and print one table.

python -m benchmarks [SUBJECT...] [--json]
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from benchmarks.figure import Missing, Row, table, to_json

SUBJECTS = {
    "loop": "loop",
    "inspect": "same_work",
    "workers": "workers",
    "diff": "state",
    "sqlite": "sqlite",
    "files": "files",
    "postgres": "postgres",
    "world": "small_world",
    "walk": "walk",
    "certify": "certificates",
    "log": "log",
    "cli": "start",
}
"""Subject -> module."""


def main() -> None:
    """Run the subjects one after the other; one that fails does not stop the rest."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    asked = parser.parse_args()
    unknown = sorted(set(asked.subjects) - set(SUBJECTS))
    if unknown:
        parser.error(f"no subject {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    rows: list[Row] = []
    for subject in asked.subjects or SUBJECTS:
        sys.stderr.write(f"measuring {subject} ...\n")
        try:
            rows += import_module(f"benchmarks.{SUBJECTS[subject]}").rows()
        except Exception as error:
            sys.stderr.write(f"{error}\n")
            rows.append(Missing(subject, f"failed: {type(error).__name__}"))
    print(to_json(rows) if asked.json else table(rows))


if __name__ == "__main__":
    main()
