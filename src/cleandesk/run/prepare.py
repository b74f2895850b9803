"""A run before it begins: its plan, and everything that its suite and agent name."""

from __future__ import annotations

import contextlib
import difflib
import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from cleandesk.errors import CheckerError, SuiteError, shown
from cleandesk.run.agent_link import AgentLink
from cleandesk.run.bases import Bases
from cleandesk.run.blame import Fault
from cleandesk.run.checker_link import CheckerLink
from cleandesk.run.importers import INDEPENDENT, Importers
from cleandesk.run.plan import Choices, Planned, choose, chosen_tasks, describe_plan, plan_episodes
from cleandesk.run.settings import Settings
from cleandesk.run.world_link import WorldLink, as_error
from cleandesk.state import Pattern
from cleandesk.state.contract import Contract
from cleandesk.surfaces.copies import names_with_base
from cleandesk.tasks import Suite


class Prepared:
    """A run that is planned and loaded, and not begun.

    Attributes:
        suite: The suite.
        planned: Its episodes, in order.
        choices: The settings that shape the run.
        plan: The bytes of plan.json.
        worlds: What each world says of itself.
        summing: Tasks whose check reads the step rewards.
    """

    def __init__(self, suite: Suite, agent: str, settings: Settings) -> None:
        self.suite = suite
        self.agent = agent
        self.settings = settings
        self.choices: Choices = choose(suite, settings)
        self.planned: list[Planned] = []
        self.path = [str(suite.folder.resolve()), str(Path.cwd())]
        self.importers = Importers(
            path=self.path,
            network=suite.network["world"],
            output=None,
            debug=settings.debug,
        )
        self.worlds: list[dict[str, Any]] = []
        self.bases = Bases(self.path)
        self.plan = b""
        self.summing: set[str] = set()

    @property
    def plan_hash(self) -> str:
        """The first link of every chain."""
        return sha256(self.plan).hexdigest()

    def load(self) -> None:
        """Import the worlds, the agent and the checkers, and write the plan.

        Raises:
            CleandeskError: Something that the suite or the caller names can't be used.
        """
        tasks = chosen_tasks(self.suite, self.settings)
        references = sorted({task.world or "" for task in tasks})
        if "" in references:
            raise SuiteError(
                "CD-405",
                "a task names no world",
                where=f"suite {self.suite.name!r}",
                do='write world = "..." at the top of the suite',
            )
        with contextlib.ExitStack() as stack:
            # All of them load at the same time; the worlds are waited for first.
            agent = AgentLink(self._agent_hello(), None)
            stack.callback(agent.stop)
            checker = CheckerLink(
                self.path, limit_s=self.choices.checker_seconds, output=None, debug=False
            )
            stack.callback(checker.stop)
            checker.start()
            self.importers.start(references)
            self.bases.make(references, self.importers)
            self.planned = plan_episodes(self.suite, self.settings, self.choices, self.bases.asking)
            self.worlds = [*self._describe_worlds()]
            agent.ready()
            found = {
                "agent": {"digest": agent.source, "reference": self.agent},
                "checkers": self._load_checkers(checker),
                "worlds": self.worlds,
            }
        self._require_fields()
        self.plan = describe_plan(self.suite, self.planned, self.choices, found)

    def _require_fields(self) -> None:
        """Refuse an expectation about what no contract reads: it could never be met."""
        for item in self.planned:
            instance = item.instance
            contract = next(
                Contract.from_plain(world["contract"])
                for world in self.worlds
                if (world["reference"], world["with"]) == (instance.world, instance.with_)
            )
            # Of a surface with a base a reset may make tables: there the start decides.
            open_ended = set(names_with_base(contract))
            known = contract.tables()
            for name in expected_fields(instance.spec):
                parts = Pattern.parse(name).parts[:2]
                if parts[0] not in open_ended and not any(_fits(parts, table) for table in known):
                    tables = [*known, *self.bases.tables(instance.world or "")]
                    dotted = [".".join(table) for table in tables]
                    near = difflib.get_close_matches(name.split("[")[0], dotted, n=1)
                    raise SuiteError(
                        "CD-418",
                        f"the task expects something of {shown(name)!r}, and the contract "
                        f"{contract.name!r} reads no such table",
                        where=f"task {instance.task_id!r}",
                        do=f"did you mean {near[0]!r}?"
                        if near
                        else f"it reads: {', '.join(dotted)}",
                    )

    def _describe_worlds(self) -> Iterator[dict[str, Any]]:
        seen: set[str] = set()
        for item in self.planned:
            instance = item.instance
            key = json.dumps([instance.world, instance.with_], sort_keys=True, default=str)
            if key in seen:
                continue
            seen.add(key)
            importer = self.importers.of(instance.world or "", INDEPENDENT)
            try:
                copies = self.bases.copies(instance.world or "")
                world = WorldLink(
                    importer.child(), limit_s=instance.limits.world_seconds, copies=copies
                )
                try:
                    described = world.build(instance.with_, core=None, debug=False)
                finally:
                    world.kill()
            except Fault as fault:
                raise as_error(fault, instance.world or "") from fault
            yield {
                "bases": self.bases.fingerprints(instance.world or ""),
                "contract": described["contract"],
                "identity": described["identity"],
                "pays": described["pays"],
                "reference": instance.world,
                "source": importer.source,
                "with": instance.with_,
            }

    def _agent_hello(self) -> dict[str, Any]:
        return {
            "core": None,
            "debug": False,
            "network": self.suite.network["agent"],
            "path": self.agent_path,
            "reference": self.agent,
        }

    @property
    def agent_path(self) -> list[str]:
        """Where agents are looked for: here first, then beside the suite."""
        return [str(Path.cwd()), str(self.suite.folder.resolve())]

    def _load_checkers(self, checker: CheckerLink) -> dict[str, str]:
        digests: dict[str, str] = {}
        pays = {world["reference"]: world["pays"] for world in self.worlds}
        try:
            for item in self.planned:
                loaded = checker.load(item.instance.spec)
                digests |= loaded["digests"]
                if "rewards" in loaded["needs"]:
                    self._require_paid(item, pays)
                    self.summing.add(item.instance.task_id)
        except Fault as fault:
            raise CheckerError(
                fault.code,
                f"{fault.message} while the checkers were loaded",
                where=f"suite {self.suite.name!r}",
                do="import the modules of its checkers by hand",
            ) from fault
        return digests

    def _require_paid(self, item: Planned, pays: Mapping[str | None, str]) -> None:
        if pays.get(item.instance.world) == "end":
            raise SuiteError(
                "CD-417",
                f"the task sums step rewards, and the world {item.instance.world!r} pays only at "
                "the end: every sum would be 0",
                where=f"task {item.instance.task_id!r}",
                do="check the state instead: expect.added, expect.changed, or a function",
            )


def expected_fields(spec: Mapping[str, Any]) -> list[str]:
    """Return every field that the right answers of a check name."""
    answers = spec["expect"] if isinstance(spec["expect"], list) else [spec["expect"] or {}]
    return [
        name
        for answer in answers
        for table in ("changed", "added", "removed")
        for name in answer.get(table, {})
    ]


def _fits(parts: tuple[str | None, ...], table: tuple[str, str]) -> bool:
    return all(part in {None, name} for part, name in zip(parts, table, strict=False))


def prepare(suite: Suite, agent: str, settings: Settings) -> Prepared:
    """Plan and load a run without beginning it; stop its importers when done with it."""
    prepared = Prepared(suite, agent, settings)
    try:
        prepared.load()
    except BaseException:
        prepared.importers.stop()
        prepared.bases.close()
        raise
    return prepared
