"""One look at a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cleandesk.surfaces.process import proc
from cleandesk.surfaces.process.wording import Own, Wording


@dataclass
class Look:
    """One look at the process; what several parts need is read once.

    Attributes:
        wording: How it is described.
        own: What is the harness's.
        temp_folder: The folder for temporary files, if the world alone writes there.
        memory: What earlier looks since the baseline saw; not state of the world.
    """

    wording: Wording
    own: Own = field(default_factory=Own)
    temp_folder: str | None = None
    memory: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def status(self) -> dict[str, str]:
        """The fields of /proc/self/status."""
        return proc.status()

    @cached_property
    def descriptors(self) -> dict[int, str]:
        """The open descriptors and where they lead, without the harness's."""
        found = proc.descriptors()
        return {
            number: link for number, link in found.items() if number not in self.own.descriptors
        }

    def opened(self, before: Mapping[int, str]) -> dict[int, str]:
        """Return the descriptors that lead elsewhere than at the baseline."""
        now = self.descriptors
        return {number: link for number, link in now.items() if before.get(number) != link}
