"""The answer to a question of proof: three values, with the evidence inside."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn


class Status(StrEnum):
    """What a verdict says; anything not known is UNKNOWN, never a pass."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A status, the smallest evidence for it, and what was not looked at.

    Attributes:
        status: PASS, FAIL or UNKNOWN.
        witness: The smallest evidence (a dict of plain values), or None.
        not_checked: What this verdict says nothing about, in sentences.
        facts: Further plain values that a reader may want (counts, scores).
    """

    status: Status
    witness: dict[str, Any] | None = None
    not_checked: tuple[str, ...] = ()
    facts: dict[str, Any] | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a Verdict has three values and no truth value: compare verdict.status with "
            "Status.PASS, Status.FAIL or Status.UNKNOWN"
        )
