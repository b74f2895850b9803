"""Leak or echo: the fewest fields whose restoring makes the judged rows the fresh ones.

Fields are put back *before* the judged reset, to what a fresh build has there: then the
reset derives all else, what clears is an echo, and the rows begin with the reset's own.
Where that can't succeed (the reset itself moved the value in from elsewhere), they are
put back after it. Where no differing field is the cause, all that a fresh build has
otherwise before its first reset is tried: that finds what is read by the reset and no
longer differs after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from cleandesk.audit.certificate.explain.dirty import Dirty, Fresh, Tried, Unit, holds
from cleandesk.audit.certificate.explain.scenario import AFTER, AGAIN, BEFORE, Scenario
from cleandesk.audit.certificate.explain.smallest import Budget, first_of, smallest
from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.links import DeviceError
from cleandesk.errors import CleandeskError

_SINGLES = 24
_NAMED = 4

Passes = Callable[[Sequence[Unit]], bool]

NOT_AGAIN = "a replay of the same history did not fail again"
NO_FIELD = "no field of the walk differs after the reset"
ELSEWHERE = "with every field that differs restored, the rows still differ"
BUDGET = "the budget ended before the fields were told apart"


@dataclass(frozen=True, slots=True)
class Restored:
    """What restoring showed; the attributes are those of ``Explained``.

    Attributes:
        true_writes: See there, as all of these.
        echoes: Fields that clear with them.
        bystanders: Fields that were not read.
        is_confirmed: Whether all rows became equal.
        how: When they were restored.
        outside_note: What restoring does not explain.
        unwritable: What could not be written.
        carried: Fields that carried the difference into the reset and do not differ after
            it: what a fresh build has, and what the judged rig had.
    """

    true_writes: tuple[str, ...] = ()
    echoes: tuple[str, ...] = ()
    bystanders: tuple[str, ...] = ()
    is_confirmed: bool = False
    how: str = ""
    outside_note: str = ""
    unwritable: Mapping[str, str] = field(default_factory=dict)
    carried: Mapping[str, tuple[Leaf | None, Leaf | None]] = field(default_factory=dict)


def restored(scenario: Scenario, budget: Budget) -> Restored:
    """Find the true writes by restoring fields on replays."""
    dirty = Dirty(scenario, budget)
    fresh: Fresh | None = None
    try:
        fresh = Fresh(scenario)
        return _Search(scenario, dirty, fresh).found()
    except (DeviceError, CleandeskError) as error:
        note = str(error) if isinstance(error, DeviceError) else error.message
        return Restored(scenario.paths, outside_note=f"the history could not be replayed: {note}")
    finally:
        dirty.close()
        if fresh is not None:
            fresh.close()


class _Search:
    """One search; the devices are its caller's."""

    def __init__(self, scenario: Scenario, dirty: Dirty, fresh: Fresh) -> None:
        self._scenario = scenario
        self._dirty = dirty
        self._fresh = fresh
        self._has_trace = scenario.first_row is not None
        self._unwritable: dict[str, str] = {}

    def found(self) -> Restored:
        bare = self._dirty.tried(BEFORE, look=True, trace=self._has_trace)
        if bare is None:
            return self._unresolved(BUDGET)
        if self._has_trace and bare.first is None:
            return self._unresolved(NOT_AGAIN)
        units = self._fresh.units(self._differing(bare.tokens))
        if self._has_trace:
            for how in (BEFORE, AFTER):
                if units and self._passes(how, units):
                    return self._confirmed(how, units)
                # What can't be put back as a whole may be so part by part.
                units = [
                    part
                    for unit in units
                    for part in (
                        self._fresh.parts(unit) if unit.path in self._unwritable else [unit]
                    )
                ]
            carried = self._carried(units)
            if carried is not None:
                return carried
        return self._by_clearing(units)

    def _differing(self, tokens: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
        """Return the leaves of the walk that differ, each with the known fields in it."""
        fresh, paths = self._fresh.after, self._scenario.paths
        found: dict[str, tuple[str, ...]] = {}
        for unit in dict.fromkeys((*fresh, *tokens)):
            if fresh.get(unit) != tokens.get(unit):
                inside = tuple(path for path in paths if holds(unit, path))
                if inside:
                    found[unit] = inside
        return found

    def _tried(
        self, how: str, units: Sequence[Unit], *, look: bool = False, trace: bool = True
    ) -> Tried | None:
        if how == BEFORE:
            writes = [(u.path, u.built if u.built is not None else u.fresh) for u in units]
        else:
            writes = [(u.path, u.fresh) for u in units]
        said = self._dirty.tried(how, writes, look=look, trace=trace)
        if said is not None:
            self._unwritable.update(said.unwritable)
        return said

    def _passes(self, how: str, units: Sequence[Unit]) -> bool:
        said = self._tried(how, units)
        return said is not None and said.first is None

    def _confirmed(self, how: str, units: Sequence[Unit]) -> Restored:
        """Return the outcome where restoring all of ``units`` made the rows equal."""
        passes = functools.partial(self._passes, how)
        least = self._opened(self._least(units, passes, how), passes, how)
        cleared = self._cleared(how if how == BEFORE else AGAIN, least, units)
        if how == AFTER:
            # What a second reset clears by itself is no echo of what was restored.
            cleared -= self._cleared(AGAIN, (), units)
        true = _names(least)
        rest = [path for path in self._scenario.paths if path not in true]
        return Restored(
            true,
            tuple(path for path in rest if path in cleared),
            tuple(path for path in rest if path not in cleared),
            is_confirmed=True,
            how=how,
            unwritable=self._unwritable_of(rest),
        )

    def _least(self, units: Sequence[Unit], passes: Passes, how: str) -> tuple[Unit, ...]:
        if len(units) < 2:
            return tuple(units)
        likely = sorted(units, key=lambda unit: unit.rank)
        alone = [unit for unit in likely[:_SINGLES] if passes((unit,))]
        if len(alone) > 1:
            # The one from which the others follow is the write; they are echoes.
            clears = {unit.path: len(self._cleared(how, (unit,), units)) for unit in alone}
            alone.sort(key=lambda unit: -clears[unit.path])
        if alone:
            return (alone[0],)
        return smallest(likely, lambda candidates: first_of(candidates, passes))

    def _opened(self, least: tuple[Unit, ...], passes: Passes, how: str) -> tuple[Unit, ...]:
        """Open containers of which single parts suffice."""
        parts = [part for unit in least for part in self._fresh.parts(unit)]
        if len(parts) == len(least) or not passes(parts):
            return least
        return self._least(parts, passes, how)

    def _cleared(self, how: str, some: Sequence[Unit], units: Sequence[Unit]) -> set[str]:
        """Return which fields of ``units`` are as fresh once ``some`` were restored."""
        said = self._tried(how, some, look=True, trace=False)
        if said is None:
            return set()
        after, fields = self._fresh.after, self._fresh.after_fields
        cleared: set[str] = set()
        for unit in units:
            if not unit.is_part and said.tokens.get(unit.path) == after.get(unit.path):
                cleared.update(unit.fields)
            elif unit.is_part or len(self._fresh.parts(unit)) > 1:
                cleared.update(path for path in unit.fields if said.held[path] == fields[path])
        return cleared

    def _carried(self, units: Sequence[Unit]) -> Restored | None:
        """Look for the cause among all that a fresh build has otherwise before any reset."""
        try:
            before: Mapping[str, bytes] = self._dirty.ask("look", {"as": "dirty"})["tokens"]
        except DeviceError:
            return None
        built = self._fresh.built
        apart = [path for path in built if built[path] != before.get(path)]
        # What an episode made is what the reset found too; tried last, for a rig may need it.
        made = [path for path in before if path not in built]
        pools = (self._fresh.units(dict.fromkeys(each, ())) for each in (apart, [*apart, *made]))
        pool = next((each for each in pools if each and self._passes(BEFORE, each)), None)
        if pool is None:
            return None
        least = self._least(pool, lambda some: self._passes(BEFORE, some), BEFORE)
        cleared = self._cleared(BEFORE, least, units)
        read = self._read([unit.path for unit in least])
        # They differ because of what was carried, and it is they that differ.
        return Restored(
            tuple(path for path in self._scenario.paths if path in cleared),
            (),
            tuple(path for path in self._scenario.paths if path not in cleared),
            is_confirmed=True,
            how=BEFORE,
            unwritable=self._unwritable_of(self._scenario.paths),
            carried={unit.path: (_leaf(unit.built), _leaf(read.get(unit.path))) for unit in least},
        )

    def _read(self, paths: list[str]) -> Mapping[str, bytes | None]:
        """Return what the judged rig had there before the judged reset."""
        try:
            held: Mapping[str, bytes | None] = self._dirty.ask("explain_read", {"paths": paths})
        except DeviceError:
            return {}
        return held

    def _by_clearing(self, units: Sequence[Unit]) -> Restored:
        """Tell leaks from echoes by the walk alone: no rows, or rows that stay unequal."""
        note = self._note(units) if self._has_trace else ""
        if not units:
            return self._unresolved(note)
        wanted = frozenset(self._cleared(BEFORE, units, units))

        def passes(some: Sequence[Unit]) -> bool:
            return self._cleared(BEFORE, some, units) >= wanted

        inside = [unit for unit in units if wanted.intersection(unit.fields)]
        least = self._opened(self._least(inside, passes, BEFORE), passes, BEFORE) if inside else ()
        true = _names(least)
        echoes = [path for path in self._scenario.paths if path in wanted and path not in true]
        leaks = tuple(path for path in self._scenario.paths if path not in echoes)
        return Restored(
            leaks,
            tuple(echoes),
            how=BEFORE,
            outside_note=note,
            unwritable=self._unwritable_of(leaks),
        )

    def _note(self, units: Sequence[Unit]) -> str:
        note = ELSEWHERE if units else NO_FIELD
        if units and self._scenario.first_row == 0:
            note = f"{note}, or the reset had said it before they could be"
        if self._unwritable:
            names = sorted(self._unwritable)
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            note = f"{note}; what can't be put back: {', '.join(names[:_NAMED])}{more}"
        return note

    def _unwritable_of(self, paths: Collection[str]) -> dict[str, str]:
        return {
            path: why
            for path, why in self._unwritable.items()
            if any(holds(path, each) for each in paths)
        }

    def _unresolved(self, note: str) -> Restored:
        return Restored(self._scenario.paths, outside_note=note, unwritable=self._unwritable)


def _names(units: Collection[Unit]) -> tuple[str, ...]:
    return tuple(path for unit in units for path in unit.fields)


def _leaf(data: bytes | None) -> Leaf | None:
    return Leaf.from_bytes(data) if data is not None else None
