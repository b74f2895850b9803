"""What an agent says it used: tokens and money, counted against the task's limits."""

from __future__ import annotations

import math

from cleandesk.errors import AgentError, shown
from cleandesk.state.canon import encode

_used = {"tokens": 0, "usd": 0.0}


def report_usage(*, tokens: int = 0, usd: float = 0.0) -> None:
    """Count ``tokens`` and ``usd`` for the episode that this agent is in.

    Call it from the agent whenever a model has answered; the limits ``tokens`` and
    ``usd`` of a task look at the sums.

    Raises:
        AgentError: CD-309, one of them is no amount: negative, infinite, or no number.
    """
    try:
        more_tokens, more_usd = int(tokens), float(usd)
    except (TypeError, ValueError, OverflowError):
        more_tokens, more_usd = -1, -1.0
    if more_tokens < 0 or more_usd < 0 or not math.isfinite(more_usd):
        raise AgentError(
            "CD-309",
            f"{shown(repr(tokens), 40)} tokens and {shown(repr(usd), 40)} dollars are no usage",
            where="report_usage()",
            do="report what one answer used, in numbers of 0 or more",
        )
    _used["tokens"] += more_tokens
    _used["usd"] += more_usd


def take_usage() -> bytes:
    """Return what was reported since the last call, as canon/1, or nothing."""
    if not _used["tokens"] and not _used["usd"]:
        return b""
    taken = encode(dict(_used))
    _used.update(tokens=0, usd=0.0)
    return taken
