"""Who wrote the field that leaked: the world's past, replayed and read step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cleandesk.errors import shown
from cleandesk.run.blame import Fault
from cleandesk.run.world_link import WorldLink
from cleandesk.state import Change, Snapshot, diff

_NAMED = 5
"""How many leaked fields a message names."""

_MOST_STEPS = 2000
"""A longer past is not replayed; then the step is not named."""


@dataclass(slots=True)
class Past:
    """What one shared world has lived through since it was built.

    Attributes:
        episodes: (episode, instance, actions as canon/1) in order.
    """

    episodes: list[tuple[str, Mapping[str, Any], list[bytes]]] = field(default_factory=list)

    def begin(self, episode: str, instance: Mapping[str, Any]) -> list[bytes]:
        """Note that an episode begins; return the list that takes its actions."""
        actions: list[bytes] = []
        self.episodes.append((episode, instance, actions))
        return actions


Writers = dict[str, dict[str, Any]]
"""Field -> the episode and step that wrote it last (step 0 is the reset itself)."""


def find_writers(
    leaked: Sequence[Change],
    past: Past,
    open_world: Callable[[], WorldLink],
    values: Mapping[str, Any],
) -> Writers:
    """Replay ``past`` in a new world and name, for each leaked field, who wrote it.

    Args:
        leaked: The differences of the wrong start from the expected one.
        past: The world's episodes; the last is the one that started wrong.
        open_world: Opens a child of the importer.
        values: Keyword arguments of the world's constructor.

    Returns:
        The writers found. A field is left out where the replay did not bring it back:
        then the world is not deterministic, and nothing is claimed.
    """
    if not past.episodes or sum(len(actions) for _, _, actions in past.episodes) > _MOST_STEPS:
        return {}
    wanted = {change.field: change for change in leaked}
    writers: Writers = {}
    world = None
    try:
        world = open_world()
        world.build(values, core=None, debug=False)
        seen: Snapshot | None = None
        for episode, instance, actions in past.episodes:
            world.reset(instance, snapshot=False)
            seen = _note(seen, world.view(), wanted, writers, {"episode": episode, "step": 0})
            for number, action in enumerate(actions, 1):
                world.step(action)
                by = {"episode": episode, "step": number}
                seen = _note(seen, world.view(), wanted, writers, by)
    except Fault:
        return {}
    finally:
        if world is not None:
            world.kill()
    return {name: writer for name, writer in writers.items() if writer["step"] > 0}


def _note(
    before: Snapshot | None,
    after: Snapshot,
    wanted: Mapping[str, Change],
    writers: Writers,
    by: dict[str, Any],
) -> Snapshot:
    if before is not None:
        for change in diff(before, after):
            for name, leak in wanted.items():
                if _touches(change, leak):
                    writers[name] = by
    return after


def _touches(change: Change, leak: Change) -> bool:
    """Tell whether a write at ``change`` made, unmade or altered the leaked field."""
    if change.surface != leak.surface:
        return False
    shorter = min(len(change.path), len(leak.path))
    return change.path[:shorter] == leak.path[:shorter]


def wrong_start(changes: tuple[Change, ...], outside: list[Any], writers: Writers) -> str:
    """Return the message of a wrong start: each field, both values, who wrote it."""
    lines = [
        f"{change.field}: expected {_short(change.before)}, found {_short(change.after)}"
        + _by(writers.get(change.field))
        for change in changes[:_NAMED]
    ]
    lines += [
        f"{field} holds {_short(value)}, outside its sampler {sampler!r}"
        for field, value, sampler in outside[:_NAMED]
    ]
    more = len(changes) + len(outside) - len(lines)
    return "wrong start: " + "; ".join(lines) + (f"; +{more} more" if more > 0 else "")


def _by(writer: Mapping[str, Any] | None) -> str:
    return f" (written by episode {writer['episode']}, step {writer['step']})" if writer else ""


def leak(change: Change, writers: Writers) -> dict[str, Any]:
    """Return one leaked field as plain values, both sides as short texts."""
    return {
        "expected": _short(change.before),
        "field": change.field,
        "found": _short(change.after),
        "writer": writers.get(change.field),
    }


def stray(field: str, value: Any, sampler: str) -> dict[str, Any]:
    """Return one declared field that lies outside its sampler, as ``leak`` does."""
    return {"expected": sampler, "field": field, "found": _short(value), "writer": None}


def _short(value: Any) -> str:
    return shown(repr(value), 80)
