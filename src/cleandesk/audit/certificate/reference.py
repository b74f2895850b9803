"""A stored reference: what fresh builds showed, kept to judge a rig against later.

"Is this still in its factory settings?" asks for it: the rig is played and reset, and what
is then read is held against the file instead of against a build made now. Without a
reference that fits there is no verdict: one that is missing, that was taken of a rig which
had stepped, or whose stamp differs in any part is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import zstandard

from cleandesk.audit.certificate.anchor import FRESH, Anchors
from cleandesk.audit.certificate.declaring import Declaring
from cleandesk.audit.certificate.evidence import Shown
from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.links import LIMIT_S, Bench, DeviceError, Link
from cleandesk.audit.certificate.rig import Declared, Recipe
from cleandesk.audit.certificate.rows import ROW_BYTES
from cleandesk.audit.certificate.sequence import Horizon
from cleandesk.audit.certificate.settings import Settings
from cleandesk.errors import CleandeskError, UsageError, shown
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES

Progress = Callable[[str], None]

SCHEMA = "reference/1"

_LARGEST_BYTES = 4 << 30
_KEPT_BYTES = 4 << 20
"""How much of the rows themselves is kept, to show the first one that differs."""

_WALKS = ("reset", "final")
_NOT_OURS = (ValueError, KeyError, TypeError, AttributeError)
"""What reading a file of another shape comes to."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored reference.

    Attributes:
        recipe: What it was made from; the folders are those of the reader.
        horizon: The seeds and steps that it holds.
        stamp: What it depends on.
        steps: How often the rig had stepped when the snapshot was taken.
        shown: What the fresh build of each boundary showed, boundary 1 first.
    """

    recipe: Recipe
    horizon: Horizon
    stamp: Mapping[str, Any]
    steps: int
    shown: tuple[Shown, ...]


class _StoredLink:
    """Answers from a file what a device would be asked."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self._leaves: Mapping[str, Mapping[str, bytes]] = held["leaves"]
        self._rows: Sequence[Mapping[str, Any]] = held["rows"]
        self._steps: Sequence[int] = held["steps"]
        self.about: dict[str, Any] = {}

    def leaves(self, which: str, paths: list[str]) -> dict[str, Leaf]:
        """Return the leaves at ``paths`` of a walk."""
        return {path: Leaf.from_bytes(self._leaves[which][path]) for path in paths}

    def call(self, name: str, values: Mapping[str, Any] | None = None) -> Any:
        """Return a row; nothing else is kept.

        Raises:
            UsageError: CD-886, something else was asked.
        """
        place = (values or {}).get("place")
        if name != "row" or not isinstance(place, int):
            raise _unfit(f"it can't answer {name!r}")
        if place < len(self._rows):
            return self._rows[place]
        step = self._steps[place] if place < len(self._steps) else None
        return {"channels": None, "step": step}

    def kill(self) -> None:
        """End nothing: there is no process."""


def write_reference(
    path: str | Path, reference: str, *, on_progress: Progress | None = None, **settings: Any
) -> Stored:
    """Store what fresh builds of a rig show, one for each boundary.

    Args:
        path: The file to write.
        reference: The rig, as ``certify`` takes it.
        on_progress: Told in a few words what is done now.
        settings: As ``certify`` takes them.

    Raises:
        UsageError: CD-888, the rig had stepped before it was looked at or raised, or two fresh
            builds disagree, so that neither can be a reference; CD-831, settings do not fit;
            CD-889, the file can't be written.
        CleandeskError: There is no such rig.
    """
    chosen = Settings(**settings)
    recipe, horizon = chosen.recipe(reference), chosen.horizon
    if recipe.reset == "unseeded":
        raise _no_reference("a reset without a seed goes on from the past of its own rig")
    with Bench(recipe, limit_s=LIMIT_S, clock=chosen.clock) as bench:
        try:
            held = _taken(bench, chosen, on_progress or (lambda _: None))
        except DeviceError as error:
            raise _no_reference(f"{error.stage}: {shown(error.said, 300)}") from error
    data = {
        "arguments": dict(recipe.arguments),
        "episode_seeds": list(horizon.episode_seeds),
        "reference": recipe.reference,
        "reset": recipe.reset,
        "schema": SCHEMA,
        "seeds": list(horizon.seeds),
        "stepped": 0,
        "steps": horizon.steps,
        "trace": horizon.has_trace,
        **held,
    }
    packed = zstandard.compress(encode(data, inline_bytes=ALL_BYTES))
    try:
        Path(path).write_bytes(packed)
    except OSError as error:
        raise UsageError(
            "CD-889",
            f"the reference can't be written: {shown(error)}",
            where=f"file {shown(path, 1000)}",
            do="name a file in a folder that is there and can be written",
        ) from error
    return _read(data, recipe.path)


def read_reference(path: str | Path, *, folders: Sequence[str] = ()) -> Stored:
    """Return the reference in a file that ``write_reference`` wrote.

    Raises:
        UsageError: CD-885, there is no such file; CD-886, it holds no reference; CD-888,
            the rig had stepped when it was taken.
    """
    place = Path(path)
    if not place.is_file():
        raise UsageError(
            "CD-885",
            "there is no reference, and without one nothing is judged",
            where=f"file {shown(path, 1000)}",
            do="write one of a rig that is as it should be: --write-reference FILE",
        )
    try:
        with zstandard.ZstdDecompressor().stream_reader(place.read_bytes()) as unpacked:
            data = unpacked.read(_LARGEST_BYTES + 1)
        if len(data) > _LARGEST_BYTES:
            raise ValueError("it is larger than 4 GiB")
        stored = _read(decode(data), tuple(folders) or (str(Path.cwd()),))
    except CleandeskError as error:
        raise _unfit(error.message, path) from error
    except (zstandard.ZstdError, OSError, *_NOT_OURS) as error:
        raise _unfit(f"{type(error).__name__}: {shown(error)}", path) from error
    if stored.steps:
        raise _no_reference(f"its rig had stepped {stored.steps} times when it was taken")
    return stored


def _taken(bench: Bench, chosen: Settings, tell: Progress) -> dict[str, Any]:
    """Return the stamp, and what a fresh build shows at each boundary."""
    recipe, horizon = bench.recipe, chosen.horizon
    tell("a fresh build")
    stamp, steps = stamp_of(bench, recipe, FRESH, horizon.seeds[0])
    if steps:
        raise _no_reference(f"the rig says that it stepped {steps} times since its reset")
    _require_agreement(bench, chosen)
    shown_: list[dict[str, Any]] = []
    for number in range(1, len(horizon.seeds) + 1):
        tell(f"reference {number} of {len(horizon.seeds)}")
        link = bench.device(*FRESH)
        said = link.call("judge", horizon.judged(number))
        if said["raised"]:
            raise _no_reference(f"a fresh build raised {shown(said['raised'], 300)}")
        shown_.append(_kept(link, said))
        link.kill()
    return {"shown": shown_, "stamp": stamp}


def _require_agreement(bench: Bench, chosen: Settings) -> None:
    plan = chosen.horizon.judged(1)
    one = bench.device(*FRESH)
    first = Shown(one, one.call("judge", plan))
    declaring = Declaring([Declared(*each) for each in one.about["declared"]], chosen.declared)
    anchors = Anchors(bench, plan, declaring, chosen.pinned)
    second = anchors.other()
    anchor = anchors.judge(first, second)
    first.link.kill()
    second.link.kill()
    if anchor.varies or anchor.divergence is not None:
        what = ", ".join(anchor.varies[:3]) or "their rows"
        raise _no_reference(f"two fresh builds disagree in {shown(what, 300)}")


def stamp_of(
    bench: Bench, recipe: Recipe, key: tuple[int, int], seed: int
) -> tuple[dict[str, Any], int]:
    """Return the stamp of a fresh build that was reset, and how often it has stepped."""
    link = bench.device(*key)
    link.call("reset", {"seed": seed})
    said = link.call("stamp")
    link.kill()
    stamp = {
        "arguments": dict(recipe.arguments),
        "harness": link.about["harness"],
        "machine": said["machine"],
        "model": said["model"],
        "packages": said["packages"],
        "reference": recipe.reference,
        "reset": recipe.reset,
    }
    return stamp, int(said["steps"])


def _kept(link: Link, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a boundary's reference is ever asked, as plain values."""
    leaves: dict[str, dict[str, bytes]] = {}
    for which in _WALKS:
        walked = said[which]
        paths = [*walked["tokens"]] if walked is not None else []
        leaves[which] = {path: leaf.to_bytes() for path, leaf in link.leaves(which, paths).items()}
    rows: list[Any] = []
    steps: list[int] = []
    size = 0
    for place in range(len(said["rows"]) // ROW_BYTES):
        row = link.call("row", {"place": place})
        steps.append(row["step"])
        size += sum(map(len, row["channels"] or ()))
        if size <= _KEPT_BYTES and len(rows) == place:
            rows.append(row)
    return {"leaves": leaves, "rows": rows, "said": dict(said), "steps": steps}


def _read(held: Any, folders: tuple[str, ...]) -> Stored:
    if not isinstance(held, Mapping) or held.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    horizon = Horizon(
        held["steps"], tuple(held["seeds"]), tuple(held["episode_seeds"]), held["trace"]
    )
    links = [(cast(Link, _StoredLink(each)), each["said"]) for each in held["shown"]]
    if len(links) != len(horizon.seeds):
        raise ValueError(f"it holds {len(links)} boundaries of {len(horizon.seeds)}")
    return Stored(
        Recipe(held["reference"], held["arguments"], held["reset"], folders),
        horizon,
        held["stamp"],
        held["stepped"],
        tuple(Shown(link, said) for link, said in links),
    )


def _no_reference(why: str) -> UsageError:
    return UsageError(
        "CD-888",
        f"this can't be a reference: {why}",
        where="reference",
        do="take it of a rig right after its reset, whose fresh builds agree",
    )


def _unfit(why: str, path: str | Path | None = None) -> UsageError:
    return UsageError(
        "CD-886",
        f"not a stored reference: {why}",
        where=f"file {shown(path, 1000)}" if path is not None else "",
        do="give a file that `cleandesk certify WORLD --write-reference FILE` wrote",
    )
