"""``cleandesk run``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import (
    finish,
    for_terminal,
    json_option,
    log_dir_option,
    print_json,
    reporting,
)


def read_arguments(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, Any]:
    """Read ``key=value`` pairs; a value that is JSON is taken as that, any other as a text."""
    held: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} is not key=value")
        try:
            held[key] = json.loads(text)
        except ValueError:
            # What is no number, true, false, null, list or object is a text.
            held[key] = text
    return held


arguments_option = click.option(
    "-T",
    "arguments",
    multiple=True,
    metavar="key=value",
    callback=read_arguments,
    help="Argument of the world's constructor.",
)


@click.command("run", epilog=EXIT_STATUS)
@click.argument("suite")
@click.option("--agent", "-a", required=True, help="Name, module:attr, file.py:attr or cmd:...")
@click.option("--trials", "-k", type=click.IntRange(1), help="Tries at each task and seed.")
@click.option("--seeds", metavar="A-B", help="Seeds of every task.")
@click.option("--workers", "-n", type=click.IntRange(1), default=1, help="Episodes at a time.")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many episodes.")
@click.option("--task", "tasks", multiple=True, metavar="ID", help="Only this task; repeatable.")
@click.option(
    "--failed",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Only what was not a full score there.",
)
@click.option("--max-steps", type=click.IntRange(1), help="Step limit of every task.")
@click.option("--reruns", type=click.IntRange(0), help="Reruns after a fault not the agent's.")
@click.option(
    "--isolation", type=click.Choice(["fork", "spawn", "shared"]), help="How worlds are kept apart."
)
@click.option(
    "--on-wrong-start",
    type=click.Choice(["rerun", "refuse", "record"]),
    help="What a wrong start leads to.",
)
@click.option(
    "--audit",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="N",
    help="Every N-th reading of a private copy is also made in full.",
)
@click.option("--heads-to", metavar="FILE|cmd:...", help="Send each episode's head there too.")
@click.option("--fail-under", type=click.FloatRange(0, 1), help="A lower mean is a finding.")
@click.option("--max-unscored", type=click.IntRange(0), help="More set aside is undecided.")
@click.option("--dry-run", is_flag=True, help="Plan and load everything, run nothing.")
@click.option("--print-plan", is_flag=True, help="Print plan.json and run nothing.")
@arguments_option
@log_dir_option
@click.option("--pdb", "debug", is_flag=True, help="Debug where something raises or fails.")
@click.option("--verbose", "-v", is_flag=True, help="Print every step to standard error.")
@json_option
@reporting
def run_command(
    suite: str,
    *,
    agent: str,
    as_json: bool,
    dry_run: bool,
    print_plan: bool,
    fail_under: float | None,
    max_unscored: int | None,
    **settings: Any,
) -> None:
    """Run every task of SUITE with an agent and prove the score.

    SUITE is a .toml file or a registered name (see `cleandesk list`).

    \b
    Examples:
        cleandesk run calendar --agent scripted
        cleandesk run suite.toml --agent agent.py:Agent -n 2 -k 5
        cleandesk run suite.toml --agent 'cmd:python my_agent.py' --json

    \b
    In Python:
        cleandesk.run("suite.toml", agent="agent.py:Agent", workers=2)
    """  # noqa: D301 - click wants the control character
    from cleandesk.run.conduct import run
    from cleandesk.view.progress import Progress

    if dry_run or print_plan:
        _show_plan(suite, agent, settings, print_plan=print_plan, as_json=as_json)
        return
    with Progress(is_quiet=settings["verbose"] or settings["debug"]) as progress:
        result = run(
            suite,
            agent,
            on_plan=progress.begin,
            on_result=progress.advance,
            on_start=progress.building,
            **settings,
        )
    from cleandesk.report.text import render_run

    status = result.status(fail_under=fail_under, max_unscored=max_unscored)
    finish(render_run(result), result.to_json(), as_json=as_json, status=status)


def _show_plan(
    suite: str, agent: str, settings: dict[str, Any], *, print_plan: bool, as_json: bool
) -> None:
    from cleandesk.run.conduct import plan_run

    prepared = plan_run(suite, agent, **settings)
    if print_plan:
        text = prepared.plan.decode()
        # The bytes that are hashed, unless they go to a terminal: names of the suite are in them.
        click.echo(for_terminal(text) if sys.stdout.isatty() else text, nl=False)
        return
    plan = json.loads(prepared.plan)
    facts = {
        "agent": plan["agent"]["reference"],
        "episodes": len(prepared.planned),
        "isolation": prepared.choices.isolation,
        "plan": prepared.plan_hash,
        "steps_at_most": sum(item.instance.limits.steps for item in prepared.planned),
        "tasks": len({item.instance.task_id for item in prepared.planned}),
        "worlds": sorted({str(world["reference"]) for world in prepared.worlds}),
    }
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        click.echo(f"{name:<14} {', '.join(value) if isinstance(value, list) else value}")
    click.echo("nothing was run")
