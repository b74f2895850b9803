"""Leaks that have a ticket: they do not fail a test, as long as they are what they were.

The list is strict both ways. A leak that is not on it is new, and an entry that names no
leak any more is fixed; either one fails, so that the list can't rot.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.certificate import Certificate, Class, Leak
from cleandesk.audit.certificate.declaring import names, parts_of
from cleandesk.errors import ContractError, UsageError, shown
from cleandesk.state.pattern import Pattern
from cleandesk.verdict import Status

UNNAMED = "unnamed"
"""Stands for a divergence that the named leaks do not explain."""

CHECK = "check"
"""``check.alias`` stands for the check of that name."""

_TABLE = "known"
_FORM = '[known] or ["gym:Foo-v1".known], and in it "env.field" = "TICKET-1"'


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one rig.

    Attributes:
        entries: Patterns with their tickets.
    """

    entries: tuple[tuple[Pattern, str], ...] = ()

    @classmethod
    def parse(cls, tickets: Mapping[str, Any], *, where: str = "known") -> Known:
        """Read patterns with their tickets.

        Args:
            tickets: Pattern to ticket. A pattern names a field and everything below it;
                ``unnamed`` is a divergence that no field explains, ``check.NAME`` a check.
            where: What an error names.

        Raises:
            UsageError: CD-823, a ticket is no text, or empty; CD-824, no pattern.
        """
        entries: list[tuple[Pattern, str]] = []
        for text, ticket in tickets.items():
            if not isinstance(ticket, str) or not ticket.strip():
                raise UsageError(
                    "CD-823",
                    f"{shown(repr(text), 80)} has no ticket, but {shown(repr(ticket), 40)}",
                    where=where,
                    do="write the ticket's name as a text, such as ROB-311",
                )
            entries.append((_pattern(text, where), ticket.strip()))
        return cls(tuple(entries))

    def ticket_of(self, path: str) -> str:
        """Return the ticket of the first entry that names ``path``, or empty."""
        parts = parts_of(path)
        return next((ticket for pattern, ticket in self.entries if names(pattern, parts)), "")


@dataclass(frozen=True, slots=True)
class Settled:
    """A certificate held against what is known.

    Attributes:
        certificate: With the tickets of its leaks.
        is_as_known: Whether it is a PASS with nothing known, or fails exactly as known.
        new: Leaks that no entry names; ``unnamed`` and ``check.NAME`` among them.
        fixed: Patterns that name no leak any more.
        why: One sentence where it is not as known.
    """

    certificate: Certificate
    is_as_known: bool
    new: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    why: str = ""


def settle(certificate: Certificate, known: Known) -> Settled:
    """Hold ``certificate`` against what is known of its rig.

    Where rows differ, the leaks count as its explanation only once restoring them made the
    trace equal. Otherwise something else may have leaked with them, and that is ``unnamed``.
    """
    marked = replace(certificate, leaks=tuple(_marked(leak, known) for leak in certificate.leaks))
    if certificate.status is Status.UNKNOWN:
        # Nothing was judged to its end: no entry is fixed by that, and none explains it.
        why = f"{certificate.cls} is neither a PASS nor a known FAIL: {certificate.reason}"
        return Settled(marked, is_as_known=False, why=why)
    found = _findings(certificate)
    new = tuple(path for path in found if not known.ticket_of(path))
    seen = [*found, *(leak.path for leak in certificate.leaks)]
    fixed = tuple(
        pattern.text
        for pattern, _ in known.entries
        if not any(names(pattern, parts_of(path)) for path in seen)
    )
    return Settled(marked, not (new or fixed), new, fixed, _why(new, fixed))


def read_known(path: Path, reference: str) -> Known:
    """Return what a file says of one rig: its table ``known``, and the rig's own.

    An entry of the table ``known`` is meant for every rig that the file is used with.

    Args:
        path: A TOML file.
        reference: The rig, as it is named for ``certify``.

    Raises:
        UsageError: CD-822, the file can't be read or holds something else; CD-823, a
            ticket is no text; CD-824, no pattern.
    """
    try:
        held = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _unreadable(path, shown(error)) from error
    tickets: dict[str, str] = {}
    for name, table in held.items():
        entries = table
        if name != _TABLE:
            if not isinstance(table, dict) or set(table) != {_TABLE}:
                raise _unreadable(path, f"{shown(repr(name), 60)} is no table of known leaks")
            entries = table[_TABLE]
        if not isinstance(entries, dict):
            raise _unreadable(path, f"{shown(repr(name), 60)} is no table")
        # Of every table, so that a slip is found whichever rig is asked for.
        Known.parse(entries, where=f"file {shown(path, 1000)}, {shown(repr(name), 60)}")
        if name in {_TABLE, reference}:
            tickets |= entries
    return Known.parse(tickets)


def _findings(certificate: Certificate) -> tuple[str, ...]:
    """Return all that makes the certificate a FAIL, by the name that an entry gives it."""
    if certificate.cls is not Class.FAIL:
        return ()
    leaks = [leak for leak in certificate.leaks if leak.kind == "leak"]
    found = [leak.path for leak in leaks]
    if _has_diverged(certificate) and not (leaks and all(leak.is_confirmed for leak in leaks)):
        found.append(UNNAMED)
    found += [
        f"{CHECK}.{check.name}"
        for check in certificate.checks
        if check.blocks and check.status is Status.FAIL
    ]
    found += [each.pattern for each in certificate.declared if each.problem]
    return tuple(dict.fromkeys(found or [UNNAMED]))


def _has_diverged(certificate: Certificate) -> bool:
    """Tell whether rows differ where it is a finding: those of a rig that jitters do anyway."""
    failed = [each for each in certificate.boundaries if each.cls is Class.FAIL]
    if certificate.boundaries:
        return any(each.divergence is not None for each in failed)
    return certificate.first_divergence is not None


def _marked(leak: Leak, known: Known) -> Leak:
    ticket = known.ticket_of(leak.path)
    return replace(leak, ticket=ticket) if ticket else leak


def _why(new: tuple[str, ...], fixed: tuple[str, ...]) -> str:
    said: list[str] = []
    named = [path for path in new if path != UNNAMED]
    if named:
        said.append(f"not known: {_few(named)}")
    if UNNAMED in new:
        said.append("no known leak was shown to explain the divergence")
    if fixed:
        said.append(f"known and no longer found: {_few(fixed)}")
    return "; ".join(said)


def _few(texts: Iterable[str], most: int = 5) -> str:
    held = [*texts]
    more = f" and {len(held) - most} more" if len(held) > most else ""
    return ", ".join(shown(text, 80) for text in held[:most]) + more


def _pattern(text: str, where: str) -> Pattern:
    try:
        return Pattern.parse(text)
    except ContractError as error:
        raise UsageError("CD-824", error.message, where=where, do=error.do) from error


def _unreadable(path: Path, why: Any) -> UsageError:
    return UsageError(
        "CD-822",
        f"not a list of known leaks: {why}",
        where=f"file {shown(path, 1000)}",
        do=f"write {_FORM}",
    )
