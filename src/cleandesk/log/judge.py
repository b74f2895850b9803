"""What a run folder's evidence shows.

Each finding names a file and, where the chain itself breaks, the entry. Pure. Findings come in a fixed order (plan, seal, logs, objects, what came after
the seal), and the first one is the witness.

Source:
    docs/spec/log-1.md, section 9 "Verifying".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cleandesk.errors import shown
from cleandesk.log.chain import OTHER_START, walk
from cleandesk.log.evidence import EpisodeLog, Evidence
from cleandesk.log.folder import episode_file
from cleandesk.log.seal import (
    Misread,
    Seal,
    Sealed,
    check_signature,
    encode_seal,
    leaf,
    rerun_leaf,
    root_of,
)

ROOT = "root.json"
UNKNOWN_POINT = "rewritten, point unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was recorded.

    Attributes:
        file: The file, relative to the run folder.
        entry: The entry in it (for root.json, the leaf), or None.
        reason: What is wrong.
    """

    file: str
    entry: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class _Tree:
    """One of the two trees of a seal: accepted episodes, or reruns."""

    sealed: tuple[Sealed, ...]
    root: str
    leaf: Callable[[Sealed], bytes]


def find(evidence: Evidence, root: str | None) -> Iterator[Finding]:
    """Yield what is wrong with the record.

    Args:
        evidence: The run folder as it was found.
        root: The root that was kept apart, or None.
    """
    seal = evidence.seal
    yield from _plan(evidence)
    if isinstance(seal, Misread):
        yield Finding(ROOT, None, f"it is not a seal of log/1: {seal.reason}")
        return
    if seal is None:
        yield from _unsealed(evidence, root)
    else:
        yield from _sealed(evidence, seal, root)
    for file in evidence.strays:
        yield Finding(file, None, "is not a log: no run writes such a file there")
    for file, reason in evidence.objects.bad:
        yield Finding(file, None, reason)
    if seal is not None:
        yield from _after_the_seal(evidence, seal)


def recomputed(evidence: Evidence, seal: Seal) -> str:
    """Return the root over the plan and the accepted logs as they are now."""
    found = _as_found(_Tree(seal.accepted, seal.root, leaf), evidence.logs)
    return root_of(evidence.plan, map(leaf, found))


def _plan(evidence: Evidence) -> Iterator[Finding]:
    """Tell an edited plan from an edited seal by what the episodes start from."""
    logs = [log for log in evidence.logs.values() if log.first]
    starts = {log.first for log in logs}
    if isinstance(evidence.seal, Seal) and evidence.seal.plan != evidence.plan:
        if evidence.plan in starts:
            yield Finding(ROOT, None, "its plan is not the one that the episodes start from")
        else:
            yield Finding("plan.json", None, "it is not the plan that was sealed")
    elif len(starts) == 1 and all(
        log.walk.fault and log.walk.fault.reason == OTHER_START for log in logs
    ):
        yield Finding("plan.json", None, "it is not the plan that the episodes start from")


def _unsealed(evidence: Evidence, root: str | None) -> Iterator[Finding]:
    """Judge a run that was killed: a log may end early, but not break."""
    if root is not None:
        yield Finding(ROOT, None, "missing: a root was given, so this run was sealed")
    for file, log in evidence.logs.items():
        if log.walk.fault:
            yield Finding(file, log.walk.fault.entry, log.walk.fault.reason)
        elif log.walk.entries and log.episode is None:
            yield Finding(file, 0, "entry 0 does not open an episode")
        elif file.startswith("episodes/") and log.episode and episode_file(log.episode) != file:
            yield Finding(file, 0, f"it holds the episode {shown(log.episode)}")


def _sealed(evidence: Evidence, seal: Seal, root: str | None) -> Iterator[Finding]:
    accepted = _Tree(seal.accepted, seal.root, leaf)
    yield from _tree(evidence, seal, accepted, root)
    if seal.reruns_root is not None:
        yield from _tree(evidence, seal, _Tree(seal.reruns, seal.reruns_root, rerun_leaf), None)
    known = {sealed.file for sealed in (*seal.accepted, *seal.reruns)}
    for file in evidence.logs:
        if file not in known:
            yield Finding(file, None, "it is not sealed: added later, or its leaf was removed")
    if encode_seal(seal.plan, seal.accepted, seal.reruns) != evidence.root_json:
        yield Finding(ROOT, None, "it is not spelled as a seal is written")
    if root is not None and root != seal.root:
        yield Finding(
            ROOT, None, f"{UNKNOWN_POINT}: the record holds together, but its root is {seal.root}"
        )


def _tree(evidence: Evidence, seal: Seal, tree: _Tree, root: str | None) -> Iterator[Finding]:
    """Judge the leaves of one tree and the logs that they stand for."""
    computed = root_of(seal.plan, map(tree.leaf, tree.sealed))
    holds = computed == tree.root
    if not holds:
        # Would the logs, as they are, give the root? Then it was a leaf that was edited.
        found = _as_found(tree, evidence.logs)
        if root_of(seal.plan, map(tree.leaf, found)) in {tree.root, root}:
            pairs = zip(tree.sealed, found, strict=True)
            edited = [index for index, (one, other) in enumerate(pairs) if one != other]
            for index in edited[:1]:
                name = shown(tree.sealed[index].episode)
                yield Finding(
                    ROOT, index, f"the leaf of {name} was edited: its log is the sealed one"
                )
    for sealed in tree.sealed:
        yield from _log(sealed, evidence.logs.get(sealed.file))
    if not holds and computed == root:
        yield Finding(ROOT, None, "its root was edited: the leaves give the root that was given")
    elif not holds:
        yield Finding(
            ROOT, None, "its leaves do not give its root: one was removed, added or moved"
        )


def _as_found(tree: _Tree, logs: dict[str, EpisodeLog]) -> list[Sealed]:
    """Return the leaves as the logs would have them, in the order of the seal."""
    by_head = {log.walk.head: log for log in logs.values()}
    found = []
    for sealed in tree.sealed:
        log = logs.get(sealed.file) or by_head.get(sealed.head)
        if log is None:
            found.append(sealed)
        else:
            episode = log.episode or sealed.episode
            found.append(Sealed(episode, log.walk.head, log.walk.entries, log.file))
    return found


def _log(sealed: Sealed, log: EpisodeLog | None) -> Iterator[Finding]:
    """Judge one log against its leaf."""
    if log is None:
        yield Finding(sealed.file, None, f"missing: it was sealed with {sealed.entries} entries")
        return
    held = log.walk
    if held.fault:
        yield Finding(log.file, held.fault.entry, held.fault.reason)
    elif held.entries and log.episode != sealed.episode:
        yield Finding(log.file, 0, f"it holds the episode {shown(log.episode)}")
    elif held.entries < sealed.entries:
        torn = ", and a torn line" if held.torn else ""
        reason = f"truncated: {held.entries} of {sealed.entries} entries{torn}"
        yield Finding(log.file, held.entries, reason)
    elif held.entries > sealed.entries and log.head_when_sealed == sealed.head:
        more = held.entries - sealed.entries
        reason = f"extended: {more} more than the {sealed.entries} entries that were sealed"
        yield Finding(log.file, sealed.entries, reason)
    elif held.head != sealed.head or held.entries != sealed.entries:
        reason = f"{UNKNOWN_POINT}: the chain holds, but its head is not the sealed one"
        yield Finding(log.file, None, reason)
    elif held.torn:
        yield Finding(log.file, held.entries, "extended: a torn line follows the last entry")
    elif log.verdict is None:
        yield Finding(log.file, held.entries - 1, "the last entry is not a verdict")


def _after_the_seal(evidence: Evidence, seal: Seal) -> Iterator[Finding]:
    if evidence.signature is not None and evidence.root_json is not None:
        signed = check_signature(evidence.root_json, evidence.signature)
        if isinstance(signed, Misread):
            yield Finding("root.sig", None, signed.reason)
    if evidence.classified is None:
        return
    held = walk(evidence.classified, seal.root)
    if held.fault:
        reason = held.fault.reason.replace(OTHER_START, "entry 0 does not start from this root")
        yield Finding("classified.jsonl", held.fault.entry, reason)
    elif held.torn:
        yield Finding("classified.jsonl", held.entries, "a torn line follows the last entry")
