"""The parent's side: the servers of a rig, and a link to each device."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from cleandesk.audit.certificate.leaf import Leaf
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.audit.certificate.scratch import Scratch
from cleandesk.channel import Channel, ChannelClosedError, ChannelTimeoutError, FrameTooLargeError
from cleandesk.errors import remade
from cleandesk.processes import Role, kill_group, start_role, sweep
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES

LIMIT_S = 600.0
"""How long a device may take to answer, where there is no budget."""


class DeviceError(Exception):
    """A device did not do what it was asked to.

    Attributes:
        kind: ``rig`` (it raised), ``crashed``, ``slow``, or ``threads`` (it can't be forked).
        stage: What it was at.
        said: What is known, in words.
    """

    def __init__(self, kind: str, stage: str, said: str) -> None:
        super().__init__(f"{stage}: {said}")
        self.kind = kind
        self.stage = stage
        self.said = said


_LEAVES_AT_ONCE = 10_000


class Link:
    """One device, from outside.

    Attributes:
        about: What its build said: name, harness, declared, not_private.
        ends: When, by the monotonic clock, it must have answered; None sets no such time.
    """

    def __init__(self, channel: Channel, limit_s: float, ends: float | None = None) -> None:
        self._channel = channel
        self._limit_s = limit_s
        self.ends = ends
        self._pid: int | None = None
        self._mark = ""
        self.about: dict[str, Any] = {}

    def build(self, surroundings: Mapping[str, Any]) -> Link:
        """Build the rig.

        Args:
            surroundings: Fields of ``Surroundings``.

        Raises:
            DeviceError: It could not be built.
        """
        kind, parts = self._receive("start")
        if kind != b"P":
            raise DeviceError("crashed", "start", "the process said something else")
        self._pid, self._mark = int(parts[0]), parts[1].decode()
        self.about = self.call("build", {"surroundings": dict(surroundings)})
        return self

    def call(self, name: str, values: Mapping[str, Any] | None = None) -> Any:
        """Run an operation in the device.

        Raises:
            DeviceError: The rig raised, its process ended, or it took too long.
            CleandeskError: What the device itself refused.
        """
        return self._ask(name, values or {}, is_attempt=False)

    def attempt(self, name: str, values: Mapping[str, Any] | None = None) -> Any:
        """Run an operation in a fork of the device, which itself stays as it was.

        Raises:
            DeviceError: As ``call``; kind ``threads`` where it can't be forked.
            CleandeskError: As ``call``.
        """
        return self._ask(name, values or {}, is_attempt=True)

    def leaves(self, which: str, paths: list[str]) -> dict[str, Leaf]:
        """Return the leaves at ``paths`` of a walk that the device keeps."""
        found: dict[str, Leaf] = {}
        for at in range(0, len(paths), _LEAVES_AT_ONCE):
            asked = paths[at : at + _LEAVES_AT_ONCE]
            parts = self.call("leaves", {"paths": asked, "which": which})
            pairs = zip(asked, parts[::2], parts[1::2], strict=True)
            found.update({path: Leaf.from_parts(head, data) for path, head, data in pairs})
        return found

    def kill(self) -> None:
        """End the device and all that it started; ending twice is fine."""
        self._channel.close()
        if self._pid is not None:
            kill_group(self._pid)
            sweep(self._mark)
            self._pid = None

    def _ask(self, name: str, values: Mapping[str, Any], *, is_attempt: bool) -> Any:
        request = encode([name, dict(values), is_attempt], inline_bytes=ALL_BYTES)
        try:
            self._channel.send(b"O", request, timeout_s=_left_s(self._limit_s, self.ends))
        except (ChannelClosedError, ChannelTimeoutError) as error:
            raise DeviceError("crashed", name, "its process ended") from error
        kind, parts = self._receive(name)
        if kind == b"o":
            return decode(parts[0])
        if kind == b"r":
            return parts
        failure, code, message, where, do = decode(parts[0])
        if failure == "ours":
            raise remade(code, message, where=where, do=do)
        raise DeviceError(failure, code or name, message)

    def _receive(self, stage: str) -> tuple[bytes, list[bytes]]:
        limit_s = _left_s(self._limit_s, self.ends)
        try:
            return self._channel.receive(limit_s)
        except ChannelTimeoutError as error:
            self.kill()
            said = f"no answer within {limit_s:.0f} s; its process was ended"
            raise DeviceError("slow", stage, said) from error
        except FrameTooLargeError as error:
            self.kill()
            raise DeviceError("crashed", stage, f"it sent {error}") from error
        except ChannelClosedError as error:
            raise DeviceError("crashed", stage, "its process ended") from error


def _left_s(limit_s: float, ends: float | None) -> float:
    return limit_s if ends is None else min(limit_s, max(0.0, ends - time.monotonic()))


class Server:
    """A process that has imported what a rig needs, and never builds one."""

    def __init__(self, recipe: dict[str, Any], hash_seed: int, streams: int, output: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests = ours
        with os.fdopen(os.dup(output), "ab") as sink:
            self._role: Role = start_role(
                "cleandesk.audit.certificate.serve",
                output=sink,
                environment={"PYTHONHASHSEED": str(hash_seed)},
                extra=(theirs.fileno(),),
            )
        theirs.close()
        self._role.channel.send(b"H", encode({"recipe": recipe, "streams": streams}))
        self._is_ready = False
        self._lock = threading.Lock()
        self.is_forkable = False

    def ready(self, limit_s: float) -> None:
        """Wait until the imports are done.

        Raises:
            DeviceError: They raised, or took too long.
            CleandeskError: There is no such rig.
        """
        with self._lock:
            if self._is_ready:
                return
            try:
                kind, parts = self._role.channel.receive(limit_s)
            except ChannelTimeoutError as error:
                said = f"the process that imports the rig took more than {limit_s:.0f} s"
                raise DeviceError("slow", "import", said) from error
            except ChannelClosedError as error:
                said = "the process that imports the rig ended"
                raise DeviceError("crashed", "import", said) from error
            if kind == b"X":
                failure, code, message, where, do = decode(parts[0])
                if failure == "ours":
                    raise remade(code, message, where=where, do=do)
                raise DeviceError("rig", code, message)
            self.is_forkable = decode(parts[0])["is_forkable"]
            self._is_ready = True

    def fork(self, limit_s: float, ends: float | None = None) -> Link:
        """Return a link to a new device; nothing is built yet."""
        ours, theirs = Channel.pair()
        ours.limit_sends()
        try:
            socket.send_fds(self._requests, [b"d"], list(theirs.descriptors))
        except OSError as error:
            ours.close()
            raise DeviceError("crashed", "start", "the process that forks devices ended") from error
        finally:
            theirs.close()
        return Link(ours, limit_s, ends)

    def stop(self) -> None:
        """End the server and its devices."""
        self._requests.close()
        self._role.stop()


class Bench:
    """The servers of one recipe, started when they are first needed.

    Use it as a context manager: at its end every process is gone.

    Attributes:
        recipe: What is built.
        limit_s: How long a device may take to answer.
        ends: When all devices must have answered; None sets no such time.
    """

    def __init__(self, recipe: Recipe, *, limit_s: float = LIMIT_S, clock: str = "real") -> None:
        from cleandesk.audit.certificate.serve import plain_of

        self.recipe = recipe
        self.limit_s = limit_s
        self._clock = clock
        self.ends: float | None = None
        self._plain = plain_of(recipe)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._folder = Scratch()
        self._servers: dict[tuple[int, int], Server] = {}
        self._singles: list[Server] = []
        self._links: list[Link] = []
        self._lock = threading.Lock()
        self._starter = ThreadPoolExecutor(1)

    def start(self, hash_seed: int, streams: int) -> Server:
        """Return the server of these two numbers; it may still be importing."""
        with self._lock:
            key = hash_seed, streams
            if key not in self._servers:
                self._servers[key] = self._new(*key)
            return self._servers[key]

    def device(
        self, hash_seed: int, streams: int, *, clock: str = "", entropy: str = "real"
    ) -> Link:
        """Return a link to a device that is built.

        Args:
            hash_seed: Of the interpreter's hashes.
            streams: Which states the global random streams begin with.
            clock: ``real``, ``shifted`` or ``frozen``; as the bench has it if none is given.
            entropy: ``real``, or ``held``: the same in every process.

        Raises:
            DeviceError: It could not be built.
            CleandeskError: There is no such rig.
        """
        server = self.start(hash_seed, streams)
        server.ready(self._left_s())
        if not server.is_forkable:
            # Imports with threads do not live through a fork: one server for each device.
            server = self._new(hash_seed, streams)
            with self._lock:
                self._singles.append(server)
            server.ready(self._left_s())
        link = server.fork(self.limit_s, self.ends)
        with self._lock:
            self._links.append(link)
            folder = Path(self._folder.name) / str(len(self._links))
        folder.mkdir()
        surroundings = {
            "clock": clock or self._clock,
            "entropy": entropy,
            "folder": str(folder),
            "streams": streams,
            "variant": hash_seed,
        }
        return link.build(surroundings)

    @property
    def is_over(self) -> bool:
        """Whether the time is up in which all devices must have answered."""
        return self.ends is not None and time.monotonic() > self.ends

    def printed(self, limit_bytes: int = 4000) -> str:
        """Return the end of what the rigs printed."""
        self._output.flush()
        size = os.fstat(self._output.fileno()).st_size
        text = os.pread(self._output.fileno(), limit_bytes, max(0, size - limit_bytes))
        return text.decode(errors="replace")

    def stop(self) -> None:
        """End every process; ending twice is fine."""
        with self._lock:
            links = self._links
            servers = [*self._servers.values(), *self._singles]
            self._servers, self._singles = {}, []
        for link in links:
            link.kill()
        for server in servers:
            server.stop()
        self._starter.shutdown()
        self._output.close()
        self._folder.cleanup()

    def _left_s(self) -> float:
        return _left_s(self.limit_s, self.ends)

    def _new(self, hash_seed: int, streams: int) -> Server:
        # The kernel ends a server with the thread that started it, and whoever asks may be
        # a thread of a pool that ends before the bench does.
        output = self._output.fileno()
        return self._starter.submit(Server, self._plain, hash_seed, streams, output).result()

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.stop()
