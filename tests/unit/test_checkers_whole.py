from __future__ import annotations

import copy

import pytest

from cleandesk.checkers import judge_change
from cleandesk.checkers.whole import account_for
from cleandesk.errors import CheckerError, CleandeskError
from cleandesk.state import Named, Snapshot, diff

GYM = {"day": "Mon", "hour": 18, "title": "Gym"}
DENTIST = {"day": "Fri", "hour": 15, "title": "Dentist"}
START = {
    "desk": {
        "events": {3: GYM, "x": {"day": "Tue", "hour": 9, "title": "Standup"}},
        "inbox": ["hello", "bye", "hello"],
        "rows": [{"id": 1, "n": 5}, {"id": 2, "n": 5}, {"id": 3, "n": 7}],
        "settings": {"theme": "dark", "size": {"w": 1, "h": 2}},
        "tags": {"a", "b"},
        "pos": (1, 2),
        "count": 1,
    }
}


def after(**edits):
    """The start with ``edits``: functions of the desk, by any name."""
    tree = copy.deepcopy(START)
    for edit in edits.values():
        edit(tree["desk"])
    return tree


def judged(edit, expect, incidental=(), with_start=True):
    tree = after(edit=edit)
    one, two = Snapshot.of("c", START), Snapshot.of("c", tree)
    return judge_change(diff(one, two), expect, incidental, one if with_start else None)


def nothing(desk):
    pass


def add(desk, key=7, row=DENTIST):
    desk["events"][key] = dict(row)


def drop_gym(desk):
    del desk["events"][3]


def move(desk):
    desk["events"][3]["hour"] = 16


def both(*edits):
    def run(desk):
        for edit in edits:
            edit(desk)

    return run


ADDED = {"added": {"desk.events": [DENTIST]}}
REMOVED = {"removed": {"desk.events": [3]}}
CHANGED = {"changed": {"desk.events[3].hour": 16}}


@pytest.mark.parametrize(
    ("edit", "expect"),
    [
        (nothing, {}),
        (add, ADDED),
        (add, {"added": {"desk.events": [{"title": "Dentist"}]}}),
        (add, {"added": {"desk.events[7]": DENTIST}}),
        (drop_gym, REMOVED),
        (drop_gym, {"removed": {"desk.events": 3}}),
        (drop_gym, {"removed": {"desk.events": [{"title": "Gym"}]}}),
        (move, CHANGED),
        (move, {"changed": {"desk.events[3].hour": {"from": 18, "to": 16}}}),
        (move, {"changed": {'desk["events"]["3"].hour': 16}}),
        (move, {"changed": {"desk.events[*].hour": 16}}),
        (both(add, drop_gym), {**ADDED, **REMOVED}),
        (lambda d: d.update(count=2), {"changed": {"desk.count": 2}}),
        (lambda d: d.update(pos=(1, 3)), {"changed": {"desk.pos": [1, 3]}}),
        (lambda d: d["settings"].update(font="x"), {"added": {"desk.settings.font": "x"}}),
        (lambda d: d["settings"].pop("theme"), {"removed": {"desk.settings": ["theme"]}}),
        (lambda d: d["tags"].add("c"), {"added": {"desk.tags": ["c"]}}),
        (lambda d: d["tags"].add("c"), {"changed": {"desk.tags": ["c", "b", "a"]}}),
        (lambda d: d["tags"].discard("a"), {"removed": {"desk.tags": ["a"]}}),
        (
            lambda d: d["settings"].update(size={"w": 5, "h": 6}),
            {"changed": {"desk.settings.size": {"w": 5, "h": 6}}},
        ),
        (lambda d: d.update(notes={}) or d["notes"].update(a=1), {"added": {"desk.notes": [1]}}),
        (lambda d: d.update(notes={"a": 1}), {"added": {"desk.notes": {"a": 1}}}),
    ],
)
def test_whole_change_that_was_asked_for_scores_1(edit, expect):
    score = judged(edit, expect)

    assert (score.value, score.explanation) == (1.0, "the whole change is what was asked for")


@pytest.mark.parametrize(
    ("edit", "expect", "said"),
    [
        (nothing, ADDED, "missing: desk.events should gain"),
        (add, {}, "not asked for: desk.events[7] was added"),
        (both(add, drop_gym), ADDED, "not asked for: desk.events[3] was removed"),
        (both(add, move), ADDED, "not asked for: desk.events[3].hour: 18 -> 16"),
        (both(add, lambda d: add(d, 8)), ADDED, "not asked for: desk.events["),
        (lambda d: add(d, 7, {**DENTIST, "hour": 15.0}), ADDED, "missing"),
        (lambda d: add(d, 7, {**DENTIST, "hour": "15"}), ADDED, "missing"),
        (lambda d: d["events"][3].update(hour=16.0), CHANGED, "(it became 16.0)"),
        (lambda d: d["events"][3].update(hour=17), CHANGED, "(it became 17)"),
        (
            move,
            {"changed": {"desk.events[3].hour": {"from": 17, "to": 16}}},
            "should become 17 -> 16",
        ),
        (
            lambda d: d["events"][3].pop("hour"),
            CHANGED,
            "should become 16 (it became absent)",
        ),
        (
            lambda d: d["settings"].update(font="x"),
            {"changed": {"desk.settings.font": "x"}},
            "desk.settings.font should become",
        ),
        (drop_gym, CHANGED, "not asked for: desk.events[3] was removed"),
        (drop_gym, {"removed": {"desk.events": ["x"]}}, 'should lose "x"'),
        (lambda d: d.update(tags={"a", "b", "c", "d"}), {"added": {"desk.tags": ["c"]}}, '["d"]'),
        (
            lambda d: d["settings"].update(size={"w": 5, "h": 2}),
            {"changed": {"desk.settings.size": {"w": 5, "h": 6}}},
            '(it became {"h":2,"w":5})',
        ),
        (lambda d: d.update(notes={"a": 1, "b": 2}), {"added": {"desk.notes": [1]}}, "notes.b"),
    ],
)  # fmt: skip
def test_anything_missing_or_collateral_scores_0_and_is_named(edit, expect, said):
    score = judged(edit, expect)

    assert score.value == 0.0
    assert said.replace('["d"]', "d") in score.explanation


def test_two_identical_expected_rows_need_two_added_rows():
    twice = {"added": {"desk.events": [DENTIST, DENTIST]}}

    assert judged(add, twice).value == 0.0
    assert judged(both(add, lambda d: add(d, 8)), twice).value == 1.0


def test_a_broad_entry_does_not_take_the_row_that_a_narrow_one_needs():
    two = both(add, lambda d: add(d, 8, {**DENTIST, "title": "Lunch"}))
    broad_first = {"added": {"desk.events": [{"day": "Fri"}, {"title": "Dentist"}]}}
    broad_last = {"added": {"desk.events": [{"title": "Dentist"}, {"day": "Fri"}]}}

    assert judged(two, broad_first).value == judged(two, broad_last).value == 1.0


def test_unlisted_fields_are_free_unless_rows_are_exact():
    part = {"added": {"desk.events": [{"title": "Dentist"}]}}

    assert judged(add, part).value == 1.0
    assert judged(add, {**part, "exact": True}).value == 0.0
    assert judged(add, {**ADDED, "exact": True}).value == 1.0


def test_incidental_fields_are_free_to_change_and_nothing_else_is():
    incidental = ["desk.events[*].hour", "desk.count"]

    def views(desk):
        desk["count"] = 9
        desk["events"]["x"]["hour"] = 10

    assert judged(both(drop_gym, views), REMOVED, incidental).value == 1.0
    assert judged(both(drop_gym, views), REMOVED, incidental[:1]).value == 0.0
    assert judged(add, {}, incidental).value == 0.0


def test_exact_rows_leave_out_incidental_fields():
    row = {"day": "Fri", "title": "Dentist"}
    expect = {"added": {"desk.events": [row]}, "exact": True}

    assert judged(add, expect, ["desk.events[*].hour"]).value == 1.0


def test_a_whole_table_may_differ_in_its_incidental_fields():
    changed = {"changed": {"desk.settings.size": {"w": 5, "h": 2}}}

    def edit(desk):
        desk["settings"]["size"] = {"w": 5, "h": 77}

    assert judged(edit, changed, ["desk.settings.size.h"]).value == 1.0
    assert judged(edit, changed).value == 0.0


def test_an_incidental_field_can_still_be_asked_for():
    assert judged(move, CHANGED, ["desk.events[*].hour"]).value == 1.0
    assert judged(nothing, CHANGED, ["desk.events[*].hour"]).value == 0.0


@pytest.mark.parametrize(
    ("edit", "expect", "value"),
    [
        (lambda d: d["rows"].pop(0), {"removed": {"desk.rows": [{"id": 1}]}}, 1),
        (lambda d: d["rows"].pop(0), {"removed": {"desk.rows": [0]}}, 1),
        (lambda d: d["rows"].pop(1), {"removed": {"desk.rows": [{"id": 1}]}}, 0),
        (lambda d: d["rows"].insert(0, {"id": 9}), {"added": {"desk.rows": [{"id": 9}]}}, 1),
        (lambda d: d["rows"].append({"id": 9}), {"added": {"desk.rows": [{"id": 9}]}}, 1),
        (lambda d: d["rows"].clear(), {"removed": {"desk.rows": [0, 1, 2]}}, 1),
        (lambda d: d["rows"].clear(), {"removed": {"desk.rows": [0, 1]}}, 0),
        (lambda d: d.update(rows={}), {"removed": {"desk.rows": [0, 1, 2]}}, 0),
        (lambda d: d.pop("rows"), {"removed": {"desk.rows": [0, 1, 2]}}, 1),
        (lambda d: (d["rows"].pop(0), d["rows"].reverse()), {"removed": {"desk.rows": [{"id": 1}]}}, 0),
        (lambda d: (d["rows"].pop(0), d["rows"][0].update(n=6)), {"removed": {"desk.rows": [0]}}, 0),
        (
            lambda d: (d["rows"][1].update(n=6), d["rows"].pop(0)),
            {"removed": {"desk.rows": [0]}, "changed": {"desk.rows[1].n": 6}},
            1,
        ),
        (
            lambda d: d["rows"].pop(0),
            {"removed": {"desk.rows": [0]}, "changed": {"desk.rows[1].n": 6}},
            0,
        ),
        (
            lambda d: (d["rows"][1].update(n=6), d["rows"].pop(0)),
            {"removed": {"desk.rows": [0]}, "changed": {"desk.rows[1].n": {"from": 4, "to": 6}}},
            0,
        ),
        (lambda d: d["inbox"].remove("bye"), {"removed": {"desk.inbox": ["bye"]}}, 1),
        (lambda d: d["inbox"].pop(0), {"removed": {"desk.inbox": ["hello"]}}, 1),
        (lambda d: d["inbox"].clear(), {"removed": {"desk.inbox": ["hello", "bye"]}}, 0),
        (lambda d: d["inbox"].clear(), {"removed": {"desk.inbox": ["hello", "bye", "hello"]}}, 1),
        (lambda d: d["inbox"].reverse(), {}, 1),
        (lambda d: d["rows"].reverse(), {}, 0),
        (lambda d: d.update(inbox=["new"]), {"changed": {"desk.inbox": ["new"]}}, 1),
        (lambda d: d.update(inbox=["new", "x"]), {"changed": {"desk.inbox": ["new"]}}, 0),
    ],
)  # fmt: skip
def test_rows_of_a_list_are_read_by_row_and_in_order(edit, expect, value):
    assert judged(edit, expect).value == value


def test_a_text_names_a_row_of_a_list_and_never_its_place():
    start = {"desk": {"inbox": ["x", "0"]}}
    end = {"desk": {"inbox": ["x"]}}
    one, two = Snapshot.of("c", start), Snapshot.of("c", end)

    assert judge_change(diff(one, two), {"removed": {"desk.inbox": ["1"]}}, (), one).value == 0.0
    assert judge_change(diff(one, two), {"removed": {"desk.inbox": ["0"]}}, (), one).value == 1.0


def test_incidental_fields_do_not_tell_the_rows_of_a_list_apart():
    def edit(desk):
        desk["rows"].pop(0)
        desk["rows"][0]["n"] = 99

    removed = {"removed": {"desk.rows": [{"id": 1}]}}
    assert judged(edit, removed, ["desk.rows[*].n"]).value == 1.0
    assert judged(edit, removed).value == 0.0


def test_an_edit_of_an_incidental_field_is_not_believed_unseen():
    expect = {"removed": {"desk.rows": [{"id": 1}]}, "changed": {"desk.rows[1].n": 6}}

    assert judged(lambda d: d["rows"].pop(0), expect, ["desk.rows[*].n"]).value == 0.0


def test_without_the_start_a_moved_list_is_refused_and_never_guessed():
    removed = {"removed": {"desk.rows": [{"id": 1}]}}
    with pytest.raises(CheckerError) as caught:
        judged(lambda d: d["rows"].pop(0), removed, with_start=False)

    assert caught.value.code == "CD-509"


def test_objects_are_rows_too():
    start = {"desk": {"carts": {1: Named("shop:Cart", {"n": 1, "pos": (0, 1)})}}}
    end = {"desk": {"carts": {1: Named("shop:Cart", {"n": 2, "pos": (0, 1)})}}}
    one, two = Snapshot.of("c", start), Snapshot.of("c", end)

    changed = {"changed": {"desk.carts[1].n": 2}}
    assert judge_change(diff(one, two), changed, (), one).value == 1.0
    gone = diff(one, Snapshot.of("c", {"desk": {"carts": {}}}))
    assert judge_change(gone, {"removed": {"desk.carts": [{"n": 1, "pos": [0, 1]}]}}).value == 1.0


def test_a_failure_lists_five_lines_and_how_many_more():
    def edit(desk):
        for key in range(10, 20):
            add(desk, key)

    score = judged(edit, {})

    assert score.explanation.count("was added") == 5
    assert "and 5 more" in score.explanation


def test_texts_of_the_world_are_escaped_in_the_explanation():
    score = judged(lambda d: d["inbox"].append("\x1b[2J"), {})

    assert "\x1b" not in score.explanation


@pytest.mark.parametrize(
    "expect",
    [
        {"add": {"desk.events": []}},
        {"changed": [1]},
        {"added": "desk.events"},
        {"removed": {"desk": [3]}},
        {"removed": {"desk..x": [3]}},
    ],
)
def test_a_malformed_expectation_is_an_error_and_never_a_score(expect):
    with pytest.raises(CleandeskError) as caught:
        judged(nothing, expect)

    assert caught.value.code in {"CD-511", "CD-203"}


def test_missing_and_collateral_are_counted_apart():
    one, two = Snapshot.of("c", START), Snapshot.of("c", after(edit=drop_gym))

    account = account_for(diff(one, two), ADDED, (), one)

    assert (len(account.missing), len(account.collateral)) == (1, 1)


def expenses():
    rows = {key: {"name": f"noise {key}", "amount": 100 + key} for key in range(53)}
    for key, name in enumerate(("Bus pass", "Train ticket", "Coffee")):
        rows[key]["name"] = name
    return rows


def ending(drop=(), edit=None):
    rows = expenses()
    for key in drop:
        del rows[key]
    if edit is not None:
        rows[edit]["amount"] += 1
    return rows


@pytest.mark.parametrize(
    ("rows", "targets", "whole"),
    [
        (ending(drop=(0, 1, 2)), True, 1.0),
        (ending(drop=range(53)), True, 0.0),
        (ending(drop=(0, 1, 2, 40)), True, 0.0),
        (ending(drop=(0, 1, 2), edit=40), True, 0.0),
        (ending(drop=(0, 1)), False, 0.0),
    ],
    ids=["right", "all deleted", "one more deleted", "one amount changed", "only two deleted"],
)
@pytest.mark.parametrize("kind", ["map", "list"])
def test_five_endings_of_the_expense_task(rows, targets, whole, kind):
    """Seed 001: the targets check passes four of the five, the whole change only the right one."""
    held = (lambda table: list(table.values())) if kind == "list" else dict
    start = Snapshot.of("c", {"phone": {"expenses": held(expenses())}})
    end = Snapshot.of("c", {"phone": {"expenses": held(rows)}})
    named = [{"name": name} for name in ("Bus pass", "Train ticket", "Coffee")]

    score = judge_change(diff(start, end), {"removed": {"phone.expenses": named}}, (), start)

    assert all(key not in rows for key in (0, 1, 2)) is targets
    assert score.value == whole
