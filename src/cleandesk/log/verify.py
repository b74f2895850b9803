"""Verify a run folder: is the record the one that was written?

``verify_run`` never edits evidence and never raises for a bad record. It shows
that a record is unchanged since it was sealed, not that it was true when it was
written; only running the recorded actions again shows that.

Law 6 (tests/laws/test_log_laws.py): any edit, deletion, insertion, reordering or
truncation of what the proof covers is found, given the root.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cleandesk.errors import LogError, shown
from cleandesk.log import announced, judge
from cleandesk.log.evidence import Evidence, gather
from cleandesk.log.judge import Finding
from cleandesk.log.seal import Misread, Seal, check_signature
from cleandesk.log.store import cannot_read
from cleandesk.verdict import Status, Verdict

Rescore = Callable[[list[dict[str, Any]]], dict[str, Any] | None]

_HASH = re.compile(r"[0-9a-f]{64}\Z")


def verify_run(
    folder: Path,
    root: str | None = None,
    heads: Path | None = None,
    rescore: Rescore | None = None,
) -> Verdict:
    """Verify the record in a run folder.

    Args:
        folder: The run folder.
        root: The root that was kept apart, 64 hex digits.
        heads: A file of heads that was kept apart (``--heads-to``).
        rescore: Computes record.json's "score" from the sealed verdict entries,
            each with its "episode"; without it the score is not checked.

    Returns:
        PASS, FAIL with ``{"file", "entry", "reason"}`` of the first bad file and
        entry, or UNKNOWN for a run that was not sealed. ``facts`` has entries,
        episodes, reruns, root, reruns_root, complete, unfinished, objects,
        classified and signed_by.

    Raises:
        LogError: CD-604, there is no plan.json; CD-606, something can't be read,
            or ``root`` or ``heads`` is not one.
    """
    expected = _as_hash(root)
    evidence = gather(Path(folder))
    limits = _limits(evidence, expected)
    findings = [*judge.find(evidence, expected), *announced.find_in_folder(evidence)]
    undecided = evidence.seal is None
    if heads is not None:
        mine = announced.of_this_run(evidence, _heads_apart(Path(heads)))
        if isinstance(mine, str):
            undecided = True
            limits.append(f"the heads in {Path(heads).name}: {mine}")
        else:
            findings += announced.find_apart(evidence, mine)
    if not findings and isinstance(evidence.seal, Seal):
        scored = _score(evidence, evidence.seal, rescore)
        if isinstance(scored, Finding):
            findings.append(scored)
        elif scored:
            limits.append(scored)
    status = Status.FAIL if findings else Status.UNKNOWN if undecided else Status.PASS
    witness = asdict(findings[0]) if findings else None
    return Verdict(status, witness, tuple(limits), _facts(evidence))


def _as_hash(root: str | None) -> str | None:
    if root is None:
        return None
    expected = root.strip().lower()
    if not _HASH.match(expected):
        raise LogError(
            "CD-606",
            f"{shown(root)!r} is not a root: a root has 64 hex digits",
            where="--root",
            do="give the root that the run printed at its end",
        )
    return expected


def _heads_apart(path: Path) -> tuple[announced.Head, ...]:
    try:
        read = announced.parse_heads(path.read_bytes())
    except OSError as error:
        raise cannot_read(error, path) from error
    if read.bad_line is not None:
        raise LogError(
            "CD-606",
            "this line is not a head",
            where=f"{path}, line {read.bad_line + 1}",
            do="give the file that --heads-to wrote",
        )
    return read.heads


def _limits(evidence: Evidence, root: str | None) -> list[str]:
    """Say what a verdict on this evidence says nothing about."""
    limits = []
    seal = evidence.seal
    if seal is None:
        limits.append("no root: the run did not finish")
        if headless := announced.headless(evidence):
            limits.append(f"{headless} finished episodes: their heads are not in heads.jsonl")
    elif root is None:
        limits.append("root not kept apart")
    if isinstance(seal, Seal) and seal.reruns and root is not None:
        limits.append("reruns: checked against the folder's own root.json only")
    objects = evidence.objects
    withheld = sorted(objects.wanted - objects.present)
    if withheld:
        more = f" and {len(withheld) - 3} more" if len(withheld) > 3 else ""
        limits.append(f"objects withheld: {', '.join(withheld[:3])}{more}")
    if objects.present and not objects.is_checked:
        limits.append("objects: their bytes were not read, zstandard is not installed")
    if evidence.classified is not None and seal is None:
        limits.append("classified.jsonl: it starts from a root, and there is none")
    elif evidence.classified is not None:
        limits.append("classified.jsonl: its head was not kept apart, a cut-off end would not show")
    return limits + _signature_limits(evidence)


def _signature_limits(evidence: Evidence) -> list[str]:
    if evidence.signature is None or evidence.root_json is None:
        return []
    signed = check_signature(evidence.root_json, evidence.signature)
    if signed is None:
        return ["root.sig: cryptography is not installed"]
    return [] if isinstance(signed, Misread) else [f"root.sig: whose key {signed} is"]


def _score(evidence: Evidence, seal: Seal, rescore: Rescore | None) -> Finding | str | None:
    """Compare record.json's score with the sealed verdicts; a text says why not."""
    if evidence.record is None:
        return "record.json: there is none, so no score to check"
    if rescore is None:
        return "record.json: its score was not computed again"
    try:
        record = json.loads(evidence.record)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return Finding("record.json", None, "it is not a JSON object")
    logs = [evidence.logs[sealed.file] for sealed in seal.accepted]
    verdicts = [{"episode": log.episode, **(log.verdict or {})} for log in logs]
    try:
        score = rescore(verdicts)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # Written by another version, perhaps: no evidence of an edit, and no proof either.
        return f"record.json: its score can't be computed again ({shown(error)})"
    if _agree(record.get("score"), score):
        return None
    reason = "its score is not the one that the sealed verdicts give"
    return Finding("record.json", None, reason)


def _agree(written: object, computed: object) -> bool:
    """Compare plain values; floats to 9 digits, as another machine's last bit may differ."""
    if isinstance(written, dict) and isinstance(computed, dict):
        return written.keys() == computed.keys() and all(
            _agree(written[key], computed[key]) for key in written
        )
    if isinstance(written, list) and isinstance(computed, (list, tuple)):
        return len(written) == len(computed) and all(map(_agree, written, computed))
    if isinstance(written, float) and isinstance(computed, float):
        return math.isclose(written, computed, rel_tol=1e-9, abs_tol=1e-12)
    return type(written) is type(computed) and written == computed


def _facts(evidence: Evidence) -> dict[str, Any]:
    seal = evidence.seal if isinstance(evidence.seal, Seal) else None
    objects = evidence.objects
    signed = (
        check_signature(evidence.root_json, evidence.signature)
        if evidence.root_json is not None and evidence.signature is not None
        else None
    )
    return {
        "entries": sum(log.walk.entries for log in evidence.logs.values()),
        "episodes": sum(file.startswith("episodes/") for file in evidence.logs),
        "reruns": sum(file.startswith("reruns/") for file in evidence.logs),
        "root": judge.recomputed(evidence, seal) if seal else None,
        "reruns_root": seal.reruns_root if seal else None,
        "complete": seal is not None,
        "unfinished": [
            {"file": log.file, "entries": log.walk.entries, "torn": log.walk.torn}
            for log in evidence.logs.values()
            if log.verdict is None or log.walk.torn
        ],
        "objects": len(objects.present),
        "withheld": sorted(objects.wanted - objects.present),
        "classified": (evidence.classified or b"").count(b"\n"),
        "signed_by": signed if isinstance(signed, str) else None,
    }
