"""How a process is described so that two builds of one world say the same.

Process ids, descriptor numbers, inodes, ports that the kernel chose and names drawn at
random differ from build to build without being state. They are replaced here; nothing
else is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_RANDOM_NAME = re.compile(
    # What tempfile, multiprocessing and its shared memory draw.
    r"(?P<fixed>\btmp|\bpymp-|\bpsm_|\bsem\.mp-|\bmp-|\bwnsm_)[a-z0-9_]{8}\b"
)
_NAMELESS = re.compile(r"(?<=/#)\d+(?= \(deleted\)$)")
"""A file that never had a name is shown by its inode."""

_OF_PYTHON = re.compile(
    # Descriptor numbers that multiprocessing puts on the command lines of its programs.
    r"(?<=tracker_fd=)\d+|(?<=pipe_handle=)\d+|(?<=_tracker import main;main\()\d+"
)
_NUMBER = re.compile(r"\d+")
_BRACKETED = re.compile(r"(?:anon_inode:)?\[?(?P<kind>[\w-]+)\]?(?::\[\d+\])?$")


@dataclass(frozen=True, slots=True)
class Own:
    """What the harness itself holds in the world's process; it is never read as state.

    Attributes:
        descriptors: Numbers of descriptors.
        threads: Ids that the kernel gave to threads (``Thread.native_id``).
        children: Process ids; what these started is the harness's as well.
    """

    descriptors: frozenset[int] = frozenset()
    threads: frozenset[int] = frozenset()
    children: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Wording:
    """Replaces what differs between two builds of one world.

    Attributes:
        places: Name -> path of each private copy; in texts its path becomes ``{name}``.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    pid: int = field(default_factory=os.getpid)

    def say(self, text: str) -> str:
        """Return ``text`` without paths of private copies, our pid and random names."""
        # The longest first: one place may lie in another.
        for name, path in sorted(self.places.items(), key=lambda item: -len(item[1])):
            if path:
                text = text.replace(path, f"{{{name}}}")
        text = text.replace(f"/proc/{self.pid}/", "/proc/self/")
        return _RANDOM_NAME.sub(r"\g<fixed>*", text)

    def command(self, words: list[str]) -> str:
        """Return a command line as one text."""
        return self.say(_OF_PYTHON.sub("*", " ".join(words)))

    def target(self, link: str) -> str:
        """Say what a descriptor leads to, from its link in /proc."""
        if link.startswith("/memfd:"):
            return self.say(f"memory {link.removeprefix('/memfd:').removesuffix(' (deleted)')}")
        if link.startswith("/"):
            return self.say(f"file {_NAMELESS.sub('*', link)}")
        found = _BRACKETED.match(link)
        return found["kind"] if found else link


def unnumbered(name: str) -> str:
    """Return a thread's name without its numbers, which count all that ever were."""
    return _NUMBER.sub("*", name)


def named(thing: Any) -> str:
    """Name a function, a class or an object, without its address."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    name = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    return f"{module}:{name}"


def ephemeral_ports() -> range:
    """Return the ports that the kernel gives to whoever does not ask for one."""
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split()
        return range(int(low), int(high) + 1)
    except (OSError, ValueError):
        return range(32768, 61000)
