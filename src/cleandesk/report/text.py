"""A run at 80 columns: the score with everything it rests on.

A score never stands alone (law 12), no claim is wider than what was read (law 15), and
texts of worlds and agents are escaped.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cleandesk.audit.proposal import Proposal
from cleandesk.errors import shown
from cleandesk.run.result import RunResult
from cleandesk.run.scores import task_of
from cleandesk.state import ABSENT, Change
from cleandesk.verdict import Verdict

WIDTH = 80
_LABEL = 9
_MOST_ROWS = 30
_MOST_BLAMES = 5


def render_run(result: RunResult, *, by_task: bool = True) -> str:
    """Return the summary of a run, with or without the table of its tasks."""
    lines = [*_table(result), ""] if by_task else []
    lines += _labelled("score", _score(result))
    lines += _labelled("starts", _starts(result))
    lines += _labelled("blame", _blames(result)) if result.blames else []
    for warning in result.warnings:
        lines += _labelled("note", [shown(warning, 400)])
    lines += _labelled("record", _record(result))
    return "\n".join(lines) + "\n"


def percent(share: float) -> str:
    """Return a share as a percentage without needless digits."""
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def render_verdict(verdict: Verdict) -> str:
    """Return the verdict on a record."""
    facts = verdict.facts or {}
    lines = [
        f"{verdict.status}  {facts.get('entries', 0)} entries, {facts.get('episodes', 0)} episodes"
    ]
    if verdict.witness is not None:
        place = verdict.witness["file"]
        if verdict.witness["entry"] is not None:
            place += f", entry {verdict.witness['entry']}"
        lines += _labelled("where", [shown(place)])
        lines += _labelled("what", [shown(verdict.witness["reason"], 400)])
    for row in facts.get("unfinished", [])[:5]:
        torn = ", its last line torn" if row["torn"] else ""
        lines += _labelled("holds", [f"{shown(row['file'])}: {row['entries']} entries{torn}"])
    if facts.get("root"):
        lines += _labelled("root", [facts["root"]])
    for limit in verdict.not_checked:
        lines += _labelled("not told", [shown(limit, 300)])
    return "\n".join(lines) + "\n"


def render_changes(changes: Iterable[Change]) -> str:
    """Return differences, one field a line."""
    rows = list(changes)
    if not rows:
        return "no difference\n"
    lines = [f"{len(rows)} {'field differs' if len(rows) == 1 else 'fields differ'}"]
    for change in rows:
        before, after = _side(change.before), _side(change.after)
        text = f"{shown(change.field)}  {before} -> {after}"
        lines += textwrap.wrap(text, WIDTH - 2, initial_indent="  ", subsequent_indent="      ")
    return "\n".join(lines) + "\n"


def _table(result: RunResult) -> list[str]:
    rows = list(result.by_task.items())
    width = max([4, *(len(shown(name, 40)) for name, _ in rows)])
    width = min(width, 40)
    lines = [f"{'task':<{width}}  episodes  scored   mean  steps each"]
    for name, row in rows[:_MOST_ROWS]:
        metric = result.metrics.get(name)
        mean = f"{row['mean']:.3f}" if row["mean"] is not None else "-"
        each = row["steps"] / row["episodes"]
        line = f"{shown(name, width):<{width}}  {row['episodes']:>8}  {row['scored']:>6}  {mean:>5}  {each:>10.1f}"
        if metric is not None:
            line = (
                f"{shown(name, width):<{width}}  {row['episodes']:>8}  {'-':>6}  "
                f"metric {_short(metric['mean'])} [{_short(metric['low'])}, {_short(metric['high'])}]"
            )
        lines.append(line)
    if len(rows) > _MOST_ROWS:
        lines.append(f"+{len(rows) - _MOST_ROWS} more tasks")
    return lines


def _short(value: float) -> str:
    return f"{value:.4g}"


def _score(result: RunResult) -> list[str]:
    if result.refused is not None:
        return [
            f"none: the run was refused at {shown(result.refused['episode'])}",
            shown(result.refused["message"], 600),
        ]
    if result.score is None:
        if result.metrics:
            return ["none: only unbounded metrics (give `returns` a range for a score)"]
        return ["none: no episode could be scored"]
    score = result.score
    word = "" if result.proven else "  unproven"
    lines = [
        f"{score['mean']:.3f}  [{score['low']:.3f}, {score['high']:.3f}] 95%{word}",
        f"{score['episodes']} episodes of {score['tasks']} tasks, se {score['se']:.3f}, "
        f"{score['method']}",
    ]
    unscored = result.episodes["unscored"]
    if unscored and result.bounds:
        low, high = result.bounds
        lines.append(f"{unscored} set aside, so it lies in {low:.3f} to {high:.3f}")
    else:
        lines.append(f"{unscored} set aside, {result.reruns} reruns")
    return lines


def _starts(result: RunResult) -> list[str]:
    starts = result.starts
    lines = [
        f"{starts['verified']} verified, {starts['wrong']} wrong, against: {starts['source']}; "
        f"{starts['fields_read']} fields read",
        f"not read: {'; '.join(shown(name, 60) for name in starts['not_read'][:6])}"
        + (f"; +{len(starts['not_read']) - 6} more" if len(starts["not_read"]) > 6 else ""),
    ]
    if starts["isolation"] != "shared":
        lines.append(
            f"clean by isolation ({starts['isolation']}): this does not show that the world's "
            "own reset is clean; --isolation shared --on-wrong-start refuse would"
        )
    return lines


def _blames(result: RunResult) -> list[str]:
    counts = Counter(row["blame"] for row in result.blames)
    lines = [", ".join(f"{blame} {count}" for blame, count in sorted(counts.items()))]
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    # What was set aside first: that is what a reader can do something about.
    for row in sorted(result.blames, key=lambda row: row["blame"] == "agent"):
        key = row["blame"], row["code"], task_of(row["episode"])
        groups.setdefault(key, []).append(row)
    for (blame, code, _), rows in list(groups.items())[:_MOST_BLAMES]:
        more = f" (+{len(rows) - 1} like it)" if len(rows) > 1 else ""
        text = f"{blame} {code} {rows[0]['episode']}{more}: {rows[0]['message']}"
        lines.append(shown(text, 230))
    if len(groups) > _MOST_BLAMES:
        lines.append(f"+{len(groups) - _MOST_BLAMES} more tasks, see --json")
    return lines


def _record(result: RunResult) -> list[str]:
    lines = [f"{'proven' if result.proven else 'unproven'}, in {result.run}", f"root {result.root}"]
    if result.same_plan is not None:
        is_same = result.same_plan["root"] == result.root
        word = "the same root as" if is_same else "NOT the root of"
        lines.append(f"{word} the last run of this plan ({result.same_plan['run']})")
    return lines


def _labelled(label: str, texts: Iterable[str]) -> list[str]:
    """Return lines with a label in front of the first, wrapped under it."""
    lines: list[str] = []
    for text in texts:
        wrapped = textwrap.wrap(
            text, WIDTH - _LABEL, break_long_words=True, break_on_hyphens=False
        ) or [""]
        for line in wrapped:
            lines.append(f"{label if not lines else '':<{_LABEL}}{line}".rstrip())
    return lines


def _side(value: Any) -> str:
    return "absent" if value is ABSENT else shown(repr(value), 200)


def render_catalogue(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return the registered names, by kind."""
    lines: list[str] = []
    for kind, names in found.items():
        lines.append(f"{kind}s" if kind != "bridge" else "bridges (as NAME:ID)")
        width = max([len(name) for name in names] or [0])
        for name, line in names.items():
            lines += textwrap.wrap(
                f"{name:<{width}}  {shown(line, 160)}",
                WIDTH - 2,
                initial_indent="  ",
                subsequent_indent=" " * (width + 4),
            )
    return "\n".join(lines) + "\n"


def render_proposal(found: Proposal) -> str:
    """Return a first contract with what it rests on."""
    lines = _labelled("world", [f"{shown(found.world)}, built twice with seed {found.seed}"])
    lines += _labelled("reads", [", ".join(found.reads) or "nothing"])
    for change in found.varies[:_MOST_ROWS]:
        sides = f"{_side(change.before)} | {_side(change.after)}"
        lines += _labelled("varies", [shown(f"{change.field}: {sides}", 300)])
    for name in found.not_read[:_MOST_ROWS]:
        lines += _labelled("not read", [shown(name)])
    return "\n".join([*lines, "", found.code]) + "\n"


def render_classified(episode: str, blame: str, said: Mapping[str, Any]) -> str:
    """Return what a classification makes of the score."""
    lines = [f"{shown(episode)} is now the {blame}'s"]
    score = said["score"]
    if score is None:
        lines.append("nothing is scored")
    else:
        lines.append(
            f"score {score['mean']:.3f} [{score['low']:.3f}, {score['high']:.3f}] "
            f"of {score['episodes']} episodes, {score['method']}"
        )
    return "\n".join([*lines, f"head of the classifications: {said['head']}"]) + "\n"
