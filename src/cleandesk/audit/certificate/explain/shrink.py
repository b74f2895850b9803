"""The shortest history after which the judged reset still fails: episodes, steps, actions.

Every try is a judged device of its own, next to a fresh reference for the same judged
seed and actions. The best that was found by the deadline stands; each of its stages
failed when it was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cleandesk.audit.certificate.explain.actions import Actions, key_of, simpler
from cleandesk.audit.certificate.explain.scenario import Scenario
from cleandesk.audit.certificate.explain.smallest import Budget, fewest, first_of, smallest
from cleandesk.audit.certificate.links import DeviceError, Link
from cleandesk.errors import CleandeskError

_LANES = 2
_MOST_LITERAL = 400
_SHORT = 30
_LATER = 100
_MOST_JUDGED = 1000
NONE = Actions()


@dataclass(frozen=True, slots=True)
class Episode:
    """A reset and steps.

    Attributes:
        seed: Of the reset.
        actions: Of the steps; an episode that ends earlier has fewer.
    """

    seed: int
    actions: Actions = NONE

    def to_wire(self) -> dict[str, Any]:
        """Return it as a device takes it."""
        return {
            "actions": self.actions.to_wire(),
            "once": True,
            "seed": self.seed,
            "steps": len(self.actions),
        }


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The shortest way to fail that was found.

    Attributes:
        episodes: What is done before the judged reset.
        judged: The judged reset and the steps after it.
        row: The first row that differs; None where fields alone were compared.
        fields: The fields that differ after the reset, among those that were asked for.
        raised: The name of what the judged rig raises instead of that row, or empty.
    """

    episodes: tuple[Episode, ...]
    judged: Episode
    row: int | None
    fields: tuple[str, ...] = ()
    raised: str = ""


@dataclass(frozen=True, slots=True)
class _Failing:
    row: int | None
    fields: tuple[str, ...]
    raised: str


def shrunk(scenario: Scenario, fields: Sequence[str], budget: Budget) -> Shrunk | None:
    """Return the shortest way to fail, or None where replays do not fail or time is over.

    Args:
        scenario: What failed.
        fields: Leaves of the walk to compare, where there is no trace.
        budget: Of all tries.
    """
    trials = _Trials(scenario, fields, budget)
    try:
        first = trials.recorded()
        return trials.shortest(first) if first is not None else None
    except (DeviceError, CleandeskError):
        return None
    finally:
        trials.close()


def plain_episodes(
    scenario: Scenario, history: Sequence[Mapping[str, Any]], budget: Budget
) -> list[dict[str, Any]]:
    """Relive a history, and return it episode by episode with its actions.

    Raises:
        DeviceError: The rig raised, its process ended, or the time is over.
    """
    link = scenario.judged_device()
    try:
        wanted = {"history": [dict(entry) for entry in history], "limit_s": budget.left_s}
        told: list[dict[str, Any]] = link.call("explain_episodes", wanted)
    finally:
        link.kill()
    return told


class _Trials:
    """Tries of one scenario."""

    def __init__(self, scenario: Scenario, fields: Sequence[str], budget: Budget) -> None:
        self._scenario = scenario
        self._fields = list(fields)
        self._budget = budget
        self._has_trace = scenario.first_row is not None
        self._references: dict[bytes, dict[str, Any]] = {}
        self._like: tuple[Actions, ...] = ()

    def close(self) -> None:
        self._references.clear()

    def recorded(self) -> Shrunk | None:
        """Relive the history as plain episodes, the judged reset the last of them.

        Where the trace diverged after an episode's end in it, the episodes before that
        end belong to the history.
        """
        scenario = self._scenario
        plan = {"op": "trace", **scenario.judged, "steps": self._judged_steps()}
        told = plain_episodes(scenario, [*scenario.history, plan], self._budget)
        met = [Episode(each["seed"], Actions(_acting(each["actions"]))) for each in told]
        self._like = tuple(each.actions for each in met)
        first = sum(each["entry"] < len(scenario.history) for each in told)
        for place in range(first, len(met)):
            found = self._failing(tuple(met[:place]), met[place])
            if found is not None:
                if self._failing((), met[place]) is not None:
                    # Two fresh builds differ by themselves: nothing can be told from that.
                    return None
                before = tuple(met[:place])
                return Shrunk(before, met[place], found.row, found.fields, found.raised)
        return None

    def _judged_steps(self) -> int:
        """Return how many steps to look at: a shorter history may show later than the whole."""
        row = self._scenario.first_row
        if row is None:
            return 0
        return min(int(self._scenario.judged["steps"]), max(4 * row, row + _LATER))

    def shortest(self, best: Shrunk) -> Shrunk:
        """Leave out episodes, then steps, then variety; whatever still fails stays."""
        best = self._fewer_episodes(best)
        best = self._fewer_steps(best)
        best = self._plainer(best)
        best = self._plainer_judged(self._cut_judged(best))
        return self._fewer_actions(best)

    def _cut_judged(self, best: Shrunk) -> Shrunk:
        """Drop the steps after the first row that differs now."""
        if best.row is None:
            return replace(best, judged=Episode(best.judged.seed))
        found = self._failing(best.episodes, best.judged)
        if found is None or found.row is None:
            return best
        judged = replace(best.judged, actions=best.judged.actions.first(found.row))
        return replace(best, judged=judged, row=found.row, raised=found.raised)

    def _fewer_episodes(self, best: Shrunk) -> Shrunk:
        episodes = best.episodes
        bare = tuple(Episode(each.seed) for each in episodes)
        guesses = [bare[-1:], episodes[-1:], bare]
        place = self._first(best.judged)(guesses)
        if place is not None:
            episodes = guesses[place]
        return replace(best, episodes=smallest(episodes, self._first(best.judged)))

    def _fewer_steps(self, best: Shrunk) -> Shrunk:
        for place in range(len(best.episodes)):
            best = self._fewer_steps_at(best, place)
        return best

    def _fewer_steps_at(self, best: Shrunk, place: int) -> Shrunk:
        actions = best.episodes[place].actions

        def cut(count: int) -> tuple[Episode, ...]:
            return _with(best.episodes, place, actions.first(count))

        first = self._first(best.judged)
        count = fewest(len(actions), lambda counts: first([cut(n) for n in counts]))
        return replace(best, episodes=cut(count))

    def _plainer(self, best: Shrunk) -> Shrunk:
        """Try one action throughout, or drawn ones, in each episode."""
        for place, episode in enumerate(best.episodes):
            count = len(episode.actions)
            if count and not _is_plain(episode.actions):
                options = [
                    _with(best.episodes, place, make()) for make in simpler(self._met(), count)
                ]
                found = self._first(best.judged)(options)
                if found is not None:
                    best = self._fewer_steps_at(replace(best, episodes=options[found]), place)
        return best

    def _plainer_judged(self, best: Shrunk) -> Shrunk:
        """The same for the steps after the judged reset, each with a reference of its own."""
        count = len(best.judged.actions)
        if not count or _is_plain(best.judged.actions):
            return best
        for length in dict.fromkeys((count, min(4 * count, _MOST_JUDGED))):
            for make in simpler(self._met(), length):
                judged = replace(best.judged, actions=make())
                found = self._failing(best.episodes, judged)
                if found is not None and found.row is not None:
                    made = replace(best, judged=judged, row=found.row, raised=found.raised)
                    return self._cut_judged(made)
        return best

    def _fewer_actions(self, best: Shrunk) -> Shrunk:
        """Leave out single actions where they had to stay as they were met."""
        for place, episode in enumerate(best.episodes):
            actions = episode.actions
            if not actions.is_held and actions.drawn is None and len(actions) <= _MOST_LITERAL:
                best = self._fewer_actions_at(best, place)
        return best

    def _fewer_actions_at(self, best: Shrunk, place: int) -> Shrunk:
        def first(candidates: Sequence[tuple[Any, ...]]) -> int | None:
            options = [_with(best.episodes, place, Actions(each)) for each in candidates]
            return self._first(best.judged)(options)

        left = Actions(smallest(best.episodes[place].actions.values, first))
        return replace(best, episodes=_with(best.episodes, place, left))

    def _met(self) -> Actions:
        return Actions(tuple(value for each in self._like for value in each.values))

    def _first(self, judged: Episode) -> Callable[[Sequence[tuple[Episode, ...]]], int | None]:
        return lambda candidates: first_of(
            candidates, lambda episodes: self._fails(episodes, judged), lanes=_LANES
        )

    def _fails(self, episodes: tuple[Episode, ...], judged: Episode) -> bool:
        return self._failing(episodes, judged) is not None

    def _failing(self, episodes: tuple[Episode, ...], judged: Episode) -> _Failing | None:
        """Try one history; None where it does not fail, or could not be tried."""
        if not self._budget.spend():
            return None
        try:
            return self._tried(episodes, judged)
        except (DeviceError, CleandeskError):
            return None

    def _tried(self, episodes: tuple[Episode, ...], judged: Episode) -> _Failing | None:
        history = [each.to_wire() for each in episodes]
        fresh = self._reference(judged)
        link = self._scenario.judged_device()
        try:
            said = self._run(link, history, judged, fresh["digests"] if self._has_trace else b"")
        finally:
            link.kill()
        apart = [path for path in self._fields if said["held"][path] != fresh["held"][path]]
        if said["first"] is None and not (apart and not self._has_trace):
            return None
        return _Failing(said["first"], tuple(apart), said["raised"])

    def _reference(self, judged: Episode) -> dict[str, Any]:
        """Return what a fresh build says of a judged reset; each is asked for once."""
        wire = judged.to_wire()
        key = key_of(wire)
        if key not in self._references:
            link = self._scenario.fresh_device()
            try:
                self._references[key] = self._run(link, [], judged, None)
            finally:
                link.kill()
        return self._references[key]

    def _run(
        self, link: Link, history: list[dict[str, Any]], judged: Episode, expected: bytes | None
    ) -> dict[str, Any]:
        said: dict[str, Any] = link.call(
            "explain_trial",
            {
                "expected": expected,
                "history": history,
                "judged": judged.to_wire(),
                "limit_s": self._budget.left_s,
                "paths": self._fields,
            },
        )
        return said


def _with(episodes: tuple[Episode, ...], place: int, actions: Actions) -> tuple[Episode, ...]:
    changed = replace(episodes[place], actions=actions)
    return (*episodes[:place], changed, *episodes[place + 1 :])


def _is_plain(actions: Actions) -> bool:
    """Tell whether actions are as short to write as can be hoped for."""
    text = actions.to_python()
    return actions.is_held and text is not None and len(text) <= _SHORT


def _acting(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return actions without None, which whoever is out of the game takes in any case."""
    some = next((value for value in values if value is not None), None)
    return tuple(some if value is None else value for value in values)


def can_shrink(scenario: Scenario) -> bool:
    """Tell whether a history can be cut: an unseeded reset depends on all that came before."""
    return scenario.judged.get("state") is None and scenario.recipe.reset != "unseeded"
