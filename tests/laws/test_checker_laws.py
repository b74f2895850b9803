"""Law 10: the same evidence, the same verdict; found by search."""

from __future__ import annotations

import copy
import math

from hypothesis import example, given
from hypothesis import strategies as st

from cleandesk.checkers import Evidence, judge, judge_change, premises
from cleandesk.checkers.combine import Ask, combine
from cleandesk.checkers.matching import match_up
from cleandesk.checkers.rows import kept_places
from cleandesk.checkers.score import Score
from cleandesk.state import Snapshot, diff

scalars = st.sampled_from([None, True, 0, 1, 1.0, "1", "", "x"])
records = st.dictionaries(st.sampled_from("abc"), scalars, max_size=3)
maps = st.dictionaries(st.sampled_from([1, 2, "1", "k", "m"]), records, max_size=4)
lists = st.lists(records, max_size=5)
trees = st.fixed_dictionaries({"desk": st.fixed_dictionaries({"map": maps, "list": lists})})
rows = st.lists(records, max_size=3)
expectations = st.fixed_dictionaries(
    {},
    optional={
        "changed": st.dictionaries(st.sampled_from(["desk.map[k].a", "desk.list[0].b"]), scalars),
        "added": st.dictionaries(st.sampled_from(["desk.map", "desk.list"]), rows),
        "removed": st.dictionaries(
            st.sampled_from(["desk.map", "desk.list"]),
            st.lists(st.sampled_from([0, 1, "k"]) | records, max_size=3),
        ),
        "exact": st.booleans(),
    },
)


def shots(one, two):
    return Snapshot.of("c", one), Snapshot.of("c", two)


@given(trees, trees, expectations, st.sampled_from([[], ["desk.map[*].a"], ["desk.list[*].b"]]))
def test_same_inputs_give_the_same_verdict_and_stay_as_they_were(one, two, expect, incidental):
    """Law 10."""
    start, end = shots(one, two)
    spec = {"expect": expect, "checks": [], "incidental": incidental}
    held = copy.deepcopy(spec)

    def evidence(source):
        return Evidence(changes=diff(start, end), start=source)

    first = judge(spec, evidence(start))

    assert judge(spec, evidence(start)) == first
    assert judge(spec, evidence(start.to_bytes())) == first
    assert judge(spec, evidence(start.tree())) == first
    assert spec == held
    assert start.tree() == one


@given(trees, trees)
def test_nothing_expected_passes_exactly_when_nothing_changed(one, two):
    """Laws 1 and 10: the empty expectation is the empty diff."""
    start, end = shots(one, two)
    changes = diff(start, end)

    assert (judge_change(changes, {}, (), start).value == 1.0) == (changes == ())


names = st.dictionaries(st.sampled_from(["k", "m", "n", "o"]), records, max_size=4)


@given(names, names)
def test_an_expectation_read_off_the_change_itself_passes(before, after):
    start, end = shots({"desk": {"map": before}}, {"desk": {"map": after}})
    expect = {"changed": {}, "added": {"desk.map": []}, "removed": {"desk.map": []}, "exact": True}
    for change in diff(start, end):
        table, _, key = change.field.rpartition(".")
        if change.op == "changed":
            expect["changed"][change.field] = change.after
        elif change.op == "removed":
            expect["removed"].setdefault(table, []).append(key)
        elif len(change.path) == 2:
            expect["added"][table].append(change.after)
        else:
            expect["added"][change.field] = change.after

    score = judge_change(diff(start, end), expect, (), start)

    assert score.value == 1.0, score.explanation


@given(lists, lists, st.lists(st.booleans(), min_size=5, max_size=5), st.integers(0, 5))
@example([{"a": 1}, {"a": 1}], [], [True, False, False, False, False], 0)
def test_rows_taken_from_and_put_into_a_list_pass_and_one_more_does_not(held, new, drops, at):
    gone = [row for row, is_gone in zip(held, drops, strict=False) if is_gone]
    kept = [row for row, is_gone in zip(held, drops, strict=False) if not is_gone]
    # Moving a row cannot be told from taking it out and putting an equal one in.
    new = [{**row, "new": True} for row in new]
    end = kept[:at] + new + kept[at:]
    start_shot, end_shot = shots({"d": {"t": held}}, {"d": {"t": end}})
    expect = {"added": {"d.t": new}, "removed": {"d.t": gone}, "exact": True}

    assert judge_change(diff(start_shot, end_shot), expect, (), start_shot).value == 1.0

    _, damaged = shots({}, {"d": {"t": [*end, {"damage": 1}]}})
    assert judge_change(diff(start_shot, damaged), expect, (), start_shot).value == 0.0


@given(trees, trees, expectations)
def test_what_passes_has_no_failed_premise(one, two, expect):
    start, end = shots(one, two)
    if judge_change(diff(start, end), expect, (), start).value == 1.0:
        assert premises({"expect": expect}, start) == []


@given(st.lists(st.lists(st.integers(0, 5), max_size=4, unique=True), max_size=6))
@example([[0, 1], [0]])
def test_the_matching_is_as_large_as_any(options):
    chosen = match_up(options)

    def best(place, used):
        if place == len(options):
            return 0
        skip = best(place + 1, used)
        return max(
            [
                skip,
                *(1 + best(place + 1, used | {one}) for one in options[place] if one not in used),
            ]
        )

    taken = [one for one in chosen if one is not None]
    assert len(taken) == len(set(taken)) == best(0, frozenset())
    assert all(one is None or one in options[place] for place, one in enumerate(chosen))


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
@example("abcabba", "cbabac")
def test_kept_rows_are_a_longest_common_subsequence(before, after):
    """The rows kept are equal on both sides, in order, and as many as can be."""
    one, other = [item.encode() for item in before], [item.encode() for item in after]
    kept, remained = kept_places(one, other)
    table = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for x, left in enumerate(before):
        for y, right in enumerate(after):
            table[x + 1][y + 1] = (
                table[x][y] + 1 if left == right else max(table[x][y + 1], table[x + 1][y])
            )

    assert [before[place] for place in sorted(kept)] == [after[place] for place in sorted(remained)]
    assert len(kept) == table[-1][-1]


@example([(5e-324, 0.5)], "and")
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 100)), min_size=1, max_size=6),
    st.sampled_from(["and", "or"]),
)
def test_combining_follows_the_two_rules(results, how):
    asks = [Ask("x", lambda value=value: Score(value), weight) for value, weight in results]
    whole, _ = combine(asks, how)
    values = [value for value, _ in results]

    if how == "or":
        assert whole.value == max(values)
    elif 0 in values:
        assert whole.value == 0
    else:
        mean = math.fsum(v * w for v, w in results) / math.fsum(w for _, w in results)
        assert math.isclose(whole.value, mean, rel_tol=1e-12, abs_tol=1e-300)
        assert min(values) <= whole.value <= max(values)
