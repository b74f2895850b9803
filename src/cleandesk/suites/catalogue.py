"""What can be named: worlds, bridges, agents, checkers, suites, by entry point too."""

from __future__ import annotations

import ast
import importlib.util
from importlib import metadata, resources
from pathlib import Path

import msgspec

from cleandesk.finding import registered

KINDS = ("world", "bridge", "surface", "agent", "checker", "suite")


def catalogue() -> dict[str, dict[str, str]]:
    """Return every registered name with a line that says what it is.

    Nothing is imported for it: the lines are read from the sources.

    Returns:
        Kind (world, bridge, surface, agent, checker, suite) -> name -> line.
    """
    return {
        kind: {name: _line(kind, point) for name, point in registered(kind).items()}
        for kind in KINDS
    }


def _line(kind: str, point: metadata.EntryPoint) -> str:
    try:
        if kind == "suite":
            text = (resources.files(point.module) / point.attr).read_text()
            held = msgspec.toml.decode(text)
            return str(held.get("description", held.get("name", "")))
        return _docstring(point)
    except (OSError, ImportError, SyntaxError, ValueError, msgspec.DecodeError):
        return "(can't be read)"


def _docstring(point: metadata.EntryPoint) -> str:
    spec = importlib.util.find_spec(point.module)
    if spec is None or spec.origin is None:
        return "(not installed)"
    tree = ast.parse(Path(spec.origin).read_text())
    for node in ast.walk(tree):
        is_it = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_it and node.name == point.attr:  # type: ignore[attr-defined]
            text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
            return text.split("\n")[0]
    return ""
