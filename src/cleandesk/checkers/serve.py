"""The checker's process: pure questions about captured evidence, one at a time.

Neither agent nor world can read what is held here (law 10). Requests are frames: H
hello, L load a check, R which premises a start lacks, J judge. An answer has the
letter of its request, or is X: what went wrong.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cleandesk.channel import Channel, ChannelClosedError
from cleandesk.checkers.evidence import Evidence
from cleandesk.checkers.judging import judge, needs
from cleandesk.checkers.load import load_checker
from cleandesk.checkers.premise import premises
from cleandesk.checkers.purity import guard_purity, judging
from cleandesk.checkers.tree import BaseTables, Tree, open_tree
from cleandesk.errors import CheckerError, CleandeskError
from cleandesk.finding import look_in
from cleandesk.processes import channel_of_arguments
from cleandesk.state.canon import decode, encode
from cleandesk.state.diff import from_json
from cleandesk.state.snapshot import tables_of

_STATES = frozenset({"start", "end"})
_TUPLES = frozenset({"rewards", "actions", "trajectory"})


def main() -> None:
    """Serve until the harness closes the channel."""
    channel = channel_of_arguments()
    _, (hello,) = channel.receive()
    settings = decode(hello)
    look_in(settings["path"])
    # Read now: while it judges, nothing in this process may open a file.
    bases = {name: Path(path).read_bytes() for name, path in settings["bases"].items()}
    guard_purity()
    server = Server(tuple(settings["path"]), bases)
    serve_checks(channel, server, is_debugging=settings["debug"])


def serve_checks(channel: Channel, server: Server, *, is_debugging: bool) -> None:
    """Answer requests until the channel closes.

    Args:
        channel: To the harness.
        server: Has the answers.
        is_debugging: Open the debugger where a checker raises.
    """
    while True:
        try:
            kind, parts = channel.receive()
        except ChannelClosedError:
            return
        try:
            channel.send(kind, server.answer(kind, parts))
        except CheckerError as error:
            if is_debugging and error.__cause__ is not None:
                import pdb

                pdb.post_mortem(error.__cause__.__traceback__)
            channel.send(b"X", _failure(kind, error))
        except CleandeskError as error:
            channel.send(b"X", _failure(kind, error))


class Server:
    """Has the answers; it keeps what was loaded."""

    def __init__(self, folders: tuple[str, ...], bases: Mapping[str, bytes]) -> None:
        """Look for files of checkers in ``folders``; ``bases`` are stored snapshots by name."""
        self._folders = folders
        self._bases = bases
        self._tables: dict[str, BaseTables] = {}
        self._answers: dict[bytes, Callable[..., Any]] = {
            b"L": self._load,
            b"R": self._premises,
            b"J": self._judge,
        }

    def answer(self, kind: bytes, parts: list[bytes]) -> bytes:
        """Return what is to be sent back for a request.

        Raises:
            CleandeskError: What is asked for can't be had.
        """
        spec, *rest = parts
        return encode(self._answers[kind](decode(spec), *rest))

    def _load(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        refs = [check["ref"] for check in spec["checks"]]
        return {
            "digests": {
                ref: load_checker(ref, folders=self._folders).source_sha256 for ref in refs
            },
            "needs": sorted(needs(spec, folders=self._folders)),
        }

    def _premises(self, spec: Mapping[str, Any], start: bytes) -> list[str]:
        return premises(spec, self._opened(start))

    def _judge(self, spec: Mapping[str, Any], names: bytes, *values: bytes) -> dict[str, Any]:
        held = dict(zip(decode(names), values, strict=True))
        with judging():
            judged = judge(spec, read_evidence(held, self._opened), folders=self._folders)
        return {**asdict(judged), "parts": list(judged.parts)}

    def _opened(self, data: bytes) -> Tree:
        return open_tree(data, self._base)

    def _base(self, name: str) -> BaseTables:
        if name not in self._tables:
            self._tables[name] = BaseTables(tables_of(self._bases[name]))
        return self._tables[name]


def read_evidence(held: Mapping[str, bytes], opened: Callable[[bytes], Tree]) -> Evidence:
    """Return the evidence that ``held`` spells: field of ``Evidence`` to canonical bytes.

    The tables of the two states are decoded only if a checker reads them.
    """
    read: dict[str, Any] = {}
    for name, data in held.items():
        if name in _STATES:
            read[name] = opened(data)
        elif name == "changes":
            read[name] = from_json(decode(data))
        else:
            read[name] = tuple(decode(data)) if name in _TUPLES else decode(data)
    return Evidence(**read)


def _failure(kind: bytes, error: CleandeskError) -> bytes:
    if kind == b"L":
        return encode([error.code, error.message, error.where, error.do])
    detail = f"{error}\n{''.join(traceback.format_exception(error))}"
    return encode([error.code, error.message, detail[-8000:]])


if __name__ == "__main__":
    main()
