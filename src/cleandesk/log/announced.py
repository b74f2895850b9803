"""What the heads that left during a run say about the record that is here now.

Pure. A head that left and that no log has is a finding; where the heads were
kept apart, so is an episode whose head never left.

Source:
    docs/spec/log-1.md, section 7 "Heads".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from cleandesk.errors import shown
from cleandesk.log.chain import canonical
from cleandesk.log.evidence import EpisodeLog, Evidence
from cleandesk.log.folder import episode_file
from cleandesk.log.judge import UNKNOWN_POINT, Finding
from cleandesk.log.seal import Seal

_KINDS = {"entries": int, "episode": str, "head": str, "plan": str, "run": str}


@dataclass(frozen=True, slots=True)
class Head:
    """One head as it left.

    Attributes:
        run: Name of the run folder then.
        plan: SHA-256 of plan.json's bytes.
        episode: ``<task>/<seed>-<trial>``.
        head: Hash of the last entry.
        entries: Number of entries.
    """

    run: str
    plan: str
    episode: str
    head: str
    entries: int


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of one file.

    Attributes:
        heads: Those before the first bad line.
        bad_line: The first line that is not a head (from 0), or None.
        torn: The last line has no newline.
    """

    heads: tuple[Head, ...]
    bad_line: int | None
    torn: bool


def parse_heads(data: bytes) -> Heads:
    """Read a file of heads; a line that is not a head ends the reading."""
    *lines, rest = data.split(b"\n")
    heads: list[Head] = []
    for index, line in enumerate(lines):
        head = _head(line)
        if head is None:
            return Heads(tuple(heads), index, torn=bool(rest))
        heads.append(head)
    return Heads(tuple(heads), None, torn=bool(rest))


def find_in_folder(evidence: Evidence) -> Iterator[Finding]:
    """Judge the folder's own heads.jsonl, which lists every episode that ended."""
    if evidence.heads is None:
        return
    read = parse_heads(evidence.heads)
    for index, head in enumerate(read.heads):
        if head.plan != evidence.plan:
            yield Finding("heads.jsonl", index, "this head left under another plan")
    if evidence.seal is None:
        yield from _unmatched(evidence, read.heads)
    else:
        # The logs are as they were sealed, or a finding about them came before this one.
        here = {_key(log) for log in evidence.logs.values()}
        for index, head in enumerate(read.heads):
            if (head.episode, head.head, head.entries) not in here:
                reason = f"no log has this head of {shown(head.episode)}"
                yield Finding("heads.jsonl", index, reason)
    if read.bad_line is not None:
        yield Finding("heads.jsonl", read.bad_line, "this line is not a head")
    elif read.torn and evidence.seal is not None:
        yield Finding("heads.jsonl", len(read.heads), "a torn line follows the last head")


def of_this_run(evidence: Evidence, heads: tuple[Head, ...]) -> tuple[Head, ...] | str:
    """Pick the heads of this run from a file that may hold those of others.

    Returns:
        The heads, or why they can't be told.
    """
    mine = [head for head in heads if head.plan == evidence.plan]
    runs = {head.run for head in mine}
    if evidence.run in runs:
        return tuple(head for head in mine if head.run == evidence.run)
    if len(runs) == 1:
        return tuple(mine)  # The folder was renamed, and no other run has this plan.
    if runs:
        return f"they are of {len(runs)} runs of this plan, none of them named {evidence.run}"
    if any(head.run == evidence.run for head in heads):
        return ()
    return "none of them is of this run"


def find_apart(evidence: Evidence, heads: tuple[Head, ...]) -> Iterator[Finding]:
    """Judge the record by the heads of this run that were kept apart."""
    if not heads:
        yield Finding(
            "plan.json", None, f"{UNKNOWN_POINT}: the heads of this run left under another plan"
        )
        return
    yield from _unmatched(evidence, heads)
    if isinstance(evidence.seal, Seal):
        left = {(head.episode, head.head, head.entries) for head in heads}
        for log in evidence.logs.values():
            if _key(log) not in left:
                yield Finding(log.file, None, "its head never left: it was added or rewritten")


def headless(evidence: Evidence) -> int:
    """Count the episodes that ended and whose head is not in the folder's heads.jsonl."""
    heads = parse_heads(evidence.heads or b"").heads
    left = {(head.episode, head.head, head.entries) for head in heads}
    return sum(
        log.verdict is not None and not log.walk.torn and _key(log) not in left
        for log in evidence.logs.values()
    )


def _unmatched(evidence: Evidence, heads: tuple[Head, ...]) -> Iterator[Finding]:
    """Find heads that left and that no log has now."""
    logs = evidence.logs.values()
    here = {_key(log) for log in logs}
    left = {(head.episode, head.head, head.entries) for head in heads}
    for head in heads:
        if (head.episode, head.head, head.entries) in here:
            continue
        others = [log for log in logs if log.episode == head.episode and _key(log) not in left]
        if not others:
            reason = f"missing: the head of its {head.entries} entries left, and no log has it"
            yield Finding(episode_file(head.episode), None, reason)
        elif others[0].walk.entries < head.entries:
            # A try that was set aside and its rerun share a name: nobody can tell which it was.
            had = f"{others[0].walk.entries} of {head.entries} entries"
            reason = f"truncated: {had}, or the log that had them is gone"
            yield Finding(others[0].file, others[0].walk.entries, reason)
        else:
            reason = f"{UNKNOWN_POINT}: the chain holds, but its head is not the one that left"
            yield Finding(others[0].file, None, reason)


def _key(log: EpisodeLog) -> tuple[str | None, str, int]:
    return log.episode, log.walk.head, log.walk.entries


def _head(line: bytes) -> Head | None:
    try:
        value = json.loads(line)
        if canonical(value) != line:
            return None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or {key: type(got) for key, got in value.items()} != _KINDS:
        return None
    return Head(**value)
