"""Handing episodes to workers, taking their results, and deciding what is run again."""

from __future__ import annotations

import contextlib
import selectors
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from cleandesk.channel import ChannelClosedError
from cleandesk.errors import CleandeskError, ContractError, LogError, RunError, StateError
from cleandesk.log import HeadsSink, episode_file, rerun_file, walk
from cleandesk.run.blame import RERUN, Blame
from cleandesk.run.importers import INDEPENDENT, RUNS, Importer, Importers
from cleandesk.run.plan import Choices, Planned
from cleandesk.run.worker_link import WorkerLink
from cleandesk.state import decode, encode

Result = dict[str, Any]

_ERRORS: dict[str, type[CleandeskError]] = {
    "CD-1": StateError,
    "CD-2": ContractError,
    "CD-6": LogError,
}


@dataclass(slots=True)
class Outcome:
    """What became of the planned episodes.

    Attributes:
        accepted: Episode -> the result that counts, scored or set aside.
        reruns: The results of attempts that were run again, in order, with ``file``.
        not_run: Episode -> why it was never run.
        refused: The wrong start that stopped the run, or None.
    """

    accepted: dict[str, Result] = field(default_factory=dict)
    reruns: list[Result] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    refused: Result | None = None


class Dispatch:
    """One run's traffic: queues, workers, importers, expected starts."""

    def __init__(
        self,
        planned: Sequence[Planned],
        choices: Choices,
        importers: Importers,
        folder: Path,
        on_result: Callable[[Planned, Result], None],
    ) -> None:
        self._choices = choices
        self._importers = importers
        self._folder = folder
        self._on_result = on_result
        self._expected: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._building: set[tuple[str, int]] = set()
        self._rebuild: set[str] = set()
        self._spawned: dict[int, Importer] = {}
        self._keys: dict[str, str] = {}
        self._stopping = False
        self._flags: dict[str, Any] = {}
        self.outcome = Outcome()
        self._open: set[tuple[int, str]] = set()
        # Each shared world has a fixed share of the episodes, in order, so that what
        # leaks from one into the next does not depend on who was idle first.
        shares = choices.workers if choices.isolation == "shared" else 1
        self._share = {item.episode: place % shares for place, item in enumerate(planned)}
        queues = [deque((item, 1) for item in planned[share::shares]) for share in range(shares)]
        self._queues = [queues[number % shares] for number in range(choices.workers)]

    def run(
        self, hello: Mapping[str, Any], heads: HeadsSink, *, debug: bool, verbose: bool
    ) -> Outcome:
        """Run everything that is planned.

        Args:
            hello: What every worker is told.
            heads: Takes the head of each episode that is accepted.
            debug: Whether ``--pdb`` was given.
            verbose: Whether every step is printed.

        Raises:
            CleandeskError: What stops a run: the log can't be written, a contract does
                not fit its world, the harness failed more often than it may.
        """
        self._flags = {"debug": debug, "plan": hello["plan"], "verbose": verbose}
        output = self._folder / "output" / "workers.log"
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            workers = [WorkerLink(at, hello, output) for at in range(self._choices.workers)]
            stack.callback(_stop_all, workers)
            for worker in workers:
                worker.ready()
                selector.register(worker, selectors.EVENT_READ, worker)
                self._next(worker)
            while any(worker.job for worker in workers):
                for key, _ in selector.select():
                    worker = key.data
                    if worker.job is not None and not self._hear(worker, heads):
                        selector.unregister(worker)
                        workers[worker.number] = self._replaced(worker, hello, output)
                        selector.register(
                            workers[worker.number], selectors.EVENT_READ, workers[worker.number]
                        )
                for worker in workers:
                    if worker.job is None:
                        self._next(worker)
        return self.outcome

    def _hear(self, worker: WorkerLink, heads: HeadsSink) -> bool:
        """Take what a worker says; return False if it is gone."""
        item = worker.job
        if item is None:
            return True
        try:
            kind, parts = worker.hear()
        except ChannelClosedError:
            self._open = {held for held in self._open if held[0] != worker.number}
            self._lost(item, worker.attempt)
            return False
        if kind == b"W":
            self._importers.of(self._keys[decode(parts[0])], RUNS).hand(worker.handed)
            return True
        result: Result = decode(parts[0])
        worker.job = None
        spawned = self._spawned.pop(worker.number, None)
        if spawned is not None:
            spawned.stop()
        if "fatal" in result:
            code, message, where, do = result["fatal"]
            raise _ERRORS.get(code[:4], RunError)(code, message, where=where, do=do)
        if not result["world_open"]:
            self._open.discard((worker.number, result["world_key"]))
        self._building.discard(item.start)
        if result["expected"] is not None:
            self._expected[item.start] = result["expected"]
        self._take(item, result, heads)
        return True

    def _take(self, item: Planned, result: Result, heads: HeadsSink | None) -> None:
        blame = result["outcome"]["blame"]
        is_wrong_start = result["outcome"]["code"] == "CD-701"
        if is_wrong_start and self._choices.on_wrong_start == "refuse":
            self.outcome.refused = result
            self._stop(f"the run was refused at {item.episode}")
        elif blame is not None and Blame(blame) in RERUN and self._may_rerun(result):
            self._again(item, result)
            return
        elif blame == Blame.HARNESS:
            raise RunError(
                "CD-732",
                f"the harness failed {result['attempt']} times at one episode: "
                f"{result['outcome']['message']}",
                where=item.episode,
                do=f"what was logged is kept; see {self._folder / 'output'}",
            )
        if blame == Blame.TASK:
            self._quarantine(item, result["outcome"]["message"])
        self.outcome.accepted[item.episode] = {**result, "file": episode_file(item.episode)}
        if heads is not None:
            heads.send(item.episode, result["head"], result["entries"])
        self._on_result(item, result)

    def _may_rerun(self, result: Result) -> bool:
        return not self._stopping and result["attempt"] <= self._choices.reruns

    def _again(self, item: Planned, result: Result) -> None:
        """Keep the attempt under reruns/ and put the episode back in front."""
        file = rerun_file(item.episode, result["attempt"])
        target = self._folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        (self._folder / episode_file(item.episode)).replace(target)
        self.outcome.reruns.append({**result, "file": file})
        self._rebuild.add(item.episode)
        self._queue_of(item).appendleft((item, result["attempt"] + 1))

    def _queue_of(self, item: Planned) -> deque[tuple[Planned, int]]:
        return self._queues[self._share[item.episode]]

    def _lost(self, item: Planned, attempt: int) -> None:
        """A worker was killed: what it had logged is kept, the episode runs again."""
        self._building.discard(item.start)
        path = self._folder / episode_file(item.episode)
        message = "the worker's process was killed"
        result: Result = {
            "attempt": attempt,
            "blocked": [],
            "entries": 0,
            "episode": item.episode,
            "expected": None,
            "head": "",
            "notes": [],
            "outcome": _harness_outcome(message),
            "pays_nothing": False,
            "reason": "",
            "seconds": {"agent": 0.0, "wall": 0.0, "world": 0.0},
            "start": None,
            "steps": 0,
            "usage": {"tokens": 0, "usd": 0.0},
        }
        if path.exists():
            held = walk(path.read_bytes(), self._flags["plan"])
            result |= {"entries": held.entries, "head": held.head}
            self._take(item, result, None)
            return
        if not self._may_rerun(result):
            raise RunError(
                "CD-732", f"the harness failed at one episode: {message}", where=item.episode
            )
        self._queue_of(item).appendleft((item, attempt + 1))

    def _quarantine(self, item: Planned, why: str) -> None:
        task = item.instance.task_id
        for queue in {id(queue): queue for queue in self._queues}.values():
            for other, attempt in list(queue):
                if other.instance.task_id == task:
                    queue.remove((other, attempt))
                    self.outcome.not_run[other.episode] = f"the task is quarantined: {why}"

    def _stop(self, why: str) -> None:
        self._stopping = True
        for queue in self._queues:
            for other, _ in queue:
                self.outcome.not_run[other.episode] = why
            queue.clear()

    def _replaced(self, worker: WorkerLink, hello: Mapping[str, Any], output: Path) -> WorkerLink:
        worker.stop()
        fresh = WorkerLink(worker.number, hello, output)
        fresh.ready()
        return fresh

    def _next(self, worker: WorkerLink) -> None:
        """Give the worker the first episode whose expected start nobody is building."""
        queue = self._queues[worker.number]
        for place, (item, attempt) in enumerate(queue):
            if item.start in self._building:
                continue
            del queue[place]
            self._assign(worker, item, attempt)
            return

    def _assign(self, worker: WorkerLink, item: Planned, attempt: int) -> None:
        instance = item.instance
        reference = instance.world or ""
        world_key = sha256(encode([reference, instance.with_])).hexdigest()
        expected = self._expected.get(item.start)
        channels = []
        if expected is None:
            self._building.add(item.start)
            channels.append("anchor")
            self._importers.of(reference, INDEPENDENT).hand(worker.handed)
        is_first = (worker.number, world_key) not in self._open
        if self._choices.isolation != "shared" or is_first or item.episode in self._rebuild:
            channels.append("world")
            self._importer(worker, reference).hand(worker.handed)
            self._open.add((worker.number, world_key))
        self._rebuild.discard(item.episode)
        self._keys[world_key] = reference
        job = {
            "attempt": attempt,
            "channels": channels,
            "debug": self._flags["debug"],
            "episode": item.episode,
            "expected": expected,
            "file": episode_file(item.episode),
            "instance": instance.to_plain(),
            "isolation": self._choices.isolation,
            "on_wrong_start": self._choices.on_wrong_start,
            "trial": item.trial,
            "verbose": self._flags["verbose"],
            "world_key": world_key,
        }
        worker.assign(item, attempt, job)

    def _importer(self, worker: WorkerLink, reference: str) -> Importer:
        if self._choices.isolation != "spawn":
            return self._importers.of(reference, RUNS)
        self._spawned[worker.number] = self._importers.fresh(reference)
        return self._spawned[worker.number]


def _stop_all(workers: Sequence[WorkerLink]) -> None:
    for worker in workers:
        worker.stop()


def _harness_outcome(message: str) -> Result:
    return {
        "blame": Blame.HARNESS.value,
        "code": "CD-731",
        "detail": "",
        "explanation": "",
        "message": message,
        "metric": None,
        "proven": False,
        "score": None,
    }
