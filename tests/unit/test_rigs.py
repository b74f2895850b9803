"""Rigs over what factories return: found by reference, reset, driven, and refused in words."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cleandesk.audit.certificate.recipes import prepare, reference_of, references, rig_of
from cleandesk.audit.certificate.rig import Outcome, Recipe
from cleandesk.audit.certificate.streams import named, put_states, seeding_lines, states_of, streams
from cleandesk.bridges.rigs.excitation import Excitation
from cleandesk.bridges.rigs.parts import Choice, Either, Few, Fixed, Grid, Row, Table, Words
from cleandesk.bridges.rigs.spaces import generators, part_of
from cleandesk.errors import CleandeskError, WorldError
from cleandesk.finding import registered

HERE = __file__


class Walk:
    """An object with reset and step, whose reset takes no seed."""

    actions = (-1, 0, 1)

    def __init__(self, *, length: int = 5) -> None:
        self.rng = np.random.RandomState(3)
        self.length = length
        self.place = 0.0

    def reset(self) -> float:
        self.place = float(self.rng.rand())
        return self.place

    def step(self, action: int) -> tuple[float, float, bool, dict[str, Any]]:
        self.place += action + self.rng.rand()
        return self.place, -1.0, abs(self.place) > self.length, {}


class Seeded:
    """As of Gymnasium, without it."""

    actions = (0, 1)

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        self.rng = random.Random(seed) if seed is not None else self.rng
        self.n = 0
        return self.rng.randrange(1000), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.n += action
        return self.rng.randrange(1000) + self.n, 1.0, False, self.n >= 6, {}


class OldStyle(Walk):
    """As of the old Gym: seeded by a method, a cut is said in the info."""

    def seed(self, seed: int) -> None:
        self.rng.seed(seed)

    def step(self, action: int) -> tuple[float, float, bool, dict[str, Any]]:
        observation, reward, done, _ = super().step(action)
        return observation, reward, done, {"TimeLimit.truncated": done}


class Turns:
    """Two agents that act by turns; one of them may do little."""

    possible_agents = ("a", "b")

    def reset(self, seed: int | None = None) -> None:
        self.agents = ["a", "b"]
        self.agent_selection = "a"
        self.heard: list[Any] = []
        self.seeded = seed

    def agent_iter(self) -> None:
        """Never asked for."""

    def action_space(self, agent: str) -> Any:
        return SPACES[agent]

    def last(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        is_out = len(self.heard) >= 8
        mask = np.array([0, 1, 0]) if self.agent_selection == "b" else np.ones(3)
        return {"seen": len(self.heard), "action_mask": mask}, 1.0, is_out, False, {}

    def step(self, action: Any) -> None:
        self.heard.append((self.agent_selection, action))
        if len(self.heard) > 8:
            self.agents.remove(self.agent_selection)
        if self.agents:
            self.agent_selection = self.agents[len(self.heard) % len(self.agents)]

    def close(self) -> None:
        """Nothing to close."""


class TimeSteps:
    """As of dm_env, without it."""

    def __init__(self) -> None:
        self._rng = np.random.RandomState(0)

    def action_spec(self) -> Any:
        return SimpleNamespace(shape=(2,), dtype=np.float32, minimum=-1.0, maximum=np.array([1, 2]))

    def reset(self) -> Any:
        self.n = 0
        return self._step(None, None)

    def step(self, action: Any) -> Any:
        self.n += 1
        return self._step(float(action.sum()), 0.0 if self.n == 4 else 1.0)

    def _step(self, reward: float | None, discount: float | None) -> Any:
        n = self.n
        return SimpleNamespace(
            discount=discount,
            last=lambda: n == 4,
            observation={"x": self._rng.rand()},
            reward=reward,
            step_type=0 if n == 0 else 1,
        )


class OwnRig:
    """A rig of somebody's own."""

    name = "own"
    harness = "as I do it"

    def __init__(self) -> None:
        self.is_built = False

    def model_hash(self) -> str:
        return "00"

    def build(self) -> None:
        self.is_built = True

    def reset(self, seed: int) -> Outcome:
        return Outcome(seed)

    def step(self, action: Any) -> Outcome:
        return Outcome(action)

    def action(self, rng: Any, k: int) -> Any:
        return k

    def roots(self) -> dict[str, object]:
        return {"env": self}

    def clock(self) -> tuple[int, float]:
        return 7, 0.5

    def declared(self) -> list[Any]:
        return []

    def write(self, path: str, value: Any) -> None:
        raise LookupError(path)

    def close(self) -> None:
        self.is_built = False

    def settle(self) -> None:
        """Nothing to settle."""


class NearlyRig(OwnRig):
    """A rig of somebody's own that is not finished."""

    clock = None  # type: ignore[assignment]
    write = None  # type: ignore[assignment]


class PolicyRig(OwnRig):
    """A rig that holds the policy, as an object."""

    policy = SimpleNamespace(memory=[])


class Wrapper:
    """Wraps, as wrappers do."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.actions = env.actions

    def reset(self, *, seed: int | None = None) -> Any:
        return self.env.reset(seed=seed)

    def step(self, action: Any) -> Any:
        return self.env.step(action)


class Discrete:
    """A space of a kind of its own: it is asked to draw, as a copy."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.rng = np.random.default_rng(0)

    def seed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def sample(self) -> int:
        return int(self.rng.integers(self.n))


SPACES = {"a": Discrete(3), "b": Discrete(3)}


def wrapped() -> Wrapper:
    return Wrapper(Wrapper(Seeded()))


def number() -> int:
    return 3


def no_actions() -> Any:
    return SimpleNamespace(reset=lambda: 0, step=lambda action: action)


def factory_maker() -> Any:
    def inside() -> Seeded:
        return Seeded()

    return inside


def made(name: str, **arguments: Any) -> Any:
    rig = rig_of(Recipe(f"{HERE}:{name}", arguments))
    rig.build()
    return rig


def played(rig: Any, seed: int, steps: int, *, rng: int = 1) -> list[Any]:
    drawn = np.random.default_rng(rng)
    rows = [rig.reset(seed).observation]
    for k in range(steps):
        outcome = rig.step(rig.action(drawn, k))
        rows.append((outcome.observation, outcome.reward, outcome.is_over))
        if outcome.is_over:
            break
    return rows


# certificate: C-4
def test_same_generator_gives_the_same_actions_in_two_rigs() -> None:
    first, second = made("Walk", length=90), made("Walk", length=90)
    assert played(first, 4, 80) == played(second, 4, 80)
    assert played(first, 4, 80, rng=2) != played(second, 4, 80, rng=3)


def test_a_reset_without_a_seed_is_said_and_its_generators_are_put() -> None:
    rig = made("Walk")
    rig.step(1)
    assert rig.reset(5).observation == np.random.RandomState(5).rand()
    assert "takes no seed" in rig.harness
    assert "env.rng" in rig.harness


def test_a_seed_goes_in_as_an_argument_where_reset_takes_one() -> None:
    rig = made("Seeded")
    assert rig.reset(9).observation == random.Random(9).randrange(1000)
    assert rig.harness == "seeded: reset(seed=s)"


def test_a_seed_goes_in_by_method_in_the_old_style_and_a_cut_is_a_truncation() -> None:
    rig = made("OldStyle", length=1)
    assert rig.harness == "seeded: seed(s), then reset()"
    rig.reset(1)
    outcome = rig.step(1)
    while not outcome.is_over:
        outcome = rig.step(1)
    assert (outcome.terminated, outcome.truncated) == (False, True)


def test_wrappers_are_roots_by_their_class_and_the_innermost_is_env() -> None:
    rig = made("wrapped")
    assert [*rig.roots()] == ["env", "Wrapper", "Wrapper2"]
    assert type(rig.roots()["env"]).__name__ == "Seeded"
    assert rig.name.endswith(": Wrapper(Wrapper2(Seeded))")


def test_steps_are_counted_from_the_last_reset() -> None:
    rig = made("Seeded")
    assert rig.clock() == (0, 0.0)
    rig.reset(1)
    rig.step(0)
    rig.step(0)
    assert rig.clock() == (2, 2.0)
    rig.reset(1)
    assert rig.clock() == (0, 0.0)


def test_agents_act_by_turns_within_their_masks_and_leave_with_none() -> None:
    rig = made("Turns")
    rig.reset(1)
    env = rig.roots()["env"]
    drawn = np.random.default_rng(0)
    outcome = None
    for k in range(40):
        outcome = rig.step(rig.action(drawn, k))
        if outcome.is_over:
            break
    assert outcome is not None
    assert outcome.is_over
    assert {agent for agent, _ in env.heard} == {"a", "b"}
    assert [action for _, action in env.heard[8:]] == [None, None]
    assert any(outcome.terminated.values())


def test_actions_of_another_course_of_events_are_taken_as_they_can_be() -> None:
    rig = made("Turns")
    rig.reset(1)
    rig.step(None)
    assert rig.roots()["env"].heard[0][1] is not None


def test_time_steps_say_how_an_episode_ended() -> None:
    rig = made("TimeSteps")
    first = rig.reset(2)
    assert first.reward is None
    assert first.observation == {"x": np.random.RandomState(2).rand()}
    drawn = np.random.default_rng(0)
    outcomes = [rig.step(rig.action(drawn, k)) for k in range(4)]
    assert [each.is_over for each in outcomes] == [False, False, False, True]
    assert (outcomes[-1].terminated, outcomes[-1].truncated) == (True, False)
    assert "env._rng" in rig.harness


# certificate: C-3
def test_a_rig_of_ones_own_is_used_as_it_is() -> None:
    rig = made("OwnRig")
    assert (rig.name, rig.harness) == ("own", "as I do it")
    assert rig.reset(3).observation == 3
    assert rig.clock() == (7, 0.5)
    assert callable(rig.settle)
    assert not hasattr(rig, "outside")


def test_what_a_rig_does_not_have_is_not_offered() -> None:
    rig = made("Seeded")
    assert not any(hasattr(rig, name) for name in ("settle", "outside", "opaque"))


def test_what_was_meant_as_a_rig_is_told_which_members_it_lacks() -> None:
    with pytest.raises(WorldError, match="has 10 of the twelve") as caught:
        made("NearlyRig")

    assert caught.value.do == "give it these too: clock, write"


def test_the_policy_that_a_rig_holds_is_no_description_of_it() -> None:
    assert made("PolicyRig").policy == "the rig's own"
    assert made("OwnRig").policy


@pytest.mark.parametrize(
    ("name", "code"),
    [("number", "CD-295"), ("no_actions", "CD-295")],
)
def test_what_can_not_be_driven_is_refused(name: str, code: str) -> None:
    with pytest.raises(WorldError, match=code):
        made(name)


def test_an_argument_that_the_factory_does_not_take_is_refused() -> None:
    with pytest.raises(WorldError, match="CD-213"):
        made("Walk", speed=3)


# certificate: C-5
def test_a_reset_mode_that_the_rig_does_not_have_is_refused() -> None:
    rig = rig_of(Recipe(f"{HERE}:Seeded", reset="full"))
    with pytest.raises(WorldError, match="CD-294"):
        rig.build()


def test_no_line_of_an_object_that_a_rig_holds_is_run_to_see_what_it_is() -> None:
    class Shy:
        __slots__ = ("rng",)

        def __init__(self) -> None:
            object.__setattr__(self, "rng", random.Random(5))

        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    roots = {"env": SimpleNamespace(held=Shy(), action_space=None)}

    assert generators(roots) == []
    assert [*streams(roots)] == ["env.held.rng"]


def test_a_rig_that_is_not_built_says_so() -> None:
    rig = rig_of(Recipe(f"{HERE}:Seeded"))
    assert rig.clock() == (0, 0.0)
    with pytest.raises(WorldError, match="CD-297"):
        rig.reset(1)
    rig.close()


# certificate: C-2
@pytest.mark.parametrize("reference", ["m:<lambda>", "m:f.<locals>.g"])
def test_a_lambda_or_a_closure_is_refused_with_what_to_pass(reference: str) -> None:
    with pytest.raises(WorldError, match="CD-292") as caught:
        prepare(Recipe(reference))
    assert "module:factory" in caught.value.do


def test_a_factory_has_a_reference_unless_no_process_could_find_it() -> None:
    reference = reference_of(wrapped)
    assert reference.endswith(":wrapped")
    prepare(Recipe(reference))
    assert reference_of(Recipe) == "cleandesk.audit.certificate.rig:Recipe"
    for hidden in (lambda: 3, factory_maker(), random.Random(1)):
        with pytest.raises(WorldError, match="CD-292"):
            reference_of(hidden)


def test_an_unknown_scheme_or_factory_is_refused() -> None:
    with pytest.raises(WorldError, match="CD-291"):
        references("nothing")
    with pytest.raises(CleandeskError, match="CD-201"):
        prepare(Recipe(f"{HERE}:nothing"))


def test_a_scheme_with_nothing_after_it_is_refused_with_how_to_see_what_there_is() -> None:
    with pytest.raises(WorldError, match="nothing stands after stub:") as caught:
        prepare(Recipe("stub:"))
    assert "--sweep 'stub:*'" in caught.value.do


def test_what_is_installed_is_listed_by_scheme() -> None:
    assert references("stub") == ["stub:clean", "stub:leaky", "stub:jitter"]
    assert "calendar" in references("object")


# certificate: C-1
def test_preparing_builds_nothing() -> None:
    prepare(Recipe(f"{HERE}:Unbuildable"))
    with pytest.raises(RuntimeError, match="built"):
        made("Unbuildable")


class Unbuildable:
    def __init__(self) -> None:
        raise RuntimeError("built")


def test_the_digest_depends_on_the_arguments() -> None:
    assert made("Walk").model_hash() == made("Walk").model_hash()
    assert made("Walk").model_hash() != made("Walk", length=6).model_hash()


# certificate: C-26
def test_the_digest_depends_on_the_sources_of_all_that_is_imported_from_no_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = tmp_path / "their_controller.py"
    helper.write_text("GAIN = 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = made("Walk").model_hash()

    importlib.import_module("their_controller")
    imported = made("Walk").model_hash()
    helper.write_text("GAIN = 2.0\n")
    edited = made("Walk").model_hash()

    monkeypatch.delitem(sys.modules, "their_controller")
    assert len({before, imported, edited}) == 3


def test_a_script_has_the_lines_of_a_person_and_none_of_ours() -> None:
    script = made("Walk", length=6).script()
    text = "\n".join([*script.imports, script.make, *script.reset, *script.step])
    assert "cleandesk" not in text.replace(str(HERE), "")
    assert script.make == "Walk(length=6)"
    held: dict[str, Any] = {"action": 1, "seed": 5, "Walk": Walk}
    exec("\n".join(script.imports[-2:]), held)
    exec("\n".join([f"env = {script.make}", *script.reset, *script.step]), held)
    rig = made("Walk", length=6)
    rig.reset(5)
    assert held["seen"][0] == rig.step(1).observation
    assert held["over"] is False


def test_an_unseeded_reset_goes_on_and_a_fresh_build_can_be_put_there() -> None:
    judged, fresh = (rig_of(Recipe(f"{HERE}:Seeded", reset="unseeded")) for _ in range(2))
    judged.build()
    fresh.build()
    assert judged.before_reset() is None  # type: ignore[attr-defined]
    judged.reset(4)
    for _ in range(3):
        judged.step(1)
    state = judged.before_reset()  # type: ignore[attr-defined]
    fresh.prepare_reset(state)  # type: ignore[attr-defined]
    said = judged.reset(1)
    assert fresh.reset(2).observation == said.observation
    assert judged.step(1) == fresh.step(1)


OF_MODULE = random.Random(1)


def of_closure() -> Any:
    stream = random.Random(2)
    return lambda: stream


class Around(Seeded):
    """Draws from streams of its module, its class, a closure, and from those of everybody."""

    of_class = random.Random(3)

    def __init__(self) -> None:
        self.closed = of_closure()

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        if seed is not None:
            for each in (OF_MODULE, self.of_class, self.closed(), random, np.random):
                each.seed(seed)
        super().reset(seed=seed)
        drawn = [each.random() for each in (OF_MODULE, self.of_class, self.closed(), random)]
        return [*drawn, float(np.random.random())], {}  # type: ignore[return-value]


def test_an_unseeded_reset_goes_on_from_streams_that_no_attribute_holds() -> None:
    def life(resets: int, state: bytes | None = None) -> tuple[bytes, Any]:
        rig = rig_of(Recipe(f"{HERE}:Around", reset="unseeded"))
        rig.build()
        if state is not None:
            rig.prepare_reset(state)  # type: ignore[attr-defined]
        for _ in range(resets):
            rig.reset(4)
        kept = rig.before_reset()  # type: ignore[attr-defined]
        return kept, rig.reset(9).observation

    kept, said = life(5)
    assert life(0, kept)[1] == said
    assert life(1, kept)[1] != said


def test_streams_are_found_put_and_written_down() -> None:
    owner = SimpleNamespace(
        deep=[{"k": np.random.default_rng(1)}],
        legacy=np.random.RandomState(2),
        none=random.SystemRandom(),
        own=random.Random(3),
    )
    owner.again = owner
    found = streams({"env": owner})
    assert [*found] == ["env.legacy", "env.own", "env.deep[0].k"]
    held = states_of(found)
    first = [each.random() for each in found.values()]
    put_states(found, held)
    assert [each.random() for each in found.values()] == first
    assert named(found) == "env.legacy, env.own, env.deep[0].k"
    assert seeding_lines(found) is not None
    with pytest.raises(LookupError):
        put_states({}, held)


# certificate: C-4
def test_every_block_of_the_mix_comes_up_and_arrays_are_never_shared() -> None:
    part = Grid(np.array([-1.0, -np.inf]), np.array([1.0, np.inf]), np.float32)
    excitation, rng = Excitation(part), np.random.default_rng(0)
    drawn = [excitation.action(rng, k) for k in range(600)]
    assert len({id(each) for each in drawn}) == len(drawn)
    flat = np.array(drawn)
    assert flat.dtype == np.float32
    assert np.abs(flat[:, 0]).max() == 1.0
    assert (flat == 0).all(axis=1).any()
    assert len(np.unique(flat[:, 0])) > 100
    assert (np.diff(flat[:, 0]) == 0).any()


@pytest.mark.parametrize(
    ("part", "holds"),
    [
        (Choice(4, start=2), lambda value: value in {2, 3, 4, 5}),
        (
            Grid(np.zeros(3), np.array([1, 2, 3]), np.int64),
            lambda value: (value <= [1, 2, 3]).all(),
        ),
        (Grid(0, 255, np.uint8), lambda value: value.shape == () and value.dtype == np.uint8),
        (Words(1, 4, "ab"), lambda value: 1 <= len(value) <= 4 and set(value) <= {"a", "b"}),
        (Few(Choice(2)), lambda value: type(value) is tuple and len(value) <= 3),
        (Row([Choice(2), Choice(3)]), lambda value: value[0] < 2 and value[1] < 3),
        (Row([Choice(2)], list), lambda value: type(value) is list),
        (Table({"x": Choice(2)}), lambda value: [*value] == ["x"]),
        (Either([Choice(1), Choice(2)], is_numbered=True), lambda value: value[0] in {0, 1}),
        (Fixed(["go", "stay"]), lambda value: value in {"go", "stay"}),
    ],
)
def test_every_part_draws_what_it_allows(part: Any, holds: Any) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        assert holds(part.uniform(rng))
        assert holds(part.extreme(rng))
    assert holds(part.null())
    assert isinstance(part.expression("action"), str)


def test_every_scheme_has_a_maker() -> None:
    for point in registered("rig").values():
        maker = point.load()()
        assert all(callable(getattr(maker, name)) for name in ("prepare", "make", "catalogue"))


def test_a_space_that_only_says_its_bounds_gives_actions_within_them():
    rng = np.random.default_rng(0)
    choices = part_of(SimpleNamespace(n=17))
    box = part_of(SimpleNamespace(low=0, high=2, shape=(3,), dtype=np.float32))

    assert {choices.uniform(rng) for _ in range(400)} == set(range(17))
    drawn = box.uniform(rng)
    assert (drawn.shape, drawn.dtype) == ((3,), np.float32)
    assert ((drawn >= 0) & (drawn <= 2)).all()
