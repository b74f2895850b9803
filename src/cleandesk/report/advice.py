"""What to do about a certificate that is no PASS: the next action, word for word (C-96)."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Sequence

from cleandesk.audit.certificate.certificate import Cause, Certificate, Class
from cleandesk.audit.certificate.rig import CHANNELS
from cleandesk.audit.certificate.sentences import NOT_HIDDEN, OVER_BUDGET, REFUSED_ENTROPY
from cleandesk.errors import shown
from cleandesk.verdict import Status

_MOST_LINES = 2
_OVER = OVER_BUDGET.text.partition("{")[0]
_MET = NOT_HIDDEN.text.partition("(")[0]
_HELD = REFUSED_ENTROPY.text.partition("}")[2]
_OR = "; or declare what is meant to vary:"

_BY_CAUSE = {
    Cause.GLOBAL_RNG: (
        "draw from a generator that reset(seed) seeds (self.np_random), not from random or "
        "numpy.random; to judge the rest meanwhile: --pin global-rng"
    ),
    Cause.HASH_ORDER: (
        "sort what is iterated over, where it is a set; to judge the rest meanwhile: "
        "--pin hash-order"
    ),
    Cause.WALL_CLOCK: (
        "count steps instead of reading the clock; to judge the rest meanwhile: --pin wall-clock"
    ),
    Cause.ENTROPY: (
        "seed in reset(seed) every generator and every space that the environment draws from: "
        "one of them begins with the system's entropy"
    ),
    Cause.WALK: (
        "looking at it changes it: find the __getattr__ or __dict__ with a side effect, or give "
        "a rig of your own whose roots() leave that object out"
    ),
}
_WHATEVER = (
    "look for what is no stream and yet never the same twice: memory that nobody wrote "
    "(np.empty), addresses (id, hashes of objects), threads, a random.Random() that reset(seed) "
    "does not seed"
)
_MEETING = ", or a file that both builds wrote to: folders can't be hidden from one another here"
_OPAQUE = (
    "make the handles listed as opaque anew in reset(), or register a reader for them so that "
    "the write can be named"
)
_TICKETED = "it has its ticket; once it is mended, take it off the list, which then fails"
_READ = (
    "what is declared is read after the reset all the same, so that episodes differ: restore it "
    "in reset(), or give it a ticket with --known FILE"
)
_OUTSIDE = (
    "look for it outside the objects: files, environment variables, another process, the memory "
    "of a compiled library"
)


def advice(certificate: Certificate) -> list[str]:
    """Return what to do next, in sentences, with the lines to type; none for a PASS."""
    if certificate.cls is Class.REFUSED:
        fields = [name for name in certificate.varies if _is_field(name)]
        text = _of_refusal(certificate)
        return [f"{text}{_OR}" if fields else text, *_declared(fields)]
    if certificate.cls is Class.STATE_ONLY:
        return ["leave out --no-trace: what was not played can't be called clean"]
    if certificate.cls is Class.ERROR and _OVER in certificate.reason:
        return ["give it more seconds with --budget, or fewer with --episodes and --steps"]
    if certificate.cls is Class.ERROR:
        return ["make it build, reset and play two episodes by itself first"]
    return _of_failure(certificate) if certificate.cls is Class.FAIL else []


def _of_refusal(certificate: Certificate) -> str:
    if _HELD not in certificate.reason:
        return _BY_CAUSE[certificate.cause or Cause.ENTROPY]
    meets = any(each.startswith(_MET) for each in certificate.not_checked)
    return _WHATEVER + _MEETING if meets else _WHATEVER


def declaration(path: str) -> str:
    """Return the option that declares ``path``, as a shell takes it."""
    return f"--declare {shlex.quote(shown(path, 300) + '=any')}"


def _of_failure(certificate: Certificate) -> list[str]:
    found = [leak for leak in certificate.leaks if leak.kind == "leak"]
    leaks = [leak.path for leak in found if not leak.ticket]
    blocking = [item for item in certificate.checks if item.blocks and item.status is Status.FAIL]
    if found and not leaks:
        return [f"see the check {shown(item.name)}" for item in blocking[:1]] or [_TICKETED]
    inside = _handle_around(leaks, certificate)
    if inside:
        return [f"make {inside} anew in reset(): what is in it can't be put back from outside"]
    open_ = [path for path in leaks if not _is_declared(path, certificate)]
    if leaks and not open_:
        return [_READ]
    if leaks:
        what = "it" if len(leaks) == 1 else "them"
        return [f"restore {what} in reset(){_OR}", *_declared(open_)]
    problems = [item for item in certificate.declared if item.problem]
    if problems:
        return [f"mend the declaration {shown(problems[0].pattern)}"]
    if certificate.first_divergence is not None:
        return [_OPAQUE if certificate.opaque else _OUTSIDE]
    return [f"see the check {shown(item.name)}" for item in blocking[:1]]


def _handle_around(leaks: Sequence[str], certificate: Certificate) -> str:
    """Return the handle that a leak lies in whose restoring did not mend the trace, or empty."""
    if any(leak.is_confirmed for leak in certificate.leaks):
        return ""
    handles = (item.path for item in certificate.opaque)
    return next(
        (
            shown(at)
            for at in handles
            if any(path.startswith((f"{at}.", f"{at}[")) for path in leaks)
        ),
        "",
    )


def _is_declared(path: str, certificate: Certificate) -> bool:
    return any(path in item.paths for item in certificate.declared if not item.problem)


def _declared(paths: Iterable[str]) -> list[str]:
    return [declaration(path) for path in itertools.islice(paths, _MOST_LINES)]


def _is_field(name: str) -> bool:
    channel = name.partition(":")[0].partition(" ")[0].partition(".")[0].partition("[")[0]
    return channel not in CHANNELS
