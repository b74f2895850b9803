"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from cleandesk.run.outcomes import Result
from cleandesk.run.plan import Planned
from cleandesk.run.prepare import Prepared


class Progress:
    """Shows how far a run is: episodes, what was scored, what was set aside."""

    def __init__(self, *, is_quiet: bool = False) -> None:
        """Show nothing where ``is_quiet``, or where standard error is no terminal."""
        self._is_shown = sys.stderr.isatty() and not is_quiet
        self._bar: Any = None
        self._task: Any = None
        self._scored = 0
        self._total = 0.0
        self._aside = 0

    def __enter__(self) -> Progress:
        if self._is_shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True, width=min(80, Console(stderr=True).width)),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("loading worlds and agent", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, prepared: Prepared) -> None:
        """Say how many episodes there are."""
        if self._bar is not None:
            self._bar.update(self._task, total=len(prepared.planned), description=self._text())

    def building(self, at: int, of: int) -> None:
        """Say which expected start is built, before the first episode."""
        if self._bar is not None:
            text = f"expected start {at} of {of}" if at < of else self._text()
            self._bar.update(self._task, description=text)

    def advance(self, _: Planned, result: Result) -> None:
        """Count one episode."""
        score = result["outcome"]["score"]
        if score is not None:
            self._scored += 1
            self._total += score
        elif result["outcome"]["metric"] is None:
            self._aside += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=self._text())

    def _text(self) -> str:
        mean = f"{self._total / self._scored:.3f}" if self._scored else "-"
        return f"mean {mean}, {self._aside} set aside"
