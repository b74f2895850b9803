"""The stubs and the worlds of our own as rigs: what each reset leaves, and what it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cleandesk.audit.certificate.recipes import rig_of
from cleandesk.audit.certificate.rig import Recipe
from cleandesk.bridges.rigs.tools import ToolCalls
from cleandesk.errors import WorldError


def built(reference: str, *, reset: str = "seeded", **arguments: Any) -> Any:
    rig = rig_of(Recipe(reference, arguments, reset))
    rig.build()
    return rig


def dirty(rig: Any, steps: int = 40) -> None:
    drawn = np.random.default_rng(8)
    rig.reset(100)
    for k in range(steps):
        if rig.step(rig.action(drawn, k)).is_over:
            break


def rows(rig: Any, steps: int = 40) -> list[bytes]:
    drawn = np.random.default_rng(9)
    found = [np.asarray(rig.reset(5).observation).tobytes()]
    for k in range(steps):
        found.append(np.asarray(rig.step(rig.action(drawn, k)).observation).tobytes())
    return found


def test_the_clean_stub_is_a_fresh_trial_and_the_leaky_one_is_not() -> None:
    for variant, is_clean in (("clean", True), ("leaky", False)):
        fresh, judged = built(f"stub:{variant}"), built(f"stub:{variant}")
        dirty(judged)
        assert (rows(fresh) == rows(judged)) is is_clean
        assert [*judged.roots()] == ["env", "policy"]


def test_the_jittered_stub_ends_near_and_its_control_at_zero_is_exact() -> None:
    ends = []
    for _ in range(2):
        rig = built("stub:jitter", jitter=1e-8)
        rows(rig)
        ends.append(rig.roots()["env"].place)
    difference = np.abs(ends[0] - ends[1]).max()
    assert 0 < difference < 1e-6
    assert rows(built("stub:jitter", jitter=0)) == rows(built("stub:jitter", jitter=0))


@pytest.mark.parametrize(
    ("reference", "arguments", "code"),
    [
        ("stub:nothing", {}, "CD-291"),
        ("stub:clean", {"jitter": 1}, "CD-213"),
        ("stub:jitter", {"jitter": "much"}, "CD-213"),
        ("mujoco:leg", {}, "CD-291"),
        ("mujoco:arm", {"plant": "tree"}, "CD-213"),
    ],
)
def test_a_built_in_rig_that_is_not_there_is_refused(
    reference: str, arguments: dict[str, Any], code: str
) -> None:
    with pytest.raises(WorldError, match=code):
        rig_of(Recipe(reference, arguments))


def test_a_world_is_reset_by_itself_and_its_planted_leak_shows() -> None:
    for reset, is_clean in (("clean", True), ("keep", False)):
        fresh, judged = (world("calendar", reset) for _ in range(2))
        dirty(judged)
        first = fresh.reset(5).observation
        assert (judged.reset(5).observation == first) is is_clean
        assert set(judged.roots()) == {"clock", "env"}


def world(reference: str, mode: str) -> Any:
    rig = rig_of(Recipe(reference, {"reset": mode}))
    rig.build()
    return rig


def test_what_only_says_where_a_build_is_is_declared() -> None:
    patterns = [each.pattern for each in built("calendar").declared()]
    assert "env.at.places" in patterns


def test_tools_are_called_with_what_the_world_showed() -> None:
    part, rng = ToolCalls(TOOLS), np.random.default_rng(0)
    part.show({"rows": [{"id": 17, "name": "Anna"}, {"id": 18, "name": "Bo"}], "items": ["nut"]})
    calls = [part.uniform(rng) for _ in range(200)]
    assert {call["do"] for call in calls} == {"find", "cut", "noop"}
    assert {17, 18} <= {call["id"] for call in calls if call["do"] == "cut"}
    assert {"Anna", "Bo"} <= {call["name"] for call in calls if call["do"] == "find"}
    assert {call["item"] for call in calls if call["do"] == "find"} >= {"nut"}
    assert {call["hour"] for call in calls if call["do"] == "cut"} <= set(range(24))
    assert {call["side"] for call in calls if call["do"] == "cut"} == {"left", "right"}
    assert {call["day"] for call in calls if call["do"] == "cut"} == {"Mon", "Tue"}
    assert min(call["many"] for call in calls if call["do"] == "cut") == 1
    assert part.null() == {"do": "noop"}


TOOLS = (
    {"do": "find", "arguments": {"name": "text", "item": "text"}},
    {
        "do": "cut",
        "arguments": {
            "day": "one of Mon, Tue",
            "hour": "0 to 23",
            "id": "its number",
            "many": "1 or more",
            "side": "left or right",
        },
    },
    {"do": "noop", "arguments": {}},
)
