"""What a checker may not do: it reads evidence and answers, and leaves no trace (law 10).

An audit hook sees what Python code does. It does not see compiled code, and it can't
tell that an answer depends on the machine's clock; it is a guard against accidents.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from cleandesk.worlds.network import guard_network

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    {
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "os.utime",
    }
)
_PROGRAMS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "subprocess.Popen",
    }
)

_is_judging = False


class ImpureCheckerError(PermissionError):
    """A checker tried to do more than read and answer."""


def guard_purity() -> None:
    """Block, from now on, what checkers may not do while they judge; for ever, the network."""
    # The cached code of a module that a checker imports late would be such a write.
    sys.dont_write_bytecode = True
    guard_network([])
    sys.addaudithook(_hook)


@contextlib.contextmanager
def judging() -> Iterator[None]:
    """Say that a checker runs: what its module does when it is imported is not its answer."""
    global _is_judging  # noqa: PLW0603 - an audit hook is of the process and can't be removed
    _is_judging = True
    try:
        yield
    finally:
        _is_judging = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _is_judging:
        return
    what = ""
    if event == "open" and _is_write(*arguments[:3]):
        what = f"writes {arguments[0]}"
    elif event in _CHANGES:
        what = f"changes {arguments[0]}"
    elif event in _PROGRAMS:
        what = "starts a program"
    if what:
        raise ImpureCheckerError(f"a checker is pure, and this one {what}")


def _is_write(path: Any, mode: Any, flags: Any) -> bool:
    # A number is a file that is open already, such as standard output.
    if isinstance(path, int) or path == os.devnull:
        return False
    by_mode = isinstance(mode, str) and not set("wax+").isdisjoint(mode)
    return by_mode or (isinstance(flags, int) and bool(flags & _WRITES))
