"""Laws 1 to 3 of a surface with a base, and that its fast path is as good as its full one."""

from __future__ import annotations

import itertools

from cleandesk.errors import shown
from cleandesk.state import diff, fingerprint
from cleandesk.state.delta import CannotTell, Delta
from cleandesk.testing.case import named
from cleandesk.testing.evidence import changes, moved
from cleandesk.testing.stage import FoundError, HeldCopy, Stage, states


def fast_and_full(stage: Stage) -> None:
    """Compare ``delta`` with ``read`` in every state that the writes make."""
    for after, copy in stage.in_each_state():
        told, full = copy.delta(), copy.read()
        if isinstance(told, CannotTell):
            if not told.why.strip():
                raise FoundError(f"after {after} delta() can't tell, and does not say why")
        elif told != full:
            lines = ["from delta() to read():", *changes(stage.case.name, told, full)]
            raise FoundError(f"after {after} delta() and read() disagree", lines)


def law_1(stage: Stage) -> None:
    """Compare all pairs of states, over their base and in full."""
    found: list[tuple[str, Delta]] = []
    for after, copy in stage.in_each_state():
        told = copy.delta()
        found.append((after, copy.read()))
        if isinstance(told, Delta):
            found.append((f"{after}, as delta() says", told))
    snapshots = [stage.snapshot(delta) for _, delta in found]
    prints = [(fingerprint(state), fingerprint(state.flat())) for state in snapshots]
    for one, other in itertools.combinations(range(len(found)), 2):
        answers = {
            "their diff is empty": not diff(snapshots[one], snapshots[other]),
            "their fingerprints are equal": prints[one][0] == prints[other][0],
            "their fingerprints in full are equal": prints[one][1] == prints[other][1],
        }
        if len(set(answers.values())) > 1:
            lines = [f"{text}: {'yes' if holds else 'no'}" for text, holds in answers.items()]
            lines += changes(stage.case.name, found[one][1], found[other][1])
            raise FoundError(f"the states after {found[one][0]} and after {found[other][0]}", lines)


def law_2(stage: Stage) -> None:
    """Look after each write, in any order, and compare with a copy that nobody looked at."""
    looked_at, other = stage.copy(), stage.copy()
    end = _look(looked_at, "nothing")
    for write in stage.case.writes:
        looked_at.write(write)
        end = _look(looked_at, named(write))
    other.write(*stage.case.writes)
    other.require_state(end, "the same writes without a look in between")


def _look(copy: HeldCopy, after: str) -> Delta:
    before = copy.digest()
    first, told = copy.read(), copy.delta()
    for _ in range(2):
        again, full = copy.delta(), copy.read()
        if full != first:
            lines = changes(copy.stage.case.name, first, full)
            raise FoundError(f"after {after} read() says something else the next time", lines)
        if again != told:
            lines = [f"first {shown(told)}", f"then {shown(again)}"]
            raise FoundError(f"after {after} delta() says something else the next time", lines)
    now = copy.digest()
    if now != before:
        raise FoundError(f"after {after} looking has written to the place", moved(before, now))
    copy.stage.require_still(f"looking after {after}")
    return first


def law_3(stage: Stage) -> None:
    """Write, put back, look; what is written then is the same as in a fresh copy."""
    fresh = {after: copy.read() for after, copy in stage.in_each_state()}
    copy = stage.copy()
    copy.restore()
    _require_back(copy, "restore() of a fresh copy")
    for after, writes in states(stage.case):
        copy.write(*writes)
        copy.restore()
        _require_back(copy, f"{after} and restore()")
        copy.write(*writes)
        copy.require_state(fresh[after], f"{after}, restore() and {after} again,")
        copy.restore()
        copy.restore()
        _require_back(copy, f"{after} and restore() twice")


def _require_back(copy: HeldCopy, after: str) -> None:
    copy.require_base(after)
    if (place := copy.where()) != copy.place:
        raise FoundError(f"after {after} its place is {shown(place)}, and was {shown(copy.place)}")
    copy.stage.require_still(after)
