"""What Linux tells of this process under /proc. Reading it leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Collection, Iterator

from cleandesk.surfaces.process.wording import ephemeral_ports

_LISTENING = "0A"
_STARTING = 50
_UNIX_LISTENING = 0x10000
_EPHEMERAL = ephemeral_ports()
SHARED = "/dev/shm"  # noqa: S108 - where the kernel keeps it, read and never written


def status() -> dict[str, str]:
    """Return the fields of /proc/self/status."""
    lines = _read("/proc/self/status").decode(errors="replace").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in pairs}


def descriptors() -> dict[int, str]:
    """Return each open descriptor and where its link leads."""
    found = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib costs five times as much
        # The listing itself was open too, and is no more.
        with contextlib.suppress(OSError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115
    return found


def threads() -> set[int]:
    """Return the ids of this process's threads, of compiled code as well."""
    return set(map(int, os.listdir("/proc/self/task")))  # noqa: PTH208


def thread_name(thread: int) -> str:
    """Return the kernel's name for a thread; empty if it has ended."""
    with contextlib.suppress(OSError):
        return _read(f"/proc/self/task/{thread}/comm").decode(errors="replace").strip()
    return ""


def children(parent: int, leave: Collection[int]) -> Iterator[int]:
    """Yield the processes below ``parent`` that still are; of ``leave`` nothing."""
    with contextlib.suppress(OSError):
        # A thread's children are listed under that thread.
        for thread in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208
            for child in map(int, _read(f"/proc/{parent}/task/{thread}/children").split()):
                if child not in leave:
                    yield child
                    yield from children(child, leave)


def command(pid: int) -> list[str]:
    """Return a process's command line; of one that has ended, a text that says so."""
    name = ""
    with contextlib.suppress(OSError):
        for _ in range(_STARTING):
            words = _read(f"/proc/{pid}/cmdline")
            if words:
                return [word.decode(errors="replace") for word in words.rstrip(b"\0").split(b"\0")]
            text = _read(f"/proc/{pid}/stat").decode(errors="replace")
            name = text[text.find("(") + 1 : text.rfind(")")]
            if text[text.rfind(")") + 2 :].startswith(("Z", "X")):
                return [f"ended and not waited for: {name}"]
            # Whoever started it goes on a moment before its command line is in place.
            time.sleep(0.001)
        return [f"without a command line: {name}"]
    return []


def listening(inodes: Collection[str]) -> list[str]:
    """Say at what address each of our sockets listens; the others are left out."""
    found: list[str] = []
    for family in ("tcp", "tcp6"):
        found += [
            f"{family} {_address(words[1])}"
            for words in _rows(f"/proc/self/net/{family}")
            if words[3] == _LISTENING and words[9] in inodes
        ]
    found += [
        f"unix {' '.join(words[7:])}".rstrip()
        for words in _rows("/proc/self/net/unix")
        if int(words[3], 16) & _UNIX_LISTENING and words[6] in inodes
    ]
    return found


def listeners(port: int) -> set[str]:
    """Return the inodes of the sockets that listen on a TCP port, whoever's they are."""
    return {
        words[9]
        for family in ("tcp", "tcp6")
        for words in _rows(f"/proc/self/net/{family}")
        if words[3] == _LISTENING and int(words[1].rpartition(":")[2], 16) == port
    }


def holds_socket(pid: int, inodes: Collection[str]) -> bool:
    """Tell whether a process has one of these sockets open."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{name}") in wanted:  # noqa: PTH115
                    return True
    return False


def carriers(needle: bytes) -> Iterator[int]:
    """Yield the processes whose environment holds a variable that begins with ``needle``."""
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if name.isdigit() and b"\0" + needle in b"\0" + _read(f"/proc/{name}/environ"):
                yield int(name)


def _rows(path: str) -> list[list[str]]:
    try:
        text = _read(path).decode(errors="replace")
    except OSError:
        return []
    return [line.split() for line in text.splitlines()[1:]]


def _address(text: str) -> str:
    host, _, port = text.partition(":")
    raw = bytes.fromhex(host)
    # Each word of four bytes is written in the machine's own order.
    if sys.byteorder == "little":
        raw = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    number = int(port, 16)
    return f"{socket.inet_ntop(family, raw)}:{'*' if number in _EPHEMERAL else number}"


def shared_memory(links: Collection[str]) -> set[str]:
    """Return the names in shared memory that this process holds, by descriptor or mapped."""
    maps = _read("/proc/self/maps").decode(errors="replace").splitlines()
    mapped = (line[line.find(SHARED) :] for line in maps if f" {SHARED}/" in line)
    return {
        path.removeprefix(f"{SHARED}/") for path in (*links, *mapped) if path.startswith(SHARED)
    }


def _read(path: str) -> bytes:
    # Plain calls: a file object would cost twice as much.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while data := os.read(handle, 1 << 16):
            parts.append(data)
        return b"".join(parts)
    finally:
        os.close(handle)
