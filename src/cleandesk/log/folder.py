"""Where things are in a run folder, and how an episode's name becomes a file's.

Names only: nothing here opens a file.

Source:
    docs/spec/log-1.md, section 2 "Run folder".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

_UNSAFE = re.compile(rb"[^A-Za-z0-9._=+@,~-]")
_SUFFIX = ".jsonl"
# File systems refuse names above 255 bytes; a rerun's number and the suffix need room.
_NAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The paths of one run.

    Attributes:
        path: The run folder itself.
    """

    path: Path

    @property
    def plan(self) -> Path:
        """What the run is; its SHA-256 is the first link of every chain."""
        return self.path / "plan.json"

    @property
    def episodes(self) -> Path:
        """Logs of accepted episodes."""
        return self.path / "episodes"

    @property
    def reruns(self) -> Path:
        """Logs of episodes that were run again."""
        return self.path / "reruns"

    @property
    def objects(self) -> Path:
        """Big and sensitive values, each named by its hash."""
        return self.path / "objects"

    @property
    def record(self) -> Path:
        """What happened around the run; beside the proof."""
        return self.path / "record.json"

    @property
    def root(self) -> Path:
        """The seal: the root and what it stands for."""
        return self.path / "root.json"

    @property
    def signature(self) -> Path:
        """The seal's signature, if it was signed."""
        return self.path / "root.sig"

    @property
    def heads(self) -> Path:
        """The heads as they were sent, in the order in which episodes ended."""
        return self.path / "heads.jsonl"

    @property
    def classified(self) -> Path:
        """Blames that people settled after the seal."""
        return self.path / "classified.jsonl"

    @property
    def report(self) -> Path:
        """The report for people."""
        return self.path / "report.html"

    def relative(self, path: Path) -> str:
        """Return a path below the run folder as the seal spells it, with ``/``."""
        return path.relative_to(self.path).as_posix()


def episode_file(episode: str) -> str:
    """Return the file of an accepted episode, relative to the run folder.

    Args:
        episode: ``<task>/<seed>-<trial>``; the task may hold any characters.

    Returns:
        ``episodes/...jsonl``. Two episodes never share a file, no file leaves
        the folder, and only the ``/`` of the name make folders.
    """
    return f"episodes/{_escaped(episode)}{_SUFFIX}"


def rerun_file(episode: str, number: int) -> str:
    """Return the file of the ``number``-th try that was set aside for a rerun (from 1)."""
    return f"reruns/{_escaped(episode)}.{number}{_SUFFIX}"


def episode_path(folder: Path, episode: str) -> Path:
    """Return where the log of an accepted episode is or will be."""
    return folder / episode_file(episode)


def rerun_path(folder: Path, episode: str, number: int) -> Path:
    """Return where the log of a try that was set aside is or will be."""
    return folder / rerun_file(episode, number)


def _escaped(episode: str) -> str:
    *folders, name = map(_segment, episode.split("/"))
    # A folder that ends like a log could stand where another episode's log must be.
    safe = [re.sub(r"\.(jsonl)\Z", r"%2E\1", folder) for folder in folders]
    return "/".join([*safe, name])


def _segment(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    if not raw:
        return "%"  # No escape looks like this, so the empty segment keeps a name of its own.
    escaped = _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], raw).decode()
    if escaped.startswith("."):
        escaped = "%2E" + escaped[1:]  # Neither "..", nor a hidden file.
    if len(escaped) > _NAME_BYTES:
        return f"{escaped[:100].rstrip('%')}%~{sha256(raw).hexdigest()}"
    return escaped
