"""Runs the code blocks of a page in order, as a reader would who types them in.

``bash`` blocks share one shell, so that folders and variables carry over; ``python``
blocks are fed to ``python -``; a block whose first line is a comment with the name of a
file is saved as that file. The lines of a ``text`` block must occur, in order, in what
the blocks since the last ``text`` block printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^(?:#|//|--) ([\w./-]+\.\w+)\n")
_RUN = {"bash", "python"}
_END = "block-ended-here"


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        found = _FILE.match(self.text)
        return found[1] if found and self.language not in {"bash", "text"} else None

    @property
    def script(self) -> str | None:
        """The block as a piece of shell script, or None if there is nothing to run."""
        if self.file is not None:
            return f"cat > {self.file} <<'BLOCK'\n{self.text}BLOCK\n"
        if self.language == "python":
            return f"python - <<'BLOCK'\n{self.text}BLOCK\n"
        return self.text if self.language == "bash" else None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


@pytest.fixture
def read_along(tmp_path: Path) -> Callable[[str], None]:
    """Returns a function that runs a page of docs/, by its path there, in a new folder."""
    return lambda page: _read_along(DOCS / page, tmp_path)


def _read_along(page: Path, folder: Path) -> None:
    blocks = blocks_of(page)
    printed = _printed(blocks, folder)
    pending: list[str] = []
    for place, block in enumerate(blocks):
        if block.script is not None:
            output, status = printed[place]
            where = f"{page.name}, line {block.line}"
            assert status == 0, f"{where}: the block ends with status {status}\n{output}"
            pending += output.splitlines()
        elif block.language == "text":
            _require_lines(block, pending, page)
            pending = []


def _printed(blocks: list[Block], folder: Path) -> dict[int, tuple[str, int]]:
    parts = [
        f"{block.script}echo {_END} {place} $?\n"
        for place, block in enumerate(blocks)
        if block.script is not None
    ]
    done = subprocess.run(
        ["bash", "-s"],
        check=False,
        input="".join(parts),
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    found: dict[int, tuple[str, int]] = {}
    rest = done.stdout
    for place, block in enumerate(blocks):
        if block.script is not None:
            output, mark, rest = rest.partition(f"{_END} {place} ")
            assert mark, f"the shell ended in the block at line {block.line}:\n{output}"
            status, _, rest = rest.partition("\n")
            found[place] = output, int(status)
    return found


def _environment() -> dict[str, str]:
    own = str(Path(sys.executable).parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEANDESK_")}
    return kept | {"PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}


def _require_lines(block: Block, printed: list[str], page: Path) -> None:
    lines = [_normal(line) for line in printed]
    at = 0
    for offset, promised in enumerate(block.text.splitlines()):
        wanted = _normal(promised)
        if wanted in {"", "..."}:
            continue
        where = f"{page.name}, line {block.line + 1 + offset}"
        left = "\n".join(printed[at:])
        found = next((place for place in range(at, len(lines)) if wanted in lines[place]), None)
        assert found is not None, f"{where} promises\n  {promised}\nand what was left is\n{left}"
        at = found + 1


def _normal(line: str) -> str:
    """Put aside what differs from run to run: dates, digests, spaces."""
    line = re.sub(r"\d{8}T\d{6}", "DATE", line)
    line = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", line)
    line = re.sub(r"-[0-9a-f]{8}\b", "-DIGEST", line)
    return " ".join(line.split())
