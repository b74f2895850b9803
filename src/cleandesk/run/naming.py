"""What callers may give for a suite and an agent, made into names."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from cleandesk.errors import AgentError, SuiteError
from cleandesk.finding import registered
from cleandesk.tasks import Suite, load_suite


def suite_of(suite: str | Path | Suite, arguments: Mapping[str, Any]) -> Suite:
    """Return the suite that a caller means: itself, a file, or a registered name.

    Raises:
        SuiteError: CD-401 to CD-415, there is none, or it can't be used as it is.
    """
    if isinstance(suite, Suite):
        return suite
    given = dict(arguments)
    point = registered("suite").get(str(suite))
    if point is not None and not Path(suite).exists():
        with resources.as_file(resources.files(point.module) / point.attr) as path:
            return load_suite(path, with_args=given)
    if not Path(suite).exists() and Path(suite).suffix == "":
        raise SuiteError(
            "CD-401",
            f"there is no suite {str(suite)!r}",
            where="suite",
            do=f"name a .toml file, or one of: {', '.join(registered('suite'))}",
        )
    return load_suite(suite, with_args=given)


def agent_reference(agent: Any) -> str:
    """Return a reference by which another process can import ``agent``.

    Raises:
        AgentError: CD-308, it can't be imported: a lambda, an object that was made here,
            something inside a function, or something typed at a prompt.
    """
    if isinstance(agent, str):
        return agent
    module = getattr(agent, "__module__", None) or ""
    name = getattr(agent, "__qualname__", type(agent).__qualname__)
    file = _file_of(agent)
    is_found = _found(module, name) is agent
    if not is_found or (module == "__main__" and file is None):
        raise AgentError(
            "CD-308",
            f"{name} can't be imported by the agent's own process",
            where="agent",
            do="define a class or function at the top of a file; give it, or 'file.py:Name'",
        )
    return f"{file}:{name}" if module == "__main__" else f"{module}:{name}"


def _file_of(agent: Any) -> str | None:
    try:
        return inspect.getsourcefile(agent)
    except TypeError:
        return None


def _found(module: str, name: str) -> Any:
    """Return what another process would find: an object and not its class must not pass."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
