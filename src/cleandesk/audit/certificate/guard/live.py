"""The user's own environment as a rig, as it stands: nothing is built and nothing is reset."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.guard.alone import Alone
from cleandesk.audit.certificate.recipes import rig_of
from cleandesk.audit.certificate.rig import Recipe, Rig
from cleandesk.audit.certificate.rows import Rows
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES

_HELD: dict[int, Any] = {}
_LINKS = ("env", "_env", "_environment")
_SHARED = re.compile(
    r"socket|Popen|subprocess|multiprocessing|Connection|Process|Thread|TextIO|Buffered|FileIO"
    r"|mmap|SharedMemory|Channel|Client|cuda",
    re.IGNORECASE,
)
_WAIT_S = 120.0
_LOOK_S = 0.005


def held(number: int) -> Any:
    """Return the environment that is guarded under ``number`` in this process."""
    return _HELD[number]


def rig_over(env: Any) -> Rig:
    """Return a rig whose environment is ``env`` itself."""
    number = id(env)
    _HELD[number] = env
    try:
        rig = rig_of(Recipe(f"{__name__}:held", {"number": number}))
        rig.build()
    finally:
        del _HELD[number]
    return rig


def kinds_of(roots: Mapping[str, object]) -> dict[str, str]:
    """Return the class of each root."""
    return {
        name: f"{type(root).__module__}:{type(root).__qualname__}" for name, root in roots.items()
    }


def part_like(env: Any, kinds: Mapping[str, str]) -> Rig | None:
    """Return a rig over the part of ``env`` that has exactly the roots ``kinds``, or None."""
    layer: Any = env
    while layer is not None:
        rig = rig_over(layer)
        if kinds_of(rig.roots()) == dict(kinds):
            return rig
        own = getattr(layer, "__dict__", {})
        layer = next((own[link] for link in _LINKS if link in own), None)
    return None


def stepped(rig: Rig, action_of: Callable[[int], Any], steps: int) -> tuple[bytes, list[Any]]:
    """Take up to ``steps`` steps, to the end of the episode; return the rows and the actions."""
    rows, taken = Rows(), []
    for number in range(1, steps + 1):
        action = action_of(number - 1)
        taken.append(action)
        try:
            outcome = rig.step(action)
        except Exception as error:  # noqa: BLE001 - that it raises is what it says
            rows.add_error(error, number)
            break
        rows.add(outcome, number)
        if outcome.is_over:
            break
    return bytes(rows.digests), taken


def reaches_out(opaque: Mapping[str, tuple[str, int]], env: Any) -> str:
    """Say which handle a copy of this process would share with it, or return nothing.

    A copy that steps would speak to the same simulator, file or screen.
    """
    if getattr(env, "render_mode", None) == "human":
        return "it draws to a screen"
    return next(
        (f"{path} ({about})" for path, (about, _) in opaque.items() if _SHARED.search(about)), ""
    )


def copy_steps(env: Any, folder: Path, number: int) -> int:
    """Have a copy of this process step from here, as the other side will say; return its id.

    The copy waits for the actions, writes its rows, and ends without any clean-up.
    """
    with warnings.catch_warnings():
        # Threads of ours are none, and those of others are not needed by the copy.
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        try:
            _in_copy(env, folder, number)
        finally:
            os._exit(0)
    return pid


def _in_copy(env: Any, folder: Path, number: int) -> None:
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    # By descriptor: the place may be hidden in a moment.
    way = Path(f"/proc/self/fd/{os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)}")
    rows = way / f"{number}.rows"
    alone = Alone(lambda what: write_file(rows, {"problem": what}))
    try:
        asked = await_file(way / f"{number}.actions")
        rig = part_like(env, asked["kinds"])
        actions: Sequence[Any] = asked["actions"]
        said: dict[str, Any] = {"problem": "its wrappers are not those of the reference"}
        if rig is not None:
            with alone:
                said = {"problem": "", "rows": stepped(rig, lambda k: actions[k], len(actions))[0]}
    except Exception as error:  # noqa: BLE001 - the copy can tell nobody but the other side
        said = {"problem": f"{type(error).__name__}: {error}"}
    write_file(rows, said)


def write_file(path: Path, value: Any) -> None:
    """Write ``value`` so that whoever waits for the file never sees half of it."""
    fresh = path.with_suffix(f"{path.suffix}-new")
    fresh.write_bytes(encode(value, inline_bytes=ALL_BYTES))
    fresh.rename(path)


def await_file(path: Path, limit_s: float = _WAIT_S) -> Any:
    """Wait for a file, read it and remove it.

    Raises:
        TimeoutError: It did not come.
    """
    # By the system's own clock: the process may have been given another time.
    import select

    for _ in range(int(limit_s / _LOOK_S)):
        with contextlib.suppress(FileNotFoundError):
            data = path.read_bytes()
            path.unlink()
            return decode(data)
        select.select([], [], [], _LOOK_S)
    raise TimeoutError(path.name)


def is_forkable() -> bool:
    """Tell whether this process can be copied."""
    return hasattr(os, "fork") and sys.platform.startswith("linux")
