"""The one episode loop.

    restore -> reset -> setup -> capture, verify -> [agent acts -> world steps]* -> change
    -> checker -> score -> head of the chain

Every way in which it can end becomes a verdict with a blame; the log of what happened
up to there stays.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.errors import CheckerError, StateError, shown
from cleandesk.log import EpisodeWriter, write_object
from cleandesk.run.agent_link import AgentLink, AgentTimeoutError, Turn
from cleandesk.run.anchor import Expected
from cleandesk.run.blame import Blame, Fault
from cleandesk.run.checker_link import CheckerLink
from cleandesk.run.entries import settled, splice, stored
from cleandesk.run.leaks import Writers, leak, stray, wrong_start
from cleandesk.run.outcomes import append_verdict, blamed, judged
from cleandesk.run.world_link import WorldLink
from cleandesk.seeding import key
from cleandesk.state import Change, Snapshot, decode, diff, encode
from cleandesk.state.contract import Contract
from cleandesk.state.diff import to_json
from cleandesk.worlds.capture import CLOCK_SURFACE

_STEP = (
    b'{"action":%s,%s"info":%s,"kind":"step","observation":%s,"reward":%s,"step":%d,'
    b'"terminated":%s,"truncated":%s%s}'
)
_BOOLS = {b"0": b"false", b"1": b"true"}


@dataclass(frozen=True, slots=True)
class Roles:
    """The processes that one episode needs, and what is known of the world.

    Attributes:
        world: Built already.
        agent: Between episodes.
        checker: Loaded already.
        described: What the world said of itself when it was built.
        terms: Its contract.
        find_writers: Names who wrote the leaked fields, where that can be known.
    """

    world: WorldLink
    agent: AgentLink
    checker: CheckerLink
    described: Mapping[str, Any]
    terms: Contract
    find_writers: Callable[[tuple[Change, ...], Snapshot], Writers]


class Episode:
    """One try, from reset to verdict.

    Attributes:
        actions: The actions so far, as canon/1; a shared world's past keeps them.
    """

    def __init__(
        self,
        job: Mapping[str, Any],
        expected: Expected,
        roles: Roles,
        writer: EpisodeWriter,
        folder: Path,
    ) -> None:
        self._job = job
        self._instance: Mapping[str, Any] = job["instance"]
        self._limits: Mapping[str, Any] = job["instance"]["limits"]
        self._expected = expected
        self._roles = roles
        self._log = writer
        self._folder = folder
        self._terms = roles.terms
        self._start: dict[str, Any] = {"changes": 0, "verified": False}
        self._notes: list[dict[str, Any]] = []
        self._blocked: list[str] = []
        self._rewards: list[Any] = []
        self._trajectory: list[bytes] = []
        self.actions: list[bytes] = []
        self._reason = ""
        self._shot = expected.object
        self._answer = b"null"
        self._is_infeasible = False
        self._last: list[bytes] | None = None
        self._used = {"agent_seconds": 0.0, "tokens": 0, "usd": 0.0}

    def run(self) -> dict[str, Any]:
        """Run the episode to its verdict and return what the record needs of it.

        Raises:
            LogError: The log can't be written.
        """
        begun = time.monotonic()
        try:
            self._open()
            observation, info = self._begin()
            try:
                self._play(observation, info)
            except Fault as fault:
                if fault.blame is not Blame.AGENT:
                    raise
                # The agent's own failure is scored; what it changed until then is kept.
                self._reason = "agent failed"
                self._note_reports(fault)
                self._finish(state=False)
                outcome = blamed(fault, score=0.0)
            else:
                outcome = self._judge()
        except Fault as fault:
            self._note_reports(fault)
            outcome = blamed(fault)
        self._count(self._roles.agent.dismiss(self._last))
        outcome["proven"] = bool(self._start["verified"])
        head, entries = append_verdict(self._log, outcome)
        times = {
            "agent": round(self._used["agent_seconds"], 6),
            "wall": round(time.monotonic() - begun, 6),
            "world": round(self._roles.world.seconds, 6),
        }
        return {
            "blocked": self._blocked,
            "entries": entries,
            "head": head,
            "notes": self._notes,
            "outcome": outcome,
            "pays_nothing": not any(self._rewards),
            "reason": self._reason,
            "seconds": times,
            "start": self._start,
            "steps": len(self.actions),
            "usage": {"tokens": self._used["tokens"], "usd": self._used["usd"]},
        }

    def _open(self) -> None:
        instance = self._instance
        self._append(
            {
                "contract": self._roles.described["identity"],
                "episode": self._job["episode"],
                "expected": self._expected.to_plain(),
                "goal": instance["goal"],
                "kind": "open",
                "limits": dict(self._limits),
                "options": instance["options"],
                "params": instance["params"],
                "params_sha256": instance["params_sha256"],
                "seed": instance["seed"],
                "task": instance["task_id"],
                "trial": self._job["trial"],
                "with": instance["with_"],
                "world": instance["world"],
            }
        )

    def _begin(self) -> tuple[bytes, bytes]:
        """Reset the world and verify its start; return the first observation and info."""
        varies = bool(self._terms.declared)
        begun = self._roles.world.reset(self._instance, snapshot=varies)
        observation, info, facts = begun.observation, begun.info, begun.facts
        self._note_blocked("world", facts["blocked"])
        changes: tuple[Change, ...] = ()
        writers: Writers = {}
        outside = facts["undeclared"]
        is_same = facts["fingerprint"] == self._expected.fingerprint
        if varies or not is_same:
            # Of a start that is kept it is the very reading that its change is told from.
            actual = Snapshot.from_bytes(begun.snapshot) if varies else self._roles.world.view()
            changes = self._differences(actual)
            writers = self._roles.find_writers(changes, actual) if changes else {}
            self._shot = write_object(self._folder, actual.to_bytes())
        # Where it is the expected one only when it is read again, it was another one before.
        is_right = is_same and not changes and not outside
        if changes and is_same:
            raise StateError("CD-107", "fingerprint and diff disagree on one start")
        self._start = {
            "changes": len(changes) + len(outside),
            "fields": [
                *(leak(change, writers) for change in changes),
                *(stray(*row) for row in outside),
            ],
            "fields_read": self._expected.fields_read,
            "not_read": list(self._expected.not_read),
            "source": self._expected.source,
            "verified": is_right,
        }
        entry: dict[str, Any] = {
            "fields_read": self._expected.fields_read,
            "fingerprint": facts["fingerprint"],
            "kind": "start",
            "not_read": list(self._expected.not_read),
            "object": self._shot,
            "verified": is_right,
        }
        if not is_right:
            entry |= {"changes": to_json(changes), "outside": outside, "writers": writers}
        parts = {key: encode(value) for key, value in entry.items()}
        parts["observation"] = settled(observation, self._folder)
        parts["info"] = settled(info, self._folder)
        self._log.append(splice(parts))
        if not is_right and self._job["on_wrong_start"] != "record":
            raise Fault(Blame.WORLD, "CD-701", wrong_start(changes, outside, writers))
        return observation, info

    def _differences(self, actual: Snapshot) -> tuple[Change, ...]:
        expected = Snapshot.from_bytes(stored(self._folder, self._expected.object))
        return diff(self._terms.start_view(expected), self._terms.start_view(actual))

    def _play(self, observation: bytes, info: bytes) -> None:
        described, instance = self._roles.described, self._instance
        settings = {
            "action_space": described["action_space"],
            "goal": instance["goal"],
            "max_steps": self._limits["steps"],
            # The stream and not the seed: an agent must not redraw the task's secrets.
            "stream": key(instance["seed"], "agent", instance["task_id"], self._job["trial"]).hex(),
            "task": instance["task_id"],
            "tools": described["tools"],
            "trial": self._job["trial"],
        }
        self._roles.agent.begin(settings, observation, info)
        while not self._reason:
            turn = self._turn()
            if turn is not None and turn.kind == b"A":
                self._act(turn)
            elif turn is not None:
                self._reason = "done"
                self._answer = settled(turn.payload, self._folder)
                self._is_infeasible = turn.kind == b"F"

    def _turn(self) -> Turn | None:
        """Wait for the agent; return None where a limit ended the episode instead."""
        limit = self._limits["agent_seconds"]
        total = self._limits["episode_agent_seconds"]
        if total is not None:
            limit = min(limit, total - self._used["agent_seconds"])
        if self._job["debug"]:
            limit = None
        try:
            turn = self._roles.agent.turn(limit)
        except AgentTimeoutError:
            self._used["agent_seconds"] += limit or 0.0
            is_total = total is not None and limit < self._limits["agent_seconds"]
            self._reason = "episode_agent_seconds" if is_total else "agent_seconds"
            return None
        self._used["agent_seconds"] += turn.seconds
        self._count(turn.usage)
        self._note_blocked("agent", turn.blocked)
        for name in ("tokens", "usd"):
            if self._limits[name] is not None and self._used[name] > self._limits[name]:
                self._reason = name
                return None
        if turn.kind == b"A" and len(self.actions) >= self._limits["steps"]:
            # Saying done after the last action is no step; acting once more is.
            self._reason = "steps"
            return None
        return turn

    def _act(self, turn: Turn) -> None:
        self.actions.append(turn.payload)
        observation, reward, flags, info, extra = self._roles.world.step(turn.payload)
        number = len(self.actions)
        more = decode(extra) if extra else {}
        blocked = more.pop("blocked", [])
        # Spelled by hand, with its keys in order: the one entry that is written per step.
        entry = _STEP % (
            settled(turn.payload, self._folder),
            b'"also":%s,' % encode(more) if more else b"",
            settled(info, self._folder),
            settled(observation, self._folder),
            reward,
            number,
            _BOOLS[flags[:1]],
            _BOOLS[flags[1:]],
            b',"usage":%s' % encode(turn.usage) if turn.usage else b"",
        )
        self._log.append(entry)
        self._note_blocked("world", blocked)
        self._trajectory.append(entry)
        self._rewards.append(decode(reward))
        if b'"action_error"' in info or b'"observation_error"' in info:
            self._note_errors(decode(info), number)
        if self._job["verbose"]:
            _print_step(self._job["episode"], number, entry)
        outcome = [observation, reward, flags, info]
        if flags == b"00":
            self._roles.agent.tell(b"O", outcome)
        else:
            self._reason = "terminated" if flags[:1] == b"1" else "truncated"
            self._last = outcome

    def _note_errors(self, info: Mapping[str, Any], number: int) -> None:
        for name in ("action_error", "observation_error"):
            if info.get(name):
                self._notes.append(
                    {"episode": self._job["episode"], "step": number, name: str(info[name])[:500]}
                )

    def _note_blocked(self, by: str, hosts: Sequence[str]) -> None:
        if hosts:
            self._blocked += hosts
            self._append({"blocked": list(hosts), "by": by, "kind": "network"})

    def _note_reports(self, fault: Fault) -> None:
        by = "world" if fault.blame is Blame.WORLD else "agent"
        self._note_blocked(by, fault.reported.get("blocked", ()))
        self._count(fault.reported.get("usage", {}))

    def _count(self, usage: Mapping[str, Any]) -> None:
        for name, amount in usage.items():
            self._used[name] += amount

    def _finish(self, *, state: bool) -> tuple[bytes, bytes]:
        """Read the whole change and log it; return it, and the end if it is asked for."""
        changes, fingerprint, end = self._roles.world.end(state=state)
        parts = {
            "answer": self._answer,
            "changes": changes,
            "fingerprint": encode(fingerprint.decode()),
            "infeasible": b"true" if self._is_infeasible else b"false",
            "kind": b'"end"',
            "reason": encode(self._reason),
            "steps": b"%d" % len(self.actions),
        }
        if self._used["tokens"] or self._used["usd"]:
            parts["usage"] = encode({name: self._used[name] for name in ("tokens", "usd")})
        self._log.append(splice(parts))
        return changes, end

    def _judge(self) -> dict[str, Any]:
        spec = {**self._instance["spec"], "incidental": self._incidental()}
        try:
            needs = set(self._roles.checker.load(spec)["needs"])
        except CheckerError as error:
            # It could be loaded when the run began.
            raise Fault(Blame.CHECKER, error.code, error.message, error.where) from error
        changes, end = self._finish(state="end" in needs)
        evidence = {
            "answer": self._answer,
            "changes": changes,
            "goal": encode(self._instance["goal"]),
            "infeasible_answer": b"true" if self._is_infeasible else b"false",
            "params": encode(self._instance["params"]),
            "reason": encode(self._reason),
            "task_id": encode(self._instance["task_id"]),
        }
        if "start" in needs:
            evidence["start"] = stored(self._folder, self._shot)
        if end:
            evidence["end"] = end
        if "rewards" in needs:
            evidence["rewards"] = encode(self._rewards)
        if "actions" in needs:
            evidence["actions"] = b"[%s]" % b",".join(self.actions)
        if "trajectory" in needs:
            evidence["trajectory"] = b"[%s]" % b",".join(self._trajectory)
        limit = self._limits.get(self._reason)
        said = f"{self._reason} = {limit:g}" if limit is not None else ""
        return judged(self._roles.checker.judge(spec, evidence), said)

    def _incidental(self) -> list[str]:
        own = [pattern.text for pattern in self._terms.incidental]
        return [*own, f"{CLOCK_SURFACE}.now"] if self._terms.clock else own

    def _append(self, entry: dict[str, Any]) -> None:
        self._log.append(encode(entry))


def _print_step(episode: str, number: int, entry: bytes) -> None:
    text = shown(entry.decode("utf-8", "replace"), 400)
    sys.stderr.write(f"{episode} step {number}: {text}\n")
    sys.stderr.flush()
