"""Who still has a file open that a restore has replaced."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_PROC = Path("/proc")
_DELETED = " (deleted)"


def holders_of_deleted(places: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (process, file) for files at ``places`` that are open and no more there.

    Whoever holds one works on state that nobody reads. Only processes that this user may
    look into are seen; this process is left out.
    """
    prefixes = tuple(places)
    own = str(os.getpid())
    for folder in _PROC.glob("[0-9]*/fd"):
        process = folder.parent.name
        if process == own:
            continue
        # Of another user, or ended meanwhile.
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208 - a Path for each would cost more than it says
                with contextlib.suppress(OSError):
                    target = os.readlink(folder / name)  # noqa: PTH115 - the same
                    if target.endswith(_DELETED) and target.startswith(prefixes):
                        yield int(process), target.removesuffix(_DELETED)
