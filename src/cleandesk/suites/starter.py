"""A folder to start from: one suite, a world and an agent that run at once."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from cleandesk.errors import UsageError

FILES = ("suite.toml", "world.py", "agent.py")


def begin(name: str | Path) -> Path:
    """Make the folder ``name`` with a suite, a world and an agent to edit.

    Returns:
        The folder.

    Raises:
        UsageError: CD-803, it exists already, or can't be made; nothing is overwritten.
    """
    folder = Path(name)
    try:
        folder.mkdir(parents=True)
        for file in FILES:
            text = (resources.files("cleandesk.suites") / "starter_files" / file).read_text()
            (folder / file).write_text(text.replace("{name}", folder.resolve().name))
    except FileExistsError as error:
        raise UsageError(
            "CD-803",
            f"{folder} exists already",
            where="init",
            do="choose another name; nothing was changed",
        ) from error
    except OSError as error:
        raise UsageError(
            "CD-803",
            f"{folder} can't be made: {error.strerror or error}",
            where="init",
            do="choose a folder that can be written",
        ) from error
    return folder
