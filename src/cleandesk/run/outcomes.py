"""How an episode ended, as plain values: what its verdict holds and the record needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleandesk.log import EpisodeWriter
from cleandesk.run.blame import Blame, Fault
from cleandesk.state import encode

Result = dict[str, Any]
"""What one attempt at an episode came to, as a worker sends it to the run."""


def blamed(fault: Fault, score: float | None = None) -> Result:
    """Return the verdict on an episode that ``fault`` ended."""
    return {
        "blame": fault.blame.value,
        "code": fault.code,
        "detail": fault.detail,
        "explanation": "",
        "message": fault.message,
        "metric": None,
        "score": score,
    }


def judged(said: Mapping[str, Any], limit: str = "") -> Result:
    """Turn what the checker said into the verdict: a plain failure is the agent's.

    Args:
        said: The checker's answer.
        limit: The limit that ended the episode, with its value, if one did.
    """
    score, metric = said["score"], said["metric"]
    blame = code = None
    message = ""
    if said["unscored"] is not None:
        blame, code, message = Blame.CHECKER.value, "CD-744", said["unscored"]
    elif score == 0:
        blame, code, message = Blame.AGENT.value, "CD-751", said["explanation"]
        if limit:
            code, message = "CD-753", f"the limit {limit} was reached; {message}"
    return {
        "blame": blame,
        "code": code,
        "explanation": said["explanation"],
        "message": message,
        "metric": metric,
        "score": score,
    }


def append_verdict(log: EpisodeWriter, outcome: Mapping[str, Any]) -> tuple[str, int]:
    """Write the last entry of an episode; return the head and the number of entries."""
    log.append(encode({"kind": "verdict", **{k: v for k, v in outcome.items() if k != "detail"}}))
    return log.close()


def close_unplayed(log: EpisodeWriter, episode: str, fault: Fault) -> Result:
    """End the log of an attempt that no episode loop has ended; return its result."""
    outcome = {**blamed(fault), "proven": False}
    if not log.entries:
        log.append(encode({"episode": episode, "kind": "open"}))
    head, entries = append_verdict(log, outcome)
    return {
        "blocked": list(fault.reported.get("blocked", ())),
        "entries": entries,
        "head": head,
        "notes": [],
        "outcome": outcome,
        "pays_nothing": False,
        "reason": "",
        "seconds": {"agent": 0.0, "wall": 0.0, "world": 0.0},
        "start": None,
        "steps": 0,
        "usage": {"tokens": 0, "usd": 0.0},
    }
