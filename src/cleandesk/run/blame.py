"""Who caused a failure.

Only the agent's own failures are scored. What was the provider's or the world's is
rerun; what was the checker's or can't be told is set aside; a task that is broken is
quarantined; where the harness itself failed, the run stops. An unknown exception is
unclassified until a person says whose it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Blame(StrEnum):
    """Whose failure it was."""

    AGENT = "agent"
    PROVIDER = "provider"
    WORLD = "world"
    CHECKER = "checker"
    TASK = "task"
    HARNESS = "harness"
    UNCLASSIFIED = "unclassified"


RERUN = frozenset({Blame.PROVIDER, Blame.WORLD, Blame.HARNESS})
"""Blames after which the same episode is run again in a rebuilt world."""


class Fault(Exception):  # noqa: N818 - a finding on its way to the verdict, not an error of ours
    """Something that ends an episode, with whose it is.

    Attributes:
        blame: Whose.
        code: Stable code, explained in docs/errors.md.
        message: What happened.
        detail: A traceback or the like, for people; kept beside the proof.
        reported: What else its process said: ``usage``, and ``blocked`` connections.
    """

    def __init__(
        self,
        blame: Blame,
        code: str,
        message: str,
        detail: str = "",
        reported: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.blame = blame
        self.code = code
        self.message = message
        self.detail = detail
        self.reported: Mapping[str, Any] = reported or {}
