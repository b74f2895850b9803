"""What is to be explained, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cleandesk.audit.certificate.certificate import Write
from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.links import Bench, Link
from cleandesk.audit.certificate.rig import Recipe

FRESH, JUDGED = (0, 0), (1, 1)

BEFORE, AFTER, AGAIN = "before", "after", "again"
"""When fields are put back: before the judged reset, after it, or followed by another."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The first boundary that failed, and all that led to it.

    Attributes:
        bench: Where devices are made.
        recipe: What they are made from.
        history: What the judged rig did before: ``op`` (``play`` or ``trace``), ``seed``,
            ``rng``, ``steps``, in order.
        judged: The judged reset and its trace: ``seed``, ``rng``, ``steps``.
        fresh_rows: Row digests of the fresh reference.
        fresh_leaves: By path, what the fresh reference has where the two differ after the
            judged reset; None where it has nothing. Without the declared ones.
        judged_leaves: The same of the judged rig.
        first_row: Number of the first row that differs; None without a trace.
        deadline: On the monotonic clock.
        on_progress: Told in a few words what is done now.
        fresh_key: Hash seed and global random states of the fresh reference.
        judged_key: Those of the judged rig.
    """

    bench: Bench
    recipe: Recipe
    history: tuple[Mapping[str, Any], ...]
    judged: Mapping[str, Any]
    fresh_rows: bytes
    fresh_leaves: Mapping[str, Leaf | None]
    judged_leaves: Mapping[str, Leaf | None]
    first_row: int | None
    deadline: float
    on_progress: Callable[[str], None] = lambda _: None
    fresh_key: tuple[int, int] = FRESH
    judged_key: tuple[int, int] = JUDGED

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields that differ after the judged reset."""
        return tuple({**self.fresh_leaves, **self.judged_leaves})

    def fresh_device(self) -> Link:
        """Return a new device of the fresh side; to be killed."""
        return self.bench.device(*self.fresh_key)

    def judged_device(self) -> Link:
        """Return a new device of the judged side; to be killed."""
        return self.bench.device(*self.judged_key)


@dataclass(frozen=True, slots=True)
class Explained:
    """Why the boundary failed.

    Attributes:
        true_writes: Fields whose values survived the reset and make the difference; where
            ``is_confirmed`` is false, all that could not be cleared otherwise.
        echoes: Fields that clear when the true writes are restored.
        bystanders: Fields that stand apart while all rows are equal: they were not read.
        carried: Fields that carried the difference into the reset and do not differ after it:
            what a fresh build has before its first reset, and what the judged rig had.
        is_confirmed: Whether restoring the true writes (or what was carried) alone made all rows equal.
        how: When they were restored: ``before`` the judged reset, ``after`` it, or followed
            by a reset ``again``; empty where nothing was restored.
        outside_note: Why restoring explains nothing or not all, or empty.
        unwritable: Fields that could not be restored, with the reason.
        writes: Who wrote them.
        smallest: Per episode of the shortest history that was found, its seed and steps.
        repro: A script that reproduces the failure, run and confirmed, or None.
        no_repro: Why there is none, or empty.
        spent: ``restore`` and ``shrink``: tries; ``cut``: what the budget ended.
    """

    true_writes: tuple[str, ...] = ()
    echoes: tuple[str, ...] = ()
    bystanders: tuple[str, ...] = ()
    carried: Mapping[str, tuple[Leaf | None, Leaf | None]] = field(default_factory=dict)
    is_confirmed: bool = False
    how: str = ""
    outside_note: str = ""
    unwritable: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, Write] = field(default_factory=dict)
    smallest: tuple[tuple[int, int], ...] = ()
    repro: str | None = None
    no_repro: str = ""
    spent: Mapping[str, Any] = field(default_factory=dict)
