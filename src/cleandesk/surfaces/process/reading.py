"""Reading the process surface, inside the world's own process. Linux only.

Law 2: a reading changes nothing. It leaves no descriptor open, imports nothing, and
draws from no stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleandesk.errors import WorldError
from cleandesk.state.contract import SurfaceTerms
from cleandesk.state.pattern import Pattern
from cleandesk.state.prune import prune
from cleandesk.surfaces.process import PARTS
from cleandesk.surfaces.process.look import Look
from cleandesk.surfaces.process.parts import READERS, private_temp
from cleandesk.surfaces.process.wording import Own, Wording

__all__ = ["NOT_READ", "Baseline", "Own", "baseline", "private_temp", "read_process", "unread"]

NOT_READ = (
    "a process: its memory, and variables set by compiled code without Python's os.environ",
    "a process: which descriptor number, process id, port or random name something has",
    "a process: modules of the standard library, and what a module was changed to",
    "a process: os.urandom, secrets, uuid4 and generators without a seed, which have no state",
    "a process: what was drawn from a library's stream before the first reading after it loaded",
    "a process: programs that it started and that left it (their parent has ended)",
    "a process: shared memory that it holds no more and that no reading saw it hold",
)
"""Where a process may keep state that this surface does not read (law 15)."""

_NO_TEMP = "a process: temporary files, since the folder for them is shared with others"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A process as it was just before its world was built.

    Attributes:
        notes: Part -> what must be known of it.
        wording: How the process is described.
        temp_folder: The folder for temporary files, if the world alone writes there.
        memory: What the readings since then saw.
    """

    notes: Mapping[str, Any]
    wording: Wording
    temp_folder: str | None
    memory: dict[str, Any]


def baseline(places: Mapping[str, str] | None = None, temp_folder: str | None = None) -> Baseline:
    """Note how this process is now; call it just before the world is built.

    Args:
        places: Name -> path of the world's private copies, which differ between two
            builds; in what is told, such a path is written ``{name}``.
        temp_folder: A folder for temporary files where this world alone writes (see
            ``private_temp``); without it temporary files are not read.

    Raises:
        WorldError: CD-271, this is not a system with /proc.
    """
    if not Path("/proc/self/status").exists():
        raise WorldError(
            "CD-271",
            "a process can be read on Linux only",
            where="surface of kind process",
            do="run it on Linux, or take process(..) out of the contract",
        )
    named = dict(places or {})
    if temp_folder is not None:
        named["temp"] = temp_folder
    look = Look(Wording(named), temp_folder=temp_folder)
    return Baseline(
        {part: READERS[part].note(look) for part in PARTS}, look.wording, temp_folder, {}
    )


def read_process(
    held: Baseline, surface: str, terms: SurfaceTerms, own: Own | None = None
) -> tuple[dict[str, Any], set[str]]:
    """Read the parts that a contract names, as differences from the baseline.

    Args:
        held: The baseline of this process.
        surface: The surface's name in the contract.
        terms: What the contract says of it.
        own: What the harness itself holds here since the baseline.

    Returns:
        Part -> value, without the ignored fields; and the ignored patterns (from the
        surface down) that named a part that was read. A pattern below a part counts as
        well where nothing differs there: what is not told is as it was.
    """
    look = Look(held.wording, own or Own(), held.temp_folder, held.memory)
    tables: dict[str, Any] = {}
    for part in terms.source["parts"]:
        if part != "temp_files" or held.temp_folder is not None:
            tables[part] = READERS[part].tell(look, held.notes[part])
    matched: set[str] = set()
    for text in terms.ignore:
        parts = Pattern.parse(text).parts
        if parts[0] is None or parts[0] in terms.source["parts"]:
            matched.add(f"{surface}.{text}")
        tables, _ = prune(tables, parts)
    return tables, matched


def unread(held: Baseline, terms: SurfaceTerms) -> tuple[str, ...]:
    """Return what a reading under ``terms`` does not look at."""
    parts = terms.source["parts"]
    without = [f"a process: its {part}" for part in PARTS if part not in parts]
    no_temp = "temp_files" in parts and held.temp_folder is None
    return (*NOT_READ, *without, *([_NO_TEMP] if no_temp else []))
