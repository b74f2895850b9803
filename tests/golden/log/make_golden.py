"""Makes the golden run folders of log/1: one good one, and one per planted defect.

Committed folders are frozen by SHA256SUMS and are never made again; run this to
ADD folders, after a new defect or a new version of the format:

    python tests/golden/log/make_golden.py

Tests load this file by its path, to plant the same defects in fresh folders.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from cleandesk.log import (
    EpisodeWriter,
    HeadsSink,
    append_classification,
    canonical,
    episode_file,
    link,
    rerun_file,
    seal,
    write_json_atomically,
    write_object,
)
from cleandesk.log.seal import Sealed, parse_seal

HERE = Path(__file__).parent
REFUND, CART = "refund-late/7-0", "cart/add one item/8-0"
REFUND_FILE, CART_FILE = episode_file(REFUND), episode_file(CART)
RERUN_FILE = rerun_file(CART, 1)
PAGE = b"<li>order 1009, paid late</li>\n" * 40


def make_good(folder: Path) -> str:
    """Make a run of two episodes and one rerun; return its root."""
    folder.mkdir(parents=True)
    plan = {"agent": "agent.scripted", "format": "plan/1", "seeds": [7, 8], "suite": "shop"}
    write_json_atomically(folder / "plan.json", plan)
    plan_hash = sha256((folder / "plan.json").read_bytes()).hexdigest()
    page = write_object(folder, PAGE)
    steps = [
        {"action": {"open": "order/1009"}, "kind": "step", "observation": {"object": page}},
        {"kind": "network", "request": "GET /order/1009", "status": 200},
        {"action": {"refund": 1009}, "kind": "step", "observation": "refunded"},
    ]
    with HeadsSink.open(folder, plan_hash) as heads:
        refund = write_log(folder, plan_hash, REFUND_FILE, entries_of(REFUND, steps, 1.0))
        heads.send(*refund[:3])
        gone = [{"kind": "event", "what": "the model's provider answered 529"}]
        rerun = write_log(folder, plan_hash, RERUN_FILE, entries_of(CART, gone, None))
        heads.send(*rerun[:3])
        cart = write_log(folder, plan_hash, CART_FILE, entries_of(CART, steps[:1], 0.5))
        heads.send(*cart[:3])
    root = seal(folder, plan_hash, [refund, cart], [rerun])
    write_json_atomically(folder / "record.json", {"host": "a", "score": {"mean": 0.75, "n": 2}})
    for why in ("the page was slow", "the page was fine: it clicked the wrong item"):
        append_classification(folder, CART, "agent", why, "2024-05-01T10:00:00Z")
    return root


def rescore(verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Compute the score that record.json of the good run states."""
    scores = [verdict["score"] for verdict in verdicts]
    return {"mean": sum(scores) / len(scores), "n": len(scores)}


def entries_of(episode: str, steps: list[dict[str, Any]], score: float | None) -> list[bytes]:
    opening = {"episode": episode, "goal": "Refund late order 1009.", "kind": "open"}
    start = {"fingerprint": "0" * 64, "kind": "start"}
    end = {"kind": "end", "reason": "done"}
    verdict = {
        "blame": None if score is not None else "provider",
        "kind": "verdict",
        "score": score,
    }
    return [canonical(entry) for entry in (opening, start, *steps, end, verdict)]


def write_log(folder: Path, plan_hash: str, file: str, entries: list[bytes]) -> Sealed:
    writer = EpisodeWriter(folder / file, plan_hash)
    for entry in entries:
        writer.append(entry)
    head, count = writer.close()
    return Sealed(json.loads(entries[0])["episode"], head, count, file)


def plan_hash_of(folder: Path) -> str:
    return sha256((folder / "plan.json").read_bytes()).hexdigest()


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def rechain(lines: list[bytes], first: str, at: int, old: bytes, new: bytes) -> tuple[bytes, str]:
    """Edit one entry and compute every hash after it again."""
    head, out = first, b""
    for index, stored in enumerate(lines):
        entry = stored[len(b'{"entry":') : stored.rindex(b',"index":')]
        line, head = link(head, entry.replace(old, new) if index == at else entry, index)
        out += line + b"\n"
    return out, head


# Each defect is planted in a good run folder.


def edit_middle_entry(folder: Path) -> None:
    replace_in(folder / REFUND_FILE, b'"status":200', b'"status":500')


def edit_first_entry(folder: Path) -> None:
    replace_in(folder / REFUND_FILE, b"Refund late order 1009.", b"Refund late order 1008.")


def edit_last_entry(folder: Path) -> None:
    replace_in(folder / CART_FILE, b'"score":0.5', b'"score":1.0')


def edit_index(folder: Path) -> None:
    replace_in(folder / REFUND_FILE, b'"index":3,', b'"index":9,')


def edit_previous(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    lines[3] = lines[3][:-67] + b"0" * 64 + lines[3][-3:]
    (folder / REFUND_FILE).write_bytes(b"".join(lines))


def delete_entry(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    (folder / REFUND_FILE).write_bytes(b"".join(lines[:2] + lines[3:]))


def delete_two_entries(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    (folder / REFUND_FILE).write_bytes(b"".join(lines[:2] + lines[4:]))


def insert_linked_entry(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    previous = json.loads(lines[3])["previous"]
    extra, _ = link(previous, b'{"kind":"event","what":"nothing"}', 3)
    (folder / REFUND_FILE).write_bytes(b"".join([*lines[:3], extra + b"\n", *lines[3:]]))


def insert_unlinked_entry(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    extra, _ = link("0" * 64, b'{"kind":"event","what":"nothing"}', 3)
    (folder / REFUND_FILE).write_bytes(b"".join([*lines[:3], extra + b"\n", *lines[3:]]))


def repeat_entry(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    (folder / REFUND_FILE).write_bytes(b"".join([*lines[:4], lines[2], *lines[4:]]))


def insert_garbage(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    (folder / REFUND_FILE).write_bytes(b"".join([*lines[:3], b"garbage\n", *lines[3:]]))


def replace_with_garbage(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    (folder / REFUND_FILE).write_bytes(b"".join([*lines[:3], b"garbage\n", *lines[4:]]))


def reorder_entries(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    lines[2], lines[3] = lines[3], lines[2]
    (folder / REFUND_FILE).write_bytes(b"".join(lines))


def move_entry(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    lines.insert(1, lines.pop(4))
    (folder / REFUND_FILE).write_bytes(b"".join(lines))


def truncate(folder: Path) -> None:
    lines = lines_of(folder / REFUND_FILE)
    (folder / REFUND_FILE).write_bytes(b"".join(lines[:5]))


def empty_log(folder: Path) -> None:
    (folder / REFUND_FILE).write_bytes(b"")


def torn_tail(folder: Path) -> None:
    (folder / REFUND_FILE).write_bytes((folder / REFUND_FILE).read_bytes()[:-40])


def no_last_newline(folder: Path) -> None:
    (folder / REFUND_FILE).write_bytes((folder / REFUND_FILE).read_bytes()[:-1])


def extend_log(folder: Path) -> None:
    log, plan_hash = folder / REFUND_FILE, plan_hash_of(folder)
    writer = EpisodeWriter.reopen(log, plan_hash)
    writer.append(b'{"kind":"verdict","score":0.0}')
    writer.close()


def extend_with_torn_line(folder: Path) -> None:
    log = folder / REFUND_FILE
    log.write_bytes(log.read_bytes() + b'{"entry"')


def rewrite_chain(folder: Path) -> None:
    log = folder / REFUND_FILE
    data, _ = rechain(lines_of(log), plan_hash_of(folder), 3, b'"status":200', b'"status":500')
    log.write_bytes(data)


def rewrite_all(folder: Path) -> None:
    """Rewrite a chain, its head and the seal: only a root kept apart shows it."""
    log, plan_hash = folder / REFUND_FILE, plan_hash_of(folder)
    lines = lines_of(log)
    data, head = rechain(lines, plan_hash, 3, b'"status":200', b'"status":500')
    log.write_bytes(data)
    (folder / "heads.jsonl").unlink()
    (folder / "classified.jsonl").unlink()
    read = parse_seal((folder / "root.json").read_bytes())
    refund, cart = read.accepted
    (folder / "root.json").unlink()
    seal(folder, plan_hash, [refund._replace(head=head), cart], read.reruns)


def drop_episode_and_seal_again(folder: Path) -> None:
    read = parse_seal((folder / "root.json").read_bytes())
    for file in (CART_FILE, "heads.jsonl", "classified.jsonl", "root.json"):
        (folder / file).unlink()
    seal(folder, plan_hash_of(folder), read.accepted[:1], read.reruns)


def edit_plan(folder: Path) -> None:
    replace_in(folder / "plan.json", b"[7,8]", b"[7,9]")


def edit_plan_hash_in_root(folder: Path) -> None:
    replace_in(folder / "root.json", plan_hash_of(folder).encode(), b"0" * 64)


def swap_episode_files(folder: Path) -> None:
    one, other = folder / REFUND_FILE, folder / CART_FILE
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def delete_episode_file(folder: Path) -> None:
    (folder / CART_FILE).unlink()


def add_episode_file(folder: Path) -> None:
    extra = "refund-late/9-0"
    write_log(folder, plan_hash_of(folder), episode_file(extra), entries_of(extra, [], 1.0))


def add_other_file(folder: Path) -> None:
    (folder / "episodes" / "notes.txt").write_text("all good\n")


def edit_rerun(folder: Path) -> None:
    replace_in(folder / RERUN_FILE, b"529", b"200")


def delete_rerun(folder: Path) -> None:
    (folder / RERUN_FILE).unlink()


def edit_object(folder: Path) -> None:
    path = next((folder / "objects").iterdir())
    with tempfile.TemporaryDirectory() as other:
        name = write_object(Path(other), PAGE.replace(b"1009", b"1008"))
        shutil.copy(Path(other) / "objects" / f"{name}.zst", path)


def cut_object(folder: Path) -> None:
    path = next((folder / "objects").iterdir())
    path.write_bytes(path.read_bytes()[:-3])


def extend_object(folder: Path) -> None:
    path = next((folder / "objects").iterdir())
    path.write_bytes(path.read_bytes() + b"x")


def edit_leaf_head(folder: Path) -> None:
    edit_seal(folder, lambda root: root["leaves"][1].update(head="0" * 64))


def edit_leaf_entries(folder: Path) -> None:
    edit_seal(folder, lambda root: root["leaves"][1].update(entries=6))


def edit_leaf_episode(folder: Path) -> None:
    edit_seal(folder, lambda root: root["leaves"][1].update(episode="cart/other/8-0"))


def remove_leaf(folder: Path) -> None:
    edit_seal(folder, lambda root: root["leaves"].pop())


def swap_leaves(folder: Path) -> None:
    edit_seal(folder, lambda root: root["leaves"].reverse())


def edit_root(folder: Path) -> None:
    edit_seal(folder, lambda root: root.update(root="0" * 64))


def edit_rerun_leaf(folder: Path) -> None:
    edit_seal(folder, lambda root: root["reruns"]["leaves"][0].update(entries=2))


def respell_root(folder: Path) -> None:
    path = folder / "root.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))


def garble_root(folder: Path) -> None:
    (folder / "root.json").write_text("{")


def edit_record_score(folder: Path) -> None:
    replace_in(folder / "record.json", b"0.75", b"0.95")


def edit_classification(folder: Path) -> None:
    replace_in(folder / "classified.jsonl", b"slow", b"fast")


def edit_announced_head(folder: Path) -> None:
    lines = lines_of(folder / "heads.jsonl")
    head = json.loads(lines[0])["head"].encode()
    replace_in(folder / "heads.jsonl", head, b"0" * 64)


def replace_in(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) == 1, (path, old, data.count(old))
    path.write_bytes(data.replace(old, new))


def edit_seal(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "root.json"
    document = json.loads(path.read_bytes())
    edit(document)
    path.write_bytes(canonical(document) + b"\n")


DEFECTS: dict[str, Callable[[Path], None]] = {
    defect.__name__: defect
    for defect in (
        edit_middle_entry,
        edit_first_entry,
        edit_last_entry,
        edit_index,
        edit_previous,
        delete_entry,
        delete_two_entries,
        insert_linked_entry,
        insert_unlinked_entry,
        repeat_entry,
        insert_garbage,
        replace_with_garbage,
        reorder_entries,
        move_entry,
        truncate,
        empty_log,
        torn_tail,
        no_last_newline,
        extend_log,
        extend_with_torn_line,
        rewrite_chain,
        rewrite_all,
        drop_episode_and_seal_again,
        edit_plan,
        edit_plan_hash_in_root,
        swap_episode_files,
        delete_episode_file,
        add_episode_file,
        add_other_file,
        edit_rerun,
        delete_rerun,
        edit_object,
        cut_object,
        extend_object,
        edit_leaf_head,
        edit_leaf_entries,
        edit_leaf_episode,
        remove_leaf,
        swap_leaves,
        edit_root,
        edit_rerun_leaf,
        respell_root,
        garble_root,
        edit_record_score,
        edit_classification,
        edit_announced_head,
    )
}


def frozen_files() -> list[Path]:
    """Return the golden files that SHA256SUMS must list."""
    return sorted(
        path for kind in ("good", "bad") for path in (HERE / kind).rglob("*") if path.is_file()
    )


def main() -> None:
    good = HERE / "good" / "v1"
    if not good.exists():
        make_good(good)
    for name, plant in DEFECTS.items():
        folder = HERE / "bad" / name
        if not folder.exists():
            shutil.copytree(good, folder)
            plant(folder)
    sums = [
        f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE).as_posix()}\n"
        for path in frozen_files()
    ]
    (HERE / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
