"""A certificate as one page that needs no network and no colour."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from cleandesk.audit.certificate.certificate import Boundary, Certificate, Leak, ReturnShift
from cleandesk.audit.certificate.sentences import CONFIRMED, NOT_CONFIRMED
from cleandesk.audit.certificate.spelling import to_json
from cleandesk.report.advice import advice
from cleandesk.report.certificate import (
    deviation_texts,
    installed,
    place_of,
    profile_texts,
    sides,
    title,
)
from cleandesk.report.lines import count, spans
from cleandesk.report.page_parts import code_block, document, escaped, facts, folded, shape, table

_FEW = 12
_LEFT, _COLUMN, _TOP, _HEIGHT = 64, 84, 14, 130
_MOST_COLUMNS = 60
_KEPT = {True: "makes it anew", False: "keeps it", None: "not known"}


def certificate_page(certificate: Certificate) -> str:
    """Return the page of a certificate."""
    # certificate: C-55, C-56
    parts = [
        _banner(certificate),
        _section("What to do", _advice(certificate)),
        _section("Boundaries", _strip(certificate.boundaries)),
        _section("Left behind", _leaks(certificate.leaks)),
        _section("First divergence", _divergence(certificate)),
        _section("How far it moves the return of fixed actions", _chart(certificate.return_shift)),
        _section("Script that reproduces it, without cleandesk", _script(certificate.repro)),
        *_lists(certificate),
        _section("Horizon", _horizon(certificate)),
        _section("Not checked", _items(certificate.not_checked)),
        folded("Stamp", _stamp(certificate), is_open=False),
    ]
    return document(title(certificate), parts)


def _section(heading: str, inner: str) -> str:
    return f"<h2>{escaped(heading)}</h2>{inner}" if inner else ""


def _banner(certificate: Certificate) -> str:
    status = certificate.status
    words = " &nbsp;".join(dict.fromkeys([str(status), str(certificate.cls)]))
    condition = (
        f'<p class="soft">{escaped(certificate.condition)}</p>' if certificate.condition else ""
    )
    return (
        f'<div class="banner {status}">{shape(status)}<div>'
        f'<p class="words">{words}</p>'
        f"<h1>{escaped(certificate.rig)}</h1><p>{escaped(' '.join(certificate.reason.split()))}</p>{condition}"
        f'<p class="soft">{escaped(certificate.harness)}</p></div></div>'
    )


def _advice(certificate: Certificate) -> str:
    lines = [
        f"<p><code>{escaped(text)}</code></p>"
        if text.startswith("--")
        else f"<p>{escaped(text)}</p>"
        for text in advice(certificate)
    ]
    return "".join(lines)


def _strip(rows: tuple[Boundary, ...]) -> str:
    cells = []
    for row in rows:
        found = row.divergence
        where = f"diverges at step {found.step}, {found.channel}" if found else "rows equal"
        where = where if row.rows or found else "no trace"
        before = f"{count(row.episode_steps, 'step')} with seed {row.episode_seed}"
        after = f"seed {row.seed}, after {before}"
        differing = len(row.differing)
        cells.append(
            f'<li class="{row.cls.status}">{row.number}<b>{escaped(row.cls)}</b>'
            f'{escaped(where)}<br><span class="soft">{escaped(after)}<br>'
            f"{differing:,} of {count(row.fields, 'field')} "
            f"{'differs' if differing == 1 else 'differ'}</span></li>"
        )
    return f'<ol class="strip">{"".join(cells)}</ol>' if cells else ""


def _leaks(leaks: tuple[Leak, ...]) -> str:
    heads = ("field", "fresh build", "after the reset", "what it is", "written", "boundaries")
    rows = []
    for leak in sorted(leaks, key=lambda leak: leak.kind != "leak"):
        said = [leak.kind, _said(leak), leak.note]
        said.append(f"known as {leak.ticket}" if leak.ticket else "")
        what = "; ".join(filter(None, said))
        rows.append(
            (leak.path, leak.before, leak.after, what, _written(leak), spans(leak.boundaries))
        )
    return table(heads, rows, code=3) if rows else ""


def _said(leak: Leak) -> str:
    if leak.kind != "leak":
        return ""
    return CONFIRMED() if leak.is_confirmed else NOT_CONFIRMED()


def _written(leak: Leak) -> str:
    write = leak.written
    if write is None:
        return ""
    moment = f"episode {write.episode}, {f'step {write.step}' if write.step else 'its reset'}"
    if not write.file:
        return f"{moment}, by compiled code"
    return f"{moment}, by {write.source.strip()} in {installed(write.file)}:{write.line}"


def _divergence(certificate: Certificate) -> str:
    found = certificate.first_divergence
    if found is None:
        return ""
    one, other = sides(found)
    return (
        f"<p>{escaped(place_of(found))}</p>"
        f"<pre>{one:<7} {escaped(found.fresh)}\n{other:<7} {escaped(found.judged)}</pre>"
    )


def _chart(shift: ReturnShift | None) -> str:
    if shift is None:
        return ""
    said = f"{shift.mean:.4g} on average, {shift.largest:.4g} at most"
    pairs = [pair for pair in shift.pairs if all(map(isfinite, pair))][:_MOST_COLUMNS]
    if not pairs:
        return f"<p>{escaped(said)}</p>"
    low, high = min(map(min, pairs)), max(map(max, pairs))
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return _TOP + _HEIGHT - _HEIGHT * (value - low) / span

    marks = [_tick(y(value), value) for value in dict.fromkeys((low, high))]
    for place, (fresh, judged) in enumerate(pairs):
        x = _LEFT + _COLUMN * (place + 0.5)
        tip = f"boundary {place + 1}: fresh {fresh:.6g}, judged {judged:.6g}"
        marks.append(
            f"<g><title>{escaped(tip)}</title>"
            f'<line class="move" x1="{x}" x2="{x}" y1="{y(fresh):.1f}" y2="{y(judged):.1f}"/>'
            f'<circle class="judged" cx="{x}" cy="{y(judged):.1f}" r="3.5"/>'
            f'<circle class="fresh" cx="{x}" cy="{y(fresh):.1f}" r="6.5"/></g>'
            f'<text x="{x}" y="{_TOP + _HEIGHT + 26}" text-anchor="middle">{place + 1}</text>'
        )
    # certificate: C-56
    width, height = _LEFT + _COLUMN * len(pairs), _TOP + _HEIGHT + 34
    return (
        f'<p>{escaped(said)}. <span class="soft">Hollow: a fresh build. Filled: the judged rig. '
        "One column for each boundary.</span></p>"
        f'<div class="wide"><svg class="chart" role="img" width="{width}" height="{height}" '
        f'aria-label="returns of the fresh build and of the judged rig, by boundary">'
        f"{''.join(marks)}</svg></div>"
    )


def _tick(y: float, value: float) -> str:
    return (
        f'<line class="axis" x1="{_LEFT - 6}" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>'
    )


def _script(text: str | None) -> str:
    return code_block(text, "script") if text is not None else ""


def _lists(certificate: Certificate) -> list[str]:
    inert = [
        (item.path, item.before, item.after, spans(item.boundaries), item.evidence, item.note)
        for item in certificate.inert
    ]
    declared = [
        (
            item.pattern,
            item.sampler,
            item.problem and f"WRONG: {item.problem}",
            item.why,
            ", ".join(item.paths),
        )
        for item in certificate.declared
    ]
    opaque = [(item.path, item.about, _KEPT[item.is_new]) for item in certificate.opaque]
    checks = [(str(item.status), item.name, item.says) for item in certificate.checks]
    deviation = [*deviation_texts(certificate.deviation)]
    jitter = [f"two fresh builds: {text}" for text in deviation_texts(certificate.jitter)]
    return [
        _section("Two fresh builds disagree in", _items(certificate.varies)),
        _section("Deviation of the final states", _items((*deviation, *jitter))),
        _list(
            "Inert: differs, and moved no row",
            ("field", "fresh build", "after the reset", "boundaries", "evidence", ""),
            inert,
            3,
        ),
        _list(
            "Declared",
            ("pattern", "sampler", "problem", "why", "fields that differed"),
            declared,
            2,
        ),
        _list("Opaque: can't be read", ("handle", "what it is", "the reset"), opaque, 1),
        _list("Checks", ("status", "check", "what was seen"), checks, 0),
    ]


def _list(heading: str, heads: tuple[str, ...], rows: list[Any], code: int) -> str:
    if not rows:
        return ""
    return folded(
        f"{heading} ({len(rows):,})", table(heads, rows, code=code), is_open=len(rows) <= _FEW
    )


def _items(texts: tuple[str, ...]) -> str:
    items = "".join(f"<li>{escaped(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _horizon(certificate: Certificate) -> str:
    return _items(tuple(profile_texts(certificate.profile)))


def _stamp(certificate: Certificate) -> str:
    # certificate: C-26, C-28
    held: Mapping[str, Any] = to_json(certificate)["stamp"]
    pairs = [
        (name, json.dumps(item) if isinstance(item, dict | list) else item)
        for name, item in held.items()
    ]
    return facts(
        [
            *pairs,
            ("took", f"{certificate.took_s:.1f} s"),
            ("re-run", "cleandesk certify --again FILE, with what --json FILE kept"),
        ]
    )
