"""``run``: a suite, an agent, and everything that stands between them and a score."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cleandesk.errors import LogError
from cleandesk.log import HeadsSink, RunFolder
from cleandesk.log.store import cannot_write
from cleandesk.run.closing import close_run
from cleandesk.run.dispatch import Dispatch
from cleandesk.run.intake import Outcome
from cleandesk.run.naming import agent_reference, suite_of
from cleandesk.run.outcomes import Result
from cleandesk.run.plan import Planned
from cleandesk.run.prepare import Prepared, prepare
from cleandesk.run.result import RunResult
from cleandesk.run.settings import Settings
from cleandesk.tasks import Suite

OnResult = Callable[[Planned, Result], None]
OnStart = Callable[[int, int], None]


def run(
    suite: str | Path | Suite,
    agent: Any,
    *,
    on_plan: Callable[[Prepared], None] | None = None,
    on_result: OnResult | None = None,
    on_start: OnStart | None = None,
    **settings: Any,
) -> RunResult:
    """Run every task of ``suite`` with ``agent`` and return a score with its proof.

    Args:
        suite: A suite, its file, or a registered name such as ``calendar``.
        agent: A registered name, ``module:attribute``, ``file.py:attribute``, ``cmd:...``,
            or a class or function that another process can import.
        on_plan: Called when the run is planned and loaded, before it begins.
        on_result: Called with each episode that is accepted.
        on_start: Called with each expected start that is built (which, of how many).
        settings: See ``Settings``: trials, seeds, workers, limit, tasks, isolation, ...

    Returns:
        The result; a wrong start or a broken checker is in it, not raised.

    Raises:
        CleandeskError: The run can't be made: something named can't be found or used,
            the folder can't be written, the harness itself failed.
        KeyboardInterrupt: It was stopped; the text says where what was logged is.

    Example:
        >>> run("calendar", agent="scripted", workers=2).score["mean"]
        0.4
    """
    chosen = Settings(**settings)
    prepared = prepare(suite_of(suite, chosen.arguments), agent_reference(agent), chosen)
    folder = None
    try:
        (on_plan or _nothing)(prepared)
        folder = _make_folder(prepared)
        prepared.bases.store(folder)
        begun = datetime.now(UTC)
        outcome = _episodes(prepared, folder, on_result or _nothing, on_start or _nothing)
        return close_run(prepared, folder, outcome, begun)
    except KeyboardInterrupt as error:
        # Still what it was, so that nothing takes it for an error of the run's.
        raise KeyboardInterrupt(_stopped(folder)) from error
    finally:
        if folder is not None:
            prepared.importers.save_prints(folder / "output" / "worlds.log")
        prepared.importers.stop()
        prepared.bases.close()


def plan_run(suite: str | Path | Suite, agent: Any, **settings: Any) -> Prepared:
    """Plan a run and load everything that it names, and run nothing.

    Raises:
        CleandeskError: What ``run`` would raise before its first episode.
    """
    chosen = Settings(**settings)
    prepared = prepare(suite_of(suite, chosen.arguments), agent_reference(agent), chosen)
    prepared.importers.stop()
    prepared.bases.close()
    return prepared


def _nothing(*_: Any) -> None:
    """Stand for what nobody wants to be told."""


def _stopped(folder: Path | None) -> str:
    if folder is None:
        return "the run was stopped before its first episode"
    return f"the run was stopped; what was logged is kept: cleandesk verify {folder}"


def _make_folder(prepared: Prepared) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    # The suite's name may hold anything, also a way out of the folder.
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", prepared.suite.name).strip("-")[:60]
    stem = f"{stamp}-{name or 'suite'}-{prepared.plan_hash[:8]}"
    folder = prepared.settings.log_dir / stem
    if prepared.settings.log_dir.is_file():
        raise LogError(
            "CD-602",
            "the place for run folders is a file",
            where=str(prepared.settings.log_dir),
            do="give a folder with --log-dir",
        )
    try:
        prepared.settings.log_dir.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            with contextlib.suppress(FileExistsError):
                folder.mkdir()
                break
            number += 1
            folder = prepared.settings.log_dir / f"{stem}.{number}"
        (folder / "output").mkdir()
        RunFolder(folder).plan.write_bytes(prepared.plan)
    except OSError as error:
        raise cannot_write(error, folder) from error
    return folder


def _episodes(prepared: Prepared, folder: Path, on_result: OnResult, on_start: OnStart) -> Outcome:
    settings = prepared.settings
    dispatch = Dispatch(
        prepared.planned, prepared.choices, prepared.importers, folder, on_result, on_start
    )
    hello = {
        "agent": prepared.agent,
        "audit": settings.audit,
        "bases": prepared.bases.to_plain(),
        "agent_network": list(prepared.suite.network["agent"]),
        "agent_path": prepared.agent_path,
        "checker_seconds": prepared.choices.checker_seconds,
        "debug": settings.debug,
        "folder": str(folder.resolve()),
        "output": str((folder / "output" / "roles.log").resolve()),
        "path": prepared.path,
        "plan": prepared.plan_hash,
        "scratch": str(prepared.bases.folder or ""),
        "verbose": settings.verbose,
    }
    with HeadsSink.open(folder, prepared.plan_hash, settings.heads_to) as heads:
        return dispatch.run(hello, heads)
