"""State: finding 10 changes in 100,000 leaves, and hashing a million of them."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

from benchmarks.figure import Figure, Missing, Row
from benchmarks.meter import cpu_of
from cleandesk.state import Snapshot, diff, fingerprint
from cleandesk.state.diff import diff_values

_LEAVES = 100_000
_CHANGES = 10
_CONTRACT = "measured/1"


def rows() -> list[Row]:
    """Measure diff and fingerprint."""
    return [*_diffs(), _hashing()]


def _records(count: int) -> dict[str, dict[str, Any]]:
    """Return ``count`` records of 10 leaves: texts, numbers, flags and a short list."""
    return {
        f"k{number}": {
            "active": number % 3 == 0,
            "age": number % 90,
            "city": f"city {number % 500}",
            "email": f"person{number}@example.org",
            "id": number,
            "name": f"Person {number}",
            "note": None,
            "share": number * 0.37,
            "tags": ["new", number % 7],
        }
        for number in range(count)
    }


def _changed(before: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    after = copy.deepcopy(before)
    for place in range(_CHANGES):
        after[f"k{place * len(before) // _CHANGES}"]["age"] = -1
    return after


def _diffs() -> list[Row]:
    before = _records(_LEAVES // 10)
    after = _changed(before)
    old, new = (Snapshot.of(_CONTRACT, {"s": {"t": tree}}) for tree in (before, after))
    if not len(diff(old, new)) == len([*diff_values(before, after)]) == _CHANGES:
        raise AssertionError("the diff did not find the changes that were made")
    ours = {
        "diff of values": cpu_of(lambda: [*diff_values(before, after)]),
        "diff of snapshots": cpu_of(lambda: diff(old, new)),
    }
    try:
        from deepdiff import DeepDiff
    except ImportError:
        return [Missing(subject, "deepdiff is not installed") for subject in ours]
    peer = cpu_of(lambda: DeepDiff(before, after), runs=2)
    return [
        Figure(subject, cpu * 1e3, "ms", peer * 1e3, "deepdiff", target=100, bound="ratio")
        for subject, cpu in ours.items()
    ]


def _hashing() -> Row:
    tree = _records(100_000)

    def ours() -> str:
        return fingerprint(Snapshot.of(_CONTRACT, {"s": {"t": tree}}))

    def floor() -> str:
        text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    return Figure(
        "hash a million leaves", cpu_of(ours), "s", cpu_of(floor), "json+sha256", target=0.8
    )
