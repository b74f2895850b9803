"""Handing episodes to workers, with their worlds, and hearing what became of them.

First the expected starts are built, all of them: what an episode leaves outside its world
(a file, a service) must not be there when the start is built that the next one is held to.
"""

from __future__ import annotations

import contextlib
import selectors
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from cleandesk.channel import ChannelClosedError
from cleandesk.errors import remade
from cleandesk.log import HeadsSink, episode_file
from cleandesk.run.importers import INDEPENDENT, RUNS, Importer, Importers
from cleandesk.run.intake import Intake, Lost, Outcome
from cleandesk.run.outcomes import Result
from cleandesk.run.plan import Choices, Planned
from cleandesk.run.queues import Queues
from cleandesk.run.worker_link import WorkerLink
from cleandesk.state import decode, encode


class Dispatch:
    """One run's traffic: workers, importers, expected starts."""

    def __init__(
        self,
        planned: Sequence[Planned],
        choices: Choices,
        importers: Importers,
        folder: Path,
        on_result: Callable[[Planned, Result], None],
        on_start: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        self._choices = choices
        self._importers = importers
        self._output = folder / "output" / "workers.log"
        shares = choices.workers if choices.isolation == "shared" else 1
        self._queues = Queues(planned, shares)
        self._on_start = on_start
        self._starts = deque({item.start: item for item in reversed(planned)}.values())
        self._starts.reverse()
        self._count = len(self._starts)
        self._intake = Intake(planned, choices, self._queues, folder, on_result)
        self._expected: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._faults: dict[tuple[str, int], list[str]] = {}
        self._building: set[tuple[str, int]] = set()
        self._open: set[tuple[int, str]] = set()
        self._keys: dict[str, str] = {}
        self._instances: dict[tuple[str, int], tuple[str, bytes]] = {}
        self._spawned: dict[int, Importer] = {}
        self._workers: list[WorkerLink] = []
        self._hello: Mapping[str, Any] = {}

    def run(self, hello: Mapping[str, Any], heads: HeadsSink) -> Outcome:
        """Run everything that is planned.

        Args:
            hello: What every worker is told; ``debug`` and ``verbose`` go with each job.
            heads: Takes the head of each attempt as it ends.

        Raises:
            CleandeskError: What stops a run: the log can't be written, a contract does
                not fit its world, the harness failed more often than it may.
        """
        self._hello = hello
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            stack.callback(self._stop_all)
            for number in range(self._choices.workers):
                # One by one, so that what was started is stopped, whatever happens next.
                self._workers.append(WorkerLink(number, hello, self._output))
            for worker in list(self._workers):
                worker.ready()
                selector.register(worker, selectors.EVENT_READ, worker)
            for give in (self._give_start, self._next):
                for worker in list(self._workers):
                    give(worker)
                while any(worker.job for worker in self._workers):
                    for key, _ in selector.select():
                        self._serve(key.data, selector, heads)
                    for worker in list(self._workers):
                        give(worker)
        return self._intake.outcome

    def _give_start(self, worker: WorkerLink) -> None:
        """Have an idle worker build the next expected start."""
        if worker.job is not None or not self._starts:
            return
        item = self._starts.popleft()
        self._on_start(self._count - len(self._starts), self._count)
        worker.is_building = True
        try:
            self._importers.hand(item.instance.world or "", INDEPENDENT, worker.handed)
            worker.assign(item, 0, self._job(item, ["anchor"], None), self._spelled(item)[1])
        except ChannelClosedError:
            # It died between two jobs; the selector says so next.
            worker.job = item

    def _take_start(self, worker: WorkerLink, result: Result) -> None:
        item = self._released(worker)
        if "fatal" in result:
            code, message, where, do = result["fatal"]
            raise remade(code, message, where=where, do=do)
        if item is not None and result["expected"] is not None:
            self._expected[item.start] = result["expected"]
        elif item is not None:
            # It is the first attempt at its first episode that failed so.
            self._faults[item.start] = result["fault"]

    def _serve(
        self, worker: WorkerLink, selector: selectors.BaseSelector, heads: HeadsSink
    ) -> None:
        """Take what a worker says; put another in its place if it is gone."""
        try:
            kind, parts = worker.hear()
        except ChannelClosedError:
            selector.unregister(worker)
            self._lose(worker, heads)
            fresh = WorkerLink(worker.number, self._hello, self._output)
            self._workers[worker.number] = fresh
            fresh.ready()
            selector.register(fresh, selectors.EVENT_READ, fresh)
            return
        if kind == b"W":
            reference = self._keys[decode(parts[0])]
            # A worker that is gone by now is heard of next.
            with contextlib.suppress(ChannelClosedError):
                self._importers.hand(reference, RUNS, worker.handed)
            return
        if kind == b"A":
            self._take_start(worker, decode(parts[0]))
            return
        self._take(worker, decode(parts[0]), heads)

    def _take(self, worker: WorkerLink, result: Result, heads: HeadsSink) -> None:
        item = self._released(worker)
        if "fatal" in result:
            code, message, where, do = result["fatal"]
            raise remade(code, message, where=where, do=do)
        if item is None:
            return
        if not result["world_open"]:
            self._open.discard((worker.number, result["world_key"]))
        if result["expected"] is not None:
            self._expected[item.start] = result["expected"]
        self._intake.take(item, result, heads)

    def _lose(self, worker: WorkerLink, heads: HeadsSink) -> None:
        lost = Lost(worker.attempt, worker.status())
        worker.stop()
        self._open = {held for held in self._open if held[0] != worker.number}
        was_building = worker.is_building
        item = self._released(worker)
        if item is not None and not was_building:
            self._intake.lose(item, lost, self._hello["plan"], heads)

    def _released(self, worker: WorkerLink) -> Planned | None:
        """Note that a worker has no job any more; return the one that it had."""
        item, worker.job = worker.job, None
        worker.is_building = False
        spawned = self._spawned.pop(worker.number, None)
        if spawned is not None:
            spawned.stop()
        if item is not None:
            self._building.discard(item.start)
        return item

    def _next(self, worker: WorkerLink) -> None:
        """Give an idle worker the first episode whose expected start nobody is building."""
        if worker.job is not None:
            return
        taken = self._queues.take(worker.number, lambda item: item.start not in self._building)
        if taken is None:
            return
        try:
            self._assign(worker, *taken)
        except ChannelClosedError:
            # It died between two jobs; the selector says so next, and a new one gets the job.
            worker.job, worker.attempt = taken

    def _assign(self, worker: WorkerLink, item: Planned, attempt: int) -> None:
        instance = item.instance
        reference = instance.world or ""
        world_key, spelled = self._spelled(item)
        expected = self._expected.get(item.start)
        channels = []
        if expected is None:
            self._building.add(item.start)
            channels.append("anchor")
            self._importers.hand(reference, INDEPENDENT, worker.handed)
        is_first = (worker.number, world_key) not in self._open
        is_rebuilt = item.episode in self._intake.rebuild
        if self._choices.isolation != "shared" or is_first or is_rebuilt:
            channels.append("world")
            self._hand_world(worker, reference)
            self._open.add((worker.number, world_key))
        self._intake.rebuild.discard(item.episode)
        self._keys[world_key] = reference
        fault = self._faults.pop(item.start, None) if expected is None else None
        job = self._job(item, channels, expected) | {"attempt": attempt, "fault": fault}
        worker.assign(item, attempt, job, spelled)

    def _job(
        self, item: Planned, channels: list[str], expected: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        return {
            "attempt": 0,
            "channels": channels,
            "debug": self._hello["debug"],
            "episode": item.episode,
            "expected": expected,
            "fault": None,
            "file": episode_file(item.episode),
            "isolation": self._choices.isolation,
            "on_wrong_start": self._choices.on_wrong_start,
            "trial": item.trial,
            "verbose": self._hello["verbose"],
            "world_key": self._spelled(item)[0],
        }

    def _spelled(self, item: Planned) -> tuple[str, bytes]:
        """Return the key of an item's world, and its instance as canon/1, made once."""
        if item.start not in self._instances:
            instance = item.instance
            world_key = sha256(encode([instance.world, instance.with_])).hexdigest()
            self._instances[item.start] = world_key, encode(instance.to_plain())
        return self._instances[item.start]

    def _hand_world(self, worker: WorkerLink, reference: str) -> None:
        if self._choices.isolation == "spawn":
            fresh = self._importers.hand_fresh(reference, worker.handed)
            self._spawned[worker.number] = fresh
        else:
            self._importers.hand(reference, RUNS, worker.handed)

    def _stop_all(self) -> None:
        for worker in self._workers:
            worker.stop()
        for importer in self._spawned.values():
            importer.stop()
