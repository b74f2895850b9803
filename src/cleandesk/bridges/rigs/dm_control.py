"""Rigs over the tasks of dm_control's suite: ``dm_control:humanoid.walk``."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

from cleandesk.audit.certificate.rig import Recipe, Rig
from cleandesk.bridges.rigs.driven import DrivenRig
from cleandesk.bridges.rigs.driver import Written, written_call
from cleandesk.bridges.rigs.quiet import headless, quiet
from cleandesk.errors import WorldError, shown, text_of


class DmControlMaker:
    """Makes rigs of ``suite.load``."""

    def prepare(self, rest: str, recipe: Recipe) -> None:
        """Import the suite.

        Raises:
            WorldError: CD-291, it is not installed, or has no such task.
        """
        del recipe
        headless()
        _require(_suite(rest), rest)
        with quiet():
            importlib.import_module("cleandesk.bridges.rigs.dm_env")

    def make(self, rest: str, recipe: Recipe) -> Rig:
        """Return the rig of a task; its generator is constructed with 0 unless told otherwise.

        Raises:
            WorldError: CD-291, there is no such task.
        """
        from cleandesk.bridges.rigs.dm_env import DmEnvDriver

        suite = _suite(rest)
        domain, task = _require(suite, rest)
        settings = _with_random(recipe.arguments)
        return DrivenRig(
            recipe,
            lambda: suite.load(domain, task, **settings),
            DmEnvDriver,
            written=Written(
                ("from dm_control import suite",),
                written_call("suite.load", settings, repr(domain), repr(task)),
            ),
        )

    def catalogue(self) -> list[str]:
        """Return every task of the suite."""
        return [f"dm_control:{domain}.{task}" for domain, task in sorted(_suite("*").ALL_TASKS)]


def _with_random(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, with a generator that is not drawn from the machine's entropy.

    Some tasks draw their very model from it; two builds would never be alike.
    """
    given = dict(arguments.get("task_kwargs") or {})
    return {**arguments, "task_kwargs": {"random": 0, **given}}


def _suite(rest: str) -> Any:
    try:
        with quiet():
            return importlib.import_module("dm_control.suite")
    except Exception as error:
        raise WorldError(
            "CD-291",
            f"dm_control's suite can't be imported: {text_of(error, 300)}",
            where=f"rig 'dm_control:{shown(rest, 80)}'",
            do="pip install dm_control",
        ) from error


def _require(suite: Any, rest: str) -> tuple[str, str]:
    domain, _, task = rest.partition(".")
    if (domain, task) in suite.ALL_TASKS:
        return domain, task
    names = [f"{each[0]}.{each[1]}" for each in suite.ALL_TASKS]
    near = difflib.get_close_matches(rest, names, n=3)
    raise WorldError(
        "CD-291",
        f"dm_control's suite has no task {shown(repr(rest), 80)}",
        where=f"rig 'dm_control:{shown(rest, 80)}'",
        do=f"did you mean {', '.join(near)}?" if near else "write dm_control:DOMAIN.TASK",
    )
