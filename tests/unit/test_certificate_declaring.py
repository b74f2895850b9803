"""What is meant to vary: taken out of the comparison, and held to its sampler."""

from __future__ import annotations

import numpy as np
import pytest

from cleandesk.audit.certificate.declaring import Declaring, parse_declared
from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.rig import Declared
from cleandesk.errors import ContractError, UsageError


def value(item):
    return Leaf(Kind.ARRAY if isinstance(item, np.ndarray) else Kind.VALUE, item)


def sides(one, other):
    return value(one), value(other)


def declaring(*texts, defaults=()):
    return Declaring(defaults, [parse_declared(text) for text in texts])


def kept(found, apart):
    return sorted(found.split_off(apart)[0])


# --- Which fields a pattern names. ---


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("env.goal", "env.goal"),
        ("env.goal", "env.goal.x"),
        ("env.goal", "env.goal[0][1]"),
        ("env.*.seed", "env.child.seed"),
        ("env.items[*].price", "env.items[3].price"),
        ("env.items[3]", "env.items[3].price"),
        ("env.stats[a.b]", "env.stats[a.b]"),
        ("[class Maze].level", "[class Maze].level"),
        ("[module shop.desk].*", "[module shop.desk].cache[3]"),
        ("*", "env.goal"),
        # Below a root, whichever it is.
        ("goal", "env.goal"),
        ("goal.x", "TimeLimit.goal.x"),
    ],
)
def test_a_declared_field_and_all_below_it_is_taken_out(pattern, path):
    """C-46."""
    apart = {path: sides(1, 2), "env.other": sides(1, 2)}

    found, taken = declaring(f"{pattern}=any").split_off(apart)

    assert path in taken
    assert ("env.other" in found) == (pattern != "*")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("env.goal", "env.goals"),
        ("env.goal.x", "env.goal"),
        ("env.goal", "env.child.goal"),
        ("goal", "env.child.goal"),
        ("env.items[*].price", "env.items[3].name"),
        # A pattern that begins with any name begins at a root.
        ("*.goal", "env.child.goal"),
    ],
)
def test_no_other_field_is_taken_out(pattern, path):
    assert kept(declaring(f"{pattern}=any"), {path: sides(1, 2)}) == [path]


def test_without_declarations_everything_is_kept():
    apart = {"env.x": sides(1, 2)}

    assert Declaring().split_off(apart) == (apart, {})


def test_what_was_asked_for_goes_before_what_the_rig_says():
    default = Declared("env.goal", "any", "the rig's own")

    found = declaring("env.goal=uniform 0 1", defaults=[default])

    assert kept(found, {"env.goal": sides(0.5, 7.0)}) == ["env.goal"]
    assert kept(Declaring([default]), {"env.goal": sides(0.5, 7.0)}) == []


# --- Samplers. ---


@pytest.mark.parametrize(
    ("sampler", "inside", "outside"),
    [
        ("uniform 0 1", (0.25, 1), (0.25, 1.5)),
        ("integer 0 9", (0, 9), (0, 10)),
        ("integers 0 9", (0, 9), (0, 2.5)),
        ("choice red green", ("red", "green"), ("red", "blue")),
        ("uniform 0 1", (np.array([0.1, 0.2]), np.array([0.3])), (0.5, np.array([0.1, 2.0]))),
        ("uniform 0 1", ([0.1, [0.5]], (1.0,)), ([0.1], [0.1, 3.0])),
        ("uniform 0 1", (0.5, 0.75), (None, 0.5)),
    ],
)
def test_both_sides_are_held_against_the_sampler(sampler, inside, outside):
    found = declaring(f"env.x={sampler}")

    assert kept(found, {"env.x": sides(*inside)}) == []
    assert kept(found, {"env.x": sides(*outside)}) == ["env.x"]
    assert kept(found, {"env.x": sides(*reversed(outside))}) == ["env.x"]


def test_a_side_without_the_field_is_held_against_nothing():
    assert kept(declaring("env.x=uniform 0 1"), {"env.x": (None, value(0.5))}) == []
    assert kept(declaring("env.x=uniform 0 1"), {"env.x": (None, value(5.0))}) == ["env.x"]


def test_the_length_of_a_declared_container_was_drawn_from_nothing():
    apart = {
        "env.x.len": (Leaf(Kind.LENGTH, 3), Leaf(Kind.LENGTH, 5)),
        "env.x.order()": (Leaf(Kind.ORDER, ["a"]), Leaf(Kind.ORDER, ["b"])),
    }

    assert kept(declaring("env.x=uniform 0 1"), apart) == []


def test_a_token_cannot_be_held_against_a_sampler():
    token = Leaf(Kind.TOKEN, b"123", "random.Random")
    found = declaring("env.x=uniform 0 1")

    assert kept(found, {"env.x": (token, token)}) == ["env.x"]
    assert kept(declaring("env.x=any"), {"env.x": (token, token)}) == []
    assert "can't be held against" in found.outside({"env.x": (token, token)})["env.x"]


def test_what_lies_outside_is_said_with_its_value():
    found = declaring("env.x=uniform 0 1").outside({"env.x": sides(0.5, 3.0)})

    assert found == {"env.x": "3.0 lies outside 'uniform 0 1'"}


def test_words_of_a_rigs_own_are_not_checked_and_that_is_said():
    """C-25, C-46."""
    spaces = Declared("env.action_space", "space.sample", "the agent's")
    found = Declaring([spaces], [parse_declared("env.goal=maze.cells")])

    assert kept(found, {"env.action_space.x": sides(1, 2), "env.goal": sides(1, 2)}) == []
    assert len(found.unchecked()) == 2
    assert any("space.sample" in said for said in found.unchecked())
    assert declaring("env.x=any").unchecked() == ()


def test_a_rig_may_describe_its_sampler_in_any_words():
    found = Declaring([Declared("env.x", "uniform over the maze", "")])

    assert kept(found, {"env.x": sides(1, 2)}) == []
    assert found.unchecked()


# --- What became of each declaration. ---


def test_a_result_names_the_fields_that_differed():
    (result,) = declaring("env.goal=any").results(
        ["env.goal.x", "env.goal.y"],
        [{"env.goal.x": sides(1, 2)}, {"env.goal.y": sides(1, 2), "env.z": sides(1, 2)}],
    )

    assert (result.pattern, result.sampler) == ("env.goal", "any")
    assert result.paths == ("env.goal.x", "env.goal.y")
    assert result.problem == ""
    assert result.why


def test_a_declared_field_that_never_differed_is_no_problem():
    (result,) = declaring("env.goal=any").results(["env.goal"], [{}])

    assert (result.paths, result.problem) == ((), "")


def test_a_declaration_that_names_no_field_is_a_problem():
    """C-46."""
    (result,) = declaring("env.gaol=any").results(["env.goal"], [{}])

    assert result.problem == "it names no field"


def test_a_default_of_the_rig_may_name_no_field():
    (result,) = Declaring([Declared("env.action_space", "space.sample", "")]).results([], [{}])

    assert result.problem == ""


def test_a_value_outside_the_sampler_is_a_problem_with_its_path():
    (result,) = declaring("env.goal=uniform 0 1").results(
        ["env.goal[0]"], [{"env.goal[0]": sides(0.5, 3.0)}]
    )

    assert result.problem == "env.goal[0]: 3.0 lies outside 'uniform 0 1'"


def test_an_equal_value_outside_the_sampler_is_a_problem_and_no_difference():
    found = declaring("env.goal=uniform 0 1", "env.name=any")
    paths = ["env.goal", "env.name", "env.z"]

    assert found.to_check(paths) == ["env.goal"]
    (result, _) = found.results(paths, [{"env.goal": sides(3.0, 3.0)}])
    assert (result.paths, "outside" in result.problem) == ((), True)


def test_nothing_is_to_be_checked_where_nothing_can_be():
    assert declaring("env.goal=any").to_check(["env.goal"]) == []


PACKED = {"env.stats": value({"total": 3, "by": [{"x": 1}], "a.b": 2})}


@pytest.mark.parametrize(
    ("pattern", "is_there"),
    [
        ("env.stats.total", True),
        ("env.stats[a.b]", True),
        ("env.stats.by[0].x", True),
        ("env.stats.by[*].x", True),
        ("stats.total", True),
        ("env.stats.count", False),
        ("env.stats.total.x", False),
        ("env.stats.by[1]", False),
    ],
)
def test_a_pattern_may_point_into_a_packed_container(pattern, is_there):
    (result,) = declaring(f"{pattern}=any").results(["env.stats"], [{}], PACKED.get)

    assert (result.problem == "") == is_there


def test_a_part_of_a_packed_container_is_taken_out_alone():
    apart = {"env.stats.total": sides(1, 2), "env.stats.by[0].x": sides(1, 2)}

    assert kept(declaring("env.stats.total=any"), apart) == ["env.stats.by[0].x"]


# --- The command line. ---


def test_a_declaration_is_a_pattern_and_a_sampler():
    declared = parse_declared(" env.goal = uniform 0 1 ")

    assert (declared.pattern, declared.sampler) == ("env.goal", "uniform 0 1")


def test_a_key_in_brackets_may_hold_an_equals_sign():
    declared = parse_declared('env.rows["a=b"]=choice c=d e')

    assert (declared.pattern, declared.sampler) == ('env.rows["a=b"]', "choice c=d e")


@pytest.mark.parametrize(
    "text", ["", "env.goal", "env.goal=", "=any", "env.goal=unifrom 0 1", "env.goal=3"]
)
def test_what_declares_nothing_is_refused_with_what_to_write(text):
    with pytest.raises(UsageError) as raised:
        parse_declared(text)

    assert raised.value.code == "CD-821"
    assert "uniform LOW HIGH" in raised.value.do


@pytest.mark.parametrize("text", ["env.goal=uniform 1", "env.goal=uniform 1 0", "env.goal=choice"])
def test_a_sampler_that_draws_nothing_is_refused(text):
    with pytest.raises(ContractError) as raised:
        parse_declared(text)

    assert raised.value.code == "CD-205"


def test_a_pattern_that_cannot_be_read_is_refused():
    with pytest.raises(ContractError) as raised:
        parse_declared("env..x=any")

    assert raised.value.code == "CD-203"


def test_a_slip_in_a_sampler_does_not_switch_the_check_off():
    with pytest.raises(ContractError):
        Declaring((), [Declared("env.x", "unifrom 0 1", "")])
