"""A certificate at 80 columns; what matters fits on the first screen.

Nothing rests on colour. All that comes from a rig is untrusted and escaped.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Sequence
from itertools import groupby

from cleandesk.audit.certificate.certificate import (
    Certificate,
    DeclaredField,
    Deviation,
    Divergence,
    Leak,
    Profile,
    ReturnShift,
    Write,
)
from cleandesk.audit.certificate.known import Settled
from cleandesk.audit.certificate.sentences import (
    ACCUMULATES,
    BITS_ONLY,
    CONFIRMED,
    COVERAGE,
    ECHO,
    INERT,
    NOT_CONFIRMED,
    NOT_ORDERABLE,
    ONE_SIDED,
    OPAQUE,
    OPAQUE_LIMIT,
    PROFILE,
    TOKENS,
)
from cleandesk.errors import shown
from cleandesk.report.advice import advice
from cleandesk.report.changes import WIDTH
from cleandesk.report.lines import FEW, LABEL, apart, count, few, labelled, spans
from cleandesk.state.canon import encode
from cleandesk.verdict import Status

SCREEN = 24
_DEEPER = 2
_LIMITS = 12
# Limits that have a paragraph of their own: the fixed words of their sentences.
_SAID_ABOVE = [
    max(re.split(r"\{\w+\}", each.text), key=len) for each in (OPAQUE, OPAQUE_LIMIT, TOKENS)
]
_REASON = 290
_INNER = WIDTH - LABEL - _DEEPER
_PACKAGES = ("/site-packages/", "/dist-packages/")


def render_certificate(certificate: Certificate, settled: Settled | None = None) -> str:
    """Return the whole certificate, the script that reproduces the leak last.

    Args:
        certificate: The certificate.
        settled: How it was held against the leaks that are known, where it was.
    """
    blocks = [*_head(certificate, settled), *_rest(certificate)]
    lines = [line for block in blocks for line in block]
    return "\n".join([*lines, *_script(certificate.repro)]) + "\n"


def first_screen(certificate: Certificate, settled: Settled | None = None) -> str:
    """Return what of the certificate fits on a screen of 24 lines, by whole paragraphs."""
    blocks = _head(certificate, settled)
    lines = [line for block in blocks for line in block]
    for block in _rest(certificate):
        if len(lines) + len(block) >= SCREEN:
            break
        lines += block
    return "\n".join(lines[: SCREEN - 1]) + "\n"


def title(certificate: Certificate) -> str:
    """Return status, class, rig and what the class is conditional on."""
    text = f"{certificate.status}  {certificate.cls}  {shown(certificate.rig)}"
    return f"{text}  ({shown(certificate.condition)})" if certificate.condition else text


def _head(certificate: Certificate, settled: Settled | None) -> list[list[str]]:
    """Return what to read first; the fewer leaks in full, the less room there is."""
    blocks: list[list[str]] = []
    for most in range(FEW, 0, -1):
        blocks = [
            _wrapped(title(certificate)),
            # An error's text has lines of its own: they are run together.
            [*_wrapped(shown(" ".join(certificate.reason.split()), _REASON)), ""],
            _known(settled),
            _leaks(certificate, most),
            _echoes(certificate),
            _divergence(certificate.first_divergence),
            _return_shift(certificate.return_shift),
            labelled("varies", [few(certificate.varies)] if certificate.varies else []),
            _advice(certificate),
        ]
        blocks = [block for block in blocks if block]
        if sum(map(len, blocks)) < SCREEN:
            break
    return blocks


def _known(settled: Settled | None) -> list[str]:
    if settled is None or (settled.is_as_known and settled.certificate.status is Status.PASS):
        return []
    tickets = list(dict.fromkeys(leak.ticket for leak in settled.certificate.leaks if leak.ticket))
    if settled.is_as_known:
        said = f"as listed: {few(tickets)}" if tickets else "as listed"
        return labelled("known", [f"{said} (exit status 0)"])
    # Without a list everything is new: nothing to say of that.
    if not (tickets or settled.fixed):
        return []
    is_unknown = settled.certificate.status is Status.UNKNOWN
    # certificate: C-54, C-92
    do = ["take off the list what is gone"] if settled.fixed else []
    said = f"NOT AS LISTED: {shown(settled.why, 300)}"
    return labelled("known", [said if is_unknown else f"{said} (exit status 1)", *do])


def _rest(certificate: Certificate) -> list[list[str]]:
    is_judged = certificate.profile.episodes > 0
    blocks = [
        _boundaries(certificate),
        labelled("deviation", deviation_texts(certificate.deviation), below=_DEEPER),
        labelled("jitter", deviation_texts(certificate.jitter), below=_DEEPER),
        _inert(certificate),
        _declared(certificate.declared),
        _opaque(certificate),
        _checks(certificate),
        labelled("profile", profile_texts(certificate.profile) if is_judged else []),
        labelled("harness", [shown(certificate.harness)] if certificate.harness else []),
        _not_checked(certificate.not_checked),
        labelled("stamp", _stamp(certificate)),
    ]
    return [block for block in blocks if block]


def _leaks(certificate: Certificate, most: int) -> list[str]:
    leaks = [leak for leak in certificate.leaks if leak.kind == "leak"]
    facts = [_facts(leak) for leak in leaks]
    # What is true of all of them is said once, below them.
    shared = facts[0] if len(leaks) > 1 and all(each == facts[0] for each in facts) else []
    texts: list[tuple[int, str]] = []
    for leak, own in zip(leaks[:most], facts, strict=False):
        texts += [*_leak(leak), *((_DEEPER, fact) for fact in own if not shared)]
    lines: list[str] = []
    for place, (depth, text) in enumerate(texts):
        # Never more than two lines each, so that a screen can be reckoned with.
        label = "leaked" if place == 0 else ""
        room = WIDTH - LABEL - depth
        cut = shown(text, room if depth == 0 else 2 * room - _DEEPER)
        for line in textwrap.wrap(cut, room, break_on_hyphens=False):
            lines.append(f"{label:<{LABEL}}{' ' * depth}{line}")
            label = ""
    if len(leaks) > most:
        lines.append(f"{'':<{LABEL}}+{len(leaks) - most} more in --json")
    for fact in shared:
        lines += labelled("", [f"all: {fact}"])
    return lines


def _leak(leak: Leak) -> list[tuple[int, str]]:
    path = shown(leak.path, WIDTH - LABEL)
    room = (_INNER - len(" -> ")) // 2
    before, after = apart(leak.before, leak.after, room)
    values = f"{before} -> {after}"
    if len(path) + len(values) + 2 <= WIDTH - LABEL:
        return [(0, f"{path}  {values}")]
    return [(0, path), (_DEEPER, values)]


def _facts(leak: Leak) -> list[str]:
    written = _written(leak.written) if leak.written is not None else []
    plural = "boundary" if len(leak.boundaries) == 1 else "boundaries"
    seen = f"{plural} {spans(leak.boundaries)}" if leak.boundaries else ""
    said = CONFIRMED() if leak.is_confirmed else NOT_CONFIRMED()
    known = f"known as {shown(leak.ticket, 40)}" if leak.ticket else ""
    return [*written, "; ".join(filter(None, [known, said, shown(leak.note, 60), seen]))]


def _written(write: Write) -> list[str]:
    moment = f"step {write.step}" if write.step else "its reset"
    text = f"written in episode {write.episode}, {moment}"
    if not write.file:
        return [f"{text}, by compiled code"]
    source = f" by {shown(write.source.strip(), 200)}" if write.source else ""
    return [f"{text}{source}", _place(write)]


def installed(file: str) -> str:
    """Return the path of a file below the folder of packages, where it is in one."""
    for packages in _PACKAGES:
        file = file.rpartition(packages)[2]
    return file


def _place(write: Write) -> str:
    place = f"{shown(installed(write.file), 1000)}:{write.line}"
    # The end of a path says most.
    return place if len(place) <= _INNER else f"…{place[1 - _INNER :]}"


def _echoes(certificate: Certificate) -> list[str]:
    echoes = [leak.path for leak in certificate.leaks if leak.kind != "leak"]
    text = ECHO(fields=count(len(echoes), "field"), names=few(echoes, 3))
    return labelled("echo", [text] if echoes else [])


def _advice(certificate: Certificate) -> list[str]:
    lines: list[str] = []
    for text in advice(certificate):
        label = "" if lines else "do"
        if text.startswith("--"):
            # Whole, since it is there to be copied; further left where it is long.
            indent = LABEL if len(text) <= WIDTH - LABEL else _DEEPER
            lines.append(f"{'':<{indent}}{text}")
        else:
            lines += labelled(label, [text])
    return lines


def _divergence(found: Divergence | None) -> list[str]:
    if found is None:
        return []
    one, other = sides(found)
    fresh, judged = apart(found.fresh, found.judged, _INNER - len("judged "))
    return [
        f"{'diverges':<{LABEL}}{place_of(found)}",
        f"{'':<{LABEL + _DEEPER}}{one:<6} {fresh}",
        f"{'':<{LABEL + _DEEPER}}{other:<6} {judged}",
    ]


def place_of(found: Divergence) -> str:
    """Return where a divergence is; boundary 0 stands for two fresh builds."""
    where = f"boundary {found.boundary}" if found.boundary else "two fresh builds"
    moment = f"step {found.step}" if found.step else "the reset itself"
    return f"{where}, {moment}, in {shown(found.channel, 30)}"


def sides(found: Divergence) -> tuple[str, str]:
    """Return what the two values of a divergence are called."""
    return ("fresh", "judged") if found.boundary else ("one", "other")


def _return_shift(shift: ReturnShift | None) -> list[str]:
    if shift is None:
        return []
    # certificate: C-56
    if shift.largest == 0:
        return labelled("return", ["the same actions return the same over each trace"])
    text = f"of fixed actions moves by {shift.mean:.4g} on average, {shift.largest:.4g} at most"
    pairs = [f"{fresh:.4g} -> {judged:.4g}" for fresh, judged in shift.pairs if fresh != judged]
    return labelled("return", [f"{text}: {few(pairs, 3)}" if pairs else text])


def _boundaries(certificate: Certificate) -> list[str]:
    rows = certificate.boundaries
    groups = [(cls, list(group)) for cls, group in groupby(rows, key=lambda row: row.cls)]
    texts = [f"{spans(row.number for row in group)} {cls}" for cls, group in groups]
    fields = max((row.fields for row in rows), default=0)
    text = f"{', '.join(texts)}; {count(fields, 'field')} read"
    return labelled("boundaries", [text]) if rows else []


def deviation_texts(found: Deviation | None) -> list[str]:
    """Return how far final states are apart, and all that can't be measured, escaped."""
    if found is None or found == Deviation():
        return []
    worst = f", in {shown(found.worst)}" if found.worst else ""
    largest = f"{found.largest:.4g}"
    # certificate: C-64, C-67
    if found.is_unbounded:
        texts = [f"unbounded; the largest that can be measured is {largest}{worst}"]
    else:
        texts = [f"{largest} at most{worst}"]
    named = {
        ONE_SIDED: found.one_sided,
        NOT_ORDERABLE: found.not_orderable,
        TOKENS: found.not_measurable,
        BITS_ONLY: found.bits_only,
    }
    for sentence, held in named.items():
        if held:
            texts.append(sentence(fields=count(len(held), "field"), names=few(held)))
    return texts


def _inert(certificate: Certificate) -> list[str]:
    held = certificate.inert
    if not held:
        return []
    growing = [item.path for item in held if item.note]
    fields, names = count(len(held), "field"), few([item.path for item in held])
    texts = [INERT(fields=fields, evidence=shown(held[0].evidence), names=names)]
    texts += [ACCUMULATES(names=few(growing))] if growing else []
    return labelled("inert", texts, below=_DEEPER)


def _declared(held: Sequence[DeclaredField]) -> list[str]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for item in sorted(held, key=lambda item: not item.problem):
        groups.setdefault((item.sampler, item.problem, item.why), []).append(item.pattern)
    texts = []
    for (sampler, problem, why), patterns in list(groups.items())[:FEW]:
        said = f"WRONG: {shown(problem)}" if problem else f"({shown(why, 90)})" if why else ""
        texts.append(f"{shown(sampler, 60)}: {few(patterns)}  {said}".rstrip())
    more = [f"+{len(groups) - FEW} more in --json"] if len(groups) > FEW else []
    return labelled("declared", [*texts, *more])


def _opaque(certificate: Certificate) -> list[str]:
    held = certificate.opaque
    if not held:
        return []
    names = [f"{item.path} ({item.about})" for item in held]
    text = OPAQUE(handles=count(len(held), "handle"), names=few(names, 3))
    return labelled("opaque", [text, OPAQUE_LIMIT()], below=_DEEPER)


def _checks(certificate: Certificate) -> list[str]:
    found = [item for item in certificate.checks if item.status is not Status.PASS]
    texts = [f"{item.status} {shown(item.name, 30)}: {shown(item.says, 300)}" for item in found]
    passed = [shown(item.name, 30) for item in certificate.checks if item.status is Status.PASS]
    if passed:
        texts.append(f"PASS {', '.join(passed)}")
    return labelled("checks", texts)


def profile_texts(profile: Profile) -> list[str]:
    """Return the horizon that a verdict covers, escaped."""
    horizon = PROFILE(
        boundaries=count(profile.episodes, "boundary"),
        steps=f"traces of {count(profile.steps, 'step')}" if profile.steps else "no trace",
        policy=shown(profile.policy),
    )
    ended = [f"{how} {number}" for how, number in sorted(profile.endings.items()) if number]
    coverage = COVERAGE(
        endings=few(ended) or "never",
        distinct=count(profile.distinct, "distinct observation"),
    )
    seeds = f"seeds {few(list(map(str, profile.seeds)))}"
    before = f"episodes before them {few(list(map(str, profile.episode_seeds)))}"
    return [horizon, f"{seeds}; {before}", coverage]


def _not_checked(held: Sequence[str]) -> list[str]:
    rest = [text for text in held if not any(words in text for words in _SAID_ABOVE)]
    texts = [shown(text, 300) for text in rest[:_LIMITS]]
    more = [f"+{len(rest) - _LIMITS} more in --json"] if len(rest) > _LIMITS else []
    return labelled("not checked", [*texts, *more])


def _stamp(certificate: Certificate) -> list[str]:
    # certificate: C-28
    digest = hashlib.sha256(encode(dict(certificate.stamp))).hexdigest()
    return [f"{digest[:16]}, {certificate.took_s:.1f} s; --again re-runs what --json FILE kept"]


def _script(text: str | None) -> list[str]:
    if text is None:
        return []
    # Not cut and not wrapped: it is there to be copied.
    lines = [shown(line.replace("\t", "    "), 10_000) for line in text.splitlines()]
    indented = [f"    {line}".rstrip() for line in lines]
    # certificate: C-55
    said = "reproduces it without cleandesk; --script FILE keeps it"
    return [f"{'script':<{LABEL}}{said}", "", *indented]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False)
