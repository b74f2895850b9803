"""The log: appending entries, and verifying a million of them."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from pathlib import Path

from benchmarks.figure import Figure, Row
from benchmarks.meter import cpu_of
from cleandesk.log import EpisodeWriter, RunFolder, episode_file, seal, verify_run
from cleandesk.verdict import Status

_APPENDED = 200_000
_EPISODES = 100
_ENTRIES = 10_000
_ENTRY = (
    b'{"action":{"do":"bump"},"info":{},"kind":"step","observation":{"count":%d},'
    b'"reward":0.0,"step":%d,"terminated":false,"truncated":false}'
)


def rows() -> list[Row]:
    """Measure appending and verifying."""
    with tempfile.TemporaryDirectory() as folder:
        return [_appending(Path(folder)), _verifying(Path(folder))]


def _appending(folder: Path) -> Row:
    entries = [_ENTRY % (number, number) for number in range(_APPENDED)]
    plan = sha256(b"{}").hexdigest()
    lines: list[bytes] = []

    def ours() -> None:
        path = folder / "appended.jsonl"
        path.unlink(missing_ok=True)
        with EpisodeWriter(path, plan) as writer:
            for entry in entries:
                writer.append(entry)
        if not lines:
            lines.extend(path.read_bytes().splitlines(keepends=True))

    def floor() -> None:
        file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        for line in lines:
            os.write(file, line)
        os.close(file)

    cpu, bare = cpu_of(ours), cpu_of(floor)
    return Figure(
        "entries appended",
        _APPENDED / cpu,
        "/s",
        _APPENDED / bare,
        "os.write",
        target=200_000,
        gains=True,
    )


def _verifying(folder: Path) -> Row:
    run = RunFolder(folder / "run")
    run.path.mkdir()
    run.plan.write_bytes(b"{}")
    plan = sha256(b"{}").hexdigest()
    accepted = []
    for number in range(_EPISODES):
        episode = f"bump/1-{number}"
        head, entries = _write(run.path / episode_file(episode), plan, episode)
        accepted.append((episode, head, entries, episode_file(episode)))
    root = seal(run.path, plan, accepted, [])
    verdict = verify_run(run.path, root)
    if verdict.status is not Status.PASS:
        raise AssertionError(f"the record does not verify: {verdict.witness}")

    def floor() -> None:
        for _, _, _, file in accepted:
            with (run.path / file).open("rb") as opened:
                for line in opened:
                    sha256(line).hexdigest()

    return Figure(
        "verify a million entries",
        cpu_of(lambda: verify_run(run.path, root), runs=3),
        "s",
        cpu_of(floor, runs=3),
        "sha256 lines",
        target=6.0,
    )


def _write(path: Path, plan: str, episode: str) -> tuple[str, int]:
    with EpisodeWriter(path, plan) as writer:
        writer.append(b'{"episode":"%b","kind":"open"}' % episode.encode())
        for step in range(1, _ENTRIES - 1):
            writer.append(_ENTRY % (step, step))
        writer.append(b'{"blame":null,"kind":"verdict","score":1.0}')
        return writer.close()
