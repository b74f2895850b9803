"""The suites that come with cleandesk, and the scripted agent that solves them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from cleandesk.errors import SuiteError, shown


def suite_path(name: str) -> Path:
    """Return the file of a suite that comes with cleandesk, such as ``calendar``.

    Raises:
        SuiteError: CD-401, there is no such suite.
    """
    folder = resources.files(__name__)
    known = sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )
    stem = name.removesuffix(".toml")
    if stem not in known:
        raise SuiteError(
            "CD-401",
            f"no suite named {shown(repr(name), 60)} comes with cleandesk",
            do=f"name one of: {', '.join(known)}; or give the path of a suite file",
        )
    return Path(str(folder / f"{stem}.toml"))
