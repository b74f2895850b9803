"""Verifying a record with its score, and settling a blame after the seal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cleandesk.errors import LogError, shown
from cleandesk.log import (
    RunFolder,
    append_classification,
    iter_verdicts,
    read_classifications,
    verify_run,
)
from cleandesk.run.scores import bounds_of, classified, score_of
from cleandesk.verdict import Verdict


def verify(run: str | Path, *, root: str | None = None, heads: str | Path | None = None) -> Verdict:
    """Verify a run folder: is the record, with its score, the one that was sealed?

    Args:
        run: The run folder.
        root: The root that was kept apart, 64 hexadecimal digits.
        heads: A file of heads that was kept apart (``--heads-to``).

    Returns:
        PASS; FAIL with the first bad file and entry; UNKNOWN where there is no root,
        with how far the record holds.

    Raises:
        LogError: CD-604 or CD-606, this is no run folder, or it can't be read.

    Example:
        >>> verify("runs/20260101T120000-shop-1a2b3c4d", root="9f86…").status
    """
    folder = Path(run)
    return verify_run(
        folder,
        root,
        Path(heads) if heads is not None else None,
        lambda rows: _score(rows, folder),
    )


def classify(run: str | Path, episode: str, blame: str, *, why: str) -> dict[str, Any]:
    """Say whose failure an episode was, after a person looked at it.

    The sealed verdict stays; what is said is appended to a chain of its own that begins
    at the root.

    Args:
        run: A sealed run folder.
        episode: ``<task>/<seed>-<trial>``.
        blame: agent, provider, world, checker, task or harness.
        why: The reason, in a sentence.

    Returns:
        ``head`` of the chain, and the ``score`` and ``bounds`` with what was said.

    Raises:
        LogError: CD-606, CD-609 or CD-610, the run is not sealed, or there is no such
            episode or blame.
    """
    folder = Path(run)
    _require_failed(folder, episode)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    head = append_classification(folder, episode, blame, why, when)
    rows = classified(
        ({"episode": name, **entry} for name, entry in iter_verdicts(folder)),
        read_classifications(folder),
    )
    record = _read(RunFolder(folder).record)
    return {
        "bounds": bounds_of(rows, record.get("not_run", {})),
        "head": head,
        "score": score_of(rows, _families(folder)),
    }


def _require_failed(folder: Path, episode: str) -> None:
    for name, entry in iter_verdicts(folder):
        if name == episode and entry.get("score"):
            raise LogError(
                "CD-610",
                f"the episode did not fail: it scored {entry['score']:g}",
                where=f"episode {shown(episode)}",
                do="classify what failed or was set aside",
            )


def _score(rows: list[dict[str, Any]], folder: Path) -> dict[str, Any] | None:
    plan = _read(RunFolder(folder).plan)
    # A run that was refused at a wrong start has no score, whatever it had judged.
    if plan["on_wrong_start"] == "refuse" and any(row.get("code") == "CD-701" for row in rows):
        return None
    return score_of(rows, _families(folder))


def _families(folder: Path) -> dict[str, str]:
    plan = _read(RunFolder(folder).plan)
    return {task["id"]: task["family"] for task in plan.get("tasks", [])}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        held: Mapping[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise LogError("CD-606", f"this can't be read: {error}", where=str(path)) from error
    return held
