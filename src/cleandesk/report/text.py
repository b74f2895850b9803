"""A run at 80 columns: the score with everything it rests on.

A score never stands alone (law 12), no claim is wider than what was read (law 15), and
texts of worlds and agents are escaped.
"""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cleandesk.audit.proposal import Proposal
from cleandesk.errors import shown
from cleandesk.report.changes import WIDTH, side
from cleandesk.run.result import RunResult
from cleandesk.run.scores import task_of
from cleandesk.state import Change
from cleandesk.verdict import Verdict

_LABEL = 9
_WIDE_LABEL = 13
_MOST_ROWS = 30
_MOST_BLAMES = 5
# Law 11: a report says when the known agents have not shown that a checker can be trusted.
_UNAUDITED = (
    "not shown to fail a do-nothing, an always-FAIL and a damaging agent, nor to pass a perfect one"
)
_TASK = 27
_HEADINGS = {
    "bridge": "bridges (as NAME:ID)",
    "surface": "surfaces with a base (beside objects, http and process)",
}


def render_run(result: RunResult, *, by_task: bool = True) -> str:
    """Return the summary of a run; without its tasks it is shorter.

    Args:
        result: The run.
        by_task: Show the table of the tasks, and what each blame of an agent was for.
    """
    lines = [*_table(result), ""] if by_task else []
    lines += _labelled("score", _score(result))
    lines += _labelled("starts", _starts(result))
    lines += _labelled("checker", [_UNAUDITED])
    lines += _labelled("blame", _blames(result, by_task=by_task)) if result.blames else []
    lines += _labelled("actions", _notes(result)) if result.notes else []
    for warning in result.warnings:
        lines += _labelled("note", [shown(warning, 400)])
    lines += _labelled("record", _record(result), is_cut=False)
    return "\n".join(lines) + "\n"


def percent(share: float) -> str:
    """Return a share as a percentage without needless digits."""
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def render_verdict(verdict: Verdict) -> str:
    """Return the verdict on a record."""
    facts = verdict.facts or {}
    entries, episodes = facts.get("entries", 0), facts.get("episodes", 0)
    rows = [(str(verdict.status), f"{_count(entries, 'entry')}, {_count(episodes, 'episode')}")]
    if verdict.witness is not None:
        place = verdict.witness["file"]
        if verdict.witness["entry"] is not None:
            place += f", entry {verdict.witness['entry']}"
        rows += [("where", shown(place)), ("what", shown(verdict.witness["reason"], 400))]
    for row in facts.get("unfinished", [])[:5]:
        torn = ", its last line torn" if row["torn"] else ""
        rows.append(("holds", f"{shown(row['file'])}: {_count(row['entries'], 'entry')}{torn}"))
    if facts.get("root"):
        rows.append(("root", facts["root"]))
    rows += [("not checked", shown(limit, 300)) for limit in verdict.not_checked]
    lines = [line for label, text in rows for line in _labelled(label, [text], _WIDE_LABEL)]
    return "\n".join(lines) + "\n"


def _table(result: RunResult) -> list[str]:
    rows = list(result.by_task.items())
    width = min(_TASK, max([4, *(len(shown(name, _TASK)) for name, _ in rows)]))
    lines = [f"{'task':<{width}}  episodes  scored   mean  {'95%':<14}  steps each"]
    for name, row in rows[:_MOST_ROWS]:
        each = row["steps"] / row["episodes"]
        cells = _mean(row, result.metrics.get(name), is_refused=result.refused is not None)
        lines.append(
            f"{shown(name, width):<{width}}  {row['episodes']:>8}  {row['scored']:>6}  "
            f"{cells:<21}  {each:>10.1f}"
        )
    if len(rows) > _MOST_ROWS:
        lines.append(f"+{len(rows) - _MOST_ROWS} more tasks")
    return lines


def _mean(row: Mapping[str, Any], metric: Mapping[str, Any] | None, *, is_refused: bool) -> str:
    if metric is not None:
        return (
            f"metric {_short(metric['mean'])} [{_short(metric['low'])}, {_short(metric['high'])}]"
        )
    if row["mean"] is None or is_refused:
        return "    -"
    return f"{row['mean']:.3f}  [{row['low']:.3f}, {row['high']:.3f}]"


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
    method = score["method"].replace(") (", ", ")
    return [
        f"{score['mean']:.3f}  95% [{score['low']:.3f}, {score['high']:.3f}]{word}",
        f"{_count(score['episodes'], 'episode')} of {_count(score['tasks'], 'task')}, "
        f"se {score['se']:.3f}, {method}",
        _set_aside(result),
    ]


def _set_aside(result: RunResult) -> str:
    unscored = result.episodes["unscored"]
    text = f"{unscored} set aside, {_count(result.reruns, 'rerun')}"
    if unscored and result.bounds:
        low, high = result.bounds
        text += f"; were all set aside 0 or all 1, the mean would be {low:.3f} or {high:.3f}"
    return text


def _starts(result: RunResult) -> list[str]:
    starts = result.starts
    fields = _count(starts["fields_read"], "field")
    lines = [
        f"{starts['verified']} verified, {starts['wrong']} wrong, against: {starts['source']}; "
        f"{fields} read"
    ]
    not_read = starts["not_read"]
    if not_read:
        more = f"; +{len(not_read) - 6} more, see --json" if len(not_read) > 6 else ""
        lines.append(f"not read: {'; '.join(shown(name, 60) for name in not_read[:6])}{more}")
    if starts["readings"]:
        held = [f"{path} {count}" for path, count in sorted(starts["readings"].items())]
        more = f"; +{len(held) - 6} more" if len(held) > 6 else ""
        lines.append(f"private copies read: {'; '.join(held[:6])}{more}")
    if starts["isolation"] != "shared":
        commands = starts["certify"]
        more = f" (and {len(commands) - 1} more, see --json)" if len(commands) > 1 else ""
        lines.append(
            f"clean by isolation ({starts['isolation']}): this does not show that the world's "
            f"own reset is clean; {shown(commands[0], 200)} would{more}"
        )
    return lines


def _blames(result: RunResult, *, by_task: bool) -> list[str]:
    counts = Counter(row["blame"] for row in result.blames)
    lines = [", ".join(f"{blame} {count}" for blame, count in sorted(counts.items()))]
    refused = result.refused["episode"] if result.refused is not None else None
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    # What was set aside first: that is what a reader can do something about.
    for row in sorted(result.blames, key=lambda row: row["blame"] == "agent"):
        # The wrong start at which a run was refused is told in full above.
        if row["episode"] != refused and (by_task or row["blame"] != "agent"):
            key = row["blame"], row["code"], task_of(row["episode"])
            groups.setdefault(key, []).append(row)
    for (blame, code, _), rows in list(groups.items())[:_MOST_BLAMES]:
        more = f" (+{len(rows) - 1} like it)" if len(rows) > 1 else ""
        text = f"{blame} {code} {rows[0]['episode']}{more}: {rows[0]['message']}"
        lines.append(shown(text, 230))
    if any(row["blame"] == "unclassified" for row in result.blames):
        lines.append("settle one: cleandesk classify RUN EPISODE BLAME --why REASON")
    if len(groups) > _MOST_BLAMES:
        lines.append(f"+{_count(len(groups) - _MOST_BLAMES, 'more task')}, see --json")
    return lines


def _notes(result: RunResult) -> list[str]:
    first = result.notes[0]
    return [
        f"{len(result.notes)} could not be carried out, the first at {shown(first['episode'])} "
        f"step {first['step']}: {shown(first['action_error'], 160)}"
    ]


def _record(result: RunResult) -> list[str]:
    word = "proven" if result.proven else "unproven"
    lines = [f"{word}, in {shown(result.run, 1000)}", f"root {result.root}"]
    if result.same_plan is not None:
        is_same = result.same_plan["root"] == result.root
        said = "the same root as" if is_same else "NOT the root of"
        lines.append(f"{said} the last run of this plan, {shown(result.same_plan['run'], 1000)}")
    return lines


def _labelled(
    label: str, texts: Iterable[str], indent: int = _LABEL, *, is_cut: bool = True
) -> list[str]:
    """Return lines with a label in front of the first, wrapped under it.

    ``is_cut=False`` leaves a long word whole: a path is there to be copied.
    """
    lines: list[str] = []
    for text in texts:
        wrapped = textwrap.wrap(
            text, WIDTH - indent, break_long_words=is_cut, break_on_hyphens=False
        ) or [""]
        for line in wrapped:
            lines.append(f"{label if not lines else '':<{indent}}{line}".rstrip())
    return lines


def _count(number: int, noun: str) -> str:
    """Return ``1 episode`` or ``2 episodes``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{number} {noun}s"


def render_catalogue(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return the registered names, by kind."""
    lines: list[str] = []
    for kind, names in found.items():
        lines.append(_HEADINGS.get(kind, f"{kind}s"))
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
    lines += _labelled("reads", [", ".join(map(shown, found.reads)) or "nothing"])
    if found.varies:
        lines += _labelled("varies", _first(map(_variation, found.varies), len(found.varies)))
        lines += _labelled(
            "",
            [
                "no start can be verified while these are compared: draw them from at.rng and "
                "at.clock, or ignore them with a reason"
            ],
        )
    if found.not_read:
        lines += _labelled("not read", _first(map(shown, found.not_read), len(found.not_read)))
    lines += _labelled(
        "next", ["put it into the world's class; under incidental= what an agent may change freely"]
    )
    return "\n".join([*lines, "", found.code]) + "\n"


def _first(texts: Iterable[str], total: int) -> list[str]:
    more = [f"+{total - _MOST_ROWS} more"] if total > _MOST_ROWS else []
    return [*itertools.islice(texts, _MOST_ROWS), *more]


def _variation(change: Change) -> str:
    return shown(f"{change.field}: {side(change.before)} | {side(change.after)}", 300)


def render_classified(episode: str, blame: str, said: Mapping[str, Any]) -> str:
    """Return what a classification makes of the score."""
    lines = [f"{shown(episode)} is now the {blame}'s"]
    score = said["score"]
    if score is None:
        lines.append("nothing is scored")
    else:
        lines.append(
            f"score {score['mean']:.3f}  95% [{score['low']:.3f}, {score['high']:.3f}] "
            f"of {_count(score['episodes'], 'episode')}, {score['method'].replace(') (', ', ')}"
        )
    return "\n".join([*lines, f"head of the classifications: {said['head']}"]) + "\n"
