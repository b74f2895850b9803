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
from cleandesk.state.canon import encode
from cleandesk.state.pattern import Pattern
from cleandesk.state.prune import pick, prune
from cleandesk.state.sampler import Sampler
from cleandesk.state.snapshot import Snapshot


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
        clock: The time at which the virtual clock is pinned, ISO 8601, or None.
        identity: Name, version and the digest of the terms.
    """

    name: str
    version: str
    surfaces: Mapping[str, SurfaceTerms]
    clock: str | None = None
    identity: str = field(init=False)

    def __post_init__(self) -> None:
        """Digest the terms once: every capture is stamped with them."""
        digest = hashlib.sha256(encode(self.to_plain())).hexdigest()[:16]
        object.__setattr__(self, "identity", f"{self.name}/{self.version}#{digest}")

    def to_plain(self) -> dict[str, Any]:
        """Return the terms as plain values."""
        return {
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
        return cls(held["name"], held["version"], surfaces, held["clock"])

    def tables(self) -> list[tuple[str, str]]:
        """Return the (surface, table) pairs that are read, the pinned clock's among them."""
        found = [
            (surface, table)
            for surface, terms in self.surfaces.items()
            for table in terms.source.get("tables", ())
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
        tree = _without(snapshot, self.declared)
        return Snapshot(f"{snapshot.contract}@start", tree)

    def undeclared(self, snapshot: Snapshot) -> list[tuple[str, Any, str]]:
        """Return the declared fields that lie outside their sampler.

        Returns:
            (pattern, value, sampler) for each such field.
        """
        tree = snapshot.tree() if self.declared else {}
        return [
            (pattern.text, value, sampler.text)
            for pattern, sampler in self.declared.items()
            for value in pick(tree, pattern.parts)
            if not sampler.holds(value)
        ]

    def require_fields(self, snapshot: Snapshot, ignored: Iterable[str] = ()) -> None:
        """Check that every field that this contract names exists in ``snapshot``.

        Args:
            snapshot: A start captured under this contract.
            ignored: The ignored patterns that did match when it was captured.

        Raises:
            ContractError: CD-204, a pattern that names nothing.
        """
        tree = snapshot.tree()
        matched = set(ignored)
        names = [pattern.text for pattern in _patterns(self, lambda terms: terms.ignore)]
        missing = [("ignores", name) for name in names if name not in matched]
        for word, patterns in (("declares", self.declared), ("calls incidental", self.incidental)):
            missing += [
                (word, pattern.text) for pattern in patterns if not prune(tree, pattern.parts)[1]
            ]
        if missing:
            word, name = missing[0]
            tables = ", ".join(
                f"{surface}.{table}" for surface, rest in tree.items() for table in rest
            )
            raise ContractError(
                "CD-204",
                f"the contract {word} {name!r}, and no such field exists at the start",
                where=f"contract {self.name}/{self.version}; it reads {tables}",
                do="correct the name, or delete the entry if the field is gone",
            )


def contract(
    name: str, version: str, /, *, clock: str | None = None, **surfaces: SurfaceTerms
) -> Contract:
    """Declare the state that counts.

    Args:
        name: The contract's name, usually the world's.
        version: Any text; change it whenever the terms change.
        clock: Where the virtual clock is pinned, such as ``2023-10-15T15:34:00Z``.
        surfaces: Each surface by name, such as ``desk=objects("events")``.

    Raises:
        ContractError: CD-202, there is no surface, or a term that can't be meant:
            a pattern that is no pattern, an ignored field without a reason, a field
            with two meanings, a clock that is no time.

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
    return Contract(name, version, dict(surfaces), clock)


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
