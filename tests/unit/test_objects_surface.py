"""State in Python objects: what is read, how it is spelled, what is refused."""

from __future__ import annotations

import enum
import io
import random
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest

from cleandesk.errors import StateError, WorldError
from cleandesk.state import Named, Snapshot, diff, fingerprint
from cleandesk.surfaces import objects
from cleandesk.surfaces.objects import flatten, read_objects


class Desk:
    """A world; ``vars`` decides what it holds."""

    def __init__(self, **held):
        vars(self).update(held)


def read(value, **said):
    return read_objects(Desk(rows=value), "desk", objects("rows", **said))[0]["rows"]


def state(value):
    return fingerprint(Snapshot.of("c", {"desk": {"rows": read(value)}}))


@dataclass
class Order:
    no: int
    lines: list = field(default_factory=list)
    otp: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int


class Slotted:
    __slots__ = ("__hidden", "shown", "unset")

    def __init__(self):
        self.__hidden = 1
        self.shown = 2


class Color(enum.Enum):
    RED = 1
    GREEN = 2


Pair = namedtuple("Pair", "left right")
HERE = f"{__name__}:"


def test_only_the_named_attributes_are_read():
    world = Desk(rows=[1], views=2, other=object())

    assert read_objects(world, "desk", objects("rows", "views"))[0] == {"rows": [1], "views": 2}


def test_a_table_may_be_a_dotted_attribute_under_a_name_of_its_own():
    world = Desk(engine=Desk(store={"rows": [1]}))

    tables, _ = read_objects(world, "desk", objects(rows="engine.store.rows"))

    assert tables == {"rows": [1]}


def test_a_property_of_the_world_may_be_named():
    class Counting:
        @property
        def total(self):
            return 7

    assert read_objects(Counting(), "desk", objects("total"))[0] == {"total": 7}


@pytest.mark.parametrize("name", ["raws", "engine.raws", "rows.0"])
def test_an_attribute_that_does_not_exist_is_an_error_that_names_it(name):
    world = Desk(rows=[1], engine=Desk(rows=[]))

    with pytest.raises(WorldError) as caught:
        read_objects(world, "desk", objects(t=name))

    assert caught.value.code == "CD-211"
    assert name in caught.value.message
    assert "surface desk" in caught.value.where


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        (Order(1, [2]), Named(f"{HERE}Order", {"no": 1, "lines": [2], "otp": 0})),
        (Point(1, 2), Named(f"{HERE}Point", {"x": 1, "y": 2})),
        (Slotted(), Named(f"{HERE}Slotted", {"_Slotted__hidden": 1, "shown": 2})),
        (Color.RED, Named(f"{HERE}Color", {"name": "RED"})),
        (Order, Named("type", {"name": f"{HERE}Order"})),
        (Pair(1, 2), Named(f"{HERE}Pair", {"value": (1, 2)})),
        (deque([1], 3), Named("collections:deque", {"items": [1], "maxlen": 3})),
        (OrderedDict(a=1), Named("collections:OrderedDict", {"items": {"a": 1}})),
        (Counter("aa"), Named("collections:Counter", {"items": {"a": 2}})),
        (defaultdict(int, a=1), Named("collections:defaultdict", {"items": {"a": 1}})),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_object_is_spelled_with_its_class_and_its_fields(value, spelling):
    assert read([value]) == [spelling]


def test_objects_are_opened_at_any_depth():
    held = read({"a": [(Order(1, [Point(1, 2)]),)]})

    assert held["a"][0][0].fields["lines"] == [Named(f"{HERE}Point", {"x": 1, "y": 2})]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Point(1, 2), Order(1)),
        (Point(1, 2), Point(True, 2)),
        (OrderedDict(a=1), {"a": 1}),
        (Pair(1, 2), (1, 2)),
        (Color.RED, Color.GREEN),
        (Color.RED, 1),
        (deque([1]), [1]),
        (deque([1], 3), deque([1], 4)),
        (random.Random(1), random.Random(2)),
        (np.random.default_rng(1), np.random.default_rng(2)),
        (np.random.RandomState(1), np.random.RandomState(2)),
        (np.float64(1.0), 1.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_another_class_or_content_are_another_state(one, other):
    assert state([one]) != state([other])


def test_a_draw_from_a_generator_changes_its_state():
    for generator in (random.Random(1), np.random.default_rng(1), np.random.RandomState(1)):
        before = state([generator])
        generator.random()

        assert state([generator]) != before


@pytest.mark.parametrize(
    "value",
    [
        [Order(1, [Point(1, 2)])],
        [random.Random(3), np.random.default_rng(3)],
        [deque([Order(1)]), {1: Color.RED}],
        [datetime(2024, 1, 1, tzinfo=UTC), b"x", {1, 2}, np.arange(3)],
    ],
)
def test_looking_changes_nothing(value):
    """Law 2."""
    assert state(value) == state(value)


def test_no_property_of_an_inner_object_runs():
    """Law 2: a property could do anything."""
    ran = []

    class Lazy:
        def __init__(self):
            self.kept = 1

        @property
        def cached(self):
            ran.append(1)
            return 1

        def __getattr__(self, name):
            ran.append(name)
            raise AttributeError(name)

    read([Lazy()])

    assert [name for name in ran if name == 1 or not name.startswith("__")] == []


@pytest.mark.parametrize("opaque", [object(), len, lambda: 1, iter([]), types])
def test_what_cannot_be_read_is_named_with_its_path_or_refused(opaque):
    with pytest.raises(StateError) as caught:
        read([{"fine": 1}, {"a": (opaque,)}])

    assert caught.value.code == "CD-101"
    assert caught.value.where == "field desk.rows[1].a[0]"


def test_a_value_that_contains_itself_is_named_with_its_path():
    order = Order(1)
    order.lines.append(order)

    with pytest.raises(StateError) as caught:
        read([order])

    assert caught.value.code == "CD-102"
    assert caught.value.where == "field desk.rows[0].lines[0]"


def test_one_object_in_two_places_is_no_cycle():
    point = Point(1, 2)

    assert read([point, point]) == [Named(f"{HERE}Point", {"x": 1, "y": 2})] * 2


def test_what_cannot_be_read_is_left_out_and_listed_where_that_is_asked_for():
    left_out = []
    held = flatten({"a": 1, "b": object(), "c": [len, 2]}, ("env",), left_out)

    assert held == {"a": 1, "c": [2]}
    assert left_out == ["env.b (builtins:object)", "env.c[0] (builtins:builtin_function_or_method)"]


def test_an_ignored_field_that_cannot_be_read_is_no_error():
    held = read([{"id": 1, "lock": object()}], ignore={"rows[*].lock": "a handle"})

    assert held == [{"id": 1}]


def test_ignored_patterns_that_name_something_are_reported():
    terms = objects("rows", ignore={"rows[*].otp": "random", "rows[*].opt": "a slip"})

    _, matched = read_objects(Desk(rows=[{"otp": 1}]), "desk", terms)

    assert matched == {"desk.rows[*].otp"}


@pytest.mark.parametrize(
    ("rows", "pattern", "kept"),
    [
        (Order(1), "rows.otp", Named(f"{HERE}Order", {"no": 1, "lines": []})),
        pytest.param(
            [Order(1)],
            "rows[*].otp",
            [Named(f"{HERE}Order", {"no": 1, "lines": []})],
        ),
        pytest.param(
            Order(1, [Point(1, 2)]),
            "rows.lines[*].x",
            Named(f"{HERE}Order", {"no": 1, "lines": [Named(f"{HERE}Point", {"y": 2})], "otp": 0}),
        ),
        pytest.param(
            [Pair(Order(1), 2)],
            "rows[*].value[0].otp",
            [Named(f"{HERE}Pair", {"value": (Named(f"{HERE}Order", {"no": 1, "lines": []}), 2)})],
        ),
    ],
    ids=["object", "objects in a list", "objects in an object", "objects in a named tuple"],
)
def test_a_field_of_an_object_can_be_ignored(rows, pattern, kept):
    terms = objects("rows", ignore={pattern: "random"})

    tables, matched = read_objects(Desk(rows=rows), "desk", terms)

    assert tables["rows"] == kept
    assert matched == {f"desk.{pattern}"}
    assert not isinstance(rows, Order) or rows.otp == 0


class Tags(set):
    pass


class Ledger(list):
    owner = ""


class Stamp(datetime):
    pass


class Queue(deque):
    pass


class Dice(random.Random):
    pass


class BrokenError(Exception):
    pass


@pytest.mark.parametrize(
    "value",
    [
        io.BytesIO(b"abc"),
        Stamp(2024, 1, 1, tzinfo=UTC),
        Queue([1]),
        Dice(1),
        BrokenError("x"),
        np.ma.array([1, 2], mask=[0, 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_object_with_memory_of_its_own_is_refused_rather_than_read_as_empty(value):
    """Law 15: a claim is never wider than what was read."""
    with pytest.raises(StateError, match="CD-101"):
        read([value])


def test_a_subclass_of_a_container_keeps_its_members_and_its_attributes():
    ledger = Ledger([1])
    ledger.owner = "Ada"

    assert read([Tags({1}), ledger]) == [
        Named(f"{HERE}Tags", {"value": {1}}),
        Named(f"{HERE}Ledger", {"value": [1], "attributes": {"owner": "Ada"}}),
    ]


def test_a_set_of_objects_keeps_every_member():
    assert read([{Color.RED}]) == [
        Named("builtins:set", {"items": [Named(f"{HERE}Color", {"name": "RED"})]})
    ]

    class Monster:
        pass

    assert state([{Monster()}]) != state([{Monster(), Monster()}])


def test_a_uuid_is_a_leaf():
    assert read([UUID(int=1)]) == [UUID(int=1)]
    assert read([{UUID(int=1)}]) == [{UUID(int=1)}]


def test_a_value_that_is_already_named_stays_as_it_is():
    named = Named("shop:Order", {"no": 1, "points": [Point(1, 2)]})

    assert read([named]) == [
        Named("shop:Order", {"no": 1, "points": [Named(f"{HERE}Point", {"x": 1, "y": 2})]})
    ]


class Node:
    def __init__(self, after):
        self.after = after


def test_a_chain_of_objects_that_is_too_long_is_an_error_that_names_the_path():
    chain = None
    for _ in range(400):
        chain = Node(chain)

    with pytest.raises(StateError) as caught:
        read([chain])

    assert caught.value.code == "CD-102"
    assert caught.value.where.startswith("field desk.rows[0].after")


def test_a_class_without_a_module_is_named_all_the_same():
    # Classes of compiled code may have none; made here by a caller without a name.
    bare = eval('type("Bare", (), {"__slots__": ()})', {})

    with pytest.raises(StateError) as caught:
        read([bare()])

    assert caught.value.code == "CD-101"
    assert "unknown.Bare" in caught.value.message


def test_a_change_inside_an_object_is_named_by_its_field():
    before = Snapshot.of("c", {"desk": {"rows": read([Order(1, [Point(1, 2)])])}})
    after = Snapshot.of("c", {"desk": {"rows": read([Order(1, [Point(1, 3)])])}})

    assert [change.field for change in diff(before, after)] == ["desk.rows[0].lines[0].y"]
