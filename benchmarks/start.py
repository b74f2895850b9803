"""How long ``--help`` takes: what a person waits for first."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.figure import Figure, Missing, Row
from benchmarks.meter import wall_of
from benchmarks.peers.environment import peers_program


def rows() -> list[Row]:
    """Measure the help of ours, of a bare interpreter and of the peer."""
    python = wall_of([sys.executable, "-c", "pass"]) * 1e3
    ours = wall_of([str(Path(sys.executable).with_name("cleandesk")), "--help"]) * 1e3
    found: list[Row] = [
        Figure("cleandesk --help, wall", ours, "ms", python, "python", target=200, wall=ours)
    ]
    inspect = peers_program("inspect")
    if inspect is None:
        return [*found, Missing("beside inspect --help", "not installed")]
    peer = wall_of([str(inspect), "--help"], runs=3) * 1e3
    return [
        *found,
        Figure("beside inspect --help", ours, "ms", peer, "inspect", bound="ratio", wall=ours),
    ]
