"""What programs do to a folder."""

from __future__ import annotations

import os
from pathlib import Path

IGNORE = {"files[cache/**]": "made anew by each start"}


def make(folder):
    (folder / "notes").mkdir(parents=True)
    (folder / "cache").mkdir()
    (folder / "empty").mkdir()
    (folder / "notes" / "a.txt").write_text("milk\nbread\n")
    (folder / "notes" / "b.json").write_text('{"rows": [{"id": 1, "done": false}]}')
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "image.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "cache" / "old").write_text("x")
    (folder / "link").symlink_to("notes/a.txt")
    os.link(folder / "run.sh", folder / "same.sh")


def change(place):
    Path(place, "notes", "a.txt").write_text("milk\nwater\n")


def change_back(place):
    Path(place, "notes", "a.txt").write_text("milk\nbread\n")


def change_same_size(place):
    """Also with the times of before."""
    path = Path(place, "image.bin")
    was = path.stat()
    with path.open("r+b") as file:
        file.write(b"\xff")
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def add(place):
    folder = Path(place, "new", "deep")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / os.fsdecode(b"name-\xff")).write_bytes(b"1")


def remove(place):
    Path(place, "run.sh").unlink(missing_ok=True)


def chmod(place):
    Path(place, "notes").chmod(0o700)


def relink(place):
    path = Path(place, "link")
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere")


def swap(place):
    """A folder becomes a file."""
    path = Path(place, "empty")
    if path.is_dir():
        path.rmdir()
    path.write_text("no folder")


def move(place):
    old, new = Path(place, "notes", "b.json"), Path(place, "b.json")
    if old.exists():
        old.rename(new)


def touch_only(place):
    Path(place, "notes", "a.txt").touch()


def add_pipe(place):
    path = Path(place, "pipe")
    if not path.exists():
        os.mkfifo(path)


def remove_pipe(place):
    Path(place, "pipe").unlink()


def cache(place):
    Path(place, "cache", "old").unlink(missing_ok=True)
    Path(place, "cache", "new").write_text("y")


def keep_open(place):
    with Path(place, "notes", "a.txt").open("r+") as file, Path(place, "opened").open("w") as new:
        folder = os.open(Path(place, "notes"), os.O_RDONLY)
        for text in ("first", "later"):
            for each in (file, new):
                each.write(text)
                each.flush()
            os.close(os.open(f"made-{text}", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
            yield
        os.close(folder)


def stay_in(place):
    """A program whose working folder it is."""
    os.chdir(Path(place, "notes"))
    Path("here.txt").write_text("first")
    yield
    Path("here.txt").write_text("later")
    yield


def map_file(place):
    import mmap

    with Path(place, "image.bin").open("r+b") as file:
        held = mmap.mmap(file.fileno(), 0)
    held[0] = 1
    yield
    held[1] = 99
    held.flush()
    yield


WRITES = (change, change_same_size, add, remove, chmod, relink, swap, move, add_pipe)


def options(folder):
    """Return the arguments of a case over a seed in ``folder``."""
    make(folder / "seed")
    return {
        "folder": folder,
        "writes": WRITES,
        "undo": [(change, change_back), (add_pipe, remove_pipe)],
        "ignored": [cache, touch_only],
        "holds": [keep_open, stay_in, map_file],
    }
