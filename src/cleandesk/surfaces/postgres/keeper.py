"""The process that keeps one base: its server, the clones ahead of need, and the cleaning up.

It lives as long as somebody is connected to it and the base's folder exists. The kernel
closes the connection of one that is killed, so nothing that was made outlives the run.
``python -m cleandesk.surfaces.postgres.keeper FOLDER``
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO, Any

from cleandesk.errors import CleandeskError
from cleandesk.surfaces.postgres import server
from cleandesk.surfaces.postgres.address import listen
from cleandesk.surfaces.postgres.desk import Desk, rows, said
from cleandesk.surfaces.postgres.naming import quoted

_LOOK_S = 0.5
_FIRST_S = 60


def main() -> None:
    """Start what has to be started, say so in one line, and keep it."""
    folder, output = Path(sys.argv[1]), sys.stdout
    if os.fork():
        # Nobody waits for it, and it does not end with the process that asked for it.
        os._exit(0)
    try:
        asked = json.loads(sys.argv[2])
        running = server.start(asked["mark"]) if asked["private"] else None
        desk = running.desk if running else Desk.load(folder)
        desk.save(folder)
        listener = listen(folder)
    except CleandeskError as error:
        _say(output, {"code": error.code, "what": error.message, "do": error.do})
        return
    _say(output, {"code": ""})
    # Ended by hand, it cleans up all the same.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    try:
        _keep(folder, running, listener, desk)
    finally:
        if running:
            running.stop()
        else:
            _tidy(desk)


def _say(output: IO[str], answer: dict[str, str]) -> None:
    output.write(json.dumps(answer) + "\n")
    output.flush()
    # Who asked waits for the end of this, and not for ours.
    os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())


def _keep(
    folder: Path,
    running: server.Server | None,
    listener: socket.socket,
    desk: Desk,
) -> None:
    threads: list[threading.Thread] = []
    waited = 0.0
    while folder.exists() and (running is None or running.is_up()):
        threads[:] = [thread for thread in threads if thread.is_alive()]
        if not threads and (waited >= _FIRST_S or waited < 0):
            return
        if select.select([listener], [], [], _LOOK_S)[0]:
            connection, _ = listener.accept()
            # From now on it ends with the last one that is connected.
            waited = -1.0
            thread = threading.Thread(target=_serve, args=(connection, desk), daemon=True)
            thread.start()
            threads.append(thread)
        elif waited >= 0:
            waited += _LOOK_S


def _serve(connection: socket.socket, desk: Desk) -> None:
    """Answer one that is connected, until it closes or is killed."""
    with connection, connection.makefile("rwb") as stream, contextlib.suppress(OSError):
        shelf: Shelf | None = None
        try:
            for line in stream:
                asked = json.loads(line)
                if shelf is None:
                    shelf = Shelf(desk, asked["copy"], asked["pool"])
                if "drop" in asked:
                    shelf.drop(asked["drop"])
                if asked.get("next"):
                    stream.write(json.dumps(shelf.next()).encode() + b"\n")
                    stream.flush()
        finally:
            if shelf is not None:
                shelf.close()


class Shelf:
    """The clones that are ready for one copy; made and dropped by a thread of its own."""

    def __init__(self, desk: Desk, copy: str, pool: int) -> None:
        self._desk, self._copy, self._pool = desk, copy, max(pool, 1)
        self._ready: deque[str] = deque()
        self._old: deque[str] = deque()
        self._made = 0
        self._error = ""
        self._closed = False
        self._moved = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def next(self) -> dict[str, str]:
        """Wait for the next clone and hand it out, or say why there is none."""
        with self._moved:
            self._error = ""
            self._moved.notify_all()
            self._moved.wait_for(lambda: self._ready or self._error)
            answer = {"name": self._ready.popleft()} if self._ready else {"error": self._error}
            self._moved.notify_all()
            return answer

    def drop(self, name: str) -> None:
        """Drop a database that is no longer used, in the background."""
        with self._moved:
            self._old.append(name)
            self._moved.notify_all()

    def close(self) -> None:
        """Drop everything that this copy had."""
        with self._moved:
            self._closed = True
            self._moved.notify_all()
        self._thread.join()
        _tidy(self._desk, self._copy)

    def _run(self) -> None:
        while True:
            with self._moved:
                self._moved.wait_for(self._has_work)
                if self._closed:
                    return
                is_short = len(self._ready) < self._pool and not self._error
                name = f"{self._copy}_s{self._made}" if is_short else self._old.popleft()
                self._made += is_short
            try:
                with contextlib.closing(self._desk.connect(self._desk.office)) as connection:
                    if is_short:
                        clone(connection, self._desk, self._desk.template, name)
                    else:
                        rows(connection, f"DROP DATABASE IF EXISTS {quoted(name)} WITH (FORCE)")
            except Exception as error:  # noqa: BLE001 - the one who asks for a clone is told
                self._note(is_short, "", said(error))
            else:
                self._note(is_short, name, "")

    def _has_work(self) -> bool:
        is_short = len(self._ready) < self._pool and not self._error
        return self._closed or is_short or bool(self._old)

    def _note(self, is_short: bool, name: str, error: str) -> None:  # noqa: FBT001
        with self._moved:
            if is_short and name:
                self._ready.append(name)
            elif is_short:
                self._error = error
            self._moved.notify_all()


def clone(connection: Any, desk: Desk, template: str, name: str, *, is_open: bool = False) -> None:
    """Clone a database; copied as files, since the log is read to see what a world wrote."""
    owner = f" OWNER {quoted('postgres')}" if desk.private else ""
    rows(
        connection,
        f"CREATE DATABASE {quoted(name)} TEMPLATE {quoted(template)} STRATEGY file_copy"
        f" ALLOW_CONNECTIONS {is_open}{owner}",
    )


def _tidy(desk: Desk, beginning: str = "") -> None:
    """Drop what was made on the server: of one copy, or of the whole base."""
    import psycopg

    beginning = beginning or desk.mark
    with contextlib.suppress(psycopg.Error), contextlib.closing(_outside(desk)) as connection:
        found = rows(
            connection,
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
            " ORDER BY datname = %s, datname",
            [beginning, desk.office],
        )
        for (name,) in found:
            with contextlib.suppress(psycopg.Error):
                rows(connection, f"DROP DATABASE IF EXISTS {quoted(name)} WITH (FORCE)")


def _outside(desk: Desk) -> Any:
    from cleandesk.surfaces.postgres.desk import connect

    return connect(desk.admin)


if __name__ == "__main__":
    main()
