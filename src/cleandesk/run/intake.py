"""What comes back from the workers: accepted, run again, set aside, or the run's end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cleandesk.errors import RunError
from cleandesk.log import EpisodeWriter, HeadsSink, episode_file, rerun_file
from cleandesk.run.blame import RERUN, Blame, Fault
from cleandesk.run.outcomes import Result, close_unplayed
from cleandesk.run.plan import Choices, Planned
from cleandesk.run.queues import Queues


@dataclass(slots=True)
class Outcome:
    """What became of the planned episodes.

    Attributes:
        accepted: Episode -> the result that counts, scored or set aside.
        reruns: The results of attempts that do not count, with ``file``.
        not_run: Episode -> why it counts as not run.
        refused: The wrong start that stopped the run, or None.
    """

    accepted: dict[str, Result] = field(default_factory=dict)
    reruns: list[Result] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    refused: Result | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """An attempt whose worker is gone.

    Attributes:
        attempt: Its number.
        status: The worker's exit status, as far as it is known.
    """

    attempt: int
    status: int | None


class Intake:
    """Takes results and decides what each of them leads to.

    Attributes:
        outcome: What became of the episodes so far.
        rebuild: Episodes whose next attempt needs a world of its own.
    """

    def __init__(
        self,
        planned: Sequence[Planned],
        choices: Choices,
        queues: Queues,
        folder: Path,
        on_result: Callable[[Planned, Result], None],
    ) -> None:
        self._planned = {item.episode: item for item in planned}
        self._place = {item.episode: place for place, item in enumerate(planned)}
        self._choices = choices
        self._queues = queues
        self._folder = folder
        self._on_result = on_result
        self._quarantined: dict[str, int] = {}
        self._is_stopping = False
        self.outcome = Outcome()
        self.rebuild: set[str] = set()

    def take(self, item: Planned, result: Result, heads: HeadsSink) -> None:
        """Take the result of one attempt.

        Raises:
            RunError: CD-732, the harness failed more often than it may.
            LogError: The log can't be written.
        """
        heads.send(item.episode, result["head"], result["entries"])
        blame = result["outcome"]["blame"]
        if self._place[item.episode] > self._quarantined.get(
            item.instance.task_id, len(self._place)
        ):
            self._set_aside(item, result)
            return
        if result["outcome"]["code"] == "CD-701" and self._choices.on_wrong_start == "refuse":
            self.outcome.refused = self.outcome.refused or result
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
            self._quarantine(item)
        self.outcome.accepted[item.episode] = {**result, "file": episode_file(item.episode)}
        self._on_result(item, result)

    def lose(self, item: Planned, lost: Lost, plan: str, heads: HeadsSink) -> None:
        """Take an attempt whose worker is gone: what it had logged is kept.

        Raises:
            RunError: CD-732, the harness failed more often than it may.
            LogError: The log can't be written.
        """
        path = self._folder / episode_file(item.episode)
        log = EpisodeWriter.reopen(path, plan) if path.exists() else EpisodeWriter(path, plan)
        message = f"the worker's process ended (status {lost.status})"
        closed = close_unplayed(log, item.episode, Fault(Blame.HARNESS, "CD-731", message))
        self.take(item, {"attempt": lost.attempt, "episode": item.episode, **closed}, heads)

    def _may_rerun(self, result: Result) -> bool:
        return not self._is_stopping and result["attempt"] <= self._choices.reruns

    def _again(self, item: Planned, result: Result) -> None:
        self._move(item, result)
        self.rebuild.add(item.episode)
        # A provider that is out of reach gets the time that the other episodes take.
        is_providers = result["outcome"]["blame"] == Blame.PROVIDER
        self._queues.put_back(item, result["attempt"] + 1, last=is_providers)

    def _move(self, item: Planned, result: Result) -> None:
        """Keep an attempt under reruns/."""
        file = rerun_file(item.episode, result["attempt"])
        target = self._folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        (self._folder / episode_file(item.episode)).replace(target)
        self.outcome.reruns.append({**result, "file": file})

    def _quarantine(self, item: Planned) -> None:
        """Run a broken task no further, and nothing of it behind its first failure.

        What counts then does not depend on how many workers there are (law 7).
        """
        task, place = item.instance.task_id, self._place[item.episode]
        self._quarantined[task] = place

        def is_behind(other: Planned) -> bool:
            return other.instance.task_id == task and self._place[other.episode] > place

        for other in self._queues.drop(is_behind):
            self.outcome.not_run[other.episode] = _QUARANTINED
        for episode in [name for name in self.outcome.accepted if is_behind(self._planned[name])]:
            self._set_aside(self._planned[episode], self.outcome.accepted.pop(episode))

    def _set_aside(self, item: Planned, result: Result) -> None:
        self._move(item, result)
        self.outcome.not_run[item.episode] = _QUARANTINED

    def _stop(self, why: str) -> None:
        self._is_stopping = True
        for other in self._queues.drop(lambda _: True):
            self.outcome.not_run[other.episode] = why


_QUARANTINED = "its task is quarantined: its own premises fail"
