from __future__ import annotations

import pytest

from cleandesk.errors import SuiteError
from cleandesk.state.pattern import Pattern
from cleandesk.tasks.blanks import blanks_of, fill_fields, fill_text, fill_value

PARAMS = {
    "order": 7,
    "rate": 0.5,
    "late": True,
    "name": "Bus pass",
    "row": {"id": 3, "item": {"sku": "x9"}},
    "rows": [{"id": 1, "name": "Bus"}, {"id": 2, "name": "Tea"}],
    "names": ["Bus", "Tea"],
}


def text(template):
    return fill_text(template, PARAMS, where="here")


def value(template):
    return fill_value(template, PARAMS, where="here")


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("Refund order {order}.", "Refund order 7."),
        ("{name}, {name}", "Bus pass, Bus pass"),
        ("{{order}}", "{order}"),
        ("{{{order}}}", "{7}"),
        ("{row.id}/{row.item.sku}", "3/x9"),
        ("{rows.0.name}", "Bus"),
        ("Delete {names}.", "Delete Bus, Tea."),
        ("Delete {rows.name}.", "Delete Bus, Tea."),
        ("", ""),
    ],
)
def test_blanks_in_a_text_are_written_out(template, filled):
    assert text(template) == filled


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{order}", 7),
        ("{rate}", 0.5),
        ("{late}", True),
        ("{row}", {"id": 3, "item": {"sku": "x9"}}),
        ("{rows.name}", ["Bus", "Tea"]),
        ("{order} ", "7 "),
        ({"{name}": ["{order}", {"a": "{rate}"}]}, {"Bus pass": [7, {"a": 0.5}]}),
        (4, 4),
        (None, None),
    ],
)
def test_a_text_that_is_one_blank_keeps_the_type_that_was_drawn(template, filled):
    found = value(template)

    assert found == filled
    assert type(found) is type(filled)


def test_filled_values_are_copies_of_the_parameters():
    value("{row}")["item"]["sku"] = "changed"

    assert PARAMS["row"]["item"]["sku"] == "x9"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{ordr}", "the blank {ordr} has no value"),
        ("{row.total}", "no 'total' in id, item"),
        ("{order.id}", "no 'id' in 7"),
        ("{rows.5.id}", "no '5' in"),
        ("Pay {row}", "stands for a table"),
        ("Pay {rows}", "stands for a table"),
    ],
)
def test_a_blank_without_a_value_is_named_with_its_place(template, said):
    with pytest.raises(SuiteError) as caught:
        text(template)

    assert caught.value.code == "CD-410"
    assert said in caught.value.message
    assert caught.value.where == "here"


@pytest.mark.parametrize("template", ["{", "}", "a { b", "{}", "{ order }", '{"a": 1}', "{a-b}"])
def test_a_brace_that_opens_no_blank_is_refused_and_its_escape_named(template):
    with pytest.raises(SuiteError) as caught:
        text(template)

    assert caught.value.code == "CD-411"
    assert "{{" in caught.value.do


def test_two_keys_that_become_one_are_refused():
    with pytest.raises(SuiteError, match="two keys became '7'"):
        value({"{order}": 1, "7": 2})


@pytest.mark.parametrize("drawn", ["a.b", "a]b", "*", '"q', "'q'", "", "x[0]", "it's", 'a"]b'])
def test_no_drawn_text_makes_a_key_name_another_field(drawn):
    (name,) = fill_fields({"db.orders[{x}].status": 1}, {"x": drawn}, where="here")

    pattern = Pattern.parse(name)
    assert pattern.parts == ("db", "orders", drawn, "status")


@pytest.mark.parametrize("name", ["db.{x}.status", "db.orders[a-{x}]"])
def test_a_drawn_text_that_no_key_can_spell_there_is_refused(name):
    with pytest.raises(SuiteError, match="cannot be part of a field's name") as caught:
        fill_fields({name: 1}, {"x": "a.b]"}, where="here")

    assert caught.value.code == "CD-415"


def test_a_harmless_drawn_text_stands_anywhere_in_a_key():
    filled = fill_fields({"db.{t}[{n}]": "{n}"}, {"t": "orders", "n": 4}, where="here")

    assert filled == {"db.orders[4]": 4}


def test_all_blanks_are_found_keys_included():
    found = blanks_of({"{a}": ["{b.c} {{d}}", {"x": "{e}"}], "n": 1}, where="here")

    assert list(found) == ["a", "b.c", "e"]
