"""One run of ours in a process of its own, which says what the run took.

python -m benchmarks.once SUITE ISOLATION WORKERS LIMIT
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.meter import Cost, adopt_orphans, cost_with_children, print_cost
from cleandesk.run.conduct import run
from cleandesk.run.result import RunResult

AGENT = "benchmarks.worlds:Bump"


def main() -> None:
    """Run, check that the run is good, and print its cost."""
    suite, isolation, workers, limit = sys.argv[1:]
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder:
        results: list[RunResult] = []

        def go() -> None:
            settings = {"isolation": isolation, "limit": int(limit), "workers": int(workers)}
            results.append(run(suite, AGENT, log_dir=Path(folder), **settings))

        cost: Cost = cost_with_children(go)
        (result,) = results
    # What is fast and wrong is not fast: every start verified, every score full.
    is_good = result.proven and result.starts["verified"] == int(limit)
    if not is_good or result.score is None or result.score["mean"] != 1:
        raise SystemExit(f"the run went wrong: {result.to_json()}")
    print_cost(cost)


if __name__ == "__main__":
    main()
