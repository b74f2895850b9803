"""Scores in, honest intervals out; pure functions, nothing heavy at import."""

from __future__ import annotations

from cleandesk.stats.estimate import Estimate, bounds, estimate, task_bounds, unbounded
from cleandesk.stats.intervals import clustered_se, wilson

__all__ = [
    "Estimate",
    "bounds",
    "clustered_se",
    "estimate",
    "task_bounds",
    "unbounded",
    "wilson",
]
