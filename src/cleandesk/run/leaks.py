"""Who wrote the field that leaked: the world's past, lived through again and read step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cleandesk.errors import shown
from cleandesk.run.blame import Blame, Fault
from cleandesk.run.world_link import WorldLink
from cleandesk.state import Change, Snapshot, diff

_NAMED = 5
"""How many leaked fields a message names."""

_MOST_STEPS = 20_000
"""A longer past is not lived through again; then the step is not named."""

Writers = dict[str, dict[str, Any]]
"""Field -> the episode and step that wrote it last (step 0 is the reset itself)."""

_Place = tuple[str, tuple[Any, ...]]


@dataclass(slots=True)
class Past:
    """What one shared world has lived through since it was built.

    Attributes:
        episodes: (episode, instance, actions as canon/1) in order; the last one goes on.
    """

    episodes: list[tuple[str, Mapping[str, Any], list[bytes]]] = field(default_factory=list)


class Replay:
    """A second world that follows the past of a shared one, and who wrote what in it.

    It goes on from where it was, so that a run with many wrong starts lives through its
    past once and not once for each of them.
    """

    def __init__(self, open_world: Callable[[], WorldLink], values: Mapping[str, Any]) -> None:
        """Keep how to open the world; it is opened when it is first needed.

        Args:
            open_world: Opens a child of the importer.
            values: Keyword arguments of the world's constructor.
        """
        self._open_world = open_world
        self._values = values
        self._world: WorldLink | None = None
        self._is_lost = False
        self._episode, self._step = 0, -1
        self._steps = 0
        self._seen: Snapshot | None = None
        self._written: dict[_Place, tuple[int, dict[str, Any]]] = {}

    def writers(self, leaked: Sequence[Change], past: Past, actual: Snapshot) -> Writers:
        """Name, for each leaked field, who wrote it last.

        Args:
            leaked: The differences of the wrong start from the expected one.
            past: The world's episodes; the last is the one that started wrong.
            actual: The wrong start.

        Returns:
            The writers found. A field is left out where the replay does not hold what the
            world holds: it is not deterministic then, and nothing is claimed.
        """
        try:
            self._follow(past)
        except Fault:
            self._is_lost = True
        if self._is_lost or self._seen is None:
            return {}
        astray = diff(self._seen, actual)
        return {
            change.field: writer
            for change in leaked
            if not any(_touches((other.surface, other.path), change) for other in astray)
            and (writer := self._writer(change)) is not None
        }

    def kill(self) -> None:
        """End the world, if there is one."""
        if self._world is not None:
            self._world.kill()
            self._world = None
            self._is_lost = True

    def _follow(self, past: Past) -> None:
        if self._is_lost:
            return
        if self._world is None:
            self._world = self._open_world()
            self._world.build(self._values, core=None, debug=False)
        while self._episode < len(past.episodes):
            episode, instance, actions = past.episodes[self._episode]
            if self._step < 0:
                self._world.reset(instance, snapshot=False)
                self._note(self._world.view(), {"episode": episode, "step": 0})
            while self._step < len(actions):
                self._world.step(actions[self._step])
                self._note(self._world.view(), {"episode": episode, "step": self._step + 1})
            if self._episode == len(past.episodes) - 1:
                return
            self._episode, self._step = self._episode + 1, -1

    def _note(self, now: Snapshot, by: dict[str, Any]) -> None:
        self._step += 1
        self._steps += 1
        if self._steps > _MOST_STEPS:
            self._is_lost = True
            raise Fault(Blame.HARNESS, "CD-731", "the past is too long to be lived through again")
        if self._seen is not None:
            for change in diff(self._seen, now):
                self._written[change.surface, change.path] = self._steps, by
        self._seen = now

    def _writer(self, leak: Change) -> dict[str, Any] | None:
        writes = [write for place, write in self._written.items() if _touches(place, leak)]
        _, by = max(writes, key=lambda write: write[0], default=(0, {"step": 0}))
        return by if by["step"] else None


def _touches(place: _Place, leak: Change) -> bool:
    """Tell whether a write at ``place`` made, unmade or altered the leaked field."""
    surface, path = place
    shorter = min(len(path), len(leak.path))
    return surface == leak.surface and path[:shorter] == leak.path[:shorter]


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
    if not lines:
        return "wrong start: not the expected one, and the expected one when it was read again"
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
