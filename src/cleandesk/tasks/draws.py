"""Parameters of a task: what they may be, and their value for a seed.

Each parameter is drawn from a stream of its own, named after the task and the
parameter. A parameter that is added, removed or moved changes no other (law 9).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from cleandesk.errors import SuiteError, shown
from cleandesk.seeding import Stream, stream
from cleandesk.state.canon import encode

_INTEGERS = re.compile(r"\s*([+-]?\d{1,18})\s*\.\.\s*([+-]?\d{1,18})\s*")
_NUMBER = r"([+-]?(?:\d+(?:\.\d+)?)(?:[eE][+-]?\d+)?)"
_FLOATS = re.compile(rf"\s*{_NUMBER}\s*\.\.\s*{_NUMBER}\s*")
_QUERY = re.compile(r"([^\W\d]\w*):\s*(\S.*)", re.DOTALL)
_FORMS = (
    'write a list of values, "1..10", "0.5..1.5", "SURFACE: QUESTION", or one of {choice = [..]}, '
    "{sample = [..], size = N}, {integer = [low, high]}, {uniform = [low, high]}, "
    '{date = ["2026-01-01", "2026-03-31"]}, {query = "SURFACE: QUESTION", size = N}, {value = ..}'
)
Row = dict[str, Any]
Ask = Callable[[str, str], list[Row]]
"""(surface, question in its own language) -> the rows that its base answers, in order."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What one parameter may be.

    Attributes:
        kind: ``choice``, ``sample``, ``integer``, ``uniform``, ``date``, ``value``,
            ``columns`` (one row of an answer, each column a parameter) or ``query`` (rows).
        items: The values to take from; for a range its two ends, both included
            (``uniform`` leaves out the upper end); for ``value`` the value alone; for
            what asks a base, the surface and the question.
        size: How many to take, for ``sample`` and ``query``; 0 is one row and no list.
    """

    kind: str
    items: tuple[Any, ...]
    size: int = 1

    @property
    def asks(self) -> bool:
        """Tell whether the value comes out of a base."""
        return self.kind in {"columns", "query"}


def parse_draw(given: Any, *, where: str) -> Draw:
    """Read one entry of a task's ``draw`` table.

    Raises:
        SuiteError: CD-412, ``given`` has none of the forms of docs/reference/suite.md.
    """
    if isinstance(given, list):
        return _choice(given, where)
    if isinstance(given, str):
        return _range_text(given, where)
    if not isinstance(given, Mapping) or not given:
        raise _malformed(f"{shown(repr(given), 60)} is not a draw", where)
    kind = next((name for name in _READERS if name in given), "")
    extra = set(given) - {kind} - ({"size"} if kind in _SIZED else set())
    if not kind or extra:
        named = shown(", ".join(sorted(map(str, extra or given))), 80)
        raise _malformed(f"a draw has no form with: {named}", where)
    if kind in _SIZED:
        return _SIZED[kind](given[kind], given.get("size"), where)
    return _READERS[kind](given[kind], where)


def draw_value(draw: Draw, source: Stream) -> Any:
    """Return the value that ``source`` gives for ``draw``."""
    if draw.kind == "choice":
        return source.choice(draw.items)
    if draw.kind == "sample":
        return source.sample(draw.items, draw.size)
    if draw.kind == "value":
        return draw.items[0]
    low, high = draw.items
    if draw.kind == "integer":
        return source.integer(low, high)
    if draw.kind == "uniform":
        return source.uniform(low, high)
    return (low + timedelta(days=source.integer(0, (high - low).days))).isoformat()


def draw_all(
    draws: Mapping[str, Draw], seed: int, task_id: str, ask: Ask | None = None
) -> dict[str, Any]:
    """Return the value of each parameter, each from its own stream.

    Args:
        draws: Parameter to what it may be.
        seed: The seed.
        task_id: The task's id.
        ask: Asks the bases of the task's world, for draws from state.

    Raises:
        SuiteError: CD-420, a question gives too few rows, or there is no one to ask, or
            two draws give one parameter.

    Source:
        docs/spec/seeding-1.md: the stream (seed, "task", task, parameter).
    """
    drawn: dict[str, Any] = {}
    for name, draw in draws.items():
        source = stream(seed, "task", task_id, name)
        given = _ask(name, draw, source, ask) if draw.asks else {name: draw_value(draw, source)}
        twice = drawn.keys() & given.keys()
        if twice:
            where = f"task {task_id!r}, draw.{name}"
            raise _unasked(f"{twice.pop()!r} is drawn twice", where, "name the column otherwise")
        drawn |= given
    return drawn


def _ask(name: str, draw: Draw, source: Stream, ask: Ask | None) -> dict[str, Any]:
    where, least = f"draw.{name}", max(draw.size, 1)
    if ask is None:
        raise _unasked("the world's base is not at hand", where, "run the suite")
    rows = ask(*draw.items)
    if len(rows) < least:
        raise _unasked(
            f"the question gives {len(rows)} rows, and {least} are to be drawn",
            where,
            f"ask {draw.items[0]!r} for more: {shown(draw.items[1], 120)}",
        )
    if draw.size:
        return {name: source.sample(rows, draw.size)}
    row = source.choice(rows)
    if draw.kind == "query":
        return {name: row}
    first, *rest = row.items()
    # The first column is what is drawn; the others go with it under their own names.
    return {name: first[1], **{column: value for column, value in rest if column != name}}


def _unasked(message: str, where: str, do: str) -> SuiteError:
    return SuiteError("CD-420", message, where=where, do=do)


def _choice(given: Any, where: str) -> Draw:
    return Draw("choice", _values(given, where))


def _values(given: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(given, list) or not given:
        raise _malformed(f"{shown(repr(given), 60)} holds no values to take from", where)
    return tuple(given)


def _sample(given: Any, size: Any, where: str) -> Draw:
    items = _values(given, where)
    if type(size) is not int or not 1 <= size <= len(items):
        raise _malformed(
            f"size = {shown(repr(size), 40)} does not fit a list of {len(items)} values", where
        )
    seen = [encode(item) for item in items]
    # Two of one value in the list could be drawn together, and would not be distinct.
    twice = next((item for place, item in enumerate(seen) if item in seen[:place]), None)
    if twice is not None:
        raise _malformed(f"the list to sample from holds {shown(twice.decode(), 60)} twice", where)
    return Draw("sample", items, size)


def _integer(given: Any, where: str) -> Draw:
    low, high = _ends(given, where)
    if type(low) is not int or type(high) is not int:
        raise _malformed(f"{shown(repr(given), 60)} are not two whole numbers", where)
    return _ordered("integer", low, high, where)


def _uniform(given: Any, where: str) -> Draw:
    low, high = _ends(given, where)
    if not all(type(end) in (int, float) and math.isfinite(end) for end in (low, high)):
        raise _malformed(f"{shown(repr(given), 60)} are not two numbers", where)
    return _ordered("uniform", float(low), float(high), where)


def _date(given: Any, where: str) -> Draw:
    try:
        low, high = (date.fromisoformat(str(end)) for end in _ends(given, where))
    except ValueError as error:
        raise _malformed(f"{shown(repr(given), 60)} are not two dates", where) from error
    return _ordered("date", low, high, where)


def _constant(given: Any, _where: str) -> Draw:
    return Draw("value", (given,))


def _ends(given: Any, where: str) -> tuple[Any, Any]:
    if not isinstance(given, list) or len(given) != 2:
        raise _malformed(f"{shown(repr(given), 60)} is not [low, high]", where)
    return given[0], given[1]


def _ordered(kind: str, low: Any, high: Any, where: str) -> Draw:
    if high < low:
        raise _malformed(f"the range {low}..{high} runs backwards", where)
    return Draw(kind, (low, high))


def _range_text(text: str, where: str) -> Draw:
    match = _INTEGERS.fullmatch(text)
    if match is not None:
        return _integer([int(match[1]), int(match[2])], where)
    match = _FLOATS.fullmatch(text)
    if match is not None:
        return _uniform([float(match[1]), float(match[2])], where)
    match = _QUERY.fullmatch(text.strip())
    if match is not None:
        return Draw("columns", (match[1], match[2]), 0)
    raise _malformed(f"{shown(repr(text), 60)} is not a range", where)


def _query(given: Any, size: Any, where: str) -> Draw:
    match = _QUERY.fullmatch(given.strip()) if isinstance(given, str) else None
    if match is None:
        raise _malformed(f"{shown(repr(given), 60)} asks no surface", where)
    if size is not None and (type(size) is not int or size < 1):
        raise _malformed(f"size = {shown(repr(size), 40)} is no number of rows", where)
    return Draw("query", (match[1], match[2]), size or 0)


_SIZED: dict[str, Callable[[Any, Any, str], Draw]] = {"sample": _sample, "query": _query}
_READERS: dict[str, Callable[[Any, str], Draw]] = {
    "choice": _choice,
    "sample": lambda given, where: _sample(given, None, where),
    "query": lambda given, where: _query(given, None, where),
    "integer": _integer,
    "uniform": _uniform,
    "date": _date,
    "value": _constant,
}


def _malformed(message: str, where: str) -> SuiteError:
    return SuiteError("CD-412", message, where=where, do=_FORMS)
