"""The reset of a rig against a stored reference, instead of against builds made now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from cleandesk.audit.certificate.alone import of_error
from cleandesk.audit.certificate.anchor import Anchor, other_of
from cleandesk.audit.certificate.assemble import assembled, judged
from cleandesk.audit.certificate.certificate import Certificate
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.evidence import Shown
from cleandesk.audit.certificate.links import LIMIT_S, Bench, DeviceError
from cleandesk.audit.certificate.reference import Stored, read_reference, stamp_of
from cleandesk.audit.certificate.rig import Declared
from cleandesk.audit.certificate.seen import Seen
from cleandesk.audit.certificate.sequence import References, judge_all
from cleandesk.audit.certificate.settings import Settings
from cleandesk.audit.certificate.stamp import differing
from cleandesk.errors import UsageError, shown

Progress = Callable[[str], None]

# C-29
_INSTEAD = "what a fresh build shows now: the stored reference stands for it"


class _Stored:
    """The references of a file, as those of a bench are asked for."""

    def __init__(self, stored: Stored) -> None:
        self._shown = stored.shown
        # A file holds what builds showed then, and they can be given nothing.
        self.kept = ()

    def of(self, number: int, _: Mapping[str, Any] | None = None) -> Future[Shown]:
        """Return the one for a boundary, from 1."""
        future: Future[Shown] = Future()
        future.set_result(self._shown[number - 1])
        return future


def certify_against(
    path: str | Path,
    reference: str,
    *,
    on_progress: Progress | None = None,
    **settings: Any,
) -> Certificate:
    """Judge the reset of a rig against a stored reference.

    Args:
        path: The file of the reference.
        reference: The rig; it must be the one of the file.
        on_progress: Told in a few words what is done now.
        settings: As ``certify`` takes them; the seeds and steps are those of the file.

    Raises:
        UsageError: CD-885, 886 or 888 as ``read_reference``; CD-887, the stamp differs, or
            seeds, steps or arguments are not those of the file.
        CleandeskError: There is no such rig.
    """
    started = time.monotonic()
    stored = read_reference(path, folders=settings.get("path", ()))
    chosen = _chosen(stored, reference, settings)
    limit_s = LIMIT_S if chosen.budget_s is None else max(1.0, chosen.budget_s)
    recipe = chosen.recipe(reference)
    with Bench(recipe, limit_s=limit_s, clock=chosen.clock) as bench:
        try:
            found = _judged(bench, stored, chosen, on_progress or (lambda _: None), path)
        except DeviceError as error:
            found = of_error(reference, chosen, error)
    took_s = round(time.monotonic() - started, 3)
    return replace(found, not_checked=(_INSTEAD, *found.not_checked), took_s=took_s)


def _judged(
    bench: Bench, stored: Stored, chosen: Settings, progress: Progress, path: str | Path
) -> Certificate:
    begun = time.monotonic()
    key = other_of(chosen.pinned)
    stamp, _ = stamp_of(bench, bench.recipe, key, stored.horizon.seeds[0])
    _require_same_stamp(stored, stamp, path)
    sequence = judge_all(
        bench,
        stored.horizon,
        # Of a file and not of a bench; it is asked for nothing else.
        cast(References, _Stored(stored)),
        pinned=chosen.pinned,
        deadline=None if chosen.budget_s is None else begun + chosen.budget_s,
        on_progress=progress,
    )
    rigs = [Declared(*each) for each in sequence.about["declared"]]
    seen = Seen(
        recipe=bench.recipe,
        horizon=stored.horizon,
        sequence=sequence,
        declaring=Declaring(rigs, chosen.declared),
        anchor=Anchor(),
        stamp=stamp,
        budget_s=chosen.budget_s,
    )
    return assembled(seen, judged(seen))


def _chosen(stored: Stored, reference: str, settings: Mapping[str, Any]) -> Settings:
    """Return the settings, with the horizon that the file holds."""
    horizon = stored.horizon
    fixed: dict[str, Any] = {
        "arguments": dict(stored.recipe.arguments),
        "episode_seeds": horizon.episode_seeds,
        "reset": stored.recipe.reset,
        "seeds": horizon.seeds,
        "steps": horizon.steps,
        "trace": horizon.has_trace,
    }
    given = {"reference": reference, "episodes": None, **settings}
    held = {"reference": stored.recipe.reference, "episodes": len(horizon.seeds), **fixed}
    for name, value in held.items():
        asked = given.get(name)
        asked = tuple(asked) if isinstance(asked, list | range) else asked
        if asked is not None and asked != value:
            raise UsageError(
                "CD-887",
                f"{name} is {shown(repr(asked), 80)}, and {shown(repr(value), 80)} in the file",
                where="reference",
                do="leave it out, or write a reference with it: --write-reference FILE",
            )
    return Settings(**{**settings, **fixed, "episodes": None})


def _require_same_stamp(stored: Stored, stamp: Mapping[str, Any], path: str | Path) -> None:
    unlike = differing(stored.stamp, stamp)
    if unlike:
        raise UsageError(
            "CD-887",
            f"the stamp of the reference differs in {shown(', '.join(unlike), 300)}",
            where=f"file {shown(path, 1000)}",
            do="judge it on the machine and with the packages of the reference, or write a "
            "new one of a rig that is as it should be: --write-reference FILE",
        )
