"""What a build is made of, so that two certificates can be told apart by it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from cleandesk.finding import source_digest
from cleandesk.state.canon import ALL_BYTES, encode

_ENGINES = (
    "Box2D",
    "ale_py",
    "dm_control",
    "gymnasium",
    "mujoco",
    "numpy",
    "pybullet",
    "pygame",
    "pymunk",
    "torch",
)
_NOT_OWN = frozenset({"__main__", "__mp_main__", "cleandesk", "cleandesk_pytest"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_STANDARD = sysconfig.get_path("stdlib")


def made_of(owners: Iterable[object]) -> dict[str, Any]:
    """Return the versions and source digests of what the classes of ``owners`` come from.

    Also the digest of every module that comes from no installed package: the list of files
    of a package in development says nothing of what is in them.
    """
    kinds = {type(owner) for owner in owners}
    tops = {str(kind.__module__).partition(".")[0] for kind in kinds}
    tops |= {name for name in _ENGINES if name in sys.modules}
    sources = {f"{kind.__module__}:{kind.__qualname__}": source_digest(kind) for kind in kinds}
    return {
        "own": dict(sorted(_own_sources())),
        "sources": dict(sorted(sources.items())),
        "versions": {name: version_of(name) for name in sorted(tops - {"builtins", "__main__"})},
    }


def _own_sources() -> Iterator[tuple[str, str]]:
    """Return the imported modules that lie in no installed package, with their digests."""
    for name, module in tuple(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if not isinstance(place, str) or name.partition(".")[0] in _NOT_OWN:
            continue
        path = Path(place)
        if path.suffix == ".py" and not (
            _INSTALLED & set(path.parts) or path.is_relative_to(_STANDARD)
        ):
            with contextlib.suppress(OSError):
                yield name, hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def version_of(module: str) -> str:
    """Return the version of an imported module's package, or ``unknown``."""
    held = getattr(sys.modules.get(module), "__version__", None)
    if isinstance(held, str):
        return held
    try:
        return metadata.version(module)
    except (metadata.PackageNotFoundError, ValueError):
        return "unknown"


def model_of(holder: object) -> str:
    """Return the digest of the MuJoCo model that ``holder`` has, or an empty text."""
    mujoco: Any = sys.modules.get("mujoco")
    if mujoco is None:
        return ""
    model = getattr(holder, "model", None)
    # dm_control holds the compiled model one further in.
    model = getattr(model, "ptr", model)
    if not isinstance(model, mujoco.MjModel):
        return ""
    import numpy as np

    held = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, held)
    return hashlib.sha256(held.tobytes()).hexdigest()


def digest_of(parts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of plain values."""
    return hashlib.sha256(encode(dict(parts), inline_bytes=ALL_BYTES)).hexdigest()
