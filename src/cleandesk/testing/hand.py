"""The process that holds copies, or writes into one, at the word of a rule."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from cleandesk.channel import Channel
from cleandesk.errors import CleandeskError
from cleandesk.state import decode, encode
from cleandesk.state.contract import SurfaceTerms
from cleandesk.testing.case import resolve
from cleandesk.testing.evidence import digest
from cleandesk.testing.wire import plain_delta, plain_tables

if TYPE_CHECKING:
    from cleandesk.surfaces.protocol import Copy, Surface

_IN_A_ROW = 100
"""Writes that fail before a writer without pause says that it can't write any more."""


def serve(channel: Channel) -> None:
    """Answer requests until the other side is gone."""
    hand = _Hand(channel)
    while True:
        _, (verb, given) = channel.receive()
        try:
            answer = encode(getattr(hand, verb.decode())(*decode(given)))
        except CleandeskError as error:
            parts = [error.code, error.message, error.where, error.do, traceback.format_exc()]
            channel.send(b"x", encode(parts))
        except BaseException:  # noqa: BLE001 - whatever a surface or a write raises is told
            channel.send(b"t", encode(traceback.format_exc()))
        else:
            channel.send(b"v", answer)


class _Hand:
    """The verbs: each method takes and returns plain values."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._copies: dict[int, Copy] = {}
        self._surface: Surface
        self._name: str
        self._terms: SurfaceTerms
        self._held: Iterator[object] = iter(())
        self._kill_at: int | None = None

    def meet(self, surface: Sequence[Any], name: str, terms: Mapping[str, Any]) -> None:
        """Take the surface that the other verbs are about."""
        self._surface = resolve(surface)()
        self._name = name
        self._terms = SurfaceTerms(**terms)

    def prepare(self, folder: str, beside: str) -> dict[str, Any]:
        """Make a base."""
        base = self._surface.prepare(
            self._name, self._terms, Path(folder), lambda text: Path(beside, text)
        )
        return {
            "held": dict(base.held),
            "ignored": sorted(base.ignored),
            "tables": plain_tables(base.tables),
        }

    def query(self, held: Mapping[str, Any], text: str) -> int:
        """Ask the base a question; return how many rows it answers with."""
        return len(self._surface.query(held, text))

    def open_copy(self, number: int, held: Mapping[str, Any], folder: str) -> list[Any]:
        """Open a copy and say where it is."""
        with self._crashing():
            copy = self._surface.open_copy(self._name, self._terms, held, Path(folder))
        self._copies[number] = copy
        return self.where(number)

    def loaded(self) -> list[str]:
        """Return the modules of the surface's own package that are loaded by now."""
        home = type(self._surface).__module__
        return sorted(name for name in sys.modules if name.startswith(f"{home}."))

    def where(self, number: int) -> list[Any]:
        """Return place, method and holder of a copy."""
        copy = self._copies[number]
        return [copy.place, copy.method, copy.holder]

    def restore(self, number: int) -> None:
        """Put a copy back."""
        with self._crashing():
            self._copies[number].restore()

    def delta(self, number: int) -> dict[str, Any]:
        """Ask the fast path."""
        with self._crashing():
            told = self._copies[number].delta()
        return plain_delta(told)

    def read(self, number: int) -> dict[str, Any]:
        """Ask the full path."""
        with self._crashing():
            told = self._copies[number].read()
        return plain_delta(told)

    def close(self, number: int) -> None:
        """Release a copy."""
        with self._crashing():
            self._copies.pop(number).close()

    def kill_at(self, line: int) -> None:
        """Die at this line of Python that the next verb runs; with 0 only count them."""
        self._kill_at = line
        self._lines = 0

    def lines(self) -> int:
        """Return how many lines the verb after ``kill_at`` ran."""
        return self._lines

    def enter(self, holder: int) -> None:
        """Enter the mounts of another process."""
        # Most surfaces mount nothing.
        from cleandesk.surfaces.mounts import enter

        enter(holder)

    def starve(self, limit_bytes: int | None) -> None:
        """Let no file grow beyond a size, as if the disk were full; None lifts that."""
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        limit = most if limit_bytes is None else limit_bytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))

    def digest(self, paths: Sequence[str]) -> dict[str, Any]:
        """Return what lies at ``paths``, byte for byte."""
        return digest(paths)

    def run(self, write: Sequence[Any], place: str) -> None:
        """Run one write."""
        resolve(write)(place)

    def hold(self, hold: Sequence[Any], place: str) -> None:
        """Open a place, write, and keep it open."""
        self._held = resolve(hold)(place)
        next(self._held)

    def go_on(self) -> None:
        """Write again through what is open. It may fail: its time is over."""
        with contextlib.suppress(Exception):
            for _ in self._held:
                pass

    def write_on(self, writes: Sequence[Any], place: str) -> None:
        """Write without pause until told to ``stop``; each ``tick`` waits for a whole write."""
        self._channel.send(b"v", encode(None))
        waiting = select.poll()
        waiting.register(self._channel.descriptors[0], select.POLLIN)
        functions = [resolve(write) for write in writes]
        is_asked, failed, at = False, 0, 0
        while True:
            if waiting.poll(0):
                _, (verb, _) = self._channel.receive()
                if verb == b"stop":
                    return
                is_asked, failed = True, 0
            is_written = _tried(functions[at % len(functions)], place)
            at += 1
            failed += not is_written
            if is_asked and (is_written or failed > _IN_A_ROW):
                self._channel.send(b"v", encode(is_written))
                is_asked = False

    @contextlib.contextmanager
    def _crashing(self) -> Iterator[None]:
        if self._kill_at is None:
            yield
            return
        limit, self._kill_at, own = self._kill_at, None, os.getpid()

        def trace(_frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
            # A fork of it goes on being traced, and is not the one that is to die.
            if event == "line" and os.getpid() == own:
                self._lines += 1
                if self._lines == limit:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(None)


def _tried(write: Callable[[str], object], place: str) -> bool:
    try:
        write(place)
    except Exception:  # noqa: BLE001 - under it the place is put back, locked, gone
        return False
    return True
