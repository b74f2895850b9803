"""What an app does to its notes (see ``own_surface``): each in a process of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

SEED = {
    "notes": {"1": {"text": "milk", "seen": 3}, "2": {"text": "bread", "seen": 0}},
    "tags": {},
    "old": {"a": {"note": "1"}},
}


def save(place, held, **spelled):
    # Whole or not at all, as a careful app writes.
    new = Path(f"{place}.{os.getpid()}")
    new.write_text(json.dumps(held, **spelled))
    new.rename(place)


def change(place):
    held = json.loads(Path(place).read_text())
    held["notes"]["1"]["text"] = "wine"
    save(place, held)


def add(place):
    held = json.loads(Path(place).read_text())
    held["notes"]["3"] = {"text": "salt", "seen": 0}
    save(place, held)


def remove(place):
    held = json.loads(Path(place).read_text())
    held["notes"].pop("2", None)
    save(place, held)


def tag(place):
    held = json.loads(Path(place).read_text())
    held["tags"]["food"] = {"notes": ["1", "2"]}
    save(place, held)


def create(place):
    held = json.loads(Path(place).read_text())
    held["lists"] = {"a": {"notes": []}}
    held["events"] = {}
    save(place, held)


def drop(place):
    held = json.loads(Path(place).read_text())
    held.pop("old", None)
    save(place, held)


def change_back(place):
    held = json.loads(Path(place).read_text())
    held["notes"]["1"]["text"] = "milk"
    save(place, held, indent=1)


def see(place):
    held = json.loads(Path(place).read_text())
    held["notes"]["1"]["seen"] += 1
    save(place, held)


def keep_open(place):
    with Path(place).open("r+") as file:
        for text in ("first", "later"):
            file.seek(0)
            json.dump({"notes": {"9": {"text": text, "seen": 0}}}, file)
            file.truncate()
            file.flush()
            yield


def cut(place):
    data = Path(place).read_bytes()
    Path(place).write_bytes(data[: len(data) // 2])


def empty(place):
    Path(place).write_bytes(b"")


def delete(place):
    Path(place).unlink()


WRITES = (change, add, remove, tag, create, drop)


def options(folder):
    """Return the arguments of a case over a seed in ``folder``."""
    (folder / "seed.json").write_text(json.dumps(SEED))
    return {
        "folder": folder,
        "writes": WRITES,
        "undo": [(change, change_back)],
        "ignored": [see],
        "holds": [keep_open],
        "spoils": [cut, empty, delete],
    }
