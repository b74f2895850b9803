"""Whoever writes on, holds on or dies: nothing of theirs may reach a base or the next state."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from unittest import SkipTest

from cleandesk.channel import ChannelTimeoutError
from cleandesk.errors import CleandeskError, UsageError
from cleandesk.seeding import stream
from cleandesk.state.delta import CannotTell
from cleandesk.testing.case import Write, named, reference
from cleandesk.testing.processes import Hand, HandLostError
from cleandesk.testing.stage import FoundError, HeldCopy, Stage, refusal

_LOOKS = 4
"""Looks in each round: a race is not lost at the first try."""

_AT_MOST = 4
"""Writes that run in a circle."""


def holders(stage: Stage) -> None:
    """Hold a copy open over ``restore``; then write, end, or be killed."""
    if not stage.case.holds:
        raise SkipTest("the case has no holds=")
    endings: tuple[tuple[str, Callable[[Hand], object]], ...] = (
        ("wrote on and ended", _go_on),
        ("ended", Hand.end),
        ("was killed", Hand.kill),
    )
    for hold in stage.case.holds:
        for how, end in endings:
            copy = stage.copy()
            holder = copy.writer()
            holder.ask("hold", reference(hold), copy.place)
            copy.restore()
            copy.require_base(f"restore() while {named(hold)} held it open,")
            end(holder)
            copy.require_base(f"{named(hold)} {how}, after restore(),")
            copy.write(stage.case.writes[0])
            copy.restore()
            copy.require_base(f"{named(hold)} {how}, and one more restore()")
            stage.require_still(f"{named(hold)} {how}")


def _go_on(hand: Hand) -> None:
    hand.ask("go_on")
    hand.end()


def full_disk(stage: Stage) -> None:
    """Open a copy and put one back where files can't grow beyond a few bytes."""
    for limit in (0, 100):
        after = f"restore() where files can't grow beyond {limit} bytes"
        copy = stage.copy()
        copy.write_at_once()
        copy.hand.ask("starve", limit)
        with refusal() as found:
            copy.restore()
        _require_refusal(found, after)
        copy.hand.ask("starve", None)
        if not found:
            copy.require_base(after)
        stage.require_still(after)
        hand = stage.hand()
        verb, given = stage.opening(hand)
        hand.ask("starve", limit)
        with refusal() as found:
            hand.ask(verb, *given)
        _require_refusal(found, f"open_copy() where files can't grow beyond {limit} bytes")
        _require_new(stage, after)


def _require_refusal(found: Sequence[CleandeskError | None], after: str) -> None:
    if found and (found[0] is None or found[0].code != "CD-241"):
        raise FoundError(f"{after} raised {found[0] or 'what is no error of cleandesk'}")


def writers(stage: Stage) -> None:
    """Look and put back while a process writes without pause."""
    writes = _never_at_base(stage)
    copy = stage.copy()
    writer = _writer_without_pause(copy, writes)
    for _ in range(stage.case.rounds * _LOOKS):
        _require_doubt(copy, "while a process was writing")
    is_written, is_back = True, True
    for _ in range(stage.case.rounds):
        with refusal() as found:
            copy.restore()
        _require_refusal(found, "restore() while a process was writing")
        is_back = not found
        if not is_back:
            # It is not to be used again.
            break
        is_written = writer.ask("tick")
        if is_written:
            _require_doubt(copy, "while a process was writing, after restore(),")
    writer.ask("stop")
    writer.end()
    stage.require_still("a process wrote without pause")
    if is_back:
        _require_order(copy, is_written=is_written)


def _require_order(copy: HeldCopy, *, is_written: bool) -> None:
    after = "a process that wrote without pause has stopped"
    full, told = copy.read(), copy.delta()
    if is_written and not full:
        raise FoundError(f"{after}, and read() says that nothing differs")
    if not isinstance(told, CannotTell):
        copy.require_state(full, f"{after}, and read(),")
    copy.restore()
    copy.require_base(f"{after}, and restore()")
    # What the next world writes is written.
    copy.write(copy.stage.case.writes[0])
    if not copy.read():
        raise FoundError(f"{after}, and after restore() and a write nothing differs")


def _writer_without_pause(copy: HeldCopy, writes: Sequence[Write]) -> Hand:
    writer = copy.writer()
    writer.ask("write_on", list(map(reference, writes)), copy.place)
    if not writer.ask("tick"):
        raise UsageError(
            "CD-811",
            "the writes of the case can't be run again and again",
            where=", ".join(map(named, writes)),
            do="let each run also where it ran before",
        )
    return writer


def at_once(stage: Stage) -> None:
    """Write, look and put back in one copy while a process writes into another."""
    busy, copy = stage.copy(), stage.copy()
    copy.write(*stage.case.writes)
    wanted = copy.read()
    writer = _writer_without_pause(busy, stage.case.writes)
    for _ in range(stage.case.rounds):
        busy.hand.tell("restore", busy.number)
        copy.restore()
        copy.require_base("restore() while another copy is written and put back")
        with refusal() as found:
            busy.hand.answer("restore")
        _require_refusal(found, "restore() while a process was writing")
        copy.write_at_once()
        copy.require_state(wanted, "writes while a process writes into another copy")
    writer.kill()
    copy.require_state(wanted, "a crash of a process that wrote into another copy")
    stage.require_still("writes into two copies at once")


def _never_at_base(stage: Stage) -> Sequence[Write]:
    """Return writes that, run again and again from any of them on, never come back to the base."""
    writes = list(stage.case.writes[:_AT_MOST])
    while len(writes) > 1:
        turns = (writes[at:] + writes[:at] for at in range(len(writes)))
        back = next((found for turn in turns if (found := _comes_back(stage, turn))), None)
        if back is None:
            break
        writes.remove(back)
    return writes


def _comes_back(stage: Stage, turn: Sequence[Write]) -> Write | None:
    """Return the write after which a copy is at base again, if there is one."""
    copy = stage.copy()
    for write in [*turn, *turn]:
        copy.write(write, tolerant=True)
        if not copy.read():
            return write
    copy.close()
    return None


def _require_doubt(copy: HeldCopy, when: str) -> None:
    for verb, told in copy.answers():
        if told is not None and not isinstance(told, CannotTell) and not told:
            raise FoundError(f"{when} {verb} said that nothing differs")


def crash_opening(stage: Stage) -> None:
    """Kill the process that opens a copy."""

    def begin(hand: Hand) -> tuple[str, list[object]]:
        return stage.opening(hand)

    _crashes(stage, "opening", begin)


def crash_reading(stage: Stage) -> None:
    """Kill the process that reads a copy, fast and full."""
    for verb in ("delta", "read"):

        def begin(hand: Hand, verb: str = verb) -> tuple[str, list[object]]:
            return verb, [_written(stage, hand).number]

        _crashes(stage, verb, begin)


def crash_restoring(stage: Stage) -> None:
    """Kill the process that puts a copy back."""

    def begin(hand: Hand) -> tuple[str, list[object]]:
        return "restore", [_written(stage, hand).number]

    _crashes(stage, "restore", begin)


def _written(stage: Stage, hand: Hand) -> HeldCopy:
    copy = stage.copy(hand)
    copy.write_at_once()
    return copy


def _crashes(stage: Stage, phase: str, begin: Callable[[Hand], tuple[str, list[object]]]) -> None:
    """Kill at a line of Python and at a moment, in turn; what C code does has no lines."""
    lines, took_s = _measured(stage, begin)
    draw = stream(0, "crash", stage.case.terms.kind, phase)
    for number in range(stage.case.rounds):
        hand = stage.hand()
        verb, given = begin(hand)
        if number % 2:
            moment = draw.uniform(0.0, took_s)
            how = f"{moment * 1000:.2f} ms after {phase} began"
        else:
            moment = None
            line = draw.integer(1, max(lines, 1))
            how = f"at line {line} of {lines} of {phase}"
            hand.ask("kill_at", line)
        _die_during(hand, verb, given, moment)
        stage.require_still(f"a crash {how}")
        _require_new(stage, f"a crash {how}")


def _measured(stage: Stage, begin: Callable[[Hand], tuple[str, list[object]]]) -> tuple[int, float]:
    """Return how many lines of Python the phase runs, and how many seconds it takes."""
    hand = stage.hand()
    verb, given = begin(hand)
    hand.ask("kill_at", 0)
    hand.ask(verb, *given)
    lines: int = hand.ask("lines")
    verb, given = begin(hand)
    # Apart from the lines: counting them takes longer than running them.
    started = time.monotonic()
    hand.ask(verb, *given)
    took_s = time.monotonic() - started
    hand.kill()
    return lines, took_s


def _require_new(stage: Stage, after: str) -> None:
    copy = stage.copy()
    copy.require_base(f"{after}, in a new copy,")
    copy.close()
    copy.hand.end()


def _die_during(hand: Hand, verb: str, given: list[object], moment_s: float | None) -> None:
    hand.tell(verb, *given)
    with contextlib.suppress(ChannelTimeoutError, HandLostError):
        hand.answer(verb, moment_s)
    hand.kill()


def crash_writing(stage: Stage) -> None:
    """Kill a process that writes, then the one that holds the copy, or neither of them first."""
    for number in range(stage.case.rounds):
        copy = stage.copy()
        writer = copy.writer()
        writer.ask("write_on", list(map(reference, stage.case.writes)), copy.place)
        writer.ask("tick")
        if number % 2:
            copy.hand.kill()
            stage.require_still("a crash while a process wrote")
        writer.kill()
        stage.require_still("a crash of a process that wrote")
        if not number % 2:
            for _verb, _told in copy.answers():
                pass
            copy.restore()
            copy.require_base("a crash of a process that wrote, and restore(),")
            copy.hand.end()
        _require_new(stage, "a crash while it was written")
