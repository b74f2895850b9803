"""``cleandesk contract``."""

from __future__ import annotations

from typing import Any

import click

from cleandesk.cli import EXIT_STATUS
from cleandesk.cli.output import finish, json_option, reporting
from cleandesk.cli.run_ import arguments_option


@click.command("contract", epilog=EXIT_STATUS)
@click.argument("world")
@click.option("--propose", is_flag=True, required=True, help="Build it twice and write one.")
@click.option("--seed", default=1, show_default=True, help="Seed of both resets.")
@arguments_option
@json_option
@reporting
def contract_command(
    world: str,
    *,
    propose: bool,  # noqa: ARG001 - the verb's one mode so far, spelled out for those to come
    seed: int,
    arguments: dict[str, Any],
    as_json: bool,
) -> None:
    """Write a first contract for WORLD.

    It is built twice, in processes that differ in hash seed and global random states;
    what differs is named. Status 1: something varies.

    \b
    Example:
        cleandesk contract world.py:Drawers --propose

    \b
    In Python:
        cleandesk.propose_contract("world.py:Drawers").code
    """  # noqa: D301 - click wants the control character
    from cleandesk.audit.proposal import propose_contract
    from cleandesk.report.text import render_proposal

    found = propose_contract(world, seed=seed, arguments=arguments)
    finish(
        render_proposal(found), found.to_json(), as_json=as_json, status=1 if found.varies else 0
    )
