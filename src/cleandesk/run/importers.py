"""The importers of a run: two for each world, and the channels to their children."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cleandesk.channel import Channel, ChannelClosedError, ChannelTimeoutError
from cleandesk.errors import WorldError, remade
from cleandesk.processes import Role, start_role
from cleandesk.state import decode, encode
from cleandesk.state.contract import Contract

RUNS, INDEPENDENT = 0, 1
"""Which importer: the one for the runs, or the one that builds independently."""

_IMPORT_SECONDS = 300.0
_MOST_PRINTED = 1 << 30


class Importer:
    """One process that has imported one world.

    Attributes:
        source: Digest of the world's source.
        file: The file that defines the world, or nothing.
        contract: The contract that its class holds, known before it is built, or None.
    """

    def __init__(self, reference: str, variant: int, settings: dict[str, Any]) -> None:
        """Start the process; ``ready`` waits until it has imported the world."""
        self._reference = reference
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests = ours
        self._role: Role = start_role(
            "cleandesk.worlds.importer",
            output=settings["output"],
            # Another hash seed: sets and dictionaries of texts come out in another order.
            environment={"PYTHONHASHSEED": str(variant)},
            extra=(theirs.fileno(),),
            terminal=settings["debug"],
        )
        theirs.close()
        hello = {
            "network": settings["network"],
            "path": settings["path"],
            "reference": reference,
            "variant": variant,
        }
        self._role.channel.send(b"H", encode(hello))
        self.source = ""
        self.file = ""
        self.contract: Contract | None = None

    def ready(self) -> None:
        """Wait until the world is imported.

        Raises:
            WorldError: CD-201, the world can't be imported; CD-215, its process ended.
        """
        try:
            kind, parts = self._role.channel.receive(_IMPORT_SECONDS)
        except (ChannelClosedError, ChannelTimeoutError) as error:
            raise WorldError(
                "CD-215",
                "the process that imports the world ended, or took too long",
                where=f"world {self._reference!r}",
                do="import the world's module by hand",
            ) from error
        if kind == b"X":
            code, message, where, do = decode(parts[0])
            raise remade(code, message, where=where, do=do)
        said = decode(parts[0])
        self.source, self.file = said["source"], said["file"]
        self.contract = Contract.from_plain(said["contract"]) if said["contract"] else None

    def child(self) -> Channel:
        """Fork a child and return our end of the channel to it.

        Raises:
            OSError: The importer is gone.
        """
        ours, theirs = Channel.pair()
        try:
            socket.send_fds(self._requests, [b"w"], list(theirs.descriptors))
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def stop(self) -> None:
        """End the importer and its children."""
        self._requests.close()
        self._role.stop()


class Importers:
    """The importers of a run, by world and variant.

    What their worlds print is kept in a file without a name until somebody asks for it:
    they start before there is a run folder.
    """

    def __init__(
        self, *, path: Sequence[str], network: Sequence[str], output: Path | None, debug: bool
    ) -> None:
        self._prints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._settings: dict[str, Any] = {
            "debug": debug,
            "network": list(network),
            "output": output or self._prints,
            "path": list(path),
        }
        self._held: dict[tuple[str, int], Importer] = {}

    def start(self, references: Iterable[str]) -> None:
        """Start both importers of each world, all at once, and wait for them.

        Raises:
            WorldError: CD-201 or CD-215, a world can't be imported.
        """
        keys = [(reference, variant) for reference in references for variant in (RUNS, INDEPENDENT)]
        for key in keys:
            self._held[key] = Importer(*key, self._settings)
        for key in keys:
            self._held[key].ready()

    def of(self, reference: str, variant: int) -> Importer:
        """Return one that was started."""
        return self._held[reference, variant]

    def hand(self, reference: str, variant: int, taker: socket.socket) -> None:
        """Fork a child of an importer and hand the channel to it over ``taker``.

        An importer that was killed is started again; its world is the same.

        Raises:
            ChannelClosedError: The taker is gone.
        """
        try:
            channel = self._held[reference, variant].child()
        except OSError:
            self._held[reference, variant].stop()
            self._held[reference, variant] = Importer(reference, variant, self._settings)
            channel = self._held[reference, variant].child()
        _give(channel, taker)

    def hand_fresh(self, reference: str, taker: socket.socket) -> Importer:
        """Start one more importer for a single world (isolation ``spawn``) and hand that over.

        Nobody waits for it here: the channel is silent until the world is imported.

        Returns:
            The importer; it is yours to stop.

        Raises:
            ChannelClosedError: The taker is gone.
        """
        importer = Importer(reference, RUNS, self._settings)
        try:
            _give(importer.child(), taker)
        except BaseException:
            importer.stop()
            raise
        return importer

    def save_prints(self, path: Path) -> None:
        """Write what the worlds printed; nothing is written where they printed nothing."""
        self._prints.flush()
        size = os.fstat(self._prints.fileno()).st_size
        if size:
            with path.open("wb") as file, contextlib.suppress(OSError):
                os.sendfile(file.fileno(), self._prints.fileno(), 0, min(size, _MOST_PRINTED))

    def stop(self) -> None:
        """End them all."""
        for importer in self._held.values():
            importer.stop()
        self._held.clear()
        self._prints.close()


def _give(channel: Channel, taker: socket.socket) -> None:
    try:
        socket.send_fds(taker, [b"c"], list(channel.descriptors))
    except OSError as error:
        raise ChannelClosedError from error
    finally:
        channel.close()
