"""The keys of a suite file and their types, and errors that name the key at fault.

This is where every key that a user may write is listed; docs/reference/suite.md
documents each of them (tests/unit/test_tasks_suite_page.py compares the two).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from cleandesk.errors import SuiteError, shown

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Text = Annotated[str, Meta(min_length=1)]
Table = dict[str, Any]


class LimitKeys(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The table ``limits``; only the limits that are set."""

    steps: Positive | None = None
    agent_seconds: Seconds | None = None
    episode_agent_seconds: Seconds | None = None
    tokens: Positive | None = None
    usd: Annotated[float, Meta(gt=0)] | None = None
    world_seconds: Seconds | None = None


class NetworkKeys(Struct, forbid_unknown_fields=True):
    """The table ``network``: hosts that each process may reach."""

    world: list[Text] = []
    agent: list[Text] = []


class OutageKeys(Struct, forbid_unknown_fields=True):
    """The table ``outage`` of a disturbance that comes in stretches of time."""

    share: Share
    minutes: Seconds


class DisturbKeys(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One ``[[disturb]]``: a fault injected on purpose."""

    on: Text
    fault: Text
    when: Table | None = None
    count: list[Positive] | None = None
    share: Share | None = None
    outage: OutageKeys | None = None


class EventKeys(Struct, forbid_unknown_fields=True, omit_defaults=True, rename={"with_": "with"}):
    """One ``[[event]]``: something that the world does by itself at a step."""

    name: Text
    step: int | str
    with_: Table | None = None


class SetupKeys(Struct, forbid_unknown_fields=True, omit_defaults=True, rename={"with_": "with"}):
    """One step of ``setup``: a call, a condition to await, or a premise."""

    call: Text | None = None
    wait: Text | None = None
    expect: Table | None = None
    with_: Table | None = None
    timeout_s: Seconds | None = None


class ExpectKeys(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One right answer in ``expect``: the whole change that it makes."""

    changed: Table | None = None
    added: Table | None = None
    removed: Table | None = None
    exact: bool | None = None


class CheckKeys(Struct, forbid_unknown_fields=True, rename={"with_": "with"}):
    """One entry of ``check``: a function, its arguments and its weight."""

    ref: Text
    with_: Table = {}
    weight: Annotated[float, Meta(gt=0)] = 1.0


class TaskKeys(Struct, forbid_unknown_fields=True, rename={"with_": "with"}):
    """One ``[[task]]``, or one line of a JSONL file."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    goal: Text
    world: Text | None = None
    with_: Table = {}
    seeds: str | int | list[int] | None = None
    draw: Table = {}
    setup: list[Table] = []
    expect: Table | list[Table] | None = None
    answer: Any = None
    accept: Literal["any"] = "any"
    check: str | Table | list[str | Table] | None = None
    combine: Literal["and", "or"] = "and"
    limits: Table = {}
    family: Text | None = None
    infeasible: bool = False
    may_change: bool = False
    options: Table = {}
    disturb: list[Table] = []
    event: list[Table] = []


class SuiteKeys(Struct, forbid_unknown_fields=True, rename={"with_": "with"}):
    """The top of a suite file."""

    name: Text | None = None
    version: str = "0"
    description: str = ""
    labels: list[str] = []
    world: Text | None = None
    with_: Table = {}
    seeds: str | int | list[int] = "1"
    trials: Positive = 1
    limits: Table = {}
    network: Table = {}
    isolation: Literal["fork", "spawn", "shared"] | None = None
    on_wrong_start: Literal["rerun", "refuse", "record"] | None = None
    reruns: Annotated[int, Meta(ge=0)] | None = None
    disturb: list[Table] = []
    event: list[Table] = []
    task: list[Table] = []
    tasks: list[Table] = []


STRUCTS: tuple[type[Struct], ...] = (
    SuiteKeys,
    TaskKeys,
    LimitKeys,
    NetworkKeys,
    DisturbKeys,
    OutageKeys,
    EventKeys,
    SetupKeys,
    ExpectKeys,
    CheckKeys,
)

S = TypeVar("S", bound=Struct)


def keys_of(struct: type[Struct]) -> tuple[str, ...]:
    """Return the keys that a user may write in ``struct``, as written."""
    return struct.__struct_encode_fields__


def convert(given: Any, struct: type[S], *, where: str) -> S:
    """Read ``given`` as ``struct``.

    Raises:
        SuiteError: CD-403, a key that ``struct`` does not have; CD-404, a value of
            another type or outside its limits, or a key that must be there and isn't.
    """
    if isinstance(given, Mapping):
        require_known(given, keys_of(struct), where=where)
    try:
        return msgspec.convert(given, struct)
    except msgspec.ValidationError as error:
        text = str(error).replace("Object ", "the table ").replace("`$.", "`")
        raise SuiteError(
            "CD-404",
            shown(text[:1].lower() + text[1:], 300),
            where=where,
            do="docs/reference/suite.md shows each key with its type",
        ) from error


def require_known(given: Mapping[str, Any], known: tuple[str, ...], *, where: str) -> None:
    """Refuse the first key of ``given`` that is not in ``known``.

    Raises:
        SuiteError: CD-403, with the nearest key that there is.
    """
    for key in given:
        if key in known:
            continue
        near = difflib.get_close_matches(str(key), known, 1, cutoff=0.5)
        raise SuiteError(
            "CD-403",
            f"there is no key {shown(repr(key), 60)}",
            where=where,
            do=f"did you mean {near[0]!r}?" if near else f"the keys are: {', '.join(known)}",
        )


def plain(struct: Struct) -> dict[str, Any]:
    """Return the keys that were set, as a dict of plain values."""
    held = msgspec.to_builtins(struct)
    return {key: value for key, value in held.items() if value is not None}


def require_json(value: Any, *, where: str) -> None:
    """Refuse what JSON cannot say; such a value could not reach a world or a log.

    Raises:
        SuiteError: CD-414, a date, a time, a NaN or an infinity.
    """
    if isinstance(value, (datetime, date, time)):
        raise SuiteError(
            "CD-414",
            f"{value.isoformat()} is a date or time, which can't be handed on here",
            where=where,
            do=f'write it as text, in quotes: "{value.isoformat()}"',
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise SuiteError("CD-414", f"{value} is not a number", where=where, do="write a number")
    if isinstance(value, Mapping):
        for key, item in value.items():
            require_json(item, where=f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            require_json(item, where=where)
