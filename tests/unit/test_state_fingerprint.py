"""fingerprint/1, and the pages that specify the state formats: what they show is run."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cleandesk.seeding import derive, stream
from cleandesk.state import ABSENT, Named, Snapshot, Table, diff, encode, fingerprint
from cleandesk.state.delta import Delta
from cleandesk.state.fingerprint import surface_digest
from cleandesk.state.over import Over

SPEC = Path(__file__).parents[2] / "docs" / "spec"


def page(name):
    return (SPEC / f"{name}.md").read_text("utf-8")


def rows(text, heading):
    """The cells of the table below ``heading``, without back quotes."""
    section = text.split(f"\n## {heading}", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def unquoted(cell):
    return cell.strip("`")


@pytest.fixture(scope="module")
def verifier(tmp_path_factory):
    (code,) = re.findall(r"```python\n(.*?)```", page("fingerprint-1"), re.DOTALL)
    path = tmp_path_factory.mktemp("spec") / "verifier.py"
    path.write_text(code, "utf-8")

    def run(data):
        file = path.with_name("state.json")
        file.write_bytes(data)
        return subprocess.run(
            [sys.executable, "-I", "-S", str(path), str(file)],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


STATES = {
    "empty": {},
    "a surface without tables": {"desk": {}},
    "tables of each kind": {"desk": {"m": {"b": 1, "a": [2]}, "l": list(range(12)), "v": 3}},
    "empty tables": {"desk": {"m": {}, "l": [], "v": None}},
    "two surfaces": {"b": {"t": 1}, "a": {"t": 1}, "aa": {"t": {}}},
    "hard keys": {"desk": {"t": {1: 0, False: 1, 1.5: 2, (1, 2): 3, None: 4, "\udcff": 5, "$": 6}}},
    "hard leaves": {"desk": {"t": [float("nan"), -0.0, b"\x00", {1, 2}, np.arange(500), 2**70]}},
    "objects": {"desk": {"t": [Named("shop:Order", {"no": 1})], "o": Named("m:C", {})}},
    "texts": {"desk\u00e9": {"\U0001f600": ["\u2028", '"', "\\", "\x00"]}},
}


@pytest.mark.parametrize("tree", STATES.values(), ids=STATES)
def test_the_verifier_of_the_specification_agrees(verifier, tree):
    snapshot = Snapshot.of("shop/1#0123456789abcdef", tree)

    result = verifier(snapshot.to_bytes())

    assert result.stderr == ""
    assert result.stdout.strip() == fingerprint(snapshot)


def test_the_verifier_agrees_on_a_state_over_a_base(verifier):
    base = {"rows": Table("map", {b"1": b'{"v":1}', b"2": b'{"v":2}'})}
    now = {"rows": Table("map", {b"1": b'{"v":3}'}), "é": Table("map", {b'"a"': b"null"})}
    delta = Delta.between(base, now)
    over = Over(surface_digest(base), "0" * 64, 2, delta, lambda: base)
    snapshot = Snapshot("shop/1", {}, {"db": over})

    result = verifier(snapshot.to_bytes())

    assert result.stdout.strip() == fingerprint(snapshot)


def test_the_verifier_refuses_what_is_no_snapshot(verifier):
    data = Snapshot.of("c", {"a": {"t": 1}}).to_bytes()

    assert verifier(data.replace(b"snapshot/1", b"snapshot/2")).returncode == 1
    assert verifier(data.replace(b'"value"', b'"heap"')).returncode == 1


def test_the_test_vector_of_the_specification_holds():
    section = page("fingerprint-1").split("\n## 6.")[1].split("\n## 7.")[0]
    stored, expected = [line.strip() for line in section.splitlines() if line.startswith("    ")]

    snapshot = Snapshot.from_bytes(stored.encode())

    assert snapshot.to_bytes().decode() == stored
    assert fingerprint(snapshot) == expected


def test_the_examples_of_canon_hold():
    examples = rows(page("canon-1"), "7. Examples")

    assert len(examples) == 4
    for expression, text, digest in examples:
        canon = encode(eval(unquoted(expression)))
        assert canon.decode() == unquoted(text)
        assert hashlib.sha256(canon).hexdigest().startswith(unquoted(digest))


def test_the_test_vectors_of_diff_hold():
    vectors = rows(page("diff-1"), "6. Test vectors")

    assert len(vectors) == 7
    for before, after, expected in vectors:
        one, other = (Snapshot.of("c", {"s": eval(unquoted(cell))}) for cell in (before, after))
        assert [written(change) for change in diff(one, other)] == expected.split("; ")


def written(change):
    sides = [side for side in (change.before, change.after) if side is not ABSENT]
    path = str(list(change.path)).replace("'", '"')
    return " ".join([f"`{path}`", change.op, *(f"`{side}`" for side in sides)])


def test_the_test_vectors_of_seeding_hold():
    vectors = rows(page("seeding-1"), "6. Test vectors")

    assert len(vectors) == 5
    for key, number, bits, integers in vectors:
        seed, *names = eval(f"[{unquoted(key)}]")
        source = stream(seed, *names)
        assert derive(seed, *names) == int(number)
        assert stream(seed, *names).bits() == int(bits)
        assert [source.integer(0, 9) for _ in range(8)] == [int(one) for one in integers.split()]


def test_every_part_of_a_state_moves_the_fingerprint():
    tree = {"desk": {"rows": {"a": 1}}}
    others = [
        Snapshot.of("shop/2", tree),
        Snapshot.of("shop/1", {"disk": {"rows": {"a": 1}}}),
        Snapshot.of("shop/1", {"desk": {"raws": {"a": 1}}}),
        Snapshot.of("shop/1", {"desk": {"rows": {"b": 1}}}),
        Snapshot.of("shop/1", {"desk": {"rows": {"a": 2}}}),
        Snapshot.of("shop/1", {"desk": {"rows": [1]}}),
        Snapshot.of("shop/1", {"desk": {"rows": {"a": 1}}, "x": {"t": 1}}),
    ]

    assert len({fingerprint(one) for one in [Snapshot.of("shop/1", tree), *others]}) == 8
