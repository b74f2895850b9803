"""What a measurement found, and the table of all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTHS = (26, 10, 20, 7, 9)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: our figure beside that of a peer or of a bare floor, from the same run.

    Attributes:
        subject: What was measured.
        ours: Our figure, in ``unit``.
        unit: ``s``, ``ms``, ``/s`` or ``x``.
        beside: The figure beside ours in the same unit; None where there is none.
        name: What stands beside.
        target: The bound that we set ourselves; None for a figure that only informs.
        bound: What the target speaks of: ``ours`` or ``ratio``.
        gains: Whether more is better, for ``ours``. A ratio with a target is always
            the number of times that we are better.
        wall: The same figure of ours by the clock, where ``ours`` is CPU time.
    """

    subject: str
    ours: float
    unit: str
    beside: float | None = None
    name: str = ""
    target: float | None = None
    bound: str = "ours"
    gains: bool = False
    wall: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times more than us the peer takes; against a floor, we than it."""
        if self.beside is None:
            return None
        if self.bound == "ratio":
            low, high = (self.beside, self.ours) if self.gains else (self.ours, self.beside)
        else:
            low, high = (self.ours, self.beside) if self.gains else (self.beside, self.ours)
        return high / low if low else math.inf

    @property
    def met(self) -> bool | None:
        """Whether the target is met, or None without one."""
        if self.target is None:
            return None
        if self.bound == "ratio":
            return self.ratio is not None and self.ratio >= self.target
        return self.ours >= self.target if self.gains else self.ours <= self.target

    def to_plain(self) -> dict[str, object]:
        """Return the row as plain JSON values."""
        return {
            "beside": self.beside,
            "met": self.met,
            "name": self.name,
            "ours": self.ours,
            "ratio": self.ratio,
            "subject": self.subject,
            "target": self.target,
            "target_of": self.bound,
            "unit": self.unit,
            "wall": self.wall,
        }


@dataclass(frozen=True, slots=True)
class Missing:
    """A row that could not be measured, and why."""

    subject: str
    why: str

    def to_plain(self) -> dict[str, object]:
        """Return the row as plain JSON values."""
        return {"met": None, "missing": self.why, "subject": self.subject}


Row = Figure | Missing


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table of at most 80 columns."""
    head = ("subject", "ours", "peer or floor", "ratio", "target")
    lines = [_line(head, "met")]
    for row in rows:
        if isinstance(row, Missing):
            lines.append(f"{row.subject:<{_WIDTHS[0]}} {row.why}")
            continue
        beside = "" if row.beside is None else f"{_shown(row.beside, row.unit)} {row.name}"
        ratio = "" if row.ratio is None else f"{_digits(row.ratio)}x"
        met = {True: "yes", False: "no", None: ""}[row.met]
        cells = (row.subject, _shown(row.ours, row.unit), beside, ratio, _target(row))
        lines.append(_line(cells, met))
    return "\n".join(lines)


def to_json(rows: Sequence[Row]) -> str:
    """Return the rows as one line of JSON."""
    return json.dumps([row.to_plain() for row in rows])


def _line(cells: Sequence[str], met: str) -> str:
    spelled = [f"{cells[0]:<{_WIDTHS[0]}}", f"{cells[1]:>{_WIDTHS[1]}}"]
    spelled += [f"{cells[2]:<{_WIDTHS[2]}}"]
    spelled += [f"{cell:>{width}}" for cell, width in zip(cells[3:], _WIDTHS[3:], strict=True)]
    return " ".join([*spelled, met]).rstrip()


def _target(row: Figure) -> str:
    if row.target is None:
        return ""
    if row.bound == "ratio":
        return f">={_digits(row.target)}x"
    return f"{'>=' if row.gains else '<='}{_shown(row.target, row.unit, space='')}"


def _shown(value: float, unit: str, *, space: str = " ") -> str:
    if unit == "/s":
        return f"{value / 1000:.0f}k/s"
    return f"{_digits(value)}{'' if unit == 'x' else space}{unit}"


def _digits(value: float) -> str:
    """Spell to three digits, without trailing zeros."""
    if not math.isfinite(value):
        return "inf"
    if value >= 100:
        return f"{value:.0f}"
    text = f"{value:.{2 if value < 10 else 1}f}" if value >= 1 else f"{value:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text else text
