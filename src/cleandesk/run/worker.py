"""A worker: runs one episode after the other, each with its own world process.

It holds none of the users' code. World channels arrive from the run as descriptors;
the agent and the checker are processes of its own. It alone writes the logs of its
episodes.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.errors import CleandeskError, shown
from cleandesk.log import EpisodeWriter
from cleandesk.processes import channel_of_arguments, pin_to, tidy_with_parent
from cleandesk.run.agent_link import AgentLink
from cleandesk.run.anchor import Expected, build_expected
from cleandesk.run.blame import Blame, Fault
from cleandesk.run.checker_link import CheckerLink
from cleandesk.run.episode import Episode, Roles
from cleandesk.run.leaks import Past, Replay
from cleandesk.run.outcomes import close_unplayed
from cleandesk.run.worker_copies import WorkerCopies
from cleandesk.run.world_link import WorldLink
from cleandesk.state import decode, encode
from cleandesk.state.contract import Contract


def main() -> None:
    """Serve jobs until the channel closes."""
    channel = channel_of_arguments()
    tidy_with_parent()
    handed = socket.socket(fileno=int(sys.argv[3]))
    _, (hello,) = channel.receive()
    settings = decode(hello)
    pin_to(settings["core"])
    try:
        worker = _Worker(settings, channel, handed)
    except CleandeskError as error:
        channel.send(b"X", encode([error.code, error.message, error.where, error.do]))
        return
    channel.send(b"I", b"")
    try:
        while True:
            _, (text, instance) = channel.receive()
            job = decode(text) | {"instance": decode(instance)}
            if job["attempt"]:
                channel.send(b"R", encode(worker.run(job)))
            else:
                channel.send(b"A", encode(worker.build(job)))
    except ChannelClosedError:
        pass
    finally:
        worker.stop()


class _Shared:
    """A world that lives through many episodes, with its past."""

    def __init__(self, world: WorldLink, described: Mapping[str, Any], replay: Replay) -> None:
        self.world = world
        self.described = described
        self.terms = Contract.from_plain(described["contract"])
        self.past = Past()
        self.replay = replay

    def kill(self) -> None:
        self.world.kill()
        self.replay.kill()


class _Worker:
    def __init__(
        self, settings: Mapping[str, Any], channel: Channel, handed: socket.socket
    ) -> None:
        self._settings = settings
        self._channel = channel
        self._handed = handed
        self._folder = Path(settings["folder"])
        self._copies = WorkerCopies(settings)
        output = Path(settings["output"]) if settings["output"] else None
        hello = {
            "core": settings["core"],
            "debug": settings["debug"],
            "network": settings["agent_network"],
            "path": settings["agent_path"],
            "reference": settings["agent"],
        }
        self._agent = AgentLink(hello, output)
        self._checker = CheckerLink(
            settings["path"],
            limit_s=settings["checker_seconds"],
            output=output,
            debug=settings["debug"],
            bases=self._copies.paths(),
        )
        # Both load at the same time.
        self._checker.start()
        self._agent.ready()
        self._shared: dict[str, _Shared] = {}

    def stop(self) -> None:
        self._agent.stop()
        self._checker.stop()
        for shared in self._shared.values():
            shared.kill()
        self._copies.close()

    def build(self, job: dict[str, Any]) -> dict[str, Any]:
        """Build one expected start, and nothing else; None where that failed."""
        try:
            expected = self._expected(job, {"anchor": self._take()})
        except Fault as fault:
            return {
                "expected": None,
                "fault": [
                    *(fault.blame.value, fault.code, fault.message, fault.detail),
                    dict(fault.reported),
                ],
            }
        except CleandeskError as error:
            return {"fatal": [error.code, error.message, error.where, error.do]}
        return {"expected": expected.to_plain()}

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Run one job; every ending is a result, and what stops the run is named so."""
        path = self._folder / job["file"]
        writer = None
        expected: Expected | None = None
        result: dict[str, Any] = {"episode": job["episode"], "attempt": job["attempt"]}
        try:
            # Whatever was sent must be taken, or the next job would get it.
            given = {name: self._take() for name in job["channels"]}
            try:
                expected = self._expected(job, given)
                writer = EpisodeWriter(path, self._settings["plan"])
                result |= self._episode(job, expected, given, writer)
            finally:
                for unused in given.values():
                    unused.close()
        except Fault as fault:
            log = writer or EpisodeWriter(path, self._settings["plan"])
            result |= close_unplayed(log, job["episode"], fault)
        except CleandeskError as error:
            result["fatal"] = [error.code, error.message, error.where, error.do]
        is_new = expected is not None and job["expected"] is None
        result["readings"] = self._copies.readings()
        result["expected"] = expected.to_plain() if expected and is_new else None
        result["world_key"] = job["world_key"]
        result["world_open"] = job["world_key"] in self._shared
        return result

    def _take(self) -> Channel:
        _, descriptors, _, _ = socket.recv_fds(self._handed, 1, 2)
        if not descriptors:
            # The run is gone.
            raise ChannelClosedError
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no names
        return Channel(*descriptors)

    def _expected(self, job: Mapping[str, Any], given: dict[str, Channel]) -> Expected:
        if job["expected"] is not None:
            return Expected.from_plain(job["expected"])
        if job["fault"] is not None:
            # It failed when the starts were built; a rerun builds it anew.
            blame, *rest = job["fault"]
            raise Fault(Blame(blame), *rest)
        limit = job["instance"]["limits"]["world_seconds"]
        copies = self._copies.of("anchor", job["instance"]["world"])
        world = WorldLink(given.pop("anchor"), limit_s=limit, copies=copies)
        return build_expected(world, job["instance"], self._folder, self._checker)

    def _episode(
        self,
        job: Mapping[str, Any],
        expected: Expected,
        given: dict[str, Channel],
        writer: EpisodeWriter,
    ) -> dict[str, Any]:
        is_shared = job["isolation"] == "shared"
        shared = self._shared.get(job["world_key"])
        if shared is None or "world" in given:
            shared = self._open(job, given)
        past, replay = shared.past, shared.replay
        roles = Roles(
            shared.world,
            self._agent,
            self._checker,
            shared.described,
            shared.terms,
            lambda changes, start: replay.writers(changes, past, start) if is_shared else {},
        )
        shared.world.seconds = 0.0
        # Of a shared world the last task may have had another limit.
        shared.world.limit_s = job["instance"]["limits"]["world_seconds"]
        episode = Episode(job, expected, roles, writer, self._folder)
        if is_shared:
            past.episodes.append((job["episode"], job["instance"], episode.actions))
        try:
            result = episode.run()
            if job["debug"] and result["outcome"]["score"] == 0:
                said = shown(result["outcome"]["message"], 400)
                shared.world.debug(f"episode {job['episode']} scored 0: {said}")
        except BaseException:
            shared.kill()
            self._shared.pop(job["world_key"], None)
            raise
        blame = result["outcome"]["blame"]
        if not is_shared:
            shared.world.close()
        elif blame in {Blame.WORLD, Blame.HARNESS} and not self._may_go_on(job, result):
            shared.kill()
            self._shared.pop(job["world_key"], None)
        return result

    @staticmethod
    def _may_go_on(job: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
        return bool(job["on_wrong_start"] == "record" and result["outcome"]["code"] == "CD-701")

    def _open(self, job: Mapping[str, Any], given: dict[str, Channel]) -> _Shared:
        limit = job["instance"]["limits"]["world_seconds"]
        old = self._shared.pop(job["world_key"], None)
        if old is not None:
            old.kill()
        reference = job["instance"]["world"]
        # A shared world keeps its copies; the forks of one world use them in turn.
        owner = job["world_key"] if job["isolation"] == "shared" else "fork"
        copies = self._copies.of(owner, reference)
        world = WorldLink(given.pop("world"), limit_s=limit, patient=job["debug"], copies=copies)
        try:
            described = world.build(
                job["instance"]["with_"], core=self._settings["core"], debug=job["debug"]
            )
        except Fault:
            world.kill()
            raise
        replay = Replay(
            lambda: self._one_more(job["world_key"], reference, limit), job["instance"]["with_"]
        )
        opened = _Shared(world, described, replay)
        if job["isolation"] == "shared":
            self._shared[job["world_key"]] = opened
        return opened

    def _one_more(self, world_key: str, reference: str, limit_s: float) -> WorldLink:
        """Ask the run for one more world, in which the past can be lived through again."""
        self._channel.send(b"W", encode(world_key))
        copies = self._copies.of(f"replay of {world_key}", reference)
        return WorldLink(self._take(), limit_s=limit_s, copies=copies)


if __name__ == "__main__":
    main()
    os._exit(0)
