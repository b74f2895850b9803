"""The demo at 80 columns, part by part."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from cleandesk.report.certificate import first_screen
from cleandesk.report.changes import WIDTH
from cleandesk.report.text import percent, render_run
from cleandesk.run.result import RunResult
from cleandesk.suites.demo import JOB_AND_DAMAGE, Demo, Row
from cleandesk.verdict import Status

_CELL = 24


def render_demo(part: str, shown: Demo) -> str:
    """Return one part of the demo: scores, refused, endings, cached, resets or real."""
    parts = {
        "scores": _scores,
        "refused": _refused,
        "endings": _endings,
        "cached": _cached,
        "resets": _resets,
        "real": _real,
    }
    return parts[part](shown)


def _scores(shown: Demo) -> str:
    lines = [
        _title("One agent, four scores"),
        *_prose(
            "The same toy agent puts a dentist into a calendar, 20 tries. The reset is "
            "honest or keeps the last world; the checker reads the whole change or only "
            "looks for the event."
        ),
        "",
        f"{'before each try':<20} {'the checker':<20} {'score':>5}  {'95%':<16}record",
    ]
    lines += [_row(row) for row in shown.rows]
    lines.append("")
    for row in shown.rows:
        lines += _wrong_verdicts(row)
    return "\n".join(lines) + "\n\n"


def _row(row: Row) -> str:
    score = row.result.score or {"mean": 0.0, "low": 0.0, "high": 1.0}
    interval = f"[{percent(score['low'])}, {percent(score['high'])}]"
    word = "proven" if row.result.proven else "unproven"
    return f"{row.reset:<20} {row.checker:<20} {percent(score['mean']):>5}  {interval:<16}{word}"


def _wrong_verdicts(row: Row) -> list[str]:
    false_passes = sum(row.false_passes.values())
    score = percent((row.result.score or {"mean": 0})["mean"])
    text = f"{score}: {false_passes} false passes, {row.false_fails} false fails"
    if false_passes:
        damaged = row.false_passes.get(JOB_AND_DAMAGE, 0)
        parts = {"not earned at all": false_passes - damaged, "with Gym deleted": damaged}
        apart = " and ".join(f"{count} {name}" for name, count in parts.items() if count)
        text += f". By what these tries do in a clean world: {apart}. "
        text += f"By what they did here, of {row.passes} passes: {_deeds(row)}"
    elif row.false_fails:
        text += ". In a clean world these do the job; here they found it done and stopped"
    return textwrap.wrap(text + ".", WIDTH - 2, initial_indent="  ", subsequent_indent="    ")


def _deeds(row: Row) -> str:
    return ", ".join(f"{count} {deed}" for deed, count in row.false_passes_here.items())


def _refused(shown: Demo) -> str:
    result = shown.refused
    lines = [
        _title("The same leaking world under its contract"),
        *_prose(
            "With --on-wrong-start refuse the run stops at the first start that is not the "
            "declared one. No score, exit status 1:"
        ),
        "",
    ]
    return "\n".join([*lines, *_refusal(result)]) + "\n\n"


def _endings(shown: Demo) -> str:
    lines = [
        _title("Five endings on a real database"),
        *_prose(
            "Three expenses of 53 are to be deleted, from a SQLite file. The agent ends in "
            "five ways. One checker reads every row that differs from the start; the other "
            "looks whether the named rows are gone, as most people would."
        ),
        "",
        f"{'what the agent did':<27} {'rows left':>9}  {'whole change':<13} named rows only",
    ]
    for row in shown.endings:
        false = "  (false)" if row.targets > row.whole else ""
        lines.append(
            f"{row.deed:<27} {row.left:>9}  {_passed(row.whole):<13} {_passed(row.targets)}{false}"
        )
    passes = sum(row.targets == 1 for row in shown.endings)
    falsely = sum(row.targets > row.whole for row in shown.endings)
    told = f"The second checker passes {passes} of {len(shown.endings)}, {falsely} falsely."
    return "\n".join([*lines, "", *_prose(told)]) + "\n\n"


def _passed(score: float) -> str:
    return "pass" if score == 1 else "fail"


def _cached(shown: Demo) -> str:
    lines = [
        _title("A program whose cache outlives its reset"),
        *_prose(
            "A real HTTP app over SQLite keeps answers in its memory. Its database is put "
            "back before each task, its memory is not. The contract reads the cache over "
            "HTTP, so the run stops where a stale answer would have been given:"
        ),
        "",
    ]
    return "\n".join([*lines, *_refusal(shown.cached)]) + "\n\n"


def _refusal(result: RunResult | None) -> list[str]:
    """Return the lines that name where a run was refused, and what leaked."""
    refused = result.refused if result is not None else None
    if refused is None:
        return ["NOT REFUSED: the leak was not seen"]
    lines = [f"REFUSED at {refused['episode']}"]
    for leak in refused["fields"]:
        lines += textwrap.wrap(
            f"{leak['field']}: expected {leak['expected']}, found {leak['found']}",
            WIDTH - 2,
            initial_indent="  ",
            subsequent_indent="    ",
        )
        if leak["writer"]:
            lines.append(
                f"    written by {leak['writer']['episode']}, step {leak['writer']['step']}"
            )
    return lines


def _resets(shown: Demo) -> str:
    lines = [
        _title("Does the reset of a published environment reset?"),
        *_prose(
            "Five episodes, each followed by the environment's own reset; then its state and "
            "750 steps are compared with builds in another process, bit for bit."
        ),
        "",
    ]
    for certificate in shown.resets:
        # Of the one that leaks enough to see where; the whole is for the verb.
        end = "\n\n" if certificate.status is Status.PASS else "\ndo "
        lines += [first_screen(certificate).partition(end)[0], ""]
    lines += ["cleandesk certify gym:BipedalWalker-v3      # with a script that shows the leak"]
    return "\n".join(lines) + "\n\n\n"


def _real(shown: Demo) -> str:
    lines = [
        _title("Published environments, none of them ours"),
        *_prose(
            "Every start is verified against an independent build of the same task and "
            "seed, made by another process with another hash seed and other global random "
            f"states. Below: the mean with its 95% interval, {_sizes(shown.real)} each."
        ),
        "",
        *_table(shown.real),
        "",
    ]
    for agent, result in shown.real.items():
        lines += [f"{agent} agent", render_run(result, by_task=False)]
    lines += _next(shown.real)
    return "\n".join(lines) + "\n"


def _sizes(runs: Mapping[str, RunResult]) -> str:
    counts = sorted({row["scored"] for result in runs.values() for row in result.by_task.values()})
    counts = [count for count in counts if count] or [0]
    return " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]]))) + " episodes"


def _table(runs: Mapping[str, RunResult]) -> list[str]:
    tasks = sorted({task for result in runs.values() for task in result.by_task})
    width = max(map(len, tasks))
    heads = [f"{agent + ' agent':>{_CELL}}" for agent in runs]
    lines = [f"{'task':<{width}}  {'  '.join(heads)}"]
    for task in tasks:
        cells = [f"{_cell(result, task):>{_CELL}}" for result in runs.values()]
        lines.append(f"{task:<{width}}  {'  '.join(cells)}")
    return lines


def _cell(result: RunResult, task: str) -> str:
    row, metric = result.by_task.get(task), result.metrics.get(task)
    if metric is not None:
        return f"return {metric['mean']:.0f} [{metric['low']:.0f}, {metric['high']:.0f}]"
    if row is None or row["mean"] is None:
        return "-"
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def _next(runs: Mapping[str, RunResult]) -> list[str]:
    result = next(iter(runs.values()))
    folder, root = result.run, result.root
    episode = f"{next(iter(result.by_task))}/1-1"
    return [
        _title("What to try next"),
        f"cleandesk verify {folder} \\",
        f"    --root {root}",
        f"cleandesk diff {folder}:{episode}@start \\",
        f"    {folder}:{episode}@end",
        "cleandesk init mybench      # a suite, a world and an agent to edit",
        "cleandesk list              # what else there is to run",
    ]


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def _prose(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH)
