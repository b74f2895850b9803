"""Lines at 80 columns: labels, lists that are cut, and two long texts shown where they differ."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from cleandesk.errors import shown
from cleandesk.report.changes import WIDTH

LABEL = 13
FEW = 5
_BEFORE_DIFFERENCE = 8


def labelled(label: str, texts: Iterable[str], *, below: int = 0) -> list[str]:
    """Return lines with ``label`` before the first, each text wrapped under it.

    Args:
        label: At most 12 characters.
        texts: One for each line or, where it is long, lines; escaped already.
        below: How much deeper the second and all later texts stand.
    """
    lines: list[str] = []
    for place, text in enumerate(texts):
        indent = LABEL + (below if place else 0)
        for line in textwrap.wrap(text, WIDTH - indent, break_on_hyphens=False) or [""]:
            head = f"{label:<{indent}}" if not lines else " " * indent
            lines.append(f"{head}{line}".rstrip())
    return lines


def few(names: Sequence[str], most: int = FEW, *, each: int = 120) -> str:
    """Return the first names, escaped, and how many more there are."""
    more = [f"+{len(names) - most} more in --json"] if len(names) > most else []
    return ", ".join([*(shown(name, each) for name in names[:most]), *more])


def count(number: int, noun: str) -> str:
    """Return ``1 field`` or ``2 fields``."""
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def spans(numbers: Iterable[int]) -> str:
    """Return ascending numbers with their runs joined: ``1-3, 5``."""
    held: list[list[int]] = []
    for number in numbers:
        if held and number == held[-1][1] + 1:
            held[-1][1] = number
        else:
            held.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in held)


def apart(before: str, after: str, width: int) -> tuple[str, str]:
    """Return two texts cut to ``width``, so that where they begin to differ is still seen."""
    first, second = shown(before, 100_000), shown(after, 100_000)
    if max(len(first), len(second)) > width:
        pairs = enumerate(zip(first, second, strict=False))
        same = next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))
        if same > width // 2:
            first, second = (f"…{text[same - _BEFORE_DIFFERENCE :]}" for text in (first, second))
    return shown(first, width), shown(second, width)
