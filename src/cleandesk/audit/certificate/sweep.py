"""A sweep: every environment that is installed and fits a pattern, one certificate each.

Each is judged in processes of its own within its own budget; one that can't be imported
is a row beside the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.alone import Job, ask, certify_each
from cleandesk.audit.certificate.certificate import Certificate
from cleandesk.audit.certificate.links import DeviceError
from cleandesk.audit.certificate.settings import Settings
from cleandesk.errors import UsageError, shown

Progress = Callable[[str], None]

SCHEMA = "sweep-rows/1"
_LISTING_S = 300.0
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Row:
    """One environment of a sweep.

    Attributes:
        reference: As ``certify`` takes it.
        cls: Its class.
        status: PASS, FAIL or UNKNOWN.
        reason: One sentence.
        leaks: Paths of its leaks, without echoes.
        took_s: Wall time.
    """

    reference: str
    cls: str
    status: str
    reason: str
    leaks: tuple[str, ...]
    took_s: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep found.

    Attributes:
        pattern: As it was asked for.
        references: What fits it, in order.
        certificates: One for each of them.
        took_s: Wall time of the whole.
    """

    pattern: str
    references: tuple[str, ...]
    certificates: tuple[Certificate, ...]
    took_s: float

    @property
    def rows(self) -> tuple[Row, ...]:
        """The table."""
        return tuple(map(row_of, self.references, self.certificates))

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain JSON."""
        rows = [
            {
                "class": row.cls,
                "leaks": list(row.leaks),
                "reason": row.reason,
                "reference": row.reference,
                "status": row.status,
                "took_s": row.took_s,
            }
            for row in self.rows
        ]
        return {
            "pattern": self.pattern,
            "rows": rows,
            "schema": SCHEMA,
            "took_s": self.took_s,
        }


def row_of(reference: str, certificate: Certificate) -> Row:
    """Return the row of one certificate."""
    return Row(
        reference,
        str(certificate.cls),
        str(certificate.status),
        certificate.reason,
        tuple(leak.path for leak in certificate.leaks if leak.kind == "leak"),
        certificate.took_s,
    )


def sweep(
    pattern: str,
    *,
    workers: int = 1,
    on_progress: Progress | None = None,
    on_row: Callable[[str, Certificate], None] | None = None,
    of_each: Callable[[str], Mapping[str, Any]] | None = None,
    **settings: Any,
) -> Sweep:
    """Judge everything that is installed and fits ``pattern``.

    Args:
        pattern: ``gym:*``, ``gym:myrobots/*``, ``pettingzoo:*``, ``dm_control:*``, or ``*``.
        workers: How many are judged at a time.
        on_progress: Told in a few words what is done.
        on_row: Called with each reference and its certificate as it is made.
        of_each: Returns what is to be otherwise for a reference, as ``settings``.
        settings: As ``certify`` takes them; ``budget_s`` is that of each one.

    Raises:
        UsageError: CD-881, nothing that is installed fits; CD-882, what is installed can't
            be listed; CD-831 or CD-832, the settings do not fit.
    """
    started = time.monotonic()
    Settings(**settings)
    references = fitting(pattern, path=settings.get("path", ()))
    done: list[str] = []

    def tell(job: Job, certificate: Certificate) -> None:
        done.append(job.reference)
        if on_progress is not None:
            on_progress(f"{len(done)} of {len(references)}: {job.reference} {certificate.cls}")
        if on_row is not None:
            on_row(job.reference, certificate)

    own = {each: {**settings, **(of_each(each) if of_each else {})} for each in references}
    for each in references:
        # Before the first is judged: a slip in the last must not cost the others.
        Settings(**own[each])
    jobs = [Job(each, own[each], each) for each in references]
    found = certify_each(jobs, workers=workers, on_done=tell)
    took_s = round(time.monotonic() - started, 3)
    return Sweep(pattern, tuple(references), tuple(found), took_s)


def fitting(pattern: str, *, path: Sequence[str] = ()) -> list[str]:
    """Return the references of what is installed and fits ``pattern``, in order.

    A pattern without ``*``, ``?`` or ``[`` is a reference and fits itself.

    Raises:
        UsageError: CD-881, nothing fits; CD-882, what is installed can't be listed.
    """
    if not _WILD & set(pattern):
        return [pattern]
    scheme, colon, _ = pattern.partition(":")
    is_one = bool(colon) and not _WILD & set(scheme)
    folders = [*path] or [str(Path.cwd())]
    try:
        known = ask("references", [scheme if is_one else "", folders], _LISTING_S)
    except DeviceError as error:
        raise UsageError(
            "CD-882",
            f"what is installed can't be listed: {shown(error.said, 300)}",
            where=f"sweep {shown(repr(pattern), 80)}",
            do=f"make `import` of the package behind {shown(scheme, 40)!r} work first",
        ) from error
    found = [each for each in dict.fromkeys(known) if fits(pattern, each)]
    if not found:
        near = get_close_matches(pattern.rstrip("*"), known, n=3, cutoff=0.3)
        raise UsageError(
            "CD-881",
            f"nothing of the {len(known)} that are installed fits {shown(repr(pattern), 80)}",
            where="sweep",
            do=f"did you mean {', '.join(near)}?" if near else "write gym:*, or dm_control:*",
        )
    return sorted(found)


def fits(pattern: str, reference: str) -> bool:
    """Tell whether ``reference`` fits; ``gym:PACKAGE:ID`` also as ``gym:ID``."""
    scheme, _, rest = reference.partition(":")
    short = f"{scheme}:{rest.rpartition(':')[2]}"
    return fnmatchcase(reference, pattern) or fnmatchcase(short, pattern)
