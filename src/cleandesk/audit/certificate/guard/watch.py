"""Which resets of a live environment are checked, and what came of it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cleandesk.audit.certificate.guard.asking import Referee
from cleandesk.audit.certificate.guard.findings import Found, GuardReport, LeakError, LeakWarning
from cleandesk.audit.certificate.guard.live import (
    copy_steps,
    is_forkable,
    reaches_out,
    rig_over,
)
from cleandesk.audit.certificate.rig import Rig
from cleandesk.audit.certificate.streams import global_states, states_of, streams
from cleandesk.audit.certificate.texts import text_of_leaf
from cleandesk.audit.certificate.walk import Walk, walk
from cleandesk.errors import shown

T = TypeVar("T")
OnLeak = str | Callable[[Found], None]

STEPS = 100
_LIMITS = (
    "guard: between two checked resets nothing is looked at",
    "guard: leaks that show after more than 100 steps, or under other actions than those tried",
)


@dataclass(frozen=True, slots=True)
class Terms:
    """How a guard goes about it.

    Attributes:
        every: How many resets there are from one that is checked to the next.
        on_leak: ``warn``, ``raise``, or a function that is called with what was found.
        budget_share: The largest share of the wall time that it takes from the loop.
    """

    every: int = 100
    on_leak: OnLeak = "warn"
    budget_share: float = 0.02


@dataclass(slots=True)
class _Check:
    reset: int
    walk: Walk
    is_control: bool
    copy: int | None


class Guard:
    """Watches the resets of one environment in this process."""

    def __init__(self, env: Any, name: str, referee: Referee, terms: Terms) -> None:
        """Watch ``env``, which was not reset yet."""
        self._env = env
        self._name = name
        self._referee = referee
        self._terms = terms
        referee.join()
        # Now, since it imports what it needs; the loop has not begun.
        self._rig: Rig = rig_over(env)
        self._seed = 0
        self._pid = os.getpid()
        self._began = time.perf_counter()
        self._cost_s = 0.0
        self._counts = {"checked": 0, "judged": 0, "resets": 0, "skipped": 0, "traced": 0}
        self._since = 0
        self._pending: _Check | None = None
        self._first: dict[str, int] = {}
        self._inert: set[str] = set()
        self._leaking: set[str] = set()
        self._found: list[Found] = []
        self._unsaid: list[Found] = []
        self._not_checked = dict.fromkeys(_LIMITS)
        self._problem = ""
        self._untold: set[str] = set()

    def reset(self, call: Callable[[], T], *, seed: int | None = None, options: Any = None) -> T:
        """Make a reset by ``call``, and check it where it is due."""
        if self._problem or os.getpid() != self._pid:
            # In a copy of the process that began nobody would take the answers.
            return call()
        with self._costing():
            self.collect()
            self._counts["resets"] += 1
            self._since += 1
            seed = None if seed is None else int(seed)
            before = self._before(seed) if self._is_due(options) else None
            self._seed = self._seed if seed is None else seed
        said = call()
        if before is not None:
            with self._costing():
                self._check(before)
        return said

    def collect(self, wait_s: float = 0.0) -> None:
        """Take what has been answered, waiting for it up to ``wait_s``, and tell of leaks.

        Raises:
            LeakError: CD-863, there is one and ``on_leak`` is ``raise``.
        """
        self._referee.collect(wait_s)
        if self._referee.problem and not self._problem:
            self._stand_down(self._referee.problem)
        found, self._unsaid = self._unsaid, []
        for each in found:
            self._tell(each)

    def report(self) -> GuardReport:
        """Return what it has done so far."""
        return GuardReport(
            resets=self._counts["resets"],
            checked=self._counts["checked"],
            traced=self._counts["traced"],
            pending=int(self._pending is not None),
            skipped=self._counts["skipped"],
            findings=tuple(self._found),
            inert=tuple(sorted(self._inert - self._leaking)),
            untold=tuple(sorted(self._untold - self._inert - self._leaking)),
            cost_s=self._cost_s,
            elapsed_s=time.perf_counter() - self._began,
            problem=self._problem,
            not_checked=tuple(self._not_checked),
        )

    def close(self) -> None:
        """Take what has been answered, and check no more."""
        try:
            if not self._problem and os.getpid() == self._pid:
                self.collect()
                self._tell_of_none()
        finally:
            self._stop("it was closed")

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy of the environment is another one: nobody watches it.
        return _unwatched, ()

    def _is_due(self, options: Any) -> bool:
        is_first = self._counts["resets"] == 1
        if self._pending is not None or not (is_first or self._since >= self._terms.every):
            return False
        if options:
            self._counts["skipped"] += 1
            self._not_checked["guard: resets with options, which a fresh build is not given"] = None
            if is_first:
                self._stand_down("the first reset was given options")
            return False
        checked = self._counts["checked"]
        expected = self._cost_s / checked if checked else 0.0
        allowed = self._terms.budget_share * (time.perf_counter() - self._began)
        return is_first or self._cost_s + expected <= allowed

    def _before(self, seed: int | None) -> dict[str, Any] | None:
        """Note what the reset goes on from."""
        about = self._referee.about
        if seed is None and about is not None and not about["is_unseeded"]:
            text = "guard: resets without a seed, since the engine's own stream can't be read"
            self._not_checked[text] = None
            return None
        if seed is None and self._counts["resets"] == 1:
            _make_generator(self._env)
        return {
            "first": self._seed,
            "globals": global_states(),
            "seed": seed,
            "states": states_of(streams(self._rig.roots())) if seed is None else None,
            "steps": STEPS,
        }

    def _check(self, plan: dict[str, Any]) -> None:
        seen = walk(self._rig.roots())
        is_control = self._counts["resets"] == 1
        is_traced = self._may_copy(seen)
        plan["here"] = dict(seen.tokens)
        asked = {"is_control": is_control, "is_traced": is_traced, "plan": plan}
        number = self._referee.ask(asked, self._answered)
        copy = copy_steps(self._env, self._referee.folder, number) if is_traced else None
        self._pending = _Check(self._counts["resets"], seen, is_control, copy)
        self._counts["checked"] += 1
        self._counts["traced"] += is_traced
        self._since = 0

    def _may_copy(self, seen: Walk) -> bool:
        why = reaches_out(seen.opaque, self._env) if is_forkable() else "this is not Linux"
        if why:
            self._not_checked[f"guard: what a field that differs does to the steps: {why}"] = None
        return not why

    def _answered(self, said: Mapping[str, Any]) -> None:
        check, self._pending = self._pending, None
        if check is None:
            return
        _end(check.copy)
        if said["problem"]:
            self._stand_down(said["problem"])
            return
        if said.get("steps_problem"):
            self._not_checked[f"guard: steps, since {shown(said['steps_problem'])}"] = None
        self._counts["judged"] += not check.is_control
        paths = [path for path, _ in said["differing"]]
        for path in paths:
            self._first.setdefault(path, check.reset)
        is_told = check.copy is not None and not said.get("steps_problem")
        if not is_told:
            self._untold |= set(paths)
        elif said["step"] is None:
            self._inert |= set(paths)
        elif check.is_control:
            self._stand_down(
                "already after the first reset the reference says something else: it is "
                "another environment, or this one was used before it was guarded or draws "
                "on the system's entropy"
            )
        else:
            self._leak(said, check)

    def _leak(self, said: Mapping[str, Any], check: _Check) -> None:
        paths = {path for path, _ in said["differing"]}
        if self._found and paths <= self._leaking:
            return
        self._leaking |= paths
        tokens = check.walk.tokens
        fields = tuple(
            (path, fresh, text_of_leaf(check.walk.leaf(path)) if path in tokens else "absent")
            for path, fresh in sorted(said["differing"], key=_order)
        )
        first = min((self._first[path] for path in paths), default=check.reset)
        opaque = tuple(f"{path} ({about})" for path, (about, _) in check.walk.opaque.items())
        found = Found(self._name, check.reset, first, said["step"], fields, opaque)
        self._found.append(found)
        self._unsaid.append(found)

    def _tell(self, found: Found) -> None:
        on_leak = self._terms.on_leak
        if callable(on_leak):
            on_leak(found)
        elif on_leak == "raise":
            raise LeakError("CD-863", str(found), do="see env.guard.report() for all of it")
        else:
            _warn(str(found))

    def _tell_of_none(self) -> None:
        """Say so where the loop ended before any reset that was due was judged."""
        resets = self._counts["resets"] - self._counts["skipped"]
        if resets > self._terms.every and not self._counts["judged"] and not self._problem:
            _warn(
                f"none of {resets} resets of {self._name} was judged: the loop ended before a "
                "fresh build was there to compare with, which takes some seconds"
            )

    def _stand_down(self, problem: str) -> None:
        self._stop(shown(problem, 500))
        _warn(f"{self._name} is guarded no more: {self._problem}")

    def _stop(self, why: str) -> None:
        if self._problem or os.getpid() != self._pid:
            return
        self._problem = why
        check, self._pending = self._pending, None
        if check is not None:
            _end(check.copy)
        self._referee.leave()

    @contextlib.contextmanager
    def _costing(self) -> Any:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._cost_s += time.perf_counter() - begun


def _make_generator(env: Any) -> None:
    """Have Gymnasium make the generator that a first reset without a seed makes anyway.

    It is seeded by the system either way; made before the reset, its state can be read.
    """
    inner = getattr(env, "unwrapped", env)
    own = getattr(inner, "__dict__", {})
    if own.get("_np_random") is None and isinstance(
        getattr(type(inner), "np_random", None), property
    ):
        with contextlib.suppress(AttributeError):
            _ = inner.np_random


def _warn(text: str) -> None:
    """Warn at the line of the loop, and not at one of the guard's own."""
    level, frame = 1, sys._getframe()
    own = (str(Path(__file__).parent), contextlib.__file__)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, LeakWarning, stacklevel=level)


def _unwatched() -> None:
    return None


def _order(row: tuple[str, str]) -> tuple[bool, bool, str]:
    # What the environment itself holds first, then its wrappers, then what is shared.
    path = row[0]
    return path.startswith("["), not path.startswith("env."), path


def _end(copy: int | None) -> None:
    """End a copy of this process; as a rule it has ended by itself."""
    if copy is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(copy, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(copy, 0)
