"""Blanks in a task's texts: ``{order}`` stands for the drawn parameter ``order``.

A text that is one blank and nothing else keeps the type of what was drawn; in any
other text the value is written out. ``{{`` and ``}}`` stand for braces.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cleandesk.errors import SuiteError, shown

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_WHOLE = re.compile(r"\{([A-Za-z_]\w*(?:\.\w+)*)\}")
_NEEDS_BRACKETS = re.compile(r"[.\[\]]|\A\Z|\A\*\Z|\A[\"']")

Params = Mapping[str, Any]


def fill_text(text: str, params: Params, *, where: str) -> str:
    """Return ``text`` with each blank written out.

    Raises:
        SuiteError: CD-410, a blank has no value; CD-411, a brace that opens no blank.
    """
    return "".join(
        piece if blank is None else _written(value_of(blank, params, where), blank, where)
        for piece, blank, _ in _pieces(text, where)
    )


def fill_value(value: Any, params: Params, *, where: str) -> Any:
    """Return a copy of ``value`` with the blanks in all its texts filled, keys too.

    Raises:
        SuiteError: CD-410 or CD-411, as ``fill_text``; CD-413, two keys that became one.
    """
    if isinstance(value, str):
        whole = _WHOLE.fullmatch(value)
        if whole is not None:
            return copy.deepcopy(value_of(whole[1], params, where))
        return fill_text(value, params, where=where)
    if isinstance(value, (list, tuple)):
        return [fill_value(item, params, where=where) for item in value]
    if isinstance(value, Mapping):
        return _filled_table(value, params, where, is_fields=False)
    return value


def fill_fields(table: Mapping[str, Any], params: Params, *, where: str) -> dict[str, Any]:
    """Fill a table whose keys name fields, such as ``{"db.orders[{order}].total": ..}``.

    A drawn text that would read as several segments is quoted in brackets, so that no
    drawn value can make the key name another field.

    Raises:
        SuiteError: CD-410, CD-411 or CD-413, as ``fill_value``; CD-415, a drawn text
            that no key can spell where its blank stands.
    """
    return _filled_table(table, params, where, is_fields=True)


def _filled_table(
    table: Mapping[str, Any], params: Params, where: str, *, is_fields: bool
) -> dict[str, Any]:
    filled: dict[str, Any] = {}
    for name, item in table.items():
        key = (
            _field_name(name, params, where) if is_fields else fill_text(name, params, where=where)
        )
        if key in filled:
            raise SuiteError(
                "CD-413",
                f"two keys became {shown(repr(key), 80)} once their blanks were filled",
                where=where,
                do="draw the parameters so that they differ (sample from one list)",
            )
        filled[key] = fill_value(item, params, where=where)
    return filled


def _field_name(text: str, params: Params, where: str) -> str:
    done = ""
    for piece, blank, end in _pieces(text, where):
        if blank is None:
            done += piece
            continue
        value = _written(value_of(blank, params, where), blank, where)
        done += _segment(value, before=done[-1:], after=text[end : end + 1], where=where)
    return done


def _segment(value: str, *, before: str, after: str, where: str) -> str:
    if before == "[" and after == "]" and _NEEDS_BRACKETS.search(value):
        quote = next((mark for mark in "\"'" if f"{mark}]" not in value), None)
        if quote is not None:
            return f"{quote}{value}{quote}"
    elif before in {'"', "'"} and after == before:
        if f"{before}]" not in value:
            return value
    elif not _NEEDS_BRACKETS.search(value):
        return value
    raise SuiteError(
        "CD-415",
        f"the drawn text {shown(repr(value), 60)} cannot be part of a field's name here",
        where=where,
        do="put the blank alone in brackets: table[{blank}]",
    )


def blanks_of(value: Any, *, where: str) -> Iterator[str]:
    """Yield the name of each blank in ``value``, keys included.

    Raises:
        SuiteError: CD-411, a brace that opens no blank.
    """
    if isinstance(value, str):
        for _, blank, _ in _pieces(value, where):
            if blank is not None:
                yield blank
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from blanks_of(item, where=where)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from blanks_of(key, where=where)
            yield from blanks_of(item, where=where)


def value_of(blank: str, params: Params, where: str) -> Any:
    """Return what the blank ``order`` or ``order.id`` stands for.

    On a list a number takes that place and a name takes that field of every item.

    Raises:
        SuiteError: CD-410, nothing has that name.
    """
    first, *rest = blank.split(".")
    if first not in params:
        raise _no_value(blank, f"there is: {', '.join(sorted(params)) or 'none'}", where)
    value: Any = params[first]
    for part in rest:
        value = _part_of(value, part, blank, where)
    return value


def _part_of(value: Any, part: str, blank: str, where: str) -> Any:
    if isinstance(value, Mapping) and part in value:
        return value[part]
    if isinstance(value, list):
        if part.isdecimal() and int(part) < len(value):
            return value[int(part)]
        if not part.isdecimal():
            return [_part_of(item, part, blank, where) for item in value]
    held = ", ".join(map(str, value)) if isinstance(value, Mapping) else repr(value)
    raise _no_value(blank, f"no {part!r} in {shown(held, 80)}", where)


def _no_value(blank: str, held: str, where: str) -> SuiteError:
    return SuiteError(
        "CD-410",
        f"the blank {{{shown(blank, 60)}}} has no value ({held})",
        where=where,
        do=f"add draw.{blank.split('.')[0]} to the task, or write {{{{ and }}}} for braces",
    )


def _written(value: Any, blank: str, where: str) -> str:
    if isinstance(value, list) and not any(isinstance(item, (list, Mapping)) for item in value):
        return ", ".join(map(str, value))
    if isinstance(value, (list, Mapping)):
        raise SuiteError(
            "CD-410",
            f"the blank {{{shown(blank, 60)}}} stands for a table, which a text cannot hold",
            where=where,
            do=f"name one of its fields: {{{blank}.FIELD}}",
        )
    return str(value)


def _pieces(text: str, where: str) -> Iterator[tuple[str, str | None, int]]:
    """Yield (text, None, end) and ("", name of a blank, end) in order."""
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], None, match.start()
        at = match.end()
        if match[0] in {"{{", "}}"}:
            yield match[0][0], None, at
        elif match[1] is not None and _NAME.fullmatch(match[1]):
            yield "", match[1], at
        else:
            raise SuiteError(
                "CD-411",
                f"{shown(repr(match[0]), 60)} is not a blank, in {shown(repr(text), 80)}",
                where=where,
                do="write {name} for a blank, {{ and }} for braces",
            )
    if at < len(text):
        yield text[at:], None, len(text)
