"""Parts of a page that needs no network: the document, tables, the shape of a verdict.

Texts of rigs are untrusted: they are escaped twice, for people as on a terminal and for
the browser; and the page itself forbids every script but its own and every address.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence

from cleandesk.errors import shown
from cleandesk.verdict import Status

LONGEST = 2_000
MOST_ROWS = 500

_STYLE = """
:root { color-scheme: light dark; --page: #fbfbf9; --card: #ffffff; --ink: #1c1d20;
  --soft: #5d6068; --line: #dcdcd6; --pass: #1a7441; --fail: #b3261e; --unknown: #8a5a00;
  --fresh: #2a6fdb; --judged: #c2410c; --code: #f2f2ee; }
@media (prefers-color-scheme: dark) { :root { --page: #16171a; --card: #1e2024;
  --ink: #e8e8e6; --soft: #a2a5ad; --line: #34373d; --pass: #6fce97; --fail: #ff8f85;
  --unknown: #f0b95a; --fresh: #7fb0ff; --judged: #ff9d66; --code: #26292e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 4rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.25rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
p { margin: .35rem 0; }
code, pre, td.code { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 6px;
  padding: .75rem; overflow-x: auto; margin: .5rem 0; }
.banner { display: flex; gap: 1rem; align-items: flex-start; background: var(--card);
  border: 1px solid var(--line); border-left: 6px solid var(--verdict); border-radius: 8px;
  padding: 1rem 1.25rem; }
.banner svg { flex: none; width: 44px; height: 44px; }
.banner .words { font-weight: 700; color: var(--verdict); letter-spacing: .02em; }
.PASS { --verdict: var(--pass); } .FAIL { --verdict: var(--fail); }
.UNKNOWN { --verdict: var(--unknown); }
.soft { color: var(--soft); }
.strip { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; list-style: none; margin: 0; }
.strip li { border: 1px solid var(--line); border-top: 4px solid var(--verdict);
  background: var(--card); border-radius: 6px; padding: .4rem .7rem; min-width: 8.5rem; }
.strip b { display: block; color: var(--verdict); font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td.code:first-child { min-width: 15rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
ul { margin: .25rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; font-size: 13px; padding: .2rem .7rem; border-radius: 6px;
  border: 1px solid var(--line); background: var(--card); color: var(--ink); cursor: pointer; }
summary { cursor: pointer; font-weight: 600; margin: 1.5rem 0 .5rem; }
.chart text { fill: var(--soft); font: 12px system-ui, sans-serif; }
.chart .axis { stroke: var(--line); }
.chart .fresh { stroke: var(--fresh); fill: none; stroke-width: 2.5; }
.chart .judged { stroke: var(--judged); fill: var(--judged); stroke-width: 2; }
.chart .move { stroke: var(--soft); stroke-width: 1.5; }
"""
_SCRIPT = """
for (const button of document.querySelectorAll("button[data-of]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.of).textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "copied"; }
    catch { getSelection().selectAllChildren(document.getElementById(button.dataset.of)); }
  });
}
"""
_SHAPES = {
    # A round tick, a square cross and a rhombic question mark: told apart without colour.
    Status.PASS: '<circle cx="22" cy="22" r="19"/><path d="M13 23l6 6 12-14"/>',
    Status.FAIL: '<rect x="4" y="4" width="36" height="36" rx="4"/><path d="M14 14l16 16M30 14L14 30"/>',
    Status.UNKNOWN: '<path d="M22 3l19 19-19 19L3 22z"/><path d="M17 18a5 5 0 1 1 7 4.6c-1.6.8-2 1.6-2 3.4M22 30.5v.5"/>',
}


def escaped(text: object, limit: int = LONGEST) -> str:
    """Return ``text`` fit for a page: control characters made visible, markup made text."""
    return html.escape(shown(text, limit))


def document(title: str, body: Iterable[str]) -> str:
    """Return a whole page; ``title`` is escaped here, ``body`` has been."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escaped(title)}</title>",
            f"<style>{_STYLE}</style></head><body>",
            *body,
            f"<script>{_SCRIPT}</script></body></html>\n",
        ]
    )


def shape(status: Status) -> str:
    """Return the picture of a status; its text stands beside it."""
    return (
        '<svg viewBox="0 0 44 44" fill="none" stroke="var(--verdict)" stroke-width="3.2" '
        f'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{_SHAPES[status]}</svg>'
    )


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    code: int = 0,
    most: int = MOST_ROWS,
) -> str:
    """Return a table of untrusted texts.

    Args:
        heads: Of the columns.
        rows: A number stands to the right.
        code: How many of the first columns are code.
        most: Of more rows it is said how many there are.
    """
    head = "".join(f"<th>{escaped(name)}</th>" for name in heads)
    body = "".join(f"<tr>{_cells(row, code)}</tr>" for row in rows[:most])
    more = len(rows) - most
    rest = f'<p class="soft">+{more:,} more in --json</p>' if more > 0 else ""
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>{rest}'


def _cells(row: Sequence[object], code: int) -> str:
    cells = []
    for place, item in enumerate(row):
        kind = ' class="code"' if place < code else ""
        if isinstance(item, int | float):
            kind = ' class="number"'
        cells.append(f"<td{kind}>{escaped(item)}</td>")
    return "".join(cells)


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Return labels with what belongs to each."""
    rows = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(text)}</dd>" for name, text in pairs)
    return f"<dl>{rows}</dl>"


def code_block(text: str, name: str) -> str:
    """Return lines of code with a button that copies them."""
    lines = "\n".join(escaped(line.replace("\t", "    "), 10_000) for line in text.splitlines())
    return f'<p><button data-of="{name}">copy</button></p><pre id="{name}">{lines}</pre>'


def folded(title: str, inner: str, *, is_open: bool) -> str:
    """Return a part that can be opened."""
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escaped(title)}</summary>{inner}</details>"
