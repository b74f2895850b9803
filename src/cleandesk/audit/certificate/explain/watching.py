"""Which line wrote a field: looked at after each step, and in one step after each line."""

from __future__ import annotations

import functools
import linecache
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from cleandesk.audit.certificate.device import Device
from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.walk import read

_CLEANDESK = Path(__file__).parents[3]
_OWN = tuple(str(_CLEANDESK / name) + "/" for name in ("audit", "bridges", "state", "surfaces"))
# Environments of our own, which write like those of anybody.
_RIGS = tuple(str(_CLEANDESK / "bridges" / "rigs" / name) for name in ("mujoco.py", "stub.py"))
_STDLIB = tuple(
    f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib") if sysconfig.get_path(name)
)
_PACKAGES = tuple(
    f"{sysconfig.get_path(name)}/" for name in ("purelib", "platlib") if sysconfig.get_path(name)
)
_CLOSED = tuple(f"{each}{name}/" for each in _PACKAGES for name in ("numpy", "scipy", "pygame"))
_MOST_SOURCE = 200


def bytes_at(device: Device, path: str) -> bytes | None:
    """Return the bytes of the leaf at ``path`` now, or None where there is none."""
    try:
        leaf: Leaf = read(device.rig.roots(), path)
    except (LookupError, AttributeError, TypeError, ValueError):
        return None
    return leaf.to_bytes()


def watched(
    device: Device,
    history: Sequence[Mapping[str, Any]],
    seed: int | None,
    paths: Sequence[str],
    fresh: Mapping[str, bytes | None] | None = None,
) -> dict[str, list[int] | None]:
    """Relive a history and the judged reset, and note when each field changed last.

    Args:
        device: Built and not reset.
        history: Episodes.
        seed: Of the judged reset, or None to leave that out.
        paths: Fields.
        fresh: What a fresh build has there. A field that ends so did not leak in this
            history, and nobody wrote what did.

    Returns:
        Per path (episode from 1, step; 0 is the reset), or None where it never changed.
        The judged reset is step 0 of the episode after the last; without a seed it is left
        out.
    """
    device.look()
    last: dict[str, list[int] | None] = dict.fromkeys(paths)
    held = {path: bytes_at(device, path) for path in paths}
    for episode, step, act in acts(device, history, seed):
        is_over = _raises(act)
        if step == 0 and any(path.startswith("[") for path in paths):
            # Classes, modules and functions are found again by the walk before.
            device.look()
        for path in paths:
            now = bytes_at(device, path)
            if now != held[path]:
                held[path], last[path] = now, [episode, step]
        if is_over:
            break
    clean = [path for path in paths if fresh and path in fresh and held[path] == fresh[path]]
    return last | dict.fromkeys(clean)


def _raises(act: Callable[[], Any]) -> bool:
    """Carry out ``act``; what it wrote before it raised counts too."""
    try:
        act()
    except Exception:  # noqa: BLE001 - whatever a rig raises
        return True
    return False


def acts(
    device: Device, history: Sequence[Mapping[str, Any]], seed: int | None
) -> Iterator[tuple[int, int, Callable[[], Any]]]:
    """Yield (episode, step, what does it) for each reset and step; the judged one last, if any."""
    for episode, entry in enumerate(history, 1):
        yield episode, 0, functools.partial(device.reset, entry["seed"])
        for step, action in enumerate(_actions(device, entry), 1):
            said: list[Any] = []

            def take(action: Any = action, said: list[Any] = said) -> None:
                said.append(device.rig.step(action))

            yield episode, step, take
            if said and said[0].is_over:
                break
    if seed is not None:
        yield len(history) + 1, 0, functools.partial(device.reset, seed)


def _actions(device: Device, entry: Mapping[str, Any]) -> Iterator[Any]:
    given = entry.get("actions")
    if given is not None:
        for k in range(entry["steps"]):
            yield deepcopy(given[k % len(given)])
        return
    rng = np.random.default_rng(list(entry["rng"]))
    for k in range(entry["steps"]):
        yield device.rig.action(rng, k)


def lines_of(
    device: Device,
    history: Sequence[Mapping[str, Any]],
    seed: int | None,
    paths: Sequence[str],
    at: tuple[int, int],
) -> dict[str, dict[str, Any]]:
    """Relive up to one reset or step, and run that one line by line.

    Returns:
        Per path ``file``, ``line`` and ``source`` of the line that changed the field last;
        empty where no line of Python that is looked at did.
    """
    for episode, step, act in acts(device, history, seed):
        if (episode, step) == at:
            device.look()
            watch = _Watch(lambda path: bytes_at(device, path), paths)
            watch.run(functools.partial(_raises, act))
            return {path: _told(watch.writers.get(path)) for path in paths}
        if _raises(act):
            break
    return {}


class _Watch:
    """Looks at fields between the lines of what is called.

    Attributes:
        writers: Per field the file and line after which it was another, at last.
    """

    def __init__(self, look: Callable[[str], bytes | None], paths: Sequence[str]) -> None:
        self.writers: dict[str, tuple[str, int]] = {}
        self._look = look
        self._held = {path: look(path) for path in paths}
        self._at: tuple[str, int] | None = None
        self._skipped: dict[str, bool] = {}

    def run(self, act: Callable[[], Any]) -> None:
        """Carry out ``act`` under the watch, which ends with it."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            act()
        finally:
            sys.settrace(before)
        self._check()

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        return None if self._is_passed(frame.f_code.co_filename) else self._went_on(frame, event, _)

    def _went_on(self, frame: FrameType, event: str, _: Any) -> Any:
        if event != "call":
            self._check()
        if event == "line" or self._at is None:
            self._at = frame.f_code.co_filename, frame.f_lineno
        elif event == "return":
            # What follows belongs to the line that called.
            self._at = _caller(frame, self._is_passed) or self._at
        return self._went_on

    def _check(self) -> None:
        # Nothing is watched meanwhile: the interpreter does not trace a trace function.
        for path, held in self._held.items():
            now = self._look(path)
            if now != held:
                self._held[path] = now
                if self._at is not None:
                    self.writers[path] = self._at

    def _is_passed(self, name: str) -> bool:
        passed = self._skipped.get(name)
        if passed is None:
            passed = self._skipped[name] = is_passed(name)
        return passed


def _caller(frame: FrameType, is_passed: Callable[[str], bool]) -> tuple[str, int] | None:
    found = frame.f_back
    while found is not None and is_passed(found.f_code.co_filename):
        found = found.f_back
    return (found.f_code.co_filename, found.f_lineno) if found is not None else None


def is_passed(name: str) -> bool:
    """Tell whether the lines of a file are not looked at: ours, and those of libraries."""
    if name.endswith(_RIGS):
        return False
    if name.startswith("<") or name.startswith(_OWN) or name.startswith(_CLOSED):
        return True
    return name.startswith(_STDLIB) and not name.startswith(_PACKAGES)


def _told(writer: tuple[str, int] | None) -> dict[str, Any]:
    if writer is None:
        return {"file": "", "line": 0, "source": ""}
    name, line = writer
    source = linecache.getline(name, line).strip()[:_MOST_SOURCE]
    return {"file": without_machine(name), "line": line, "source": source}


def without_machine(name: str) -> str:
    """Return a file's name without what only this machine has: from the package's folder on."""
    for prefix in sorted({*_PACKAGES, *_STDLIB, *map(_folder, sys.path)}, key=len, reverse=True):
        if prefix and name.startswith(prefix):
            return name[len(prefix) :]
    return Path(name).name


def _folder(entry: str) -> str:
    return f"{entry.rstrip('/')}/" if entry.startswith("/") else ""
