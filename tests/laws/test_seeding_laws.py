"""Law 9: randomness is keyed, not sequential; what is unrelated moves nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import assume, example, given
from hypothesis import strategies as st

from cleandesk.seeding import derive, stream
from cleandesk.state import encode
from cleandesk.worlds.at import At
from cleandesk.worlds.disturbances import Disturbances

NOW = datetime(2024, 1, 1, tzinfo=UTC)

seeds = st.integers()
names = st.lists(st.text(max_size=3) | st.integers(), max_size=3).map(tuple)
draws = st.sampled_from(["bits", "random", "normal", "uniform", "integer", "shuffle"])


def draw(source, kind):
    if kind == "uniform":
        return source.uniform(0, 5)
    if kind == "integer":
        return source.integer(0, 99)
    if kind == "shuffle":
        items = list(range(5))
        source.shuffle(items)
        return items
    return getattr(source, kind)()


@given(seeds, names, seeds, names)
@example(7, ("ab", "c"), 7, ("a", "bc"))
@example(7, (1,), 7, ("1",))
@example(7, ("i1",), 7, (1,))
@example(1, (), 1, ("",))
@example(1, (2,), 12, ())
def test_two_streams_are_one_only_if_seed_and_names_are(seed, path, other_seed, other_path):
    """Law 9."""
    is_same = (seed, path) == (other_seed, other_path)

    assert (derive(seed, *path) == derive(other_seed, *other_path)) == is_same
    assert (stream(seed, *path).bits() == stream(other_seed, *other_path).bits()) == is_same


@given(seeds, names, names, st.lists(draws, max_size=8), st.lists(draws, max_size=8))
def test_draws_from_one_stream_move_no_other(seed, path, other_path, kinds, other_kinds):
    """Law 9: a draw added in one place moves nothing anywhere else."""
    assume(path != other_path)
    alone = stream(seed, *path)
    expected = [draw(alone, kind) for kind in kinds]

    one, other = stream(seed, *path), stream(seed, *other_path)
    found = []
    for place, kind in enumerate(kinds):
        for other_kind in other_kinds[: place + 1]:
            draw(other, other_kind)
        found.append(draw(one, kind))

    assert found == expected


@given(seeds, st.text(max_size=3), st.text(max_size=3))
def test_a_worlds_streams_are_the_episodes_and_begin_anew_with_it(seed, name, other):
    """Law 9."""
    at = At()
    at.begin(seed, instance="task", rules=())
    first = at.rng(name).bits()
    at.rng(other).bits()

    assert at.rng(name).bits() == first
    at.begin(seed + 1, instance="task", rules=())
    assert at.rng(name).bits() != first


operations = st.sampled_from(["read", "write", "send"])
arguments = st.dictionaries(st.sampled_from(["sku", "to"]), st.integers(0, 2), max_size=2)
calls = st.lists(st.tuples(operations, arguments), max_size=12)
rules = st.lists(
    st.fixed_dictionaries(
        {"on": operations, "fault": st.sampled_from(["timeout", "stale"])},
        optional={
            "when": arguments,
            "count": st.lists(st.integers(1, 4), max_size=2),
            "share": st.floats(0, 1),
        },
    ),
    max_size=3,
)


def faults(rules, made, *, instance="task", seed=0):
    disturbances = Disturbances(rules, instance=instance, seed=seed)
    return [disturbances.fault(operation, given_, NOW) for operation, given_ in made]


@given(rules, calls, calls, st.randoms(use_true_random=False))
def test_calls_with_another_key_move_no_fault(rules, made, more, source):
    """Law 9: a disturbance depends on (instance, operation, arguments, count) alone."""
    unrelated = [call for call in more if call not in made]
    expected = faults(rules, made)

    mixed = [(call, True) for call in made]
    for call in unrelated:
        mixed.insert(source.randint(0, len(mixed)), (call, False))
    found = faults(rules, [call for call, _ in mixed])
    kept = [fault for fault, (_, is_made) in zip(found, mixed, strict=True) if is_made]

    assert kept == expected


@given(rules, calls, st.randoms(use_true_random=False))
def test_the_order_of_different_calls_moves_no_fault(rules, made, source):
    """Law 9: the k-th call of one key meets the same fault in any order of the keys."""

    def by_key(sequence):
        held = {}
        for call, fault in zip(sequence, faults(rules, sequence), strict=True):
            held.setdefault(encode(call), []).append(fault)
        return held

    shuffled = source.sample(made, len(made))

    assert by_key(made) == by_key(shuffled)


@given(rules, calls)
def test_the_same_calls_meet_the_same_faults(rules, made):
    """Law 7."""
    assert faults(rules, made) == faults(rules, made)


@given(st.integers(0, 10**6), calls)
def test_an_outage_depends_on_the_worlds_time_and_no_call(minutes, made):
    """Law 9: what fails together is keyed by the window of the world's time."""
    rule = {"on": "read", "fault": "down", "outage": {"share": 0.5, "minutes": 10}}
    now = NOW + timedelta(minutes=minutes)
    alone = Disturbances([rule], instance="task", seed=1)
    busy = Disturbances([rule], instance="task", seed=1)
    for operation, given_ in made:
        busy.fault(operation, given_, NOW)

    assert busy.fault("read", {"sku": 9}, now) == alone.fault("read", {}, now)
