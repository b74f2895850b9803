"""The walk finds every home of state that Python has, and runs no code of a rig."""

import functools
import importlib
import random
import re
import sys
import threading
import types
from collections import deque

import numpy as np

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk import SKIPPED, walk


class Box:
    def __init__(self, **held):
        self.__dict__.update(held)


class SlotsOnly:
    __slots__ = ("__secret", "never", "seen")

    def __init__(self):
        self.seen = 1
        self.__secret = [2]


class MoreSlots(SlotsOnly):
    __slots__ = ("more",)

    def __init__(self):
        super().__init__()
        self.more = 3


class Leaky:
    seen = []  # noqa: RUF012 - the leak under test
    limit = 3


class LeakyToo(Leaky):
    pass


MEMO = {}
COUNTER = deque([0])


def value(rig, path, **options):
    return walk({"env": rig}, **options).leaf(path).value


def changed(rig, change):
    """Return the paths that differ after ``change``."""
    before = walk({"env": rig}).tokens
    change()
    after = walk({"env": rig}).tokens
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


# certificate: C-6
def test_slots_are_read_along_the_classes_and_by_their_mangled_names():
    found = walk({"env": MoreSlots()})

    assert found.leaf("env.seen").value == 1
    assert found.leaf("env._SlotsOnly__secret").value == [2]
    assert found.leaf("env.more").value == 3
    assert "env.never" not in found.tokens


# certificate: C-6
def test_what_a_class_holds_stands_once_for_all_its_instances():
    rig = Box(one=Leaky(), other=LeakyToo())

    assert changed(rig, lambda: Leaky.seen.append(1)) == {"[class Leaky].seen"}
    assert value(rig, "[class Leaky].limit") == 3
    Leaky.seen.clear()


def test_a_class_attribute_that_is_bound_anew_is_seen():
    rig = Box(one=Leaky())
    Leaky.limit = 3
    try:
        assert changed(rig, lambda: setattr(Leaky, "limit", 4)) == {"[class Leaky].limit"}
    finally:
        Leaky.limit = 3


# certificate: C-8
def test_globals_of_the_module_that_defines_a_class_are_read():
    rig = Box()
    root = f"[module {__name__}]"
    try:
        assert changed(rig, lambda: MEMO.update(a=1)) == {f"{root}.MEMO"}
        assert changed(rig, lambda: COUNTER.append(1)) == {f"{root}.COUNTER"}
    finally:
        MEMO.clear()
        COUNTER.pop()


def counting():
    total = 0

    def step():
        nonlocal total
        total += 1

    return step


# certificate: C-7
def test_cells_of_a_function_are_state():
    rig = Box(step=counting())

    assert changed(rig, rig.step) == {"[function counting.<locals>.step].closure.total"}


def appended(item, held=[]):  # noqa: B006 - the leak under test
    held.append(item)


def test_mutable_defaults_of_a_function_are_state():
    rig = Box(add=appended)

    assert changed(rig, lambda: rig.add(1)) == {"[function appended].defaults[0]"}
    appended.__defaults__[0].clear()


def keyword(*, held={}):  # noqa: B006
    held["a"] = 1


def test_mutable_keyword_defaults_and_attributes_of_a_function_are_state():
    rig = Box(call=keyword)

    assert changed(rig, rig.call) == {"[function keyword].kwdefaults.held"}
    assert changed(rig, lambda: setattr(keyword, "calls", 1)) == {
        "[function keyword].attributes.calls"
    }
    del keyword.calls
    keyword.__kwdefaults__["held"].clear()


@functools.lru_cache(maxsize=4)
def squared(n):
    return n * n


def test_counters_of_a_cache_are_state():
    rig = Box()

    assert changed(rig, lambda: squared(12)) == {"[function squared].cache"}
    squared.cache_clear()


class WithMethods:
    @staticmethod
    def add(held=[]):  # noqa: B006
        held.append(1)

    @property
    def fires(self):
        raise AssertionError("a property was run")

    @functools.cached_property
    def once(self):
        raise AssertionError("a property was run")


# certificate: C-9
def test_functions_behind_descriptors_are_looked_into_and_properties_never_run():
    rig = WithMethods()

    assert changed(rig, rig.add) == {"[function WithMethods.add].defaults[0]"}
    WithMethods.add.__defaults__[0].clear()


def test_bound_methods_and_partials_lead_to_what_they_hold():
    inner = Box(n=1)
    rig = Box(call=functools.partial(print, [1], end=inner), bound=[].append)

    found = walk({"env": rig})

    assert found.leaf("env.call.args").value == ([1],)
    assert found.leaf("env.call.keywords.end.n").value == 1
    assert found.leaf("env.bound.__self__").value == []


def test_an_object_with_two_paths_has_an_alias_at_the_longer_one():
    shared = [1]
    rig = Box(b=shared, a=shared, deep=Box(c=shared))
    rig.me = rig

    found = walk({"env": rig})

    assert found.leaf("env.a").value == [1]
    assert found.leaf("env.b") == Leaf(Kind.ALIAS, "env.a")
    assert found.leaf("env.deep.c") == Leaf(Kind.ALIAS, "env.a")
    assert found.leaf("env.me") == Leaf(Kind.ALIAS, "env")


def test_sharing_inside_containers_is_state():
    row = [0]

    assert walk({"env": Box(grid=[row, row])}).tokens != walk({"env": Box(grid=[[0], [0]])}).tokens


# certificate: C-13
def test_atoms_small_tuples_and_classes_are_never_aliases():
    text, pair = "".join(["a", "b"]), (1, "x")
    rig = Box(a=text, b=text, c=pair, d=pair, e=Box, f=Box, g=[pair, pair])

    assert not any(token[:1] == b"=" for token in walk({"env": rig}).tokens.values())


class Trapped:
    """Whatever is asked of it, it complains."""

    held = 1

    def __init__(self):
        self.inside = 2

    def _no(self, *_):
        raise AssertionError("the walk ran code of the rig")

    __eq__ = __hash__ = __repr__ = __str__ = __len__ = __iter__ = __bool__ = __getattr__ = _no
    __getattribute__ = __contains__ = __getitem__ = __call__ = __reduce_ex__ = __dir__ = _no


class TrappedDict(dict):
    __iter__ = __len__ = __getitem__ = items = keys = values = get = __repr__ = Trapped._no
    __contains__ = __eq__ = __bool__ = __getattribute__ = Trapped._no


class TrappedList(list):
    __iter__ = __len__ = __getitem__ = __repr__ = __contains__ = __eq__ = Trapped._no


# certificate: C-9
def test_no_code_of_the_rig_runs():
    table = TrappedDict(a=1)
    rows = TrappedList([1, 2])
    rig = Box(it=Trapped(), table=table, rows=rows, mixed=[Trapped(), TrappedDict(b=object())])
    rig.keyed = {1: Trapped(), "k": Trapped}

    found = walk({"env": rig})

    assert found.leaf("env.it.inside").value == 2
    assert found.leaf("env.table").value == {"a": 1}
    assert found.leaf("env.rows").value == [1, 2]
    assert found.notes == ()


def test_attributes_of_a_container_stand_beside_its_elements():
    rows = TrappedList([1])
    rows.note = "x"

    found = walk({"env": Box(rows=rows)})

    assert found.leaf("env.rows.__dict__.note").value == "x"
    assert found.leaf("env.rows").value == [1]


def test_containers_of_objects_have_a_length_and_their_elements():
    rig = Box(rows=[Box(n=1), 2], table={(1, 2): Box(n=3), 4: Box(n=5), "a.b": object()})

    found = walk({"env": rig})

    assert found.leaf("env.rows") == Leaf(Kind.LENGTH, 2, "list")
    assert found.leaf("env.rows[0].n").value == 1
    assert found.leaf("env.table[(1, 2)].n").value == 3
    assert found.leaf("env.table[4].n").value == 5
    assert found.leaf("env.table[a.b]").about == "object"


def test_keys_that_are_spelled_alike_stay_apart():
    found = walk({"env": Box(table={3: Box(n=1), "3": Box(n=2)})})

    assert found.leaf("env.table[3].n").value == 2
    assert found.leaf("env.table[3 (int)].n").value == 1


def test_sets_of_objects_with_cycles_do_not_depend_on_addresses():
    def rig():
        nodes = [Box(n=n) for n in range(6)]
        for node in nodes:
            node.all = set(nodes)
        return Box(start=set(nodes))

    kept = [rig() for _ in range(8)]

    assert len({walk({"env": each}).fingerprint() for each in kept}) == 1
    kept[0].start.add(Box(n=9))
    assert walk({"env": kept[0]}).fingerprint() != walk({"env": kept[1]}).fingerprint()


def test_arrays_of_objects_are_descended_and_records_read_by_member():
    odd = np.array([Box(n=1), None], dtype=object)
    table = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])

    found = walk({"env": Box(odd=odd, table=table)})

    assert found.leaf("env.odd[0].n").value == 1
    assert found.leaf("env.table.a").value.tolist() == [1]
    assert found.leaf("env.table.b").value.tolist() == [2.0]


def test_system_random_and_locks_are_handles():
    rig = Box(random=random.SystemRandom(), lock=threading.Lock(), refs=iter([1]))

    found = walk({"env": rig})

    assert {path for path, _ in found.opaque.items()} == {"env.random", "env.lock", "env.refs"}
    assert found.leaf("env.random") == Leaf(Kind.OPAQUE, None, "random SystemRandom")


def test_identities_of_handles_are_no_part_of_a_token():
    one, other = walk({"env": Box(h=threading.Lock())}), walk({"env": Box(h=threading.Lock())})

    assert one.tokens == other.tokens
    assert one.opaque["env.h"][0] == other.opaque["env.h"][0]


def test_reading_a_generator_draws_nothing():
    rig = Box(a=np.random.default_rng(1), b=random.Random(1), c=np.random.RandomState(1))
    walk({"env": rig})
    fresh = Box(a=np.random.default_rng(1), b=random.Random(1), c=np.random.RandomState(1))

    assert rig.a.random() == fresh.a.random()
    assert rig.b.random() == fresh.b.random()
    assert rig.c.random_sample() == fresh.c.random_sample()


def test_a_draw_and_a_spawn_are_seen():
    rig = Box(a=np.random.default_rng(1), b=random.Random(1))

    assert changed(rig, rig.a.random) == {"env.a"}
    assert changed(rig, rig.b.random) == {"env.b"}
    assert changed(rig, lambda: rig.a.spawn(1)) == {"env.a.n_children_spawned"}


def test_a_running_generator_is_a_handle_with_its_locals():
    def numbers():
        at = 0
        while True:
            at += 1
            yield at

    rig = Box(numbers=numbers())
    next(rig.numbers)

    assert "env.numbers.at" in changed(rig, lambda: next(rig.numbers))


# certificate: C-17
def test_the_budget_cuts_and_says_what_it_cut():
    rig = Box(near=1, far=[Box(n=n) for n in range(100)])

    found = walk({"env": rig}, budget=20)

    assert "budget" in {about for about, _ in found.opaque.values()}
    assert len(found.tokens) < 60
    assert "the budget of 20 values" in found.notes[0]


def test_objects_can_be_left_out():
    inner = Box(n=1)

    assert "env.inner" not in walk({"env": Box(inner=inner)}, skip={id(inner)}).tokens


class Meters:
    """A handle that only its reader opens."""

    __slots__ = ()


class Reading:
    def __init__(self):
        self.level = 1.0

    def takes(self, kind):
        return kind is Meters

    def read(self, handle):
        return {"level": self.level, "rows": np.arange(2), "": Leaf(Kind.OPAQUE, None, "meters")}

    def write(self, handle, name, leaf):
        self.level = leaf.value


# certificate: C-16
def test_a_reader_of_ones_own_opens_a_handle():
    found = walk({"env": Box(it=Meters())}, readers=[Reading()])

    assert found.leaf("env.it.level").value == 1.0
    assert found.leaf("env.it.rows").value.tolist() == [0, 1]
    assert found.opaque["env.it"][0] == "meters"


class Failing(Reading):
    def read(self, handle):
        raise RuntimeError("engine is gone")


# certificate: C-18
def test_a_reader_that_raises_is_said_and_the_walk_goes_on():
    found = walk({"env": Box(it=Meters(), n=1)}, readers=[Failing()])

    assert found.leaf("env.it") == Leaf(Kind.OPAQUE, None, "unreadable: RuntimeError")
    assert found.leaf("env.n").value == 1
    assert "env.it could not be read: RuntimeError" in found.notes


def test_a_class_that_changes_under_the_same_attributes_is_seen():
    class Idle:
        pass

    class Busy:
        pass

    rig = Box(state=Idle())

    assert "env.state" in changed(rig, lambda: setattr(rig, "state", Busy()))


def test_modules_are_named_and_not_entered():
    found = walk({"env": Box(random=random, own=types.ModuleType("made"), sys=sys)})

    assert found.leaf("env.random") == Leaf(Kind.TOKEN, "random", "module")
    assert not any(path.startswith("env.sys.") for path in found.tokens)


def test_two_classes_of_one_name_have_two_roots():
    def made():
        class Same:
            held = []  # noqa: RUF012

        return Same()

    found = walk({"env": Box(a=made(), b=made())})
    roots = {path.split("]")[0] for path in found.tokens if "Same" in path and path[0] == "["}

    assert len(roots) == 2


# certificate: C-86
def test_what_is_never_looked_at_can_be_printed():
    assert SKIPPED
    assert all(type(sentence) is str and "\n" not in sentence for sentence in SKIPPED)


def test_modules_whose_functions_a_rig_uses_are_read_too(tmp_path, monkeypatch):
    package = tmp_path / "walkedpackage"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "memo.py").write_text(
        "SEEN = {}\nclass Never:\n    made = []\ndef note(n):\n    SEEN[n] = n\n    Never.made.append(n)\n"
    )
    (package / "env.py").write_text(
        "from walkedpackage.memo import note\nclass Env:\n    def step(self):\n        note(3)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    rig = importlib.import_module("walkedpackage.env").Env()
    try:
        assert changed(rig, rig.step) == {
            "[module walkedpackage.memo].SEEN",
            "[class Never].made",
        }
    finally:
        for name in ("walkedpackage", "walkedpackage.env", "walkedpackage.memo"):
            sys.modules.pop(name, None)


def test_iterators_views_and_patterns_say_what_they_can():
    rows = [1, 2, 3]
    table = {"a": Box()}
    rig = Box(at=iter(rows), keys=table.keys(), pattern=re.compile("a+"))

    assert changed(rig, lambda: next(rig.at)) == {"env.at.remaining"}
    assert "env.keys.mapping.a" in walk({"env": rig}).tokens
    assert value(rig, "env.pattern") == "a+"


class Tensor:
    """As torch's: what a walk needs of it."""

    __module__ = "torch"
    dtype = "torch.float32"
    device = "cpu"
    requires_grad = False

    def __init__(self, data):
        self.data = data

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.data


def test_tensors_are_copied_to_the_host():
    held = np.zeros(2, dtype=np.float32)
    rig = Box(weights=Tensor(held))
    before = walk({"env": rig})

    held[0] = 1.0

    assert before.leaf("env.weights").value.tolist() == [0.0, 0.0]
    assert walk({"env": rig}).tokens["env.weights"] != before.tokens["env.weights"]


class Worker(threading.Thread):
    def __init__(self):
        super().__init__()
        self.jobs = [1]


def test_what_a_class_adds_to_a_closed_one_is_read():
    one, other = walk({"env": Box(it=Worker())}), walk({"env": Box(it=Worker())})

    assert one.leaf("env.it.jobs").value == [1]
    assert one.leaf("env.it").kind is Kind.OPAQUE
    assert one.tokens == other.tokens


# certificate: C-17
def test_a_chain_of_objects_is_walked_so_far_and_what_lies_deeper_is_said():
    first = Box()
    for _ in range(20_000):
        first = Box(behind=first)

    found = walk({"env": first})

    assert 500 < len(found.tokens) < 5000
    assert [about for about, _ in found.opaque.values()] == ["depth"]
    assert "lies too deep" in found.notes[0]


def test_what_the_checking_wrapper_of_gymnasium_notes_is_no_state():
    import gymnasium

    env = gymnasium.wrappers.PassiveEnvChecker(gymnasium.make("CartPole-v1").unwrapped)
    before = walk({"wrapper": env}).fingerprint()
    env.checked_step = True

    assert walk({"wrapper": env}).fingerprint() == before
    env.another = True
    assert walk({"wrapper": env}).fingerprint() != before


def test_arrays_of_the_islands_lie_in_the_arena_of_the_engine():
    from cleandesk.audit.certificate.walk.readers import mujoco

    names = ("iLD", "iM_colind", "iM", "iacc", "qpos")
    kind = type("MjData", (), {name: property(lambda _: 0) for name in names})

    assert mujoco._fields(kind)[0] == ("qpos",)
