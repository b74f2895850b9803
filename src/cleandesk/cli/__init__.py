"""The command line: one file per verb, each a thin cover of one public function."""

from __future__ import annotations

import importlib
from typing import Any

import click

EXIT_STATUS = """\b
Exit status:
    0  proven, or nothing found
    1  a finding
    2  bad usage, or input that can't be used
    3  undecided
    4  it could not do its job
"""

_VERBS = {
    "certify": "Judge a reset and name what it leaves behind.",
    "classify": "Say whose failure an episode was.",
    "contract": "Write a first contract for a world.",
    "demo": "See a leak change a score, and be caught.",
    "diff": "Show what differs between two states.",
    "init": "Make a folder with a suite, a world and an agent.",
    "list": "List worlds, agents, checkers and suites.",
    "run": "Run a suite with an agent and prove the score.",
    "verify": "Check that a record is the one that was sealed.",
    "watch": "Run any program over private copies and show what it changed.",
}


class _Verbs(click.Group):
    """Imports a verb when it is asked for, so that --help answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _VERBS:
            return None
        found: click.Command = getattr(
            importlib.import_module(f"cleandesk.cli.{cmd_name}_"), f"{cmd_name}_command"
        )
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib import metadata

        click.echo(f"cleandesk {metadata.version('cleandesk')}")
        ctx.exit()


@click.group(
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=EXIT_STATUS,
)
@click.option(
    "--version",
    is_flag=True,
    callback=_version,
    expose_value=False,
    is_eager=True,
    help="Show the version.",
)
def main() -> None:
    """Put proof behind the scores of AI agents.

    Every run's start is verified, the checker reads the whole change, each failure is
    blamed on whoever caused it, and the record can be verified by anyone.
    """


__all__: list[Any] = ["EXIT_STATUS", "main"]
