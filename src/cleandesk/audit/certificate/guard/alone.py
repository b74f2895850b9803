"""A copy of a process that must not touch what the original uses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from cleandesk.audit.certificate.surroundings.folders import hide

_ALWAYS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "socket.connect",
        "socket.sendmsg",
        "socket.sendto",
        "subprocess.Popen",
    }
)
_OF_FILES = frozenset(
    {
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "shutil.rmtree",
        "sqlite3.connect",
    }
)
_PATHS = (str, bytes, os.PathLike)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Alone:
    """While it is entered, this process ends before it reaches outside itself.

    Where a folder is hidden, it may write there: nobody else sees it.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Take what is told why, just before the end."""
        self._tell = tell
        self._is_on = False
        self._hidden: tuple[str, ...] = ()

    def __enter__(self) -> None:
        self._hidden = tuple(hide().places)
        # What is imported late would be written down beside its source.
        sys.dont_write_bytecode = True
        sys.addaudithook(self._hear)
        self._is_on = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        # A hook can't be taken away again.
        self._is_on = False

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_on or not self._reaches_out(event, arguments):
            return
        self._is_on = False
        self._tell(f"its steps reach outside the process ({event})")
        os._exit(0)

    def _reaches_out(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event in _ALWAYS:
            return True
        if event == "open":
            return _writes(arguments) and not self._is_hidden(arguments[:1])
        return event in _OF_FILES and not self._is_hidden(arguments)

    def _is_hidden(self, named: tuple[Any, ...]) -> bool:
        """Tell whether what an event names lies in hidden folders; a number is an open file."""
        paths = [os.path.abspath(os.fsdecode(each)) for each in named if isinstance(each, _PATHS)]  # noqa: PTH100 - resolving would look at the disk
        return bool(self._hidden) and all(
            any(path == place or path.startswith(f"{place}/") for place in self._hidden)
            for path in paths
        )


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = (*arguments, None, None, None)[:3]
    if path == os.devnull:
        return False
    is_by_mode = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    return is_by_mode or (isinstance(flags, int) and bool(flags & _WRITING))
