"""Actions that are calls of a tool: ``{"do": "add", "day": "Fri", ...}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cleandesk.errors import shown


def refusal(action: Any, tools: Sequence[Mapping[str, Any]]) -> str:
    """Say why ``action`` is no call of one of ``tools``, or return an empty text.

    Args:
        action: Anything that an agent sent.
        tools: Each with ``do``, its name, and ``arguments``, a table by argument name;
            a call names all of them and nothing else.
    """
    names = ", ".join(str(tool["do"]) for tool in tools)
    kind = action.get("do") if type(action) is dict else None
    # By exact type: an array compares element by element and has no truth.
    tool = next((tool for tool in tools if type(kind) is str and tool["do"] == kind), None)
    if tool is None:
        given = shown(repr(action), 80)
        return f'an action is {{"do": one of {names}, ..}}, not {given}'
    given_names = set(action) - {"do"}
    if given_names != set(tool["arguments"]):
        wanted = ", ".join(tool["arguments"]) or "no argument"
        given = shown(", ".join(sorted(map(str, given_names))) or "none", 80)
        return f"{kind} takes {wanted}; given: {given}"
    return ""
