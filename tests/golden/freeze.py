"""Add golden files that no list names to ``SHA256SUMS`` here; a listed line never changes."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
SUMS = HERE / "SHA256SUMS"


def freeze() -> list[str]:
    """Return the names of the files that were added."""
    lines = SUMS.read_text("utf-8").splitlines() if SUMS.exists() else []
    listed = {line.split("  ", 1)[1] for line in lines}
    with_own_list = [path.parent for path in HERE.glob("*/SHA256SUMS")]
    added = [
        path
        for path in sorted(HERE.rglob("*"))
        if path.is_file()
        and path.suffix not in {".py", ".pyc"}
        and path != SUMS
        and str(path.relative_to(HERE)) not in listed
        and not any(path.is_relative_to(folder) for folder in with_own_list)
    ]
    lines += [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE)}"
        for path in added
    ]
    SUMS.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return [str(path.relative_to(HERE)) for path in added]


if __name__ == "__main__":
    names = freeze()
    sys.stdout.write("\n".join(["frozen:", *names]) + "\n" if names else "nothing new\n")
