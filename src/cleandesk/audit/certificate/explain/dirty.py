"""The judged rig as it was before its judged reset, to be written into and tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cleandesk.audit.certificate.explain.scenario import Scenario
from cleandesk.audit.certificate.explain.smallest import Budget
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.links import DeviceError, Link
from cleandesk.errors import CleandeskError


@dataclass(frozen=True, slots=True)
class Unit:
    """One leaf of the walk, which is read and put back as a whole.

    Attributes:
        path: Where it is.
        fields: The differing fields that it holds, by the names under which they are known.
        built: Its bytes in a fresh build that was never reset; None where it is not there.
        fresh: Its bytes in a fresh build after the judged reset; None likewise.
        is_part: Whether it is a part of a leaf, which the walk does not name by itself.
    """

    path: str
    fields: tuple[str, ...]
    built: bytes | None
    fresh: bytes | None
    is_part: bool = False

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """What is likelier to be the cause comes first: numbers, then what lies near."""
        data = self.fresh if self.fresh is not None else self.built
        kind = Leaf.from_bytes(data).kind if data is not None else Kind.LENGTH
        order = {Kind.VALUE: 0, Kind.ARRAY: 1, Kind.TOKEN: 2}.get(kind, 3)
        return order, self.path.count(".") + self.path.count("["), len(self.path), self.path


@dataclass(frozen=True, slots=True)
class Tried:
    """What one try showed.

    Attributes:
        first: The first row that differs from the fresh ones, or None.
        tokens: The walk after the reset, where it was asked for.
        held: Field to its bytes then, or None where it is not there.
        unwritable: Path to the reason why it could not be written.
    """

    first: int | None
    tokens: Mapping[str, bytes] = field(default_factory=dict)
    held: Mapping[str, bytes | None] = field(default_factory=dict)
    unwritable: Mapping[str, str] = field(default_factory=dict)


class Dirty:
    """Devices that relived the history; each try is made in a fork of one.

    Where it can't be forked, each try relives the history in a device of its own.
    """

    def __init__(self, scenario: Scenario, budget: Budget) -> None:
        """Make no device yet."""
        self._scenario = scenario
        self._budget = budget
        self._link: Link | None = None
        self._is_forkable = True

    def ask(self, name: str, values: Mapping[str, Any] | None = None) -> Any:
        """Run an operation in the state before the judged reset, which it does not change.

        Raises:
            DeviceError: The rig raised, its process ended, or the time is over.
        """
        if self._is_forkable:
            if self._link is None:
                self._link = self._relived()
            try:
                return self._link.attempt(name, values)
            except DeviceError as error:
                if error.kind != "threads":
                    raise
                self._is_forkable = False
                self.close()
        link = self._relived()
        try:
            return link.call(name, values)
        finally:
            link.kill()

    def tried(
        self,
        how: str,
        writes: Sequence[tuple[str, bytes | None]] = (),
        *,
        look: bool = False,
        trace: bool = True,
    ) -> Tried | None:
        """Put fields back and carry out the judged reset.

        Returns:
            What it showed; None where the budget is spent or the rig did not bear it.
        """
        if not self._budget.spend():
            return None
        wanted = {
            "expected": self._scenario.fresh_rows if trace else b"",
            "how": how,
            "limit_s": self._budget.left_s,
            "look": look,
            "paths": list(self._scenario.paths) if look else [],
            "plan": dict(self._scenario.judged),
            "writes": [list(each) for each in writes],
        }
        try:
            said = self.ask("explain_restore", wanted)
        except (DeviceError, CleandeskError):
            return None
        return Tried(said["first"], said["tokens"], said["held"], said["unwritable"])

    def close(self) -> None:
        """End its devices; closing twice is fine."""
        if self._link is not None:
            self._link.kill()
            self._link = None

    def _relived(self) -> Link:
        link = self._scenario.judged_device()
        history = [dict(entry) for entry in self._scenario.history]
        try:
            link.call("explain_relive", {"history": history, "limit_s": self._budget.left_s})
        except BaseException:
            link.kill()
            raise
        return link


class Fresh:
    """A fresh build, before its first reset and after the judged one.

    Attributes:
        built: Path to token before the first reset.
        after: Path to token after the judged reset.
        built_fields: Bytes of the differing fields then; None where one is not there.
        after_fields: The same after the judged reset.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Build it, look, reset it and look again.

        Raises:
            DeviceError: It raised, or its process ended.
        """
        self._link = scenario.fresh_device()
        if scenario.judged.get("state") is not None:
            # Such a reset goes on from where the judged rig's streams stand.
            self._link.call("explain_prepare", {"state": scenario.judged["state"]})
        self.built: Mapping[str, bytes] = self._link.call("look", {"as": "built"})["tokens"]
        paths = {"paths": list(scenario.paths)}
        self.built_fields: Mapping[str, bytes | None] = self._link.call("explain_read", paths)
        self._link.call("reset", {"seed": scenario.judged["seed"]})
        self.after: Mapping[str, bytes] = self._link.call("look", {"as": "after"})["tokens"]
        self.after_fields: Mapping[str, bytes | None] = self._link.call("explain_read", paths)

    def units(self, paths: Mapping[str, tuple[str, ...]]) -> list[Unit]:
        """Return the units at ``paths``, each with the fields that it holds."""
        built = self._link.leaves("built", [path for path in paths if path in self.built])
        after = self._link.leaves("after", [path for path in paths if path in self.after])
        return [
            Unit(path, fields, _bytes(built.get(path)), _bytes(after.get(path)))
            for path, fields in paths.items()
        ]

    def parts(self, unit: Unit) -> list[Unit]:
        """Return the fields of a unit as units of their own, or the unit itself.

        Where a part is on one side only, the container as a whole is what was changed.
        """
        sides = [
            (path, self.built_fields.get(path), self.after_fields.get(path)) for path in unit.fields
        ]
        if len(sides) < 2 or any(None in side for side in sides):
            return [unit]
        return [Unit(path, (path,), built, after, is_part=True) for path, built, after in sides]

    def close(self) -> None:
        """End its device."""
        self._link.kill()


def _bytes(leaf: Leaf | None) -> bytes | None:
    return leaf.to_bytes() if leaf is not None else None


def holds(unit: str, path: str) -> bool:
    """Tell whether the field at ``path`` is the unit or a part of it."""
    return path.startswith(unit) and path[len(unit) : len(unit) + 1] in {"", ".", "["}
