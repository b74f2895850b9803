"""Each part of a process: what is noted at the baseline, and what is told against it.

Whatever is told holds differences alone, so that it is empty where the world changed
nothing, on every machine and in both builds.
"""

from __future__ import annotations

import locale
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cleandesk.surfaces.process import left, proc, streams
from cleandesk.surfaces.process.look import Look
from cleandesk.surfaces.process.wording import named, unnumbered

_LOCALES = ("LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME")
_BESIDE = ("-wal", "-shm", "-journal")
_OF_THE_C_LIBRARY = frozenset({32, 33})
"""Signals with which it tells its threads something; a program can't use them."""

_MASKS = {"SigBlk": "blocked", "SigCgt": "caught", "SigIgn": "ignored"}
_TIMERS = {"ITIMER_PROF": 2, "ITIMER_REAL": 0, "ITIMER_VIRTUAL": 1}
_OUR_OWN = "cleandesk"


def _environment(look: Look, before: Mapping[bytes, bytes]) -> dict[str, Any]:
    now = dict(os.environb)
    if now == before:
        return {}
    names = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
    # None: it was there and is no more.
    return {
        os.fsdecode(name): look.wording.say(os.fsdecode(now[name])) if name in now else None
        for name in names
    }


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return "a folder that is gone"


def _cwd(look: Look, before: str) -> str | None:
    now = _here()
    return None if now == before else look.wording.say(now)


def _umask(look: Look, before: str) -> str | None:
    now = look.status["Umask"]
    return None if now == before else now


def _locale_now() -> dict[str, Any]:
    found: dict[str, Any] = {
        name: locale.setlocale(getattr(locale, name)) for name in _LOCALES if hasattr(locale, name)
    }
    return {**found, "timezone": list(time.tzname)}


def _locale(_: Look, before: Mapping[str, Any]) -> dict[str, Any]:
    return {name: now for name, now in _locale_now().items() if before[name] != now}


def _descriptors(look: Look, before: Mapping[int, str]) -> dict[str, Any]:
    links = [link for link in look.opened(before).values() if not _is_beside(look, link)]
    opened = Counter(map(look.wording.target, links))
    now = look.descriptors
    gone = [
        link
        for number, link in before.items()
        if now.get(number) != link
        and number not in look.own.descriptors
        and not _is_beside(look, link)
    ]
    closed = Counter(map(look.wording.target, gone))
    return {
        what: {"closed": closed[what], "opened": opened[what]}
        for what in opened.keys() | closed.keys()
    }


def _is_beside(look: Look, link: str) -> bool:
    """Tell whether a file is one that SQLite keeps beside a private copy, when it pleases."""
    copies = tuple(look.wording.places.values())
    path = link.removesuffix(" (deleted)")
    return any(path in {f"{place}{end}" for end in _BESIDE} for place in copies)


def _threads(look: Look, before: set[int]) -> dict[str, int]:
    known = {thread.native_id: thread.name for thread in threading.enumerate()}
    now = _settled(look, before | look.own.threads | known.keys())
    names = [
        unnumbered(known[one]) if one in known else f"compiled code: {proc.thread_name(one)}"
        for one in now - before - look.own.threads
    ]
    return dict(Counter(names))


def _settled(look: Look, expected: set[int | None]) -> set[int]:
    """Return the threads there are, once those that Python has ended are gone.

    The kernel's thread outlives what ``join`` waits for by some microseconds.
    """
    unknown = look.memory.setdefault("compiled threads", set())
    for _ in range(20):
        now = proc.threads()
        if not now - expected - unknown:
            return now
        time.sleep(0.001)
    now = proc.threads()
    unknown |= now - expected
    return now


def _children(look: Look, before: set[int]) -> dict[str, int]:
    found = [one for one in proc.children(os.getpid(), look.own.children) if one not in before]
    if not found:
        return {}
    own = proc.command(os.getpid())
    commands = [proc.command(one) for one in found]
    return dict(
        Counter(
            "a fork of the world" if words == own else look.wording.command(words)
            for words in commands
            if words
        )
    )


def _sockets(look: Look, before: Mapping[int, str]) -> dict[str, int]:
    links = look.opened(before).values()
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    found = proc.listening(inodes) if inodes else []
    return dict(Counter(map(look.wording.say, found)))


def _signals_now(look: Look) -> dict[str, Any]:
    masks = {name: int(look.status[name], 16) for name in _MASKS}
    # Of the others the masks say enough, and asking for each costs ten times as much.
    handlers = {number: signal.getsignal(number) for number in _bits(masks["SigCgt"])}
    armed = {name for name, which in _TIMERS.items() if signal.getitimer(which)[0] > 0}
    return {"armed": armed, "handlers": handlers, "masks": masks}


def _bits(mask: int) -> list[int]:
    return [bit + 1 for bit in range(mask.bit_length()) if mask >> bit & 1]


def _signals(look: Look, before: Mapping[str, Any]) -> dict[str, list[str]]:
    now = _signals_now(look)
    told: dict[str, list[str]] = {}
    for number, handler in now["handlers"].items():
        if handler is not before["handlers"].get(number):
            told.setdefault(_signal(number), []).append(_handler(handler))
    for mask, word in _MASKS.items():
        for number in _bits(now["masks"][mask] ^ before["masks"][mask]):
            if number in _OF_THE_C_LIBRARY:
                continue
            is_set = bool(now["masks"][mask] >> (number - 1) & 1)
            told.setdefault(_signal(number), []).append(word if is_set else f"no longer {word}")
    for timer in now["armed"] ^ before["armed"]:
        told[timer] = ["armed" if timer in now["armed"] else "no longer armed"]
    return told


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _handler(handler: Any) -> str:
    if handler is None:
        return "handled by compiled code"
    return handler.name if isinstance(handler, signal.Handlers) else f"handled by {named(handler)}"


def _random(look: Look, before: Mapping[str, Any]) -> dict[str, Any]:
    # A library loaded since the baseline has its first known state at the first look.
    late = look.memory.setdefault("streams", {})
    told = {}
    for name, state in streams.states().items():
        how = streams.moved(before.get(name) or late.setdefault(name, state), state)
        if how is not None:
            told[name] = how
    return told


def _modules(_: Look, before: set[str]) -> dict[str, str]:
    # Another thread may be importing: a copy is taken in one step.
    now = set(sys.modules.copy())
    if now == before:
        return {}
    told = dict.fromkeys(now - before, "imported") | dict.fromkeys(before - now, "removed")
    return {name: how for name, how in told.items() if not _is_unread(name)}


def _is_unread(name: str) -> bool:
    top = name.partition(".")[0]
    return top == _OUR_OWN or top in sys.stdlib_module_names


def _warnings_now() -> tuple[tuple[Any, ...], Any]:
    return tuple(warnings.filters), warnings.showwarning


def _warnings(_: Look, before: Any) -> dict[str, Any]:
    filters, show = _warnings_now()
    told: dict[str, Any] = {}
    if filters != before[0]:
        told["filters"] = [_filter(one) for one in filters]
    if show is not before[1]:
        told["showwarning"] = named(show)
    return told


def _filter(held: Any) -> str:
    action, message, category, module, line = held
    patterns = [getattr(part, "pattern", part) or "" for part in (message, module)]
    return f"{action}:{patterns[0]}:{named(category)}:{patterns[1]}:{line}"


def _loggers() -> dict[str, Any]:
    found = {
        name: _logger(logger)
        for name, logger in logging.root.manager.loggerDict.copy().items()
        if isinstance(logger, logging.Logger)
    }
    return {
        **found,
        "root": _logger(logging.root),
        "(disabled up to)": logging.root.manager.disable,
    }


def _logger(logger: logging.Logger) -> tuple[Any, ...]:
    return (logger.level, tuple(logger.handlers), logger.propagate, logger.disabled)


_UNTOUCHED = (logging.NOTSET, (), True, False)


def _logging(look: Look, before: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, now in _loggers().items():
        if now == before.get(name, _UNTOUCHED):
            continue
        if not isinstance(now, tuple):
            told[name] = now
            continue
        level, handlers, propagate, disabled = now
        told[name] = {
            "disabled": disabled,
            "handlers": [_log_handler(look, one) for one in handlers],
            "level": level,
            "propagate": propagate,
        }
    return told


def _log_handler(look: Look, handler: logging.Handler) -> str:
    path = getattr(handler, "baseFilename", "")
    return look.wording.say(f"{named(type(handler))} {path}".rstrip())


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a process.

    Attributes:
        note: Returns what must be known of the baseline.
        tell: Returns the differences: a table by name, or one value that is None
            where there is none.
    """

    note: Callable[[Look], Any]
    tell: Callable[[Look, Any], Any]


READERS: dict[str, Part] = {
    "children": Part(lambda _: set(proc.children(os.getpid(), ())), _children),
    "cwd": Part(lambda _: _here(), _cwd),
    "descriptors": Part(lambda look: look.descriptors, _descriptors),
    "environment": Part(lambda _: dict(os.environb), _environment),
    "locale": Part(lambda _: _locale_now(), _locale),
    "logging": Part(lambda _: _loggers(), _logging),
    "modules": Part(lambda _: set(sys.modules), _modules),
    "random": Part(lambda _: streams.states(), _random),
    "shared_memory": Part(left.shared_now, left.shared_memory),
    "signals": Part(_signals_now, _signals),
    "sockets": Part(lambda look: look.descriptors, _sockets),
    "temp_files": Part(left.temp_files_now, left.temp_files),
    "threads": Part(lambda _: proc.threads(), _threads),
    "umask": Part(lambda look: look.status["Umask"], _umask),
    "warnings": Part(lambda _: _warnings_now(), _warnings),
}


def private_temp(folder: str) -> None:
    """Have this process and what it starts put their temporary files into ``folder``."""
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None
