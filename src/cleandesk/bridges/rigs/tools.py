"""Calls of a world's tools as actions, with arguments from what the world last showed.

A tool says of its arguments in words what they are. Where the words can be read (``0 to
23``, ``one of Mon, Tue``, ``1 or more``) they are kept; a number or a text is mostly one
that stands under the same name in the latest observation, so that calls find something.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_RANGE = re.compile(r"(-?\d+) to (-?\d+)")
_FROM = re.compile(r"(\d+) or more")
_LISTED = re.compile(r"one of (.+)")
_EITHER = re.compile(r"\w+(?:, \w+)*,? or \w+")
_IS_NUMBER = re.compile(r"\b(number|id|count|amount|integer)\b")
_NO_ARGUMENTS = frozenset({"do", "arguments", "description", "returns", "says"})
_SEEN = 0.7
_MORE = 5
_WORDS = ("alpha", "beta", "gamma")
_NUMBERS = 60
_MOST_SEEN = 500


class ToolCalls:
    """A part that draws one call of a tool."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Draw calls of ``tools``: each with ``do``, and its arguments beside it or in a table."""
        self._tools = list(tools)
        self._seen: dict[str, list[Any]] = {}

    def show(self, observation: Any) -> None:
        """Take what a world shows now as what calls may speak of."""
        self._seen = {}
        _gather(observation, "", self._seen, [_MOST_SEEN])

    def uniform(self, rng: Any) -> dict[str, Any]:
        """Draw from all that is allowed."""
        tool = self._tools[int(rng.integers(len(self._tools)))]
        return self._call(tool, rng)

    def extreme(self, rng: Any) -> dict[str, Any]:
        """Draw a call of the first or the last tool."""
        return self._call(self._tools[-int(rng.integers(2))], rng)

    def null(self) -> dict[str, Any]:
        """Return a call that takes no arguments, or one that no tool knows."""
        free = [tool for tool in self._tools if not _arguments(tool)]
        idle = [tool for tool in free if tool["do"] in {"noop", "wait", "look"}]
        return {"do": idle[0]["do"]} if idle else {"do": "noop"}

    def expression(self, name: str) -> str:
        """Return Python that makes it of its plain form."""
        return name

    def _call(self, tool: Mapping[str, Any], rng: Any) -> dict[str, Any]:
        arguments = _arguments(tool).items()
        drawn = {name: self._argument(name, str(says), rng) for name, says in arguments}
        return {"do": tool["do"], **drawn}

    def _argument(self, name: str, says: str, rng: Any) -> Any:
        if (found := _RANGE.search(says)) is not None:
            low, high = sorted(map(int, found.groups()))
            return low + int(rng.integers(high - low + 1))
        if (found := _LISTED.search(says)) is not None:
            return _one(_choices(found[1]), rng)
        if (found := _FROM.search(says)) is not None:
            return int(found[1]) + int(rng.integers(_MORE))
        if _EITHER.fullmatch(says) is not None:
            return _one(_choices(says), rng)
        kind = int if _IS_NUMBER.search(says) else str
        known = [value for value in self._known(name) if type(value) is kind]
        if known and rng.random() < _SEEN:
            return _one(known, rng)
        return int(rng.integers(_NUMBERS)) if kind is int else _one(_WORDS, rng)

    def _known(self, name: str) -> list[Any]:
        return self._seen.get(name) or self._seen.get(f"{name}s") or self._seen.get("", [])


def _arguments(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a tool says of its arguments, in a table of their own or beside its name."""
    held = tool.get("arguments")
    if isinstance(held, Mapping):
        return held
    return {name: says for name, says in tool.items() if name not in _NO_ARGUMENTS}


def _choices(text: str) -> list[str]:
    return [part for part in re.split(r",\s*(?:or\s+)?|\s+or\s+", text) if part]


def _one(values: Sequence[Any], rng: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _gather(value: Any, name: str, into: dict[str, list[Any]], left: list[int]) -> None:
    """Note the numbers and texts in ``value`` under the key where each stands, and under all."""
    if left[0] <= 0:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            _gather(item, str(key), into, left)
    elif isinstance(value, list | tuple):
        for item in value:
            _gather(item, name, into, left)
    elif type(value) in {int, str}:
        left[0] -= 1
        for key in {name, ""}:
            into.setdefault(key, []).append(value)
