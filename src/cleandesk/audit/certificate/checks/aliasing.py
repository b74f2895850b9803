"""Whether what a rig said is changed afterwards, under whoever kept it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cleandesk.audit.certificate.rows import spell

_MOST_HELD = 8


@dataclass(slots=True)
class _Held:
    what: str
    step: int
    value: Any
    digest: bytes


class Keeper:
    """Holds what resets and steps returned, the very objects, and sees whether they change.

    Attributes:
        changes: What changed: what it was, the step that returned it, the step after
            which it had changed, and the channel.
    """

    def __init__(self) -> None:
        self.changes: list[dict[str, Any]] = []
        self._held: list[_Held] = []
        self._done: set[str] = set()

    def keep(self, channel: str, value: Any, step: int) -> None:
        """Hold what step (0: the reset) returned in ``channel``."""
        if sum(one.what == channel for one in self._held) < _MOST_HELD:
            self._held.append(_Held(channel, step, value, _digest(value)))

    def look(self, step: int) -> None:
        """Note what has changed by now; of each channel the first is enough."""
        for one in self._held:
            if one.what not in self._done and _digest(one.value) != one.digest:
                self._done.add(one.what)
                self.changes.append({"channel": one.what, "said": one.step, "changed": step})


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(spell(_as_arrays(value), []), digest_size=16).digest()


def _as_arrays(value: Any) -> Any:
    """Return ``value`` with tensors as arrays; what can't be read stands as its type."""
    if isinstance(value, Mapping):
        return {key: _as_arrays(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_arrays(item) for item in value]
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    return value
