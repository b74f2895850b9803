"""How `certify` is set up: the command line over pyproject.toml over the defaults.

    [tool.cleandesk.certify]
    episodes = 3
    declare = { "env._level" = "integers 0 9" }

    [tool.cleandesk.certify."gym:myrobots/*"]
    kwargs = { control = "osc" }

The nearest pyproject.toml upwards is read. Of tables named by a rig, or by a pattern of
rigs, the longest name that fits is the last word.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from cleandesk.errors import UsageError, shown

if TYPE_CHECKING:
    from cleandesk.audit.certificate.known import Known

Pin = Literal["global-rng", "hash-order", "wall-clock"]

_FILE = "pyproject.toml"
_TABLE = "tool.cleandesk.certify"
_FILES = ("known", "reference")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen; None where nothing was.

    Attributes:
        episodes: Boundaries judged.
        steps: Steps of each trace.
        seeds: Seeds of the judged resets.
        ep_seeds: Seeds of the episodes before them.
        reset: How the harness resets.
        declare: Pattern -> sampler.
        pin: What is held equal in both builds.
        kwargs: Keyword arguments of what is built.
        budget: Seconds for each rig.
        known: File of ticketed leaks.
        reference: File of a stored state.
        no_trace: Whether nothing is played after the judged reset.
        no_explain: Whether leaks are only named, and not searched for their writes.
        order: Whether another rig is played before, in another order.
    """

    episodes: int | None = None
    steps: int | None = None
    seeds: tuple[int, ...] | None = None
    ep_seeds: tuple[int, ...] | None = None
    reset: str | None = None
    declare: Mapping[str, str] | None = None
    pin: tuple[Pin, ...] | None = None
    kwargs: Mapping[str, Any] | None = None
    budget: float | None = None
    known: str | None = None
    reference: str | None = None
    no_trace: bool | None = None
    no_explain: bool | None = None
    order: bool | None = None

    def over(self, lower: Chosen) -> Chosen:
        """Return this with what it leaves open taken from ``lower``; tables are merged."""
        chosen: dict[str, Any] = {}
        for field in fields(self):
            own, other = getattr(self, field.name), getattr(lower, field.name)
            if isinstance(own, Mapping) and isinstance(other, Mapping):
                chosen[field.name] = {**other, **own}
            else:
                chosen[field.name] = other if own is None else own
        return replace(self, **chosen)

    def to_call(self) -> dict[str, Any]:
        """Return the keyword arguments of ``cleandesk.certify`` that this stands for."""
        held = {
            "arguments": self.kwargs,
            "episodes": self.episodes,
            "steps": self.steps,
            "seeds": self.seeds,
            "episode_seeds": self.ep_seeds,
            "reset": self.reset,
            "declare": self._declared(),
            "pin": self.pin,
            "budget_s": self.budget,
            "trace": False if self.no_trace else None,
            "explain": False if self.no_explain else None,
            "order": self.order,
        }
        return {name: value for name, value in held.items() if value is not None}

    def read_known(self, rig: str) -> Known:
        """Return what the file of known leaks says of ``rig``; nothing where there is none."""
        from cleandesk.audit.certificate.known import Known, read_known

        return read_known(Path(self.known), rig) if self.known is not None else Known()

    def _declared(self) -> tuple[str, ...] | None:
        pairs = (self.declare or {}).items()
        return tuple(f"{pattern}={sampler}" for pattern, sampler in pairs) or None


NAMES = frozenset(field.name.replace("_", "-") for field in fields(Chosen))


def settings_for(rig: str, folder: Path) -> Chosen:
    """Return what the nearest pyproject.toml says for ``rig``.

    Args:
        rig: What is judged, as it is given to `certify`.
        folder: Where to begin; the folders above it are looked in as well.

    Raises:
        UsageError: CD-872, it names an option that there is not, or of another type.
    """
    file = next((path for at in (folder, *folder.parents) if (path := at / _FILE).is_file()), None)
    if file is None:
        return Chosen()
    table = _table(file)
    own = {name: value for name, value in table.items() if not _is_of_rig(name, value)}
    chosen = _read(own, file, _TABLE)
    of_rigs = {name: value for name, value in table.items() if name not in own}
    for name in sorted(of_rigs, key=lambda name: (name == rig, len(name))):
        read = _read(of_rigs[name], file, f'{_TABLE}."{name}"')
        if name == rig or fnmatchcase(rig, name):
            chosen = read.over(chosen)
    return chosen


def _table(file: Path) -> Mapping[str, Any]:
    try:
        held: Any = tomllib.loads(file.read_text("utf-8"))
        for part in _TABLE.split("."):
            held = held.get(part, {})
        return dict(held)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(
            "CD-872",
            f"[{_TABLE}] can't be read: {shown(error)}",
            where=f"file {shown(file, 1000)}",
            do="mend the file",
        ) from error


def _is_of_rig(name: str, value: Any) -> bool:
    # A rig's name has a colon or a dot in it; `declare` and `kwargs` are tables as well.
    return isinstance(value, dict) and name not in NAMES


def _read(table: Mapping[str, Any], file: Path, where: str) -> Chosen:
    for name in table:
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1)
            options = ", ".join(sorted(NAMES))
            raise _wrong(
                f"there is no option {shown(name)!r}",
                file,
                where,
                f"did you mean {near[0]!r}?" if near else f"the options are: {options}",
            )
    held = {name.replace("-", "_"): value for name, value in table.items()}
    for name in _FILES:
        if isinstance(held.get(name), str):
            held[name] = str(file.parent / held[name])
    try:
        return msgspec.convert(held, Chosen)
    except msgspec.ValidationError as error:
        raise _wrong(shown(error), file, where, "give a value of that type") from error


def _wrong(message: str, file: Path, where: str, do: str) -> UsageError:
    return UsageError("CD-872", message, where=f"[{shown(where)}] of {shown(file, 1000)}", do=do)
