"""The expected start of a task and seed: an independent build that is never stepped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.log import write_object
from cleandesk.run.blame import Blame, Fault
from cleandesk.run.checker_link import CheckerLink
from cleandesk.run.world_link import WorldLink, as_error
from cleandesk.state import Snapshot
from cleandesk.state.contract import Contract

_NO_FIELD = "CD-211"
INDEPENDENT = "independent build"
"""Where an expected start came from: one spawned importer, another hash seed and other
global random states, forked before it builds, once per task and seed."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a start must be.

    Attributes:
        fingerprint: Of the start view (without declared fields).
        object: SHA-256 under which the whole snapshot is stored.
        fields_read: Leaves that were read.
        not_read: What was not looked at.
        source: How it became known.
    """

    fingerprint: str
    object: str
    fields_read: int
    not_read: tuple[str, ...]
    source: str = INDEPENDENT

    def to_plain(self) -> dict[str, Any]:
        """Return the parts as plain values."""
        # By hand: dataclasses.asdict copies deeply, and this is said with every episode.
        return {
            "fields_read": self.fields_read,
            "fingerprint": self.fingerprint,
            "not_read": list(self.not_read),
            "object": self.object,
            "source": self.source,
        }

    @classmethod
    def from_plain(cls, held: Mapping[str, Any]) -> Expected:
        """Read what ``to_plain`` returned."""
        return cls(**{**held, "not_read": tuple(held["not_read"])})


def build_expected(
    world: WorldLink, instance: Mapping[str, Any], folder: Path, checker: CheckerLink
) -> Expected:
    """Build the start of ``instance`` independently and keep it.

    Args:
        world: A child of the independent importer; it is ended afterwards.
        instance: The task and seed, as ``Instance.to_plain``.
        folder: The run folder, which takes the snapshot.
        checker: Judges whether the task's own premises hold at this start.

    Raises:
        Fault: The world failed (the world's), or the start does not hold what the task
            takes for granted (the task's).
        ContractError: CD-204, the contract names a field that does not exist.
    """
    try:
        described = world.build(instance["with_"], core=None, debug=False)
        begun = world.reset(instance, snapshot=True)
    except Fault as fault:
        if fault.code == _NO_FIELD:
            # The contract is wrong, not this episode's world: no rerun would mend it.
            raise as_error(fault, str(instance["world"])) from fault
        raise
    finally:
        world.kill()
    facts, shot = begun.facts, begun.snapshot
    snapshot = Snapshot.from_bytes(shot)
    Contract.from_plain(described["contract"]).require_fields(snapshot, facts["ignored"])
    missing = checker.premises(instance["spec"], shot)
    if missing:
        raise Fault(Blame.TASK, "CD-714", f"the task's own premises fail: {'; '.join(missing)}")
    return Expected(
        facts["fingerprint"],
        write_object(folder, shot),
        snapshot.fields_read(),
        tuple(facts["not_read"]),
    )
