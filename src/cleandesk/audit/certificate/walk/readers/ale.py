"""The Arcade Learning Environment: the emulator's whole state, as it serialises it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleandesk.audit.certificate.leaf import Kind, Leaf


class Ale:
    """Reads ``ale_py``'s interface to the emulator."""

    def takes(self, kind: type) -> bool:
        """Tell whether ``kind`` is the interface to the emulator."""
        return str(kind.__module__).startswith("ale_py") and kind.__name__ == "ALEInterface"

    def read(self, handle: Any) -> Mapping[str, object] | None:
        """Return memory, console, random state of the emulator, and the counters beside it."""
        try:
            state = handle.cloneSystemState().serialize()
        except Exception:  # noqa: BLE001 - before a game is loaded there is nothing to read
            return None
        return {
            "episode_frame": handle.getEpisodeFrameNumber(),
            "frame": handle.getFrameNumber(),
            "lives": handle.lives(),
            "ram": handle.getRAM(),
            "system": Leaf(Kind.TOKEN, state, "ALE system state"),
        }

    def write(self, handle: Any, name: str, leaf: Leaf) -> None:
        """Put the emulator's state back."""
        if name != "ram":
            raise LookupError(f"{name} of the emulator can't be put back by itself")
        for place, value in enumerate(leaf.value.ravel().tolist()):
            handle.setRAM(place, value)
