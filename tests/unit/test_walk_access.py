"""What the walk found can be read again by its path, and put back."""

import array
import functools
import os
import random
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from enum import Enum
from fractions import Fraction
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk import read, walk, write


class Box:
    def __init__(self, **held):
        self.__dict__.update(held)


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 1


class Colour(Enum):
    RED = 1
    BLUE = 2


Point = namedtuple("Point", "x y")


class Shared:
    held = []  # noqa: RUF012
    number = 1


TABLE = {"a": 1}


def counting():
    total = 0

    def step():
        nonlocal total
        total += 1

    return step


def rig(number=1):
    step = counting()
    for _ in range(number):
        step()
    keys = ["a", "b"] if number == 1 else ["b", "a"]
    return Box(
        number=number,
        text="x" * number,
        nothing=None if number == 1 else 3,
        zero=0.0 if number == 1 else -0.0,
        rows=[number] * number,
        table=dict.fromkeys(keys, number),
        deep={"x": [Box(n=number), 1], (1, 2): {"y": number}},
        ordered=OrderedDict.fromkeys(keys, number),
        counter=Counter({"a": number}),
        default=defaultdict(list, {"a": [number]}),
        queue=deque([number] * number, maxlen=5),
        chosen={number},
        raw=bytearray([number]),
        typed=array.array("d", [number]),
        pair=(number, [number]),
        point=Point(number, 2),
        colour=Colour.RED if number == 1 else Colour.BLUE,
        part=Fraction(number, 7),
        path=PurePosixPath(f"p{number}"),
        numbers=np.full(3, float(number)),
        view=np.arange(6.0)[number::2],
        odd=np.array([number, None], dtype=object),
        records=np.array([(number, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        scalar=np.float32(number),
        draws=np.random.default_rng(number),
        legacy=np.random.RandomState(number),
        stream=random.Random(number),
        slotted=Slotted(),
        step=step,
        partial=functools.partial(print, Box(n=number)),
    )


def differing(one, other):
    return sorted(
        path
        for path in {*one.tokens, *other.tokens}
        if one.tokens.get(path) != other.tokens.get(path)
    )


def test_writing_back_what_differs_makes_the_walks_equal():
    fresh = walk({"env": rig()})
    dirty = rig(2)
    dirty.slotted.n = 5
    kept = {name: vars(dirty)[name] for name in ("rows", "table", "queue", "numbers", "draws")}
    roots = {"env": dirty}

    for path in differing(fresh, walk(roots)):
        write(roots, path, fresh.leaf(path) if path in fresh.tokens else None)

    assert differing(fresh, walk(roots)) == []
    assert all(vars(dirty)[name] is value for name, value in kept.items())


def test_every_leaf_reads_as_it_was_walked():
    roots = {"env": rig(2)}
    found = walk(roots)

    for path in found.tokens:
        leaf = found.leaf(path)
        if leaf.kind is not Kind.ALIAS and not path.endswith(("n_children_spawned", "func")):
            assert read(roots, path).to_bytes() == leaf.to_bytes(), path


def test_values_inside_a_plain_container_have_paths_of_their_own():
    roots = {"env": Box(table={"rows": [{"x": 1}, (1, 2)], 3: None})}

    write(roots, "env.table.rows[0].x", Leaf(Kind.VALUE, 7))
    write(roots, "env.table.rows[1][1]", Leaf(Kind.VALUE, 9))
    write(roots, "env.table[3]", Leaf(Kind.VALUE, "c"))

    assert roots["env"].table == {"rows": [{"x": 7}, (1, 9)], 3: "c"}
    assert read(roots, "env.table.rows[1]").value == (1, 9)


def test_class_attributes_and_globals_are_written():
    roots = {"env": Box(one=Shared())}
    fresh = walk(roots)
    Shared.held.append(1)
    Shared.number = 2
    TABLE["a"] = 5

    for path in differing(fresh, walk(roots)):
        write(roots, path, fresh.leaf(path))

    assert (Shared.held, Shared.number, TABLE) == ([], 1, {"a": 1})


def test_what_exists_on_one_side_only_is_added_or_taken_away():
    one = Box(gone=1, table={"a": Box(), "b": 1}, rows=[Box(), 2])
    fresh = walk({"env": one})
    other = Box(new=2, table={"a": Box()}, rows=[Box(), 2, 3])
    roots = {"env": other}

    for path in differing(fresh, walk(roots)):
        if path in fresh.tokens and fresh.leaf(path).kind is Kind.LENGTH and "table" in path:
            continue
        if path.endswith("order()]"):
            continue
        if path not in walk(roots).tokens and path not in fresh.tokens:
            continue
        write(roots, path, fresh.leaf(path) if path in fresh.tokens else None)

    assert differing(fresh, walk(roots)) == []


@pytest.mark.parametrize(
    ("path", "leaf"),
    [
        ("env.nowhere.below", Leaf(Kind.VALUE, 1)),
        ("other.n", Leaf(Kind.VALUE, 1)),
        ("[class Nobody].n", Leaf(Kind.VALUE, 1)),
        ("env.n", Leaf(Kind.ALIAS, "env")),
        ("env.n", Leaf(Kind.OPAQUE, None, "lock")),
        ("env.it", Leaf(Kind.TOKEN, "m:C", "object")),
        ("env.rows", Leaf(Kind.LENGTH, 9, "list")),
        ("env.rows[7]", Leaf(Kind.VALUE, 1)),
        ("env.frozen", Leaf(Kind.ARRAY, np.ones(2))),
    ],
)
def test_what_cannot_be_put_back_is_refused_with_a_sentence(path, leaf):
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    roots = {"env": Box(n=1, it=Box(), rows=[Box()], frozen=frozen)}
    walk(roots)
    before = walk(roots).tokens

    with pytest.raises(LookupError, match=r"\w"):
        write(roots, path, leaf)

    assert walk(roots).tokens == before


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(plain, plain)
@settings(max_examples=80, deadline=None)
def test_any_plain_value_can_be_put_back(one, other):
    fresh = walk({"env": Box(it=one)})
    roots = {"env": Box(it=other)}

    write(roots, "env.it", fresh.leaf("env.it"))

    assert walk(roots).tokens == fresh.tokens


# certificate: C-19
@given(st.lists(st.sampled_from(["table", "rows", "draw", "number"]), max_size=6))
@settings(max_examples=30, deadline=None)
def test_a_rig_that_is_walked_behaves_as_one_that_is_not(steps):
    def play(is_walked):
        env = rig()
        said = []
        for step in steps:
            if is_walked:
                walk({"env": env}).fingerprint()
            if step == "table":
                env.table[str(len(env.table))] = env.stream.random()
            elif step == "rows":
                env.rows.append(env.draws.random())
            elif step == "draw":
                said.append((env.draws.normal(), env.stream.gauss(0, 1), env.legacy.rand()))
            env.step()
            said.append(repr((env.table, env.rows)))
        return said

    assert play(is_walked=True) == play(is_walked=False)


def test_a_registered_reader_that_cannot_be_loaded_is_an_error_with_its_name(tmp_path):
    made = tmp_path / "broken-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[cleandesk]\nreader.broken = no_such_module:Reader\n")
    script = (
        "from cleandesk.audit.certificate.walk import walk\n"
        "class Rig: pass\n"
        "try:\n    walk({'env': Rig()})\n"
        "except Exception as error:\n    print(error.code, error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("CD-111 ")
    assert "'broken'" in done.stdout
