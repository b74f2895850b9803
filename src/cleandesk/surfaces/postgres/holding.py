"""Starting the keeper of a base, and staying connected to it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from cleandesk.errors import WorldError
from cleandesk.surfaces.postgres.address import reach
from cleandesk.surfaces.postgres.desk import ended

_ROLE_MARK = "CLEANDESK_ROLE"
_held: dict[Path, Line] = {}
"""What this process prepared: the bases last as long as it lives."""


class Line:
    """A connection to a base's keeper; whatever was made for it ends with it."""

    def __init__(self, folder: Path) -> None:
        self._where = str(folder)
        try:
            self._socket: socket.socket = reach(folder)
        except OSError as error:
            raise ended(self._where) from error
        self._stream = self._socket.makefile("rwb")

    def tell(self, **words: Any) -> None:
        """Send words that nobody answers."""
        try:
            self._stream.write(json.dumps(words).encode() + b"\n")
            self._stream.flush()
        except OSError as error:
            raise ended(self._where) from error

    def ask(self, **words: Any) -> dict[str, str]:
        """Send words and wait for the answer.

        Raises:
            WorldError: CD-252, the keeper is gone.
        """
        self.tell(**words)
        try:
            answer = self._stream.readline()
        except OSError as error:
            raise ended(self._where) from error
        if not answer:
            raise ended(self._where)
        held: dict[str, str] = json.loads(answer)
        return held

    def close(self) -> None:
        """Leave; closing twice is fine."""
        try:
            self._stream.close()
        except OSError:
            # Words for one that is gone.
            pass
        finally:
            self._socket.close()


def start_keeper(folder: Path, mark: str, *, private: bool) -> None:
    """Start the keeper of ``folder`` and hold it for the life of this process.

    Raises:
        WorldError: CD-252, it or its server does not start.
    """
    words = json.dumps({"mark": mark, "private": private})
    # It outlives the role that starts it, where others still use the base: without its mark.
    environment = {name: value for name, value in os.environ.items() if name != _ROLE_MARK}
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", "cleandesk.surfaces.postgres.keeper", str(folder), words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True, env=environment, check=False,
    )  # fmt: skip
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"code": "CD-252", "what": "the keeper of the base does not start", "do": ""}
    if answer["code"]:
        raise WorldError(answer["code"], answer["what"], where=str(folder), do=answer["do"])
    _held[folder] = Line(folder)


def release(folder: Path) -> None:
    """End what ``start_keeper`` holds; copies that are open keep it."""
    line = _held.pop(folder, None)
    if line is not None:
        line.close()
