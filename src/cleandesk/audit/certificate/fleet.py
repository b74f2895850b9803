"""A fleet: many devices judged in one run, each by itself against its own fresh builds.

A fleet says exactly what its certificates say. No device inherits anything of another's,
and the summary is counts and wall time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate import sentences
from cleandesk.audit.certificate.alone import Job, ask, certify_each
from cleandesk.audit.certificate.certificate import Certificate
from cleandesk.audit.certificate.links import DeviceError
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.audit.certificate.settings import Settings
from cleandesk.audit.certificate.spelling import to_json
from cleandesk.errors import CleandeskError

Progress = Callable[[str], None]

SCHEMA = "fleet/1"
DEVICE = "device"
"""A factory with an argument of this name is told which device it builds, from 0."""

_IMPORT_S = 120.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a fleet's devices were found to be.

    Attributes:
        certificates: One for each device, in their order.
        took_s: Wall time of the whole run.
    """

    certificates: tuple[Certificate, ...]
    took_s: float

    @property
    def counts(self) -> dict[str, int]:
        """How many devices are of each class."""
        found = Counter(str(each.cls) for each in self.certificates)
        return dict(sorted(found.items()))

    def summary(self) -> str:
        """Return the counts and the wall time, and nothing that is wider than them."""
        said = ", ".join(f"{count} {cls}" for cls, count in self.counts.items())
        number = len(self.certificates)
        devices = f"{number} {'device' if number == 1 else 'devices'}"
        return f"{devices}: {said}; {self.took_s:.1f} s; {sentences.FLEET()}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON, each certificate whole."""
        return {
            "certificates": [to_json(each) for each in self.certificates],
            "classes": self.counts,
            "schema": SCHEMA,
            "took_s": self.took_s,
        }


def certify_fleet(
    devices: Sequence[Recipe | str],
    *,
    workers: int = 1,
    on_progress: Progress | None = None,
    **settings: Any,
) -> Fleet:
    """Judge each of ``devices`` in processes of its own.

    A device that can't be built is an ERROR beside the others.

    Args:
        devices: Recipes, or references; ``devices_of`` makes many of one.
        workers: How many are judged at a time.
        on_progress: Told in a few words what is done.
        settings: As ``certify`` takes them, for every device.

    Raises:
        UsageError: CD-831 or CD-832, the settings do not fit.
    """
    started = time.monotonic()
    Settings(**settings)
    jobs = [
        _job(each, place, settings, is_one_of_many=len(devices) > 1)
        for place, each in enumerate(devices)
    ]
    done: list[str] = []

    def tell(job: Job, certificate: Certificate) -> None:
        done.append(job.reference)
        if on_progress is not None:
            on_progress(f"{len(done)} of {len(jobs)}: {certificate.rig} {certificate.cls}")

    found = certify_each(jobs, workers=workers, on_done=tell)
    return Fleet(tuple(found), round(time.monotonic() - started, 3))


def devices_of(
    reference: str,
    count: int,
    *,
    arguments: Mapping[str, Any] | None = None,
    reset: str = "seeded",
    path: Sequence[str] = (),
) -> list[Recipe]:
    """Return the recipes of ``count`` devices of one reference.

    Where its factory has an argument ``device``, each is told its number, from 0.
    """
    folders = tuple(path) or (str(Path.cwd()),)
    given = dict(arguments or {})
    is_told = DEVICE not in given and _takes_number(reference, folders)
    return [
        Recipe(reference, {**given, DEVICE: number} if is_told else given, reset, folders)
        for number in range(count)
    ]


def _takes_number(reference: str, folders: tuple[str, ...]) -> bool:
    try:
        return bool(ask("takes", [reference, DEVICE, [*folders]], _IMPORT_S))
    except (CleandeskError, DeviceError):
        # No factory that can be asked; whether it can be built, its certificate will say.
        return False


def _job(
    device: Recipe | str, place: int, settings: Mapping[str, Any], *, is_one_of_many: bool
) -> Job:
    reference = device if isinstance(device, str) else device.reference
    label = f"{reference} #{place}" if is_one_of_many else ""
    if isinstance(device, str):
        return Job(reference, settings, label)
    own = {
        "arguments": {**settings.get("arguments", {}), **device.arguments},
        "path": device.path or settings.get("path", ()),
        "reset": device.reset,
    }
    return Job(reference, {**settings, **own}, label)
