"""One episode as an agent sees it: a goal, observations, and its own moves.

An agent that owns its loop (``play``) is given this; for the others the loop in
``agents/serve.py`` uses it. The agent's process holds nothing else of the run: no
checker, no expected answer, no state of the world.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cleandesk.agents.usage import take_usage
from cleandesk.channel import Channel
from cleandesk.errors import AgentError, StateError
from cleandesk.seeding import Stream
from cleandesk.state.canon import ALL_BYTES, decode, encode
from cleandesk.worlds.network import take_blocked


class EpisodeOver(BaseException):
    """The harness ended the episode while the agent was in it: a limit was reached."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one action led to.

    Attributes:
        observation: The next observation, a copy of the agent's own.
        reward: The step's reward; 0 throughout in worlds that pay at the end.
        terminated: The world ended the episode.
        truncated: A limit of the world or of the task ended it.
        info: What else the world says.
    """

    observation: Any
    reward: float | None
    terminated: bool
    truncated: bool
    info: dict[str, Any]

    @property
    def is_over(self) -> bool:
        """Whether no further action will be carried out."""
        return self.terminated or self.truncated


class Session:
    """The agent's end of one episode.

    Attributes:
        goal: What is to be done, in words.
        task: The task's id.
        trial: Which try at this task and seed this is, from 1.
        observation: The latest observation.
        info: The latest info.
        action_space: A description of the actions, or None.
        tools: The world's own description of its actions, or None.
        max_steps: How many actions the task allows.
        rng: The agent's own random stream; it differs from trial to trial.
        is_over: Whether the episode has ended.
    """

    def __init__(
        self, channel: Channel, settings: Mapping[str, Any], first: tuple[Any, Any]
    ) -> None:
        self._channel = channel
        self.goal: str = settings["goal"]
        self.task: str = settings["task"]
        self.trial: int = settings["trial"]
        self.action_space: Any = settings["action_space"]
        self.tools: Any = settings["tools"]
        self.max_steps: int = settings["max_steps"]
        self.rng = Stream(bytes.fromhex(settings["stream"]))
        self.observation, self.info = first
        self.is_over = False

    def step(self, action: Any) -> Step:
        """Have the world carry out ``action``.

        Raises:
            EpisodeOver: The episode had ended.
            AgentError: CD-312, the action is not made of plain values.
        """
        if self.is_over:
            raise EpisodeOver
        self._say(b"A", action)
        kind, parts = self._channel.receive()
        if kind == b"Q":
            self.is_over = True
            raise EpisodeOver
        observation, reward, flags, info = parts
        step = Step(
            decode(observation), decode(reward), flags[:1] == b"1", flags[1:] == b"1", decode(info)
        )
        self.observation, self.info = step.observation, step.info
        self.is_over = kind == b"T"
        return step

    def done(self, answer: Any = None) -> None:
        """End the episode: the agent thinks that the goal is reached.

        Args:
            answer: What was asked for, if the goal asks for an answer.
        """
        self._end(b"D", answer)

    def infeasible(self, reason: str = "") -> None:
        """End the episode: the agent says that the goal can't be reached."""
        self._end(b"F", reason)

    def _end(self, kind: bytes, value: Any) -> None:
        if not self.is_over:
            self._say(kind, value)
            self.is_over = True

    def _say(self, kind: bytes, value: Any) -> None:
        try:
            spelled = encode(value, inline_bytes=ALL_BYTES)
        except StateError as error:
            what = "action" if kind == b"A" else "answer"
            raise AgentError(
                "CD-312",
                f"the agent's {what} can't be sent: {error.message}",
                where=error.where,
                do="make it of plain values: numbers, texts, lists, dicts, arrays",
            ) from error
        self._channel.send(kind, spelled, *reports())

    def begin(self) -> None:
        """Put the global random generators where this trial begins, and count from nothing."""
        reports()
        start = self.rng.bits()
        random.seed(start)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(start % (1 << 32))


def reports() -> tuple[bytes, bytes]:
    """Return what was used and which connections were blocked since the last call.

    Each as canon/1, or nothing; they go with whatever the agent says next.
    """
    blocked = take_blocked()
    return take_usage(), encode(blocked) if blocked else b""
