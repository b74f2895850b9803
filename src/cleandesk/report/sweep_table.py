"""Many certificates at once: of a sweep over installed ids, or of a fleet of devices."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cleandesk.audit.certificate.certificate import Class
from cleandesk.audit.certificate.known import Settled
from cleandesk.audit.certificate.sentences import FLEET
from cleandesk.audit.certificate.spelling import to_json
from cleandesk.errors import shown
from cleandesk.report.certificate import render_certificate, title
from cleandesk.report.changes import WIDTH
from cleandesk.report.lines import count
from cleandesk.report.page_parts import document, escaped, folded, shape, table
from cleandesk.verdict import Status

SCHEMA = "sweep/1"
_RIG = 46
_WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.PASS)
_CLASSES = (
    *(Class.FAIL, Class.ERROR, Class.REFUSED, Class.STATE_ONLY),
    *(Class.STATE_CLEAN, Class.BIT_IDENTICAL),
)


def render_table(settled: Sequence[Settled], took_s: float) -> str:
    """Return a line for each certificate, findings first and with their reason."""
    lines = [f"{'class':<18} {'rig':<{_RIG}} {'inert':>6} {'s':>6}"]
    for each in _ordered(settled):
        one = each.certificate
        lines.append(
            f"{one.cls:<18} {shown(one.rig, _RIG):<{_RIG}} {len(one.inert):>6} {one.took_s:>6.1f}"
        )
        if one.status is not Status.PASS or not each.is_as_known:
            lines.append(f"    {shown(_said(each), WIDTH - 4)}")
    return "\n".join([*lines, "", *_totals(settled, took_s)]) + "\n"


def table_json(settled: Sequence[Settled], took_s: float) -> dict[str, Any]:
    """Return what ``--json`` promises of many: counts, and each certificate whole."""
    return {
        "schema": SCHEMA,
        "classes": {str(cls): number for cls, number in _classes(settled)},
        "certificates": [to_json(each.certificate) for each in settled],
        "took_s": took_s,
    }


def table_page(heading: str, settled: Sequence[Settled], took_s: float) -> str:
    """Return one page that needs no network: the table, and below it each finding in full."""
    status = _worst(settled)
    totals = "".join(f"<p>{escaped(line)}</p>" for line in _totals(settled, took_s))
    rows = [_row(each) for each in _ordered(settled)]
    heads = ("rig", "verdict", "class", "inert", "s", "reason")
    parts = [
        f'<div class="banner {status}">{shape(status)}<div><p class="words">{status}</p>'
        f"<h1>{escaped(heading)}</h1>{totals}</div></div>",
        table(heads, rows, code=1, most=len(rows)),
        *(_detail(each) for each in _ordered(settled) if _verdict(each) is not Status.PASS),
    ]
    return document(heading, parts)


def status_of(settled: Sequence[Settled]) -> int:
    """Return the exit status: 1 where one FAILs, 3 where one is undecided or can't be built.

    It is 4 where nothing at all could be judged.
    """
    if settled and all(each.certificate.cls is Class.ERROR for each in settled):
        return 4
    return {Status.PASS: 0, Status.FAIL: 1, Status.UNKNOWN: 3}[_worst(settled)]


def _verdict(each: Settled) -> Status:
    """Return what a certificate counts as: a FAIL that is wholly known is no finding."""
    if each.certificate.status is Status.UNKNOWN:
        return Status.UNKNOWN
    return Status.PASS if each.is_as_known else Status.FAIL


def _worst(settled: Sequence[Settled]) -> Status:
    found = {_verdict(each) for each in settled}
    if not found:
        # Of nothing nothing is shown.
        return Status.UNKNOWN
    return next(each for each in _WORST_FIRST if each in found)


def _ordered(settled: Sequence[Settled]) -> list[Settled]:
    def place(each: Settled) -> tuple[int, int, str]:
        one = each.certificate
        return _WORST_FIRST.index(_verdict(each)), _CLASSES.index(one.cls), one.rig

    return sorted(settled, key=place)


def _said(each: Settled) -> str:
    tickets = dict.fromkeys(leak.ticket for leak in each.certificate.leaks if leak.ticket)
    if each.fixed:
        return each.why
    known = f"known as {', '.join(tickets)}: " if each.is_as_known and tickets else ""
    return f"{known}{' '.join(each.certificate.reason.split())}"


def _row(each: Settled) -> tuple[object, ...]:
    one = each.certificate
    took = f"{one.took_s:.1f}"
    return one.rig, str(one.status), str(one.cls), len(one.inert), took, _said(each)


def _classes(settled: Sequence[Settled]) -> list[tuple[Class, int]]:
    found = Counter(each.certificate.cls for each in settled)
    return [(cls, found[cls]) for cls in _CLASSES if found[cls]]


def _totals(settled: Sequence[Settled], took_s: float) -> list[str]:
    counts = ", ".join(f"{number} {cls}" for cls, number in _classes(settled)) or "nothing"
    known = sum(each.is_as_known and each.certificate.status is Status.FAIL for each in settled)
    listed = f" ({known} as listed)" if known else ""
    return [f"{count(len(settled), 'rig')}: {counts}{listed}; {took_s:.1f} s", FLEET()]


def _detail(each: Settled) -> str:
    # Escaped for a terminal already, line by line.
    text = f"<pre>{html.escape(render_certificate(each.certificate, each))}</pre>"
    return folded(title(each.certificate), text, is_open=False)
