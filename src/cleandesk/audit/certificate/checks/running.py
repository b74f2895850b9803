"""Asking the devices, and judging what they answer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cleandesk.audit.certificate.certificate import Check
from cleandesk.audit.certificate.checks import said
from cleandesk.audit.certificate.links import DeviceError, Link

MOST_STEPS = 200
_ALIAS_STEPS = 20
_EACH_S = 1.0
_ORDERED = 4
_BESIDE_S = 120.0
"""How many seeds are put in order."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What further tests stand on.

    Attributes:
        fresh: Makes a device in a fresh process, built and not reset; whoever made it ends
            it.
        judged: The device that ran the episodes, or None where there is none.
        plan: Seed, numbers for the generator and steps of a trace.
        rows: The rows of a fresh build under that plan; it may have gone further.
        references: Further seeds -> rows of a fresh build under the same plan, where they
            are known; the order test gets what it lacks.
        resets_alike: Whether a second reset is meant to start as the first did; it is not
            where the harness resets without a seed.
        has_rows: Whether rows can be compared; not those of a rig whose own steps jitter.
    """

    fresh: Callable[[], Link]
    judged: Link | None
    plan: Mapping[str, Any]
    rows: bytes
    references: Mapping[int, bytes] = field(default_factory=dict)
    resets_alike: bool = True
    has_rows: bool = True

    @property
    def compares_resets(self) -> bool:
        """Whether two resets of one seed are to give the same rows."""
        return self.has_rows and self.resets_alike


def run_checks(basis: Basis, *, orders: int = 0) -> tuple[Check, ...]:
    """Make the further tests, each in a process that is thrown away.

    Args:
        basis: What they stand on.
        orders: How many orders of the seeds are tried; 0 for none.
    """
    asked = _Asked(basis.fresh)
    most = min(basis.plan["steps"], MOST_STEPS)
    short = {**basis.plan, "steps": min(most, _ALIAS_STEPS)}
    try:
        asked.start()
    except DeviceError as error:
        return (said.not_run("alias", f"no further test could be made: {error}"),)
    begun = time.monotonic()
    checks = [asked.check("alias", short, lambda got: said.alias(got, short["steps"]))]
    took_s = max(time.monotonic() - begun, 1e-3)
    # Of a slow rig fewer steps, so that each test takes about as long as of any other.
    plan = {**short, "steps": min(most, int(short["steps"] * max(1.0, _EACH_S / took_s)))}
    if basis.compares_resets:
        checks.append(_first_reset(asked, plan, basis.rows))
    if basis.has_rows:
        checks.append(asked.check("neighbour", plan, lambda got: said.neighbour(got, basis.rows)))
    checks.append(asked.check("global-streams", short, said.global_streams))
    checks += _of_judged(asked, basis, plan)
    if orders and basis.compares_resets:
        checks.append(_order(asked, basis, plan, orders))
    return tuple(checks)


def time_readers(fresh: Callable[[], Link], plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the code that reads a clock or draws entropy; empty where it can't be told."""
    try:
        rows = _Asked(fresh).ask("time-readers", {**plan, "steps": min(plan["steps"], MOST_STEPS)})
    except DeviceError:
        return ()
    return said.readers(rows)


class _Asked:
    """A fresh device that is asked in forks; where it can't be forked, one for each question."""

    def __init__(self, fresh: Callable[[], Link]) -> None:
        self._fresh = fresh
        self._link: Link | None = None

    def start(self) -> Link:
        """Return the device that is asked next."""
        if self._link is None:
            self._link = self._fresh()
        return self._link

    def ask(self, name: str, values: Mapping[str, Any]) -> Any:
        """Ask in a process that has only been built in, and that is thrown away."""
        link = self.start()
        try:
            return link.attempt(name, values)
        except DeviceError as error:
            if error.kind != "threads":
                raise
        self._link = None
        return link.call(name, values)

    def check(self, name: str, values: Mapping[str, Any], judge: Callable[[Any], Check]) -> Check:
        """Ask and judge; what can't be asked is a check that says so."""
        try:
            return judge(self.ask(name, values))
        except DeviceError as error:
            return said.not_run(name, f"it could not be made: {error}")


def _first_reset(asked: _Asked, plan: Mapping[str, Any], rows: bytes) -> Check:
    try:
        answer = asked.ask("first-reset", plan)
        fields = asked.ask("first-reset-fields", plan)
    except DeviceError as error:
        return said.not_run("first-reset", f"it could not be made: {error}")
    return said.first_reset(answer, rows, fields)


def _of_judged(asked: _Asked, basis: Basis, plan: Mapping[str, Any]) -> list[Check]:
    link = basis.judged
    if link is None:
        return []
    checks = []
    try:
        fresh = asked.ask("outside", plan)
        checks.append(said.outside(fresh, _thrown_away(link, "outside", plan)))
    except DeviceError as error:
        checks.append(said.not_run("outside", f"it could not be made: {error}"))
    if not basis.has_rows:
        return checks
    # A second build beside the first may wait for what the first holds, and for ever.
    ends = time.monotonic() + _BESIDE_S
    link.ends = ends if link.ends is None else min(ends, link.ends)
    try:
        # The last of all: where the device can't be forked, it is used up by it.
        checks.append(said.process(_thrown_away(link, "process", plan), basis.rows))
    except DeviceError as error:
        checks.append(said.not_run("process", f"it could not be made: {error}"))
    return checks


def _thrown_away(link: Link, name: str, values: Mapping[str, Any]) -> Any:
    try:
        return link.attempt(name, values)
    except DeviceError as error:
        if error.kind != "threads":
            raise
    return link.call(name, values)


def _order(asked: _Asked, basis: Basis, plan: Mapping[str, Any], orders: int) -> Check:
    answers = []
    try:
        references = {**basis.references, basis.plan["seed"]: basis.rows}
        for seed in range(basis.plan["seed"], basis.plan["seed"] + _ORDERED):
            if seed not in references:
                # By itself, in a fork of a build that was never reset.
                alone = asked.ask("order", {"plans": [{**plan, "seed": seed}]})
                references[seed] = alone[0]["rows"]
        for seeds in _orders(sorted(references), orders):
            plans = [{**plan, "seed": seed} for seed in seeds]
            answers.append((seeds, asked.ask("order", {"plans": plans})))
    except DeviceError as error:
        return said.not_run("order", f"it could not be made: {error}")
    return said.order(answers, references)


def _orders(seeds: Sequence[int], count: int) -> list[list[int]]:
    """Return up to ``count`` orders: as they are, backwards, then drawn ones."""
    draw = random.Random(len(seeds))  # noqa: S311 - an order, not a secret
    found = [list(seeds), list(reversed(seeds))]
    found += [draw.sample(list(seeds), len(seeds)) for _ in range(8 * count)]
    distinct = list(dict.fromkeys(map(tuple, found)))
    return [list(each) for each in distinct[:count]]
