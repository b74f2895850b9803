"""Heads leave as each episode ends.

Whoever can write to the run folder can rewrite a whole chain. A head that has
left the folder, in a file elsewhere or in a program that keeps it, is what makes
that visible.

Source:
    docs/spec/log-1.md, section 7 "Heads".
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cleandesk.errors import LogError, shown
from cleandesk.log.chain import canonical
from cleandesk.log.folder import RunFolder
from cleandesk.log.store import cannot_write

_COMMAND = "cmd:"
_PATIENCE_S = 30.0
_HASTE_S = 2.0


class HeadsSink:
    """Sends each head to heads.jsonl in the run folder, and to one place elsewhere."""

    def __init__(self, folder: Path, plan_hash: str, spec: str | None) -> None:
        """Use ``HeadsSink.open``."""
        self._run = folder.resolve().name
        self._plan = plan_hash
        self._files: list[tuple[int, Path]] = []
        self._command: subprocess.Popen[bytes] | None = None
        self._spec = spec or ""
        try:
            self._open_file(RunFolder(folder).heads, is_ours=True)
            if self._spec.startswith(_COMMAND):
                self._start(self._spec.removeprefix(_COMMAND))
            elif self._spec:
                self._open_file(Path(self._spec))
        except LogError:
            self._close_files()
            raise

    @classmethod
    def open(cls, folder: Path, plan_hash: str, spec: str | None = None) -> Self:
        """Make ready to send heads; nothing is sent yet.

        Args:
            folder: The run folder, which must exist.
            plan_hash: SHA-256 of plan.json's bytes, 64 hex digits.
            spec: A file to append to, or ``cmd:`` and a program that reads one
                head per line on its standard input; None keeps heads in the folder only.

        Raises:
            LogError: CD-601 or CD-602, a file can't be written; CD-605, the
                program can't be started.
        """
        return cls(folder, plan_hash, spec)

    def send(self, episode: str, head: str, entries: int) -> None:
        """Send the head of an episode that has just ended.

        Raises:
            LogError: CD-601 or CD-602, a file can't be written; CD-605, the
                program is gone or did not read for 30 seconds.
        """
        line = head_line(
            {
                "entries": entries,
                "episode": episode,
                "head": head,
                "plan": self._plan,
                "run": self._run,
            }
        )
        for file, path in self._files:
            try:
                os.write(file, line)
            except OSError as error:
                raise cannot_write(error, path) from error
        if self._command:
            self._tell(self._command, line)

    def close(self, *, patience_s: float | None = None) -> None:
        """Close the files and wait for the program to end.

        Args:
            patience_s: Seconds that the program has to end by itself; 30 if not said.

        Raises:
            LogError: CD-605, the program failed, or did not end in time.
        """
        self._close_files()
        command, self._command = self._command, None
        if command is None:
            return
        with contextlib.suppress(BrokenPipeError):
            _pipe(command).close()
        try:
            status = command.wait(_PATIENCE_S if patience_s is None else patience_s)
        except subprocess.TimeoutExpired as error:
            command.kill()
            command.wait()
            raise self._failed("did not end after its last head") from error
        if status:
            raise self._failed(f"ended with status {status}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        # What stopped the run is what must be heard, and soon.
        with contextlib.suppress(LogError):
            self.close(patience_s=_HASTE_S)

    def _open_file(self, path: Path, *, is_ours: bool = False) -> None:
        try:
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._files.append((file, path))
            if is_ours:
                # A disk that filled up may have left half a head; the run that goes
                # on must not write behind it. Files elsewhere are never cut.
                os.ftruncate(file, path.read_bytes().rfind(b"\n") + 1)
        except OSError as error:
            if is_ours:
                raise cannot_write(error, path) from error
            raise LogError(
                "CD-602",
                f"can't write: {error.strerror or error}",
                where=f"--heads-to {shown(path)}",
                do="give a file that can be written, or cmd: and a program",
            ) from error

    def _close_files(self) -> None:
        files, self._files = self._files, []
        for file, _ in files:
            os.close(file)

    def _start(self, text: str) -> None:
        try:
            words = shlex.split(text)
            # A session of its own: Ctrl-C ends the run, and the last heads still arrive.
            self._command = subprocess.Popen(  # noqa: S603 (the user's own command)
                words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
            )
        except (OSError, ValueError, IndexError) as error:
            raise self._failed(f"can't be started: {error}") from error

    def _tell(self, command: subprocess.Popen[bytes], line: bytes) -> None:
        pipe = _pipe(command)
        # Without the wait, a program that stops reading would stop the run without a word.
        if not select.select([], [pipe], [], _PATIENCE_S)[1]:
            raise self._failed(f"did not read its heads for {_PATIENCE_S:.0f} s")
        try:
            os.write(pipe.fileno(), line)
        except OSError as error:
            status = command.poll()
            ended = "has closed its input" if status is None else f"has ended with status {status}"
            raise self._failed(ended) from error

    def _failed(self, what: str) -> LogError:
        return LogError(
            "CD-605",
            f"the program that keeps the heads {what}",
            where=f"--heads-to {shown(self._spec)}",
            do="it is started without a shell, and gets one JSON line per episode on its input",
        )


def head_line(head: dict[str, str | int]) -> bytes:
    """Return a head as it is sent: canonical JSON and a newline."""
    return canonical(head) + b"\n"


def _pipe(command: subprocess.Popen[bytes]) -> IO[bytes]:
    if command.stdin is None:
        raise AssertionError("the command was started with a pipe")
    return command.stdin
