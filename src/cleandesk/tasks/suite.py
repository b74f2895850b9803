"""A suite: a TOML file of tasks, with JSONL files of further tasks beside it."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from cleandesk.errors import SuiteError, shown
from cleandesk.tasks.entries import (
    Defaults,
    known_task_keys,
    merged,
    read_disturb,
    read_events,
    read_limits,
    read_task,
)
from cleandesk.tasks.limits import Limits
from cleandesk.tasks.seeds import parse_seeds
from cleandesk.tasks.shape import NetworkKeys, SuiteKeys, convert, plain, require_json
from cleandesk.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Suite:
    """A set of tasks and how they are run, where the file says so.

    Attributes:
        name: The suite's name; the file's stem where it names none.
        version: The suite's version.
        world: The world of tasks that name none.
        with_: Keyword arguments of that world, the caller's merged in.
        seeds: The seeds of tasks that name none.
        trials: Tries at each task and seed.
        limits: The limits of tasks that set none.
        network: Hosts that may be reached: ``{"world": [..], "agent": [..]}``.
        isolation: ``fork``, ``spawn``, ``shared``, or None: the run chooses.
        on_wrong_start: ``rerun``, ``refuse``, ``record``, or None: the run chooses.
        reruns: How often an episode is run again, or None: the run chooses.
        disturb: Faults for all tasks (each task has them in its own list too).
        events: Events for all tasks (each task has them in its own list too).
        tasks: The tasks, in the order of the files.
        path: The suite file.
        digest: SHA-256 over the names and bytes of all files read, in hex.
        description: Free text.
        labels: Free words.
    """

    name: str
    version: str
    tasks: tuple[Task, ...]
    path: Path
    digest: str
    world: str | None = None
    with_: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (1,)
    trials: int = 1
    limits: Limits = field(default_factory=Limits)
    network: Mapping[str, list[str]] = field(default_factory=lambda: {"world": [], "agent": []})
    isolation: str | None = None
    on_wrong_start: str | None = None
    reruns: int | None = None
    disturb: tuple[Mapping[str, Any], ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()
    description: str = ""
    labels: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the suite file; ``path/file.py:name`` is relative to it."""
        return self.path.parent

    def task(self, task_id: str) -> Task:
        """Return the task with this id.

        Raises:
            SuiteError: CD-416, there is none.
        """
        for task in self.tasks:
            if task.id == task_id:
                return task
        ids = [task.id for task in self.tasks]
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        raise SuiteError(
            "CD-416",
            f"there is no task {shown(repr(task_id), 80)}",
            where=str(self.path),
            do=f"name one of: {', '.join(ids[:5])}{more}",
        )


def load_suite(path: str | os.PathLike[str], *, with_args: dict[str, Any] | None = None) -> Suite:
    """Read a suite file and the task files that it names.

    Args:
        path: A ``.toml`` file, or a ``.jsonl`` file of tasks that each name a world.
        with_args: Keyword arguments of the worlds, above those in the files.

    Raises:
        SuiteError: CD-401 to CD-415; each names the file, the task and the key.

    Source:
        docs/reference/suite.md.
    """
    file = Path(path)
    files: dict[str, bytes] = {file.name: _read(file)}
    given = _decoded(file, files[file.name])
    keys = convert(given, SuiteKeys, where=file.name)
    require_json(keys.with_, where=f"{file.name}, with")
    require_json(with_args or {}, where="the arguments given for the world")
    defaults = _defaults(keys, with_args or {}, file.name)
    tasks = tuple(
        read_task(entry, defaults, where=where) for entry, where in _entries(keys, file, files)
    )
    _require_tasks(tasks, file)
    return Suite(
        name=keys.name or file.stem,
        version=keys.version,
        tasks=tasks,
        path=file,
        digest=_digest(files),
        world=keys.world,
        with_={**keys.with_, **(with_args or {})},
        seeds=defaults.seeds,
        trials=keys.trials,
        limits=defaults.limits,
        network=plain(convert(keys.network, NetworkKeys, where=f"{file.name}, network")),
        isolation=keys.isolation,
        on_wrong_start=keys.on_wrong_start,
        reruns=keys.reruns,
        disturb=defaults.disturb,
        events=defaults.events,
        description=keys.description,
        labels=tuple(keys.labels),
    )


def _defaults(keys: SuiteKeys, with_args: Mapping[str, Any], name: str) -> Defaults:
    return Defaults(
        world=keys.world,
        with_=keys.with_,
        with_args=with_args,
        seeds=parse_seeds(keys.seeds, where=f"{name}, seeds"),
        limits=read_limits(Limits(), keys.limits, where=f"{name}, limits"),
        disturb=read_disturb(keys.disturb, where=f"{name}, disturb"),
        events=read_events(keys.event, where=f"{name}, event"),
    )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        what = "is a folder" if file.is_dir() else (error.strerror or "cannot be read").lower()
        raise SuiteError(
            "CD-401",
            f"the suite {shown(file, 200)} {what if file.is_dir() else f'cannot be read: {what}'}",
            where=shown(file.absolute(), 300),
            do="give the path of a suite file such as suite.toml",
        ) from error


def _decoded(file: Path, data: bytes) -> dict[str, Any]:
    if file.suffix == ".jsonl":
        return {"tasks": [{"from": glob.escape(file.name)}]}
    try:
        held: dict[str, Any] = msgspec.toml.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SuiteError(
            "CD-402",
            f"this is not TOML: {shown(error, 200)}",
            where=file.name,
            do="mend the line that is named",
        ) from error
    return held


def _entries(
    keys: SuiteKeys, file: Path, files: dict[str, bytes]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield (task as written, where), and put each further file read into ``files``."""
    for place, entry in enumerate(keys.task, 1):
        yield entry, f"{file.name}, task {place}" if "id" not in entry else file.name
    for place, source in enumerate(keys.tasks, 1):
        where = f"{file.name}, tasks {place}"
        defaults = {key: value for key, value in source.items() if key != "from"}
        _require_defaults(source, defaults, where)
        for found in _found(source["from"], file.parent, where):
            name = Path(os.path.relpath(found, file.parent)).as_posix()
            data = files.setdefault(name, _read(found))
            for line, entry in _lines(data, name):
                yield merged(defaults, entry), f"{name} line {line}"


def _require_defaults(source: Mapping[str, Any], defaults: Mapping[str, Any], where: str) -> None:
    known_task_keys(defaults, where=where)
    if "from" not in source or "id" in defaults:
        raise SuiteError(
            "CD-404",
            "[[tasks]] needs the key from" if "from" not in source else "[[tasks]] has an id",
            where=where,
            do='name the files: from = "tasks/*.jsonl"; a single task is a [[task]]',
        )


def _found(given: Any, folder: Path, where: str) -> list[Path]:
    patterns = given if isinstance(given, list) else [given]
    found: list[Path] = []
    for pattern in patterns:
        try:
            matches = sorted(path for path in folder.glob(pattern) if path.is_file())
        except (ValueError, NotImplementedError, TypeError, AttributeError) as error:
            raise SuiteError(
                "CD-404",
                f"from = {shown(repr(pattern), 80)} is not a pattern of files",
                where=where,
                do='write a path below the suite\'s folder, such as "tasks/*.jsonl"',
            ) from error
        if not matches:
            raise SuiteError(
                "CD-408",
                f"from = {shown(repr(pattern), 80)} matches no file",
                where=f"{where}, in {shown(folder.absolute(), 200)}",
                do="mend the pattern, or take the entry out",
            )
        found.extend(match for match in matches if match not in found)
    return found


def _lines(data: bytes, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            held = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SuiteError(
                "CD-402",
                f"this is not JSON: {shown(error, 200)}",
                where=f"{name} line {line}",
                do="write one JSON object on each line",
            ) from error
        if not isinstance(held, dict):
            raise SuiteError(
                "CD-404",
                f"the line holds {shown(repr(held), 60)}, not an object",
                where=f"{name} line {line}",
                do="write one JSON object on each line",
            )
        yield line, held


def _require_tasks(tasks: tuple[Task, ...], file: Path) -> None:
    if not tasks:
        raise SuiteError(
            "CD-407",
            "the suite holds no task",
            where=file.name,
            do='add a [[task]], or [[tasks]] with from = "tasks/*.jsonl"',
        )
    first: dict[str, Task] = {}
    for task in tasks:
        other = first.setdefault(task.id, task)
        if other is not task:
            raise SuiteError(
                "CD-406",
                f"two tasks have the id {shown(repr(task.id), 80)}",
                where=f"{other.where}; {task.where}",
                do="give one of them another id",
            )


def _digest(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        # Each part carries its length, so that no two sets of files share a digest.
        for part in (name.encode(), files[name]):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()
