"""What is being done just now, on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from cleandesk.errors import shown

_LONGEST = 70


class Stages:
    """A line that says what is being done, and goes when it is over."""

    def __init__(self, *, is_logged: bool = False) -> None:
        """Show nothing where standard error is no terminal; or, ``is_logged``, a line for each."""
        self._is_shown = sys.stderr.isatty()
        self._is_logged = is_logged and not self._is_shown
        self._line: Any = None

    def __enter__(self) -> Stages:
        if self._is_shown:
            from rich.console import Console

            self._line = Console(stderr=True).status(self._text("starting"))
            self._line.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._line is not None:
            self._line.stop()

    def __call__(self, said: str) -> None:
        """Say what begins now."""
        if self._line is not None:
            self._line.update(self._text(said))
        elif self._is_logged:
            sys.stderr.write(f"{shown(said, _LONGEST)}\n")
            sys.stderr.flush()

    def _text(self, said: str) -> Any:
        from rich.text import Text

        # As Text: in a rig's name square brackets would be read as a style.
        return Text(shown(said, _LONGEST))
