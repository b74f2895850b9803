"""A certificate asks to be re-run: from its own stamp, and compared with what it said.

A certificate may come from anywhere, and to run it again is to run the code that it
names. What is registered (``gym:..``, a built-in world) and code in the caller's own
folders is run; anything else only where the caller says so.
"""

from __future__ import annotations

import importlib.machinery
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.audit.certificate.certificate import Certificate, Leak
from cleandesk.audit.certificate.certify import certify
from cleandesk.audit.certificate.settings import PINS, STEPS
from cleandesk.audit.certificate.spelling import read_certificate, to_json
from cleandesk.audit.certificate.stamp import differing
from cleandesk.errors import UsageError, shown
from cleandesk.finding import registered

Progress = Callable[[str], None]

SCHEMA = "again/1"

_SAME, _DIFFERS = "SAME", "DIFFERS"
_OWN_SAMPLERS = ("any", "uniform ", "integer ", "integers ", "choice ")
"""With these a person declares; words of a rig's own come back from the rig itself."""


@dataclass(frozen=True, slots=True)
class Again:
    """A certificate and the one that its re-run gave.

    Attributes:
        before: The certificate that was read.
        after: That of the re-run.
        stamp: Parts of the stamp that are not what they were.
        differs: In what the two certificates differ, a sentence each.
    """

    before: Certificate
    after: Certificate
    stamp: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether the re-run says what the certificate said."""
        return not self.differs

    def text(self) -> str:
        """Return SAME or DIFFERS, what differs, and what else has changed meanwhile."""
        lines = [f"{_SAME if self.is_same else _DIFFERS}  {shown(self.before.rig)}"]
        if self.is_same:
            lines.append(f"  {self.after.cls}, as before: {shown(self.after.reason, 290)}")
        lines += [f"  {shown(said, 290)}" for said in self.differs]
        if self.stamp:
            lines.append(f"  the stamp differs in {shown(', '.join(self.stamp), 290)}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON, both certificates whole."""
        return {
            "after": to_json(self.after),
            "before": to_json(self.before),
            "differs": list(self.differs),
            "same": self.is_same,
            "schema": SCHEMA,
            "stamp": list(self.stamp),
        }


def certify_again(
    path: str | Path,
    *,
    folders: Sequence[str] = (),
    trust: bool = False,
    on_progress: Progress | None = None,
) -> Again:
    """Run the certificate in a file again, and compare.

    Args:
        path: What ``certify --json FILE`` wrote.
        folders: Folders in which its rig is looked for; the working folder if empty.
        trust: Whether code outside of ``folders``, which the file names, may be run.
        on_progress: Told in a few words what is done now.

    Raises:
        UsageError: CD-871, there is no certificate in it; CD-883, it does not say what it
            was made from; CD-884, it names code that was not asked for.
        CleandeskError: There is no such rig here.
    """
    before = read_certificate(path)
    places = tuple(folders) or (str(Path.cwd()),)
    reference, settings = _from_stamp(before, path)
    if not trust:
        _require_own(reference, places, path)
    after = certify(reference, on_progress=on_progress, path=places, **settings)
    return compare(before, after)


def compare(before: Certificate, after: Certificate) -> Again:
    """Return in what two certificates of one rig differ; their wall times are no matter."""
    return Again(
        before,
        after,
        tuple(differing(before.stamp, after.stamp)),
        tuple(_differences(before, after)),
    )


def _differences(before: Certificate, after: Certificate) -> Iterable[str]:
    if before.cls is not after.cls:
        yield f"class: {before.cls}, now {after.cls}: {after.reason}"
    yield from _sets("leaks", _leaks(before.leaks), _leaks(after.leaks))
    yield from _sets(
        "inert fields", {each.path for each in before.inert}, {each.path for each in after.inert}
    )
    yield from _sets(
        "handles that can't be read",
        {each.path for each in before.opaque},
        {each.path for each in after.opaque},
    )
    yield from _sets("what two fresh builds differ in", {*before.varies}, {*after.varies})
    if before.jitter is None and after.jitter is None:
        # Rows of a rig that jitters are no two times the same.
        yield from _rows(before, after)
        if before.deviation != after.deviation:
            yield "the deviation of the final states"


def _leaks(leaks: Sequence[Leak]) -> set[str]:
    return {f"{leak.path} ({leak.kind}: {leak.before} -> {leak.after})" for leak in leaks}


def _sets(what: str, before: set[str], after: set[str]) -> Iterable[str]:
    if gone := sorted(before - after):
        yield f"{what} no longer found: {'; '.join(gone)}"
    if new := sorted(after - before):
        yield f"{what} not found before: {'; '.join(new)}"


def _rows(before: Certificate, after: Certificate) -> Iterable[str]:
    one = {each.number: each.rows for each in before.boundaries}
    other = {each.number: each.rows for each in after.boundaries}
    if one.keys() != other.keys():
        yield f"boundaries: {len(one)}, now {len(other)}"
    unlike = [
        number for number in sorted(one.keys() & other.keys()) if one[number] != other[number]
    ]
    if unlike:
        yield f"the rows at boundary {', '.join(map(str, unlike))}"
    if before.first_divergence != after.first_divergence:
        yield "the first row that differs from a fresh build's"


def _from_stamp(certificate: Certificate, path: str | Path) -> tuple[str, dict[str, Any]]:
    """Return what a certificate was made from, and how."""
    stamp, profile = certificate.stamp, certificate.profile
    reference = stamp.get("reference")
    if not isinstance(reference, str) or not isinstance(stamp.get("arguments", {}), Mapping):
        raise UsageError(
            "CD-883",
            f"the certificate of {shown(repr(certificate.rig), 80)} does not say what it was "
            "made from",
            where=f"file {shown(path, 1000)}",
            do="name the rig: `cleandesk certify WORLD`",
        )
    settings: dict[str, Any] = {
        "arguments": dict(stamp.get("arguments", {})),
        "declare": [
            f"{each.pattern}={each.sampler}"
            for each in certificate.declared
            if f"{each.sampler} ".startswith(_OWN_SAMPLERS)
        ],
        "episode_seeds": profile.episode_seeds,
        "explain": _was_explained(certificate),
        "pin": [name for name in PINS if name in certificate.condition],
        "reset": str(stamp.get("reset", "seeded")),
        "seeds": profile.seeds,
        "steps": profile.steps or STEPS,
        "trace": profile.steps > 0,
    }
    # What was asked for beyond that, where the stamp says it.
    asked = stamp.get("settings")
    return reference, {**settings, **(asked if isinstance(asked, Mapping) else {})}


def _was_explained(certificate: Certificate) -> bool:
    return certificate.repro is not None or any(
        leak.is_confirmed or leak.kind == "echo" for leak in certificate.leaks
    )


def _require_own(reference: str, folders: Sequence[str], path: str | Path) -> None:
    """Refuse to import and call whatever a file names."""
    scheme, _, rest = reference.partition(":")
    if not rest:
        is_own = reference in registered("world")
    elif scheme in registered("rig") and scheme != "object":
        # An id of what registered itself: nothing that a file names is called.
        is_own = True
    else:
        is_own = _is_below(scheme, folders)
    if not is_own:
        raise UsageError(
            "CD-884",
            f"the certificate names {shown(repr(reference), 200)}, which is no code of this folder",
            where=f"file {shown(path, 1000)}",
            do="go to the folder that holds it; or, if you trust the file, "
            f"judge it by name: cleandesk certify {shown(reference, 200)}",
        )


def _is_below(module: str, folders: Sequence[str]) -> bool:
    """Tell whether a module or a file lies in one of ``folders``."""
    if module.endswith(".py"):
        held = [path for each in folders if (path := Path(each, module)).is_file()]
        origin = str(held[0]) if held else None
    else:
        spec = importlib.machinery.PathFinder.find_spec(module.partition(".")[0], [*folders])
        places = spec.submodule_search_locations if spec is not None else None
        origin = (spec.origin or next(iter(places or []), None)) if spec is not None else None
    if origin is None:
        return False
    resolved = Path(origin).resolve()
    return any(resolved.is_relative_to(Path(each).resolve()) for each in folders)
