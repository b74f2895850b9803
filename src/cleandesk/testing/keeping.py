"""What a base holds, what a copy keeps to itself, and what is said where nothing can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from unittest import SkipTest

from cleandesk.errors import shown
from cleandesk.state import Pattern, decode, encode
from cleandesk.state.delta import CannotTell, Delta, Edit
from cleandesk.state.prune import pick
from cleandesk.state.table import Table
from cleandesk.testing.case import named
from cleandesk.testing.evidence import changes, few
from cleandesk.testing.stage import FoundError, HeldCopy, Stage, refusal, with_source


def fresh(stage: Stage) -> None:
    """Open two copies; both are at base before anybody writes."""
    for copy in (stage.copy(), stage.copy()):
        copy.require_base("open_copy()")


def same_base(stage: Stage) -> None:
    """Make another base of the same source."""
    other = stage.prepare(stage.case.terms)
    found = Delta.between(stage.made.tables, other.tables)
    if found:
        raise FoundError("two bases of one source differ", changes(stage.case.name, Delta(), found))
    stage.require_still("making a base")


def no_source(stage: Stage) -> None:
    """Make a base of nothing."""
    source = stage.case.terms.source.get("from")
    if not isinstance(source, str):
        raise SkipTest('the terms have no source["from"]')
    with refusal() as found:
        stage.prepare(with_source(stage.case.terms, f"{source}.is-not-there"))
    if not found:
        raise FoundError("a base was made of a source that does not exist")
    if found[0] is None or found[0].code != "CD-243":
        said = found[0] or "what is no error of cleandesk"
        raise FoundError(f"prepare() of a source that does not exist raised {said}")


def no_question(stage: Stage) -> None:
    """Ask the base what is no question in any language."""
    hand = stage.hand()
    stage.introduce(hand)
    with refusal() as found:
        hand.ask("query", dict(stage.made.held), "\\ no question \\")
    if not found or found[0] is None or found[0].code != "CD-419":
        said = "nothing" if not found else found[0] or "what is no error of cleandesk"
        raise FoundError(f"query() of a text that is no question raised {said}")
    stage.require_still("query()")


def canonical(stage: Stage) -> None:
    """Read every record and every edit back."""
    base = stage.made.tables
    for name, table in base.items():
        if table.kind != "map":
            raise FoundError(f"table {shown(name)} of the base is a {table.kind}, not a map")
    _require_few(_unspelled(base), "records of the base are no canon/1")
    for after, copy in stage.in_each_state():
        for told in (copy.delta(), copy.read()):
            if isinstance(told, Delta):
                _require_few(_out_of_order(told, base), f"after {after} the delta is out of order")


def _require_few(found: Iterator[str], what: str) -> None:
    lines = few(found)
    if lines:
        raise FoundError(what, lines)


def _unspelled(tables: Mapping[str, Table]) -> Iterator[str]:
    for name, table in tables.items():
        for key, record in table.records.items():
            for data in (key, record):
                if not _is_canonical(data):
                    yield f"{name}: {shown(data)}"


def _is_canonical(data: bytes) -> bool:
    try:
        return encode(decode(data)) == data
    except Exception:  # noqa: BLE001 - bytes that spell nothing may raise anything
        return False


def _out_of_order(told: Delta, base: Mapping[str, Table]) -> Iterator[str]:
    if list(told.created) != sorted(told.created) or list(told.dropped) != sorted(told.dropped):
        yield "the tables that were created or dropped are not sorted"
    for name in told.created:
        if name in base:
            yield f"{shown(name)}: created, and the base has it"
    for name in told.dropped:
        if name not in base or {*told.tables.get(name, {})} != {*base[name].records}:
            yield f"{shown(name)}: dropped, and not each record of the base is in the delta"
    for name, edits in told.tables.items():
        if not edits or (name not in base and name not in told.created):
            yield f"{shown(name)}: no edit, or of no table that is at base or was created"
        records = base[name].records if name in base else {}
        for key, edit in edits.items():
            for fault in _faults_of(key, edit, records.get(key)):
                yield f"{shown(name)}[{shown(key)}]: {fault}"


def _faults_of(key: bytes, edit: Edit, at_base: bytes | None) -> Iterator[str]:
    before, after = edit
    if before == after:
        yield f"both sides are {shown(before)}"
    if before != at_base:
        yield f"before is {shown(before)}, and the base has {shown(at_base)}"
    if not all(side is None or _is_canonical(side) for side in (key, before, after)):
        yield f"no canon/1: {shown(before)}, {shown(after)}"


def named_writes(stage: Stage) -> None:
    """See that each write, alone, shows."""
    hand = stage.hand()
    for write in stage.case.writes:
        copy = stage.copy(hand)
        copy.write(write)
        if not copy.read():
            raise FoundError(f"after {named(write)} read() says that nothing differs")


def undone(stage: Stage) -> None:
    """Write, and undo it by hand."""
    if not stage.case.undo:
        raise SkipTest("the case has no undo=")
    hand = stage.hand()
    for write, back in stage.case.undo:
        copy = stage.copy(hand)
        copy.write(write, back)
        copy.require_base(f"{named(write)} and {named(back)}")


def ignored(stage: Stage) -> None:
    """Look for ignored fields in the base, and write into them."""
    case = stage.case
    if not case.terms.ignore:
        raise SkipTest("the terms ignore nothing")
    for text in case.terms.ignore:
        whole = f"{case.name}.{text}"
        if whole not in stage.made.ignored:
            raise FoundError(f"Base.ignored does not hold {whole!r}: it names something")
        first, *rest = Pattern.parse(text).parts
        for name, table in stage.made.tables.items():
            if first not in {None, name} or not table.records:
                continue
            if not rest or pick(table.value(), tuple(rest)):
                raise FoundError(f"the base holds what {whole!r} names, in table {shown(name)}")
    hand = stage.hand()
    for write in case.ignored:
        copy = stage.copy(hand)
        copy.write(write)
        copy.require_base(named(write))


def whole(stage: Stage) -> None:
    """Make a base of a copy that was written: it holds what the delta says."""
    case = stage.case
    if not case.is_source or not isinstance(case.terms.source.get("from"), str):
        raise SkipTest("a copy's place is no source of a base")
    for after, copy in stage.in_each_state():
        told = copy.read()
        other = stage.prepare(with_source(case.terms, copy.place), copy.writer())
        found = Delta.between(stage.made.tables, other.tables)
        if found != told:
            lines = ["from the delta to that base:", *changes(case.name, told, found)]
            raise FoundError(f"after {after} a base made of the copy holds something else", lines)


def unreadable(stage: Stage) -> None:
    """Spoil a copy."""
    if not stage.case.spoils:
        raise SkipTest("the case has no spoils=")
    for spoil in stage.case.spoils:
        copy = stage.copy()
        copy.write(spoil)
        _require_doubt(copy, named(spoil))
        copy.restore()
        copy.require_base(f"{named(spoil)} and restore()")


def _require_doubt(copy: HeldCopy, after: str) -> None:
    for verb, told in copy.answers():
        if told is not None and not isinstance(told, CannotTell) and not told:
            raise FoundError(f"after {after} {verb} says that nothing differs")


def apart(stage: Stage) -> None:
    """Write into one copy and look at others: of another process, and of the same."""
    write, *rest = stage.case.writes
    one, two = stage.copy(), stage.copy()
    three = stage.copy(one.hand)
    places = {one.place, two.place, three.place}
    if len(places) < 3:
        raise FoundError("two copies have one place", sorted(places))
    one.write(write)
    first = one.read()
    for other, what in ((two, "in another process"), (three, "in the same process")):
        other.require_base(f"{named(write)} in another copy, held {what},")
    two.write(*rest or [write])
    second = two.read()
    one.require_state(first, "writes in another copy")
    one.restore()
    one.require_base("restore() while another copy was written")
    two.require_state(second, "restore() of another copy")
    one.close()
    two.require_state(second, "close() of another copy")
    three.require_base("close() of another copy")
    stage.copy().require_base("writes in other copies, in a new one,")
    stage.require_still("writes in copies")


def closed(stage: Stage) -> None:
    """Close a copy that was written, and open the next."""
    hand = stage.hand()
    for writes in ((), stage.case.writes):
        copy = stage.copy(hand)
        copy.write(*writes)
        copy.close()
        left = [str(path) for path in copy.folder.rglob("*")] if copy.folder.exists() else []
        if left:
            raise FoundError("after close() there is still", few(left))
    stage.copy(hand).require_base("close() of the one before")
    stage.require_still("close()")
