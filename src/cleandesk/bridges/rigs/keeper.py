"""Holds a world's private copies in a process of its own, as a worker of a run does.

Two libraries that open one database in one process undo each other's locks, so whoever
puts the copies back and reads them must not be the process in which the world lives.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.errors import CleandeskError, remade, text_of
from cleandesk.processes import die_with_parent
from cleandesk.run.bases import locate_in
from cleandesk.run.scratch import Scratch
from cleandesk.state import decode, encode
from cleandesk.state.canon import ALL_BYTES
from cleandesk.state.contract import Contract
from cleandesk.state.delta import Delta
from cleandesk.state.over import Over
from cleandesk.surfaces.copies import Copies, make_base, names_with_base

_QUIT = b"Q"
_PATIENCE_S = 10.0
_MOST_FIELDS = 50_000
"""Of a larger base only what was written is shown, not what is as it was."""


class Keeper:
    """The copies of one world, held next door.

    Attributes:
        places: Surface -> the path or URL of its copy.
        folders: What else a new world is given: ``temp``, ``clock``.
        holder: The process whose mounts the world must enter, or None.
    """

    def __init__(self, terms: Contract, folders: Sequence[str]) -> None:
        """Make the bases and open a copy of each.

        Args:
            terms: The contract.
            folders: Where the sources of the bases are looked for.

        Raises:
            CleandeskError: A base or a copy can't be made.
        """
        self._scratch = Scratch()
        ours, theirs = Channel.pair()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _serve(theirs, terms, (str(self._scratch.folder), *folders), parent)
        theirs.close()
        self._channel = ours
        try:
            held = self._call("open")
        except BaseException:
            self.close()
            raise
        self.places: dict[str, str] = held["places"]
        self.folders: dict[str, str] = held["folders"]
        self.holder: int | None = held["holder"]
        self.ignored: list[str] = held["ignored"]

    def restore(self) -> None:
        """Put every copy back to its base.

        Raises:
            WorldError: CD-241, one can't be put back.
        """
        self._call("restore")

    def require_let_go(self) -> None:
        """Check that nobody works on a file that the last restore replaced.

        Raises:
            WorldError: CD-245, somebody does.
        """
        self._call("let_go")

    def look(self) -> dict[str, dict[str, Any]]:
        """Return what each copy holds now: surface -> table -> records.

        Raises:
            WorldError: CD-242, a copy can't be read.
        """
        found: dict[str, dict[str, Any]] = self._call("look")
        return found

    def close(self) -> None:
        """Release and delete everything."""
        # Told so: forks of this process hold the other end open, so that it hears no end.
        with contextlib.suppress(ChannelClosedError, OSError):
            self._channel.send(_QUIT)
        self._channel.close()
        # Somebody else may have waited for it, or children are not waited for here.
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            self._await_end()
        self._scratch.close()

    def _await_end(self) -> None:
        ended = os.pidfd_open(self._pid)
        try:
            if not select.select([ended], [], [], _PATIENCE_S)[0]:
                os.kill(self._pid, signal.SIGKILL)
        finally:
            os.close(ended)
        os.waitpid(self._pid, 0)

    def _call(self, name: str) -> Any:
        self._channel.send(b"K", encode(name))
        kind, parts = self._channel.receive()
        if kind == b"X":
            code, message, where, do = decode(parts[0])
            raise remade(code, message, where=where, do=do)
        return decode(parts[0])


class _Held:
    """What the keeper's process holds."""

    def __init__(self, terms: Contract, places: Sequence[str]) -> None:
        folder, *sources = places
        locate = locate_in(sources)
        bases = {
            name: make_base(terms, name, Path(folder, name), locate)
            for name in names_with_base(terms)
        }
        self.copies = Copies(terms, bases, Path(folder, "copies"), audit=0)
        self._shown: dict[str, tuple[Delta, dict[str, Any]]] = {}

    def open(self) -> dict[str, Any]:
        return {
            "folders": self.copies.fresh_folders(),
            "holder": self.copies.holder(),
            "ignored": self.copies.ignored,
            "places": self.copies.places,
        }

    def restore(self) -> None:
        self.copies.restore()

    def let_go(self) -> None:
        self.copies.require_let_go()

    def look(self) -> dict[str, Any]:
        return {name: self._tables(name, over) for name, over in self.copies.look().items()}

    def _tables(self, name: str, over: Over) -> dict[str, Any]:
        known = self._shown.get(name)
        if known is None or known[0] != over.delta:
            known = self._shown[name] = (over.delta, tables_of(over))
        return known[1]


def tables_of(over: Over) -> dict[str, Any]:
    """Return the records of a surface as plain values; of a large one those written alone."""
    if over.fields <= _MOST_FIELDS:
        return {name: table.value() for name, table in over.tables().items()}
    edited: Mapping[str, Mapping[bytes, Any]] = over.delta.tables
    return {
        name: {
            decode(key): None if after is None else decode(after)
            for key, (_, after) in edits.items()
        }
        for name, edits in edited.items()
    }


def _serve(channel: Channel, terms: Contract, places: Sequence[str], parent: int) -> None:
    """Answer until the channel closes; this is a fork, and it ends here."""
    held: _Held | None = None
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with_parent()
        while os.getppid() == parent:
            kind, parts = channel.receive()
            if kind == _QUIT:
                break
            try:
                held = held or _Held(terms, places)
                answer = getattr(held, str(decode(parts[0])))()
            except CleandeskError as error:
                said = [error.code, error.message, error.where, error.do]
                channel.send(b"X", encode(said))
            except Exception as error:  # noqa: BLE001 - whatever it is, the other side must be told
                channel.send(b"X", encode(["CD-242", text_of(error), "a private copy", ""]))
            else:
                channel.send(b"K", encode(answer, inline_bytes=ALL_BYTES))
    except ChannelClosedError:
        pass
    finally:
        if held is not None:
            held.copies.close()
        # Not sys.exit: a fork must not run what its parent registered for its own end.
        os._exit(0)
