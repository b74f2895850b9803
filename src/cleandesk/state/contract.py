"""A contract: which state counts, and what each part of it is for.

Three kinds of exception, told apart because they mean different things. A field that
is *ignored* is never compared and needs a reason. A *declared* field is meant to vary
per episode, within its sampler. An *incidental* field is verified at the start and
free to change during the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cleandesk.errors import ContractError
from cleandesk.state.canon import decode, encode
from cleandesk.state.delta import Delta, Edit
from cleandesk.state.over import Over
from cleandesk.state.pattern import Pattern
from cleandesk.state.prune import pick, prune
from cleandesk.state.sampler import Sampler
from cleandesk.state.snapshot import Snapshot

VIRTUAL = "virtual"
"""The usual clock tier: whoever asks ``at.clock`` sees the contract's time."""

_TIERS = (VIRTUAL, "in-process", "libc")


@dataclass(frozen=True, slots=True)
class SurfaceTerms:
    """What a contract says of one surface.

    Attributes:
        kind: The kind of surface, such as ``objects``.
        source: What that kind needs to know to read it; plain values.
        ignore: Pattern below the surface -> reason.
        incidental: Patterns below the surface.
        declared: Pattern below the surface -> sampler (see ``state/sampler.py``).
    """

    kind: str
    source: Mapping[str, Any]
    ignore: Mapping[str, str] = field(default_factory=dict)
    incidental: Sequence[str] = ()
    declared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contract:
    """Name, version and terms of the state that counts.

    Attributes:
        name: The contract's name, usually the world's.
        version: Changes whenever the terms do.
        surfaces: Surface name -> terms.
        clock: The time at which the clock is pinned, ISO 8601, or None.
        tier: Who sees that clock: virtual, in-process or libc (``worlds/clocks.py``).
        identity: Name, version and the digest of the terms.
    """

    name: str
    version: str
    surfaces: Mapping[str, SurfaceTerms]
    clock: str | None = None
    tier: str = VIRTUAL
    identity: str = field(init=False)

    def __post_init__(self) -> None:
        """Digest the terms once: every capture is stamped with them."""
        digest = hashlib.sha256(encode(self.to_plain())).hexdigest()[:16]
        object.__setattr__(self, "identity", f"{self.name}/{self.version}#{digest}")

    def to_plain(self) -> dict[str, Any]:
        """Return the terms as plain values."""
        # Not said where it is the usual one: contracts made before had no other.
        tier = {"tier": self.tier} if self.tier != VIRTUAL else {}
        return {
            **tier,
            "clock": self.clock,
            "name": self.name,
            "surfaces": {
                name: {
                    "declared": dict(terms.declared),
                    "ignore": dict(terms.ignore),
                    "incidental": list(terms.incidental),
                    "kind": terms.kind,
                    "source": dict(terms.source),
                }
                for name, terms in self.surfaces.items()
            },
            "version": self.version,
        }

    @classmethod
    def from_plain(cls, held: Mapping[str, Any]) -> Contract:
        """Read what ``to_plain`` returned."""
        surfaces = {name: SurfaceTerms(**terms) for name, terms in held["surfaces"].items()}
        tier = held.get("tier", VIRTUAL)
        return cls(held["name"], held["version"], surfaces, held["clock"], tier)

    def tables(self) -> list[tuple[str, str]]:
        """Return the (surface, table) pairs that are read, the pinned clock's among them."""
        found = [
            (surface, table)
            for surface, terms in self.surfaces.items()
            for table in terms.source.get("tables", terms.source.get("parts", ()))
        ]
        return [*found, ("clock", "now")] if self.clock else found

    @property
    def incidental(self) -> tuple[Pattern, ...]:
        """The incidental fields, each as a pattern from the surface down."""
        return _patterns(self, lambda terms: terms.incidental)

    @property
    def declared(self) -> dict[Pattern, Sampler]:
        """The declared fields, each as a pattern from the surface down."""
        return {
            Pattern.parse(text).under(name): Sampler.parse(sampler)
            for name, terms in self.surfaces.items()
            for text, sampler in terms.declared.items()
        }

    def start_view(self, snapshot: Snapshot) -> Snapshot:
        """Return ``snapshot`` without its declared fields: what two starts must share."""
        patterns = self.declared
        over = {name: _without_over(name, held, patterns) for name, held in snapshot.over.items()}
        return Snapshot(f"{snapshot.contract}@start", _without(snapshot, patterns), over)

    def undeclared(self, snapshot: Snapshot) -> list[tuple[str, Any, str]]:
        """Return the declared fields that lie outside their sampler.

        Surfaces with a base are left to who holds them, and knows which fields of it do.

        Returns:
            (pattern, value, sampler) for each such field.
        """
        if not self.declared:
            return []
        return self.outside(Snapshot(snapshot.contract, snapshot.surfaces).tree())

    def outside(self, tree: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
        """Return the same of a tree: surface -> table -> value."""
        return [
            (pattern.text, value, sampler.text)
            for pattern, sampler in self.declared.items()
            for value in pick(tree, pattern.parts)
            if not sampler.holds(value)
        ]

    def require_fields(
        self, snapshot: Snapshot, ignored: Iterable[str] = (), *, of_base: bool = False
    ) -> None:
        """Check that every field that this contract names exists in ``snapshot``.

        Only the surfaces that ``snapshot`` holds are looked at: those that have a base are
        looked at when it is made.

        Args:
            snapshot: A start captured under this contract, or a base.
            ignored: The ignored patterns that did match when it was captured.
            of_base: ``snapshot`` is a base: there a record may be incidental that does
                not exist yet, such as the file of a log.

        Raises:
            ContractError: CD-204, a pattern that names nothing.
        """
        held = Snapshot(snapshot.contract, snapshot.surfaces)
        matched = set(ignored)
        ignores = _patterns(self, lambda terms: terms.ignore)
        missing = [("ignores", each.text) for each in ignores if each.text not in matched]
        for word, patterns in (("declares", self.declared), ("calls incidental", self.incidental)):
            missing += [(word, each.text) for each in patterns if not _names(each, held)]
        missing = [
            (word, text)
            for word, text in missing
            if (parts := Pattern.parse(text).parts)[0] in held.surfaces
            and not (of_base and word == "calls incidental" and _is_of_record(parts, held))
        ]
        if missing:
            word, name = missing[0]
            tables = ", ".join(
                f"{surface}.{table}" for surface, rest in held.surfaces.items() for table in rest
            )
            raise ContractError(
                "CD-204",
                f"the contract {word} {name!r}, and no such field exists at the start",
                where=f"contract {self.name}/{self.version}; it reads {tables}",
                do="correct the name, or delete the entry if the field is gone",
            )


def contract(
    name: str,
    version: str,
    /,
    *,
    clock: str | None = None,
    tier: str = VIRTUAL,
    **surfaces: SurfaceTerms,
) -> Contract:
    """Declare the state that counts.

    Args:
        name: The contract's name, usually the world's.
        version: Any text; change it whenever the terms change.
        clock: Where the clock is pinned, such as ``2023-10-15T15:34:00Z``.
        tier: Who sees the pinned clock. ``virtual``: whoever asks ``at.clock``.
            ``in-process``: all Python code of the world. ``libc``: programs that it serves
            as well.
        surfaces: Each surface by name, such as ``desk=objects("events")``.

    Raises:
        ContractError: CD-202, there is no surface, or a term that can't be meant:
            a pattern that is no pattern, an ignored field without a reason, a field
            with two meanings, a clock that is no time, a tier without a clock.

    Example:
        >>> contract("shop", "2.1", cart=objects("rows", ignore={"rows[*].otp": "random"}))
    """
    if not surfaces:
        raise ContractError(
            "CD-202",
            f"contract {name!r} names no surface",
            do='name what holds the state, such as desk=cleandesk.objects("events")',
        )
    for surface, terms in surfaces.items():
        _require_terms(name, surface, terms)
    if clock is not None:
        parse_time(clock)
    if tier not in _TIERS or (clock is None and tier != VIRTUAL):
        raise ContractError(
            "CD-202",
            f"the tier {tier!r} has no clock" if tier in _TIERS else f"there is no tier {tier!r}",
            where=f"contract {name}, tier",
            do=f"pin a clock, and write one of: {', '.join(_TIERS)}",
        )
    return Contract(name, version, dict(surfaces), clock, tier)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; without an offset it is taken as UTC.

    Raises:
        ContractError: CD-202, the text is not a time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ContractError(
            "CD-202", f"{text!r} is not a time", where="clock", do="write 2023-10-15T15:34:00Z"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _require_terms(name: str, surface: str, terms: SurfaceTerms) -> None:
    where = f"contract {name}, surface {surface}"
    meanings: dict[str, str] = {}
    for word, texts in (
        ("ignored", terms.ignore),
        ("declared", terms.declared),
        ("incidental", terms.incidental),
    ):
        for text in texts:
            Pattern.parse(text)
            if text in meanings:
                raise ContractError(
                    "CD-202",
                    f"{text!r} is both {meanings[text]} and {word}",
                    where=where,
                    do="keep one: ignored is never compared, declared varies per episode, "
                    "incidental is verified at the start and may change",
                )
            meanings[text] = word
    for text, reason in terms.ignore.items():
        if not reason.strip():
            raise ContractError(
                "CD-202", f"{text!r} is ignored without a reason", where=where, do="say why"
            )
    for sampler in terms.declared.values():
        Sampler.parse(sampler)


def _patterns(held: Contract, texts: Any) -> tuple[Pattern, ...]:
    return tuple(
        Pattern.parse(text).under(name)
        for name, terms in held.surfaces.items()
        for text in texts(terms)
    )


def _is_of_record(parts: tuple[str | None, ...], snapshot: Snapshot) -> bool:
    """Tell whether ``parts`` name one record of a table that there is."""
    return len(parts) == 3 and parts[1] in snapshot.surfaces[str(parts[0])]


def _names(pattern: Pattern, snapshot: Snapshot) -> bool:
    surface, name, *inner = pattern.parts
    tables = snapshot.surfaces.get(str(surface), {})
    found = [held for table, held in tables.items() if name in {None, table}]
    if not inner:
        return bool(found) or (name is None and not tables)
    # Only the tables that are named are decoded.
    return any(prune(held.value(), tuple(inner))[1] for held in found)


def _without_over(surface: str, over: Over, patterns: Iterable[Pattern]) -> Over:
    """Take declared fields out of what was written: with the base the same, that is enough."""
    own = [pattern.parts[1:] for pattern in patterns if pattern.parts[0] in {None, surface}]
    if not own:
        return over
    tables: dict[str, dict[bytes, Edit]] = {}
    for name, rows in over.delta.tables.items():
        fitting = [parts[1:] for parts in own if parts[0] in {None, name}]
        if () in fitting:
            continue
        tables[name] = {
            key: (_side_without(key, before, fitting), _side_without(key, after, fitting))
            for key, (before, after) in rows.items()
        }
    kept = [
        [name for name in names if all(parts[1:] or parts[0] not in {None, name} for parts in own)]
        for names in (over.delta.created, over.delta.dropped)
    ]
    return over.with_delta(Delta.of(tables, *kept))


def _side_without(
    key: bytes, record: bytes | None, patterns: list[tuple[str | None, ...]]
) -> bytes | None:
    if record is None:
        return None
    held: dict[Any, Any] = {decode(key): decode(record)}
    for parts in patterns:
        held, _ = prune(held, parts)
    return encode(next(iter(held.values()))) if held else None


def _without(snapshot: Snapshot, patterns: Iterable[Pattern]) -> dict[str, Any]:
    surfaces: dict[str, Any] = {name: dict(held) for name, held in snapshot.surfaces.items()}
    for pattern in patterns:
        tables = surfaces.get(str(pattern.parts[0]), {})
        for name in [name for name in tables if pattern.parts[1] in {None, name}]:
            if len(pattern.parts) == 2:
                del tables[name]
                continue
            value, _ = prune(tables[name].value(), pattern.parts[2:])
            tables[name] = Snapshot.of("", {"": {name: value}}).surfaces[""][name]
    return surfaces
