"""What the answers of devices mean: each as a check, in one sentence with its evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from cleandesk.audit.certificate.certificate import Check
from cleandesk.audit.certificate.rows import ROW_BYTES, first_unequal
from cleandesk.errors import shown
from cleandesk.state.reference import spelled
from cleandesk.verdict import Status

Told = Mapping[str, Mapping[str, str]]

_MOST_NAMED = 6
_DRAWN = 5
_DIGEST = re.compile(r"sha256 [0-9a-f]+")


def alias(changes: Sequence[Mapping[str, Any]], steps: int) -> Check:
    """Judge what changed after it was returned."""
    found = {each["channel"]: each for each in changes}
    said = []
    for channel, each in sorted(found.items(), reverse=True):
        source = "the reset" if each["said"] == 0 else f"step {each['said']}"
        until = "the next reset" if each["changed"] > steps else f"step {each['changed']}"
        said.append(f"the {channel} that {source} returned was overwritten by {until}")
    if "observation" in found:
        text = f"{'; '.join(said)}: an agent that keeps it sees what comes later"
        return Check("alias", Status.FAIL, text, blocks=True)
    if said:
        return Check("alias", Status.PASS, f"observations stay as they were said; {said[0]}")
    return Check("alias", Status.PASS, f"what was said stays as it was, over {steps} steps")


def first_reset(answer: Mapping[str, Any], reference: bytes, fields: Sequence[str] = ()) -> Check:
    """Judge a second reset that no step came before."""
    place = _apart(answer, reference)
    if place is not None:
        text = f"a second reset with no step between gives another trace, from row {place} on"
        return Check("first-reset", Status.FAIL, _with_error(text, answer), blocks=True)
    if fields:
        text = f"a second reset gives the same {_rows(answer)} rows; not read: {_names(fields)}"
        return Check("first-reset", Status.PASS, text)
    return Check("first-reset", Status.PASS, f"a second reset gives the same {_rows(answer)} rows")


def neighbour(answer: Mapping[str, Any], reference: bytes) -> Check:
    """Judge the trace of a rig next to which another one ran."""
    return _same(
        "neighbour",
        _apart(answer, reference),
        answer,
        "two rigs in one process disturb each other: beside another the trace differs",
        "a second rig in the same process, stepped in turn, changes nothing",
    )


def process(answer: Mapping[str, Any], reference: bytes) -> Check:
    """Judge the trace of a new rig in a process in which another one ran episodes."""
    return _same(
        "process",
        _apart(answer, reference),
        answer,
        "a new build in the used process is not fresh: state lives in its classes, modules, "
        "compiled libraries or surroundings",
        "a new build in the used process equals one in a fresh process",
    )


def order(
    answers: Sequence[tuple[Sequence[int], Sequence[Mapping[str, Any]]]],
    references: Mapping[int, bytes],
) -> Check:
    """Judge traces of the same seeds, taken in several orders.

    Args:
        answers: For each order, the seeds and what each trace said.
        references: Seed -> rows of a fresh build.
    """
    for seeds, traces in answers:
        for number, (seed, trace) in enumerate(zip(seeds, traces, strict=False)):
            place = _apart(trace, references[seed])
            if place is not None:
                came = ", ".join(map(str, seeds[:number])) or "nothing"
                text = f"seed {seed} gives another trace after {came}, from row {place} on"
                return Check("order", Status.FAIL, _with_error(text, trace), blocks=True)
    count = len(answers[0][0]) if answers else 0
    text = f"each of {count} seeds gives its own trace in {len(answers)} orders"
    return Check("order", Status.PASS if answers else Status.UNKNOWN, text)


def global_streams(answer: Mapping[str, Mapping[str, Any]]) -> Check:
    """Say which global random streams are drawn from or seeded."""
    said = [
        f"{stage} {_moved(how)} the global stream of {name}"
        for stage, moves in answer.items()
        for name, how in moves.items()
    ]
    if not said:
        text = "no global random stream was drawn from or seeded"
        return Check("global-streams", Status.PASS, text)
    text = f"{'; '.join(said)}: whatever else uses it changes the rig, and the rig changes that"
    return Check("global-streams", Status.FAIL, text)


def _moved(how: Mapping[str, Any]) -> str:
    if "drew" not in how:
        return "seeded, or drew much from,"
    return f"drew {how['drew']} words from" if how["drew"] else "drew from"


def outside(fresh: Mapping[str, Any], judged: Mapping[str, Any]) -> Check:
    """Say what state outside the rig its reset did not put back; it blocks nothing by itself."""
    names = outside_names(fresh["told"], judged["told"])
    late = sorted(set(judged["loaded"]) - set(fresh["loaded"]))
    more = f"; imported on the way: {_names(late)}" if late else ""
    if not names:
        text = f"state outside the rig is as after the reset of a fresh build{more}"
        return Check("outside", Status.PASS, text)
    said = [f"{name} {was} -> {now}" for name, (was, now) in names.items()]
    text = f"not put back: {'; '.join(said[:_MOST_NAMED])}{_rest(said)}{more}"
    return Check("outside", Status.FAIL, text)


def outside_names(fresh: Told, judged: Told) -> dict[str, tuple[str, str]]:
    """Return each state outside the rig that differs: name -> (fresh, judged), as texts."""
    found: dict[str, tuple[str, str]] = {}
    for part in sorted(fresh.keys() | judged.keys()):
        one, other = fresh.get(part, {}), judged.get(part, {})
        same = _renamed(one, other)
        for name in sorted(one.keys() | other.keys()):
            if name in same:
                continue
            sides = one.get(name), other.get(name)
            if sides[0] != sides[1]:
                path = spelled(("outside", part, name) if name else ("outside", part))
                found[path] = (_side(sides[0]), _side(sides[1]))
    return found


def _renamed(one: Mapping[str, str], other: Mapping[str, str]) -> frozenset[str]:
    """Return the names on one side only that are one thing under two names drawn by chance."""
    found: set[str] = set()
    rest = sorted(other.keys() - one.keys())
    for name in sorted(one.keys() - other.keys()):
        for twin in rest:
            # What nobody can find again by its name is not compared by its content either.
            is_alike = _DIGEST.sub("", one[name]) == _DIGEST.sub("", other[twin])
            if is_alike and _is_drawn(name, twin):
                found |= {name, twin}
                rest.remove(twin)
                break
    return frozenset(found)


def _is_drawn(name: str, twin: str) -> bool:
    """Tell whether two names differ in nothing but a run of characters as a random name has."""
    if len(name) != len(twin):
        return False
    apart = [place for place, (a, b) in enumerate(zip(name, twin, strict=True)) if a != b]
    runs = (text[apart[0] : apart[-1] + 1] for text in (name, twin))
    # A counter or a seed in a name is short or of digits alone, and stays a difference.
    plain = [run.replace("_", "").replace("-", "") for run in runs]
    return len(apart) >= _DRAWN and all(run.isalnum() and not run.isdigit() for run in plain)


def _side(text: str | None) -> str:
    return "as before the build" if text is None else shown(text, 120)


def readers(rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Name who reads a clock or draws entropy: ``step: time.time, 200 times (world.py:31)``."""
    return tuple(
        f"{stage}: {what}, {times} time{'s' * (times != 1)} ({shown(PurePath(file).name)}:{line})"
        for stage, what, file, line, times in rows
    )


def not_run(name: str, why: str) -> Check:
    """Say that a check could not be made."""
    return Check(name, Status.UNKNOWN, shown(why))


def _apart(answer: Mapping[str, Any], reference: bytes) -> int | None:
    rows = bytes(answer["rows"])
    size = min(len(rows), len(reference))
    # Either may have gone further; where one raised, its last row says so.
    return first_unequal(rows[:size], reference[:size])


def _same(name: str, place: int | None, answer: Mapping[str, Any], bad: str, good: str) -> Check:
    if place is None:
        return Check(name, Status.PASS, f"{good}, over {_rows(answer)} rows")
    # Not the reset's fault: an evaluation with one rig in one process never meets it.
    return Check(name, Status.FAIL, _with_error(f"{bad} (from row {place})", answer))


def _with_error(text: str, answer: Mapping[str, Any]) -> str:
    return f"{text}; it raised {shown(answer['raised'])}" if answer.get("raised") else text


def _rows(answer: Mapping[str, Any]) -> int:
    return len(answer["rows"]) // ROW_BYTES


def _names(names: Sequence[str]) -> str:
    return ", ".join(shown(name, 80) for name in names[:_MOST_NAMED]) + _rest(names)


def _rest(names: Sequence[str]) -> str:
    return f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
