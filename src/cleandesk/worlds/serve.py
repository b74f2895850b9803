"""One world behind a channel: built, reset, stepped and read on request.

Requests are frames: B build, R reset, S step, E end (read the change), D debug,
C close. Answers are frames: P hello, b built, r reset, s step, e end, X failure, and,
before the answer to R, K: what do these fields of the copies hold? The world is read
here, where it lives; only what was read leaves.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.errors import CleandeskError, WorldError, text_of
from cleandesk.processes import mark_own, pin_to
from cleandesk.state import Pattern, Snapshot, decode, diff, encode
from cleandesk.state.canon import ALL_BYTES
from cleandesk.state.contract import Contract
from cleandesk.state.diff import to_json
from cleandesk.state.fingerprint import surface_digests
from cleandesk.state.prune import pick
from cleandesk.surfaces.objects import read_attributes
from cleandesk.worlds.at import At
from cleandesk.worlds.capture import (
    Capture,
    Inside,
    capture,
    contract_of,
    inside_of,
    require_early,
    reset_services,
)
from cleandesk.worlds.events import Schedule
from cleandesk.worlds.network import take_blocked
from cleandesk.worlds.spaces import describe_space

_RESET_PARTS = ("observation", "info")
_STEP_PARTS = ("observation", "reward", "terminated", "truncated", "info")


class PremiseError(Exception):
    """What a task takes for granted does not hold at its own start."""


def serve_world(channel: Channel, factory: Callable[..., Any], leading: tuple[Any, ...]) -> None:
    """Answer requests until the channel closes."""
    channel.send(b"P", b"%d" % os.getpid(), mark_own().encode())

    def ask(fields: list[str]) -> dict[str, list[Any]]:
        channel.send(b"K", encode(fields))
        kind, parts = channel.receive()
        if kind != b"K":
            # It could not look; whatever it asks for now, this setup is at its end.
            raise ChannelClosedError
        found: dict[str, list[Any]] = decode(parts[0])
        return found

    server = _Server(factory, leading, ask)
    while True:
        try:
            kind, parts = channel.receive()
        except ChannelClosedError:
            return
        try:
            answer = server.answer(kind, parts)
        except BaseException as error:  # noqa: BLE001 - a world may raise anything; blame is decided outside
            server.debug_if_asked()
            channel.send(b"X", encode(_failure(server.stage or kind, error)))
            continue
        channel.send(*answer)


class _Server:
    def __init__(
        self,
        factory: Callable[..., Any],
        leading: tuple[Any, ...],
        ask: Callable[[list[str]], dict[str, list[Any]]],
    ) -> None:
        self._factory = factory
        self._leading = leading
        self._ask = ask
        self._at = At()
        self._world: Any = None
        self._inside = Inside(self._at)
        self._start: Capture | None = None
        self._schedule = Schedule((), 0)
        self._is_debugging = False
        # Where a request is that has come further than its letter says.
        self.stage = b""
        self._answers: dict[bytes, Callable[[list[bytes]], tuple[bytes, ...]]] = {
            b"B": self._build,
            b"R": self._reset,
            b"S": self._step,
            b"E": self._end,
            b"V": self._view,
            b"D": self._debug,
            b"N": self._attributes,
            b"C": self._close,
            b"Q": self._quiet,
        }

    def answer(self, kind: bytes, parts: list[bytes]) -> tuple[bytes, ...]:
        self.stage = b""
        return self._answers[kind](parts)

    def _build(self, parts: list[bytes]) -> tuple[bytes, ...]:
        settings = decode(parts[0])
        pin_to(settings["core"])
        self._is_debugging = settings["debug"]
        early = self._settle_in(settings)
        self._world = build(self._factory, self._leading, self._at, settings["with"])
        terms = contract_of(self._world)
        require_early(terms, early)
        self._at.pin(terms.clock)
        described = {
            "action_space": _space(self._world),
            "contract": terms.to_plain(),
            "identity": terms.identity,
            "pays": getattr(self._world, "pays", "step"),
            "tools": getattr(self._world, "tools", None),
        }
        return b"b", encode(described, inline_bytes=ALL_BYTES)

    def _settle_in(self, settings: Mapping[str, Any]) -> Any:
        """Take the places of the copies, the clock and the baseline; return the early contract."""
        self._at.places.update(settings["places"])
        if settings["holder"] is not None:
            from cleandesk.surfaces.mounts import enter

            # The folders that this world sees are mounted where the harness holds them.
            enter(settings["holder"])
        early = getattr(self._factory, "contract", None)
        if isinstance(early, Contract):
            # A world may ask for the time in its constructor already.
            self._at.pin(early.clock)
            self._inside = inside_of(self._at, early, settings["folders"])
        return early

    def _reset(self, parts: list[bytes]) -> tuple[bytes, ...]:
        settings = decode(parts[0])
        if self._at.served is not None:
            self._at.served.start_after_restore()
        reset_services(self._at, contract_of(self._world))
        self._at.begin(settings["seed"], instance=settings["instance"], rules=settings["disturb"])
        self._schedule = Schedule(settings["events"], settings["seed"])
        observation, info = _parts(
            self._world.reset(seed=settings["seed"], options=settings["options"] or None),
            "reset",
            _RESET_PARTS,
        )
        for step in settings["setup"]:
            self._set_up(step)
        observe = getattr(self._world, "observe", None)
        if settings["setup"] and callable(observe):
            # What reset returned is from before the setup.
            observation = observe()
        terms = contract_of(self._world)
        self._at.settle()
        self.stage = b"E"
        self._start = capture(self._world, self._inside, terms)
        snapshot = self._start.snapshot
        start_view = terms.start_view(snapshot)
        facts = {
            "blocked": take_blocked(),
            "digests": surface_digests(start_view),
            "ignored": sorted(self._start.ignored),
            "not_read": list(self._start.not_read),
            "undeclared": [list(row) for row in terms.undeclared(snapshot)],
        }
        shot = snapshot.to_bytes() if settings["snapshot"] else b""
        return b"r", _wire(observation), _wire(info), encode(facts), shot

    def _set_up(self, step: Mapping[str, Any]) -> None:
        if "expect" in step:
            self._require_premises(step["expect"])
            return
        name = step.get("call") or step["wait"]
        method = getattr(self._world, name, None)
        if name.startswith("_") or not callable(method):
            raise PremiseError(f"the world has no method {name!r} that a setup step may call")
        values = step.get("with", {})
        _require_arguments(method, name, values)
        if "call" in step:
            method(**values)
        else:
            await_condition(lambda: method(**values), name, step.get("timeout_s", 10.0))

    def _require_premises(self, expected: Mapping[str, Any]) -> None:
        terms = contract_of(self._world)
        self._at.apps.settle()
        tree = capture(self._world, self._inside, terms).snapshot.tree()
        # Surfaces with a base are the harness's to read.
        apart = self._ask(sorted(expected)) if self._at.places else {}
        for text, wanted in expected.items():
            found = [*pick(tree, Pattern.parse(text).parts), *apart.get(text, ())]
            if [encode(value) for value in found] != [encode(wanted)]:
                held = "no such field" if not found else repr(found[0])
                raise PremiseError(f"the task expects {text} = {wanted!r} at its start; {held}")

    def _step(self, parts: list[bytes]) -> tuple[bytes, ...]:
        fired = self._schedule.fire(self._world)
        observation, reward, terminated, truncated, info = _parts(
            self._world.step(decode(parts[0])), "step", _STEP_PARTS
        )
        extra: dict[str, Any] = {}
        if fired:
            extra["events"] = fired
        blocked = take_blocked()
        if blocked:
            extra["blocked"] = blocked
        return (
            b"s",
            _wire(observation),
            encode(_reward(reward)),
            b"%d%d" % (bool(terminated), bool(truncated)),
            _wire(info),
            encode(extra) if extra else b"",
        )

    def _end(self, parts: list[bytes]) -> tuple[bytes, ...]:
        self._at.settle()
        end = capture(self._world, self._inside, contract_of(self._world)).snapshot
        start = self._start.snapshot if self._start else end
        changes = diff(start, end)
        return (
            b"e",
            encode(to_json(changes)),
            encode(surface_digests(end)),
            end.to_bytes() if parts[0] == b"1" else b"",
        )

    def _view(self, _: list[bytes]) -> tuple[bytes, ...]:
        """Read the state as it is now: who wrote a leaked field is found step by step."""
        self._at.settle()
        snapshot = capture(self._world, self._inside, contract_of(self._world)).snapshot
        return b"v", snapshot.to_bytes()

    def _attributes(self, parts: list[bytes]) -> tuple[bytes, ...]:
        """Build and reset a world that may lack a contract, and read what it holds."""
        settings = decode(parts[0])
        self._settle_in(settings)
        world = build(self._factory, self._leading, self._at, settings["with"])
        self._at.begin(settings["seed"], instance="", rules=())
        world.reset(seed=settings["seed"])
        tables, left_out = read_attributes(world, leave={id(self._at)})
        name = type(world).__qualname__
        return b"n", Snapshot.of("proposal", {"state": tables}).to_bytes(), encode([name, left_out])

    def _debug(self, parts: list[bytes]) -> tuple[bytes, ...]:
        import pdb

        world = self._world
        sys.stderr.write(f"{parts[0].decode()}\nThe world is in `world`; c goes on.\n")
        pdb.Pdb(nosigint=True).set_trace(sys._getframe())
        del world
        return (b"d",)

    def debug_if_asked(self) -> None:
        """Open the debugger where the world raised, if --pdb was given."""
        if self._is_debugging:
            import pdb

            pdb.post_mortem(sys.exc_info()[2])

    def _quiet(self, _: list[bytes]) -> tuple[bytes, ...]:
        """Stop what must not be at work while the state is put back under it."""
        if self._at.served is not None:
            self._at.served.stop_for_restore()
        return (b"q",)

    def _close(self, _: list[bytes]) -> tuple[bytes, ...]:
        close = getattr(self._world, "close", None)
        if close is not None:
            close()
        if self._at.served is not None:
            self._at.served.close()
        return (b"c",)


def build(
    factory: Callable[..., Any], leading: tuple[Any, ...], at: At, values: Mapping[str, Any]
) -> Any:
    """Build a world, giving it ``at`` if its constructor takes it.

    Raises:
        WorldError: CD-213, its constructor does not take one of ``values``.
    """
    names, takes_any = arguments_of(factory)
    unknown = [name for name in values if name not in names and not takes_any]
    if names and unknown:
        raise WorldError(
            "CD-213",
            f"the world takes no argument {unknown[0]!r}",
            where="`with` of the suite, or -T",
            do=f"it takes: {', '.join(name for name in names if name != 'at') or 'no argument'}",
        )
    given = {"at": at} if "at" in names else {}
    return factory(*leading, **given, **values)


@functools.cache
def arguments_of(factory: Callable[..., Any]) -> tuple[tuple[str, ...], bool]:
    """Return the names of a constructor's arguments, and whether it takes any other.

    Asked once in the importer: in a fork it would cost more than the capture.
    """
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return (), False
    takes_any = any(item.kind is item.VAR_KEYWORD for item in parameters.values())
    return tuple(parameters), takes_any


def await_condition(condition: Callable[[], Any], name: str, timeout_s: float) -> None:
    """Ask ``condition`` until it holds.

    Raises:
        TimeoutError: It did not hold within ``timeout_s`` seconds.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = 0.001
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition {name!r} did not hold within {timeout_s} s")
        # The world has no event to wait on, only an answer to ask for: ask ever slower.
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.1)


def _parts(returned: Any, method: str, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return what ``reset`` or ``step`` returned, if it has the parts that it must have.

    Raises:
        WorldError: CD-216, it has not.
    """
    held = tuple(returned) if isinstance(returned, tuple | list) else ()
    what = ""
    if len(held) != len(names):
        what = f"{len(held)} values" if held else f"a {type(returned).__name__}"
    elif not isinstance(held[-1], dict):
        what = f"a {type(held[-1]).__name__} as its info"
    if what:
        raise WorldError(
            "CD-216",
            f"{method}() returned {what}",
            where=f"{method}() of the world",
            do=f"return {', '.join(names)}; info is a dict",
        )
    return held


def _require_arguments(method: Callable[..., Any], name: str, values: Mapping[str, Any]) -> None:
    try:
        inspect.signature(method).bind(**values)
    except TypeError as error:
        raise PremiseError(f"the setup step {name!r} does not fit the world's: {error}") from error
    except ValueError:
        # Compiled, without a signature: calling it will tell.
        return


def _wire(value: Any) -> bytes:
    return encode(value, inline_bytes=ALL_BYTES)


def _reward(reward: Any) -> float | None:
    return None if reward is None else float(reward)


def _space(world: Any) -> Any:
    describe = getattr(world, "spaces", None)
    if callable(describe):
        return describe()
    return describe_space(getattr(world, "action_space", None))


def _failure(kind: bytes, error: BaseException) -> dict[str, Any]:
    stage = {b"B": "build", b"R": "reset", b"S": "step", b"E": "capture", b"V": "capture"}
    stage[b"N"] = "its build or its reset"
    is_ours = isinstance(error, CleandeskError)
    return {
        "blocked": take_blocked(),
        "code": error.code if is_ours else "",  # type: ignore[attr-defined]
        "do": error.do if is_ours else "",  # type: ignore[attr-defined]
        "message": error.message if is_ours else text_of(error),  # type: ignore[attr-defined]
        "premise": isinstance(error, PremiseError),
        "stage": stage.get(kind, "close"),
        "traceback": "".join(traceback.format_exception(error))[-8000:],
        "where": error.where if is_ours else "",  # type: ignore[attr-defined]
    }
