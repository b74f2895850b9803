"""State that no object of the rig holds: of its process, and of the folders it writes to.

Everything is told as a difference from the moment just before the build, so that two
devices can be compared. Looking changes nothing.
"""

from __future__ import annotations

import atexit
import decimal
import gc
import os
import re
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cleandesk.surfaces.process.left import temp_files, temp_files_now
from cleandesk.surfaces.process.look import Look
from cleandesk.surfaces.process.parts import READERS
from cleandesk.surfaces.process.wording import Wording, named

_PARTS = tuple(part for part in READERS if part not in {"modules", "random", "temp_files"})
_MODULES = "modules"
_NOT_IN_FORKS = frozenset({"children", "threads"})
_MOST_CHARACTERS = 200
_DIGEST = re.compile(r"(sha256 [0-9a-f]{16})[0-9a-f]{48}")

Told = dict[str, dict[str, str]]
"""Part -> name -> what is so now, as text; empty where nothing differs from the baseline."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A process just before its rig is built.

    Attributes:
        parts: Part -> what must be known of it.
        settings: Setting -> its value, as text.
        folders: Place -> folder that holds what this process alone wrote there.
        files: Place -> what lay in that folder.
        wording: How the process is described.
        memory: What looks since then saw.
    """

    parts: Mapping[str, Any]
    settings: Mapping[str, str]
    folders: Mapping[str, str]
    files: Mapping[str, Any]
    wording: Wording
    memory: dict[str, Any]


def note(folders: Mapping[str, str]) -> Noted:
    """Note how this process is now.

    Args:
        folders: Place -> folder that holds what this process alone wrote there.
    """
    wording = Wording(dict(folders))
    look = Look(wording)
    files = {place: temp_files_now(Look(wording, temp_folder=at)) for place, at in folders.items()}
    parts = {part: READERS[part].note(look) for part in (*_PARTS, _MODULES)}
    return Noted(parts, _settings(), dict(folders), files, wording, {})


def tell(noted: Noted) -> Told:
    """Return what differs now."""
    look = Look(noted.wording, memory=noted.memory)
    is_fork = noted.wording.pid != os.getpid()
    told = {
        part: _table(READERS[part].tell(look, noted.parts[part]))
        for part in _PARTS
        # Threads do not live through a fork, and children are the original's.
        if not (is_fork and part in _NOT_IN_FORKS)
    }
    told["files"] = _files(noted)
    now = _settings()
    told["settings"] = {
        name: value for name, value in now.items() if noted.settings.get(name, value) != value
    }
    return {part: table for part, table in told.items() if table}


def loaded(noted: Noted) -> list[str]:
    """Return the packages of which modules were imported since; no state, and worth a line."""
    names = READERS[_MODULES].tell(Look(noted.wording), noted.parts[_MODULES])
    return sorted({name.partition(".")[0] for name in names})


def _table(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return {"": _text(value)}
    return {str(name): _text(item) for name, item in value.items()}


def _files(noted: Noted) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, folder in noted.folders.items():
        look = Look(noted.wording, temp_folder=folder)
        for name, entries in temp_files(look, noted.files[place]).items():
            # A folder that was only passed through says nothing that its files do not.
            if entries != ["folder"]:
                found[f"{place}/{name}"] = _DIGEST.sub(r"\1…", ", ".join(entries))
    return found


def _settings() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, read in _SETTINGS.items():
        value = read()
        if isinstance(value, Mapping):
            found |= {f"{name} {key}": _text(item) for key, item in value.items()}
        else:
            found[name] = _text(value)
    return found


def _decimals() -> Any:
    context = decimal.getcontext()
    traps = sorted(kind.__name__ for kind, is_on in context.traps.items() if is_on)
    return [context.prec, context.rounding, context.Emin, context.Emax, context.clamp, traps]


def _event_loop() -> str:
    # Asking asyncio itself would make one, or warn that there is none.
    policy = getattr(sys.modules.get("asyncio.events"), "_event_loop_policy", None)
    loop = getattr(getattr(policy, "_local", None), "_loop", None)
    return "none" if loop is None else named(type(loop))


def _torch() -> Any:
    torch: Any = sys.modules.get("torch")
    if not hasattr(torch, "get_num_threads"):
        return None
    return [
        torch.get_num_threads(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
    ]


_SETTINGS: dict[str, Callable[[], Any]] = {
    "atexit functions": getattr(atexit, "_ncallbacks", lambda: 0),
    "decimal context": _decimals,
    "event loop": _event_loop,
    "garbage collection": lambda: [gc.isenabled(), gc.get_threshold(), gc.get_debug()],
    "numpy errors": np.geterr,
    "numpy print options": np.get_printoptions,
    "recursion limit": sys.getrecursionlimit,
    "socket timeout": socket.getdefaulttimeout,
    "sys.path": lambda: list(sys.path),
    "torch": _torch,
}


def _text(value: Any) -> str:
    text = repr(_in_order(value))
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def _in_order(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _in_order(value[name]) for name in sorted(value, key=str)}
    return value
