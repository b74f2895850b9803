"""The chain of one episode: each line covers the line before it.

``hash_i = SHA-256(hash_{i-1} + line_i)`` over stored bytes, and ``hash_{-1}`` is
the plan's hash, so a chain can't be moved to another run. A chain shows that
entries are *unchanged since*; it does not show that they were true when written.

Pure: bytes in, values out. The files are in ``store`` and ``verify``.

Source:
    docs/spec/log-1.md, sections 3 "Lines" and 4 "What a fault is called".
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

OTHER_START = "entry 0 does not start from this plan"
_START = b'{"entry":{'
# An index of more than 18 digits is no index: int() of a hostile line stays cheap.
_TAIL = re.compile(rb'\},"index":(0|[1-9][0-9]{0,17}),"previous":"([0-9a-f]{64})"\}\Z')
_TAIL_BYTES = 128


@dataclass(frozen=True, slots=True)
class Fault:
    """The first entry at which a chain does not hold.

    Attributes:
        entry: Its place in the file, from 0.
        reason: What is wrong with it, in one sentence.
    """

    entry: int
    reason: str


@dataclass(frozen=True, slots=True)
class Walk:
    """What a chain holds, as far as it holds.

    Attributes:
        entries: Entries that hold; with a fault, those before it.
        head: Hash of the last line (64 hex digits); with a fault, the hash
            that the walk had reached.
        fault: Where the chain breaks, or None.
        torn: The last line has no newline: a write that was cut off.
        opening: The stored bytes of entry 0, empty if there is none.
        closing: The stored bytes of the last entry that holds.
    """

    entries: int
    head: str
    fault: Fault | None = None
    torn: bool = False
    opening: bytes = b""
    closing: bytes = b""


def canonical(value: object) -> bytes:
    """Return plain JSON values as canonical JSON: UTF-8, sorted keys, no spaces.

    Raises:
        ValueError: A float is not finite.
        TypeError: A value is not plain JSON.
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def link(previous: str, entry: bytes, index: int) -> tuple[bytes, str]:
    """Return the line that holds ``entry`` and the line's hash.

    Args:
        previous: Hash of the line before (64 hex digits), or the plan's hash.
        entry: A JSON object in canonical bytes, on one line.
        index: Place of the entry in its file, from 0.

    Returns:
        The line without its newline, and its hash as 64 hex digits.
    """
    line = b'{"entry":%b,"index":%d,"previous":"%b"}' % (entry, index, previous.encode())
    return line, sha256(previous.encode() + line).hexdigest()


def walk(data: bytes | Iterable[bytes], first: str, sealed: str | None = None) -> Walk:
    """Follow a chain to its end or to its first fault.

    Args:
        data: The bytes of one episode file, whole or in pieces of any size.
        first: The hash that the chain must start from (the plan's).
        sealed: The head that was sealed, if known. It stands in for the entry
            after the last one when a fault there has to be named.
    """
    pieces = (data,) if isinstance(data, bytes) else data
    blocks = _blocks(pieces)
    hashed = first.encode()
    index = 0
    opening = line = torn = b""
    for block, torn in blocks:  # noqa: B007 (the last one is what remains)
        for at, line in enumerate(block):
            # One comparison checks shape, index and previous hash at once; why a
            # line failed it is worked out only then.
            if not (
                line.startswith(_START)
                and line.endswith(b'},"index":%d,"previous":"%b"}' % (index, hashed))
            ):
                rest = itertools.chain(block[at + 1 :], *(more for more, _ in blocks))
                fault = _diagnose(_Break(index, line, hashed.decode(), None), rest, sealed)
                return Walk(fault.entry, hashed.decode(), fault, opening=entry_of(opening))
            if not index:
                opening = line
            hashed = sha256(hashed + line).hexdigest().encode()
            index += 1
    return Walk(
        index,
        hashed.decode(),
        torn=bool(torn),
        opening=entry_of(opening),
        closing=entry_of(line),
    )


def entry_of(line: bytes) -> bytes:
    """Return the entry's bytes of a line that has the shape of log/1, else nothing."""
    tail = _TAIL.search(line, max(0, len(line) - _TAIL_BYTES))
    return line[len(_START) - 1 : tail.start() + 1] if tail and line.startswith(_START) else b""


def previous_of(line: bytes) -> str | None:
    """Return the previous hash that a line holds, or None if it is not an entry."""
    claim = _claim(line)
    return claim.previous if claim else None


def _blocks(pieces: Iterable[bytes]) -> Iterator[tuple[list[bytes], bytes]]:
    """Yield whole lines as they come, each list with the torn bytes after it."""
    rest: list[bytes] = []
    for piece in pieces:
        # Joined only where a line ends: one line of 50 MB must not cost a copy per piece.
        rest.append(piece)
        if b"\n" in piece:
            *lines, last = b"".join(rest).split(b"\n")
            rest = [last]
            yield lines, last
    yield [], b"".join(rest)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a line says of itself."""

    index: int
    previous: str


@dataclass(frozen=True, slots=True)
class _Break:
    """The first line that is not what the chain expects there.

    Attributes:
        place: Where it stands.
        line: Its bytes.
        expected: The hash that it should hold as its previous one.
        follower: The hash that the next entry recorded for this one, if known.
    """

    place: int
    line: bytes
    expected: str
    follower: str | None

    def inserted(self) -> Fault:
        return Fault(self.place, f"entry {self.place} was inserted: it is not part of the chain")

    def hash_after(self, previous: str) -> str:
        return sha256(previous.encode() + self.line).hexdigest()

    def hash_if_mended(self) -> str:
        """Return the hash that the line had if only its previous hash was edited."""
        link_before = self.expected.encode()
        return sha256(link_before + self.line[:-66] + link_before + self.line[-2:]).hexdigest()


def _claim(line: bytes) -> _Claim | None:
    tail = _TAIL.search(line, max(0, len(line) - _TAIL_BYTES))
    if tail is None or not line.startswith(_START):
        return None
    return _Claim(int(tail[1]), tail[2].decode())


def _diagnose(broken: _Break, rest: Iterator[bytes], sealed: str | None) -> Fault:
    """Name the first bad entry, given the lines after the first one that does not fit."""
    here = _claim(broken.line)
    after_line = next(rest, None)
    after = _claim(after_line) if after_line is not None else None
    # The last line has no follower; the sealed head is what would follow it.
    follower = sealed if after_line is None else after.previous if after else None
    broken = replace(broken, follower=follower)
    if here is None:
        if after == _Claim(broken.place, broken.expected):
            return broken.inserted()
        return Fault(broken.place, f"entry {broken.place} is not an entry of log/1")
    if here.index > broken.place:
        return _ahead(broken, here, [c for c in (after, *map(_claim, rest)) if c])
    if here.index < broken.place:
        return _behind(broken, here)
    if after == _Claim(broken.place, broken.expected):
        return broken.inserted()
    return _unlinked(broken)


def _ahead(broken: _Break, here: _Claim, later: list[_Claim]) -> Fault:
    """Tell an edited index, an inserted, a moved and a removed entry apart."""
    place, found = broken.place, here.index
    edited = Fault(place, f"entry {place} was edited: it says that it is entry {found}")
    if here.previous == broken.expected:
        return edited
    indexes = [claim.index for claim in later]
    if place in indexes:
        # A moved entry leaves a gap further on; an inserted one does not.
        if found in indexes or found > max(indexes) + 1:
            return broken.inserted()
        return Fault(place, f"entries were reordered: entry {found} stands where entry {place} was")
    if indexes and indexes[0] == place + 1:
        return edited
    missing = f"entry {place} is" if found == place + 1 else f"entries {place} to {found - 1} are"
    return Fault(place, f"{missing} missing: entry {found} stands there")


def _behind(broken: _Break, here: _Claim) -> Fault:
    """Tell an edited index from one entry too many: this line, or the one before it."""
    place, found = broken.place, here.index
    if here.previous == broken.expected:
        return Fault(place, f"entry {place} was edited: it says that it is entry {found}")
    if found == place - 1 and broken.follower == broken.hash_after(here.previous):
        return Fault(found, f"entry {found} was inserted: it is not part of the chain")
    return Fault(place, f"entry {place} was inserted: entry {found} stands there again")


def _unlinked(broken: _Break) -> Fault:
    """Tell an edit of the entry before from an edit of this entry's own previous hash."""
    place = broken.place
    if broken.follower == broken.hash_if_mended():
        return Fault(place, f"entry {place} was edited: its previous hash is not the one it had")
    if place == 0:
        return Fault(0, OTHER_START)
    return Fault(place - 1, f"entry {place - 1} is not what entry {place} recorded")
