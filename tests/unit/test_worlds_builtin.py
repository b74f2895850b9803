from __future__ import annotations

import copy
import itertools
from collections import Counter

import pytest

from cleandesk.agents.answers import Done, Infeasible
from cleandesk.checkers.evidence import Evidence
from cleandesk.checkers.judging import judge
from cleandesk.errors import WorldError
from cleandesk.state import diff, fingerprint
from cleandesk.suites import suite_path
from cleandesk.suites.scripted import Scripted
from cleandesk.tasks.suite import load_suite
from cleandesk.tasks.task import fill
from cleandesk.worlds.at import At
from cleandesk.worlds.calendar import Calendar
from cleandesk.worlds.capture import Inside, capture
from cleandesk.worlds.inventory import Inventory
from cleandesk.worlds.sessions import Sessions

DENTIST = {"do": "add", "day": "Fri", "hour": 15, "title": "Dentist"}
STOCK_A = {"HZ": {"bolt": 2}, "SZ": {"bolt": 7}}
STOCK_B = {"HZ": {"bolt": 4}, "SZ": {"bolt": 7}}
TIMEOUT = {"on": "query", "when": {"warehouse": "HZ"}, "count": [1], "fault": "timeout"}


def placed(make, **kwargs):
    """Return a place and a world built at it."""
    at = At()
    world = make(at, **kwargs)
    at.pin(world.contract.clock)
    return at, world


def begun(at, world, *, seed=1, options=None, rules=()):
    at.begin(seed, instance=f"task/{seed}", rules=rules)
    return world.reset(seed=seed, options=options)[0]


def state(at, world):
    return capture(world, Inside(at), world.contract).snapshot


def query(warehouse):
    return {"do": "query", "item": "bolt", "warehouse": warehouse}


def played(at, world, suite, *, task, trial=1, seed=1):
    """Play the scripted agent on one task of a suite; return the start and the evidence."""
    instance = fill(suite.task(task), seed)
    at.begin(seed, instance=f"{task}/{seed}", rules=instance.disturb)
    observation, _ = world.reset(seed=seed, options=instance.options)
    for step in instance.setup:
        getattr(world, step["call"])(**step["with"])
    start = state(at, world)
    agent = Scripted()
    agent.start(task=task, goal=instance.goal, trial=trial)
    rewards = []
    ending = None
    while not isinstance(ending, Done | Infeasible):
        move = agent.act(observation)
        if isinstance(move, Done | Infeasible):
            ending = move
        else:
            observation, reward, *_ = world.step(move)
            rewards.append(reward)
    end = state(at, world)
    return start, Evidence(
        task_id=task,
        goal=instance.goal,
        start=start,
        end=end,
        changes=diff(start, end),
        answer=getattr(ending, "answer", None),
        infeasible_answer=isinstance(ending, Infeasible),
        reason="done",
        rewards=tuple(rewards),
    )


def score(suite, task, evidence, world):
    incidental = [pattern.text for pattern in world.contract.incidental] + ["clock.now"]
    return judge(suite.task(task).spec({}, incidental=incidental), evidence).score


class TestCalendar:
    def test_reset_restores_the_first_three_appointments(self):
        at, world = placed(Calendar)
        begun(at, world)
        first = state(at, world)
        world.step(DENTIST)
        world.step({"do": "delete", "id": 3})
        begun(at, world)

        assert diff(first, state(at, world)) == ()

    def test_reset_that_keeps_an_appointment_is_named(self):
        at, world = placed(Calendar, reset="keep")
        begun(at, world)
        first = state(at, world)
        world.step(DENTIST)
        begun(at, world)
        left = diff(first, state(at, world))

        assert [change.pointer for change in left] == ["/events/4", "/next_id"]

    def test_every_step_pays_nothing_and_ends_nothing(self):
        at, world = placed(Calendar)
        begun(at, world)
        outcomes = [world.step(DENTIST)[1:4], world.step({"do": "noop"})[1:4]]

        assert outcomes == [(0.0, False, False)] * 2
        assert world.pays == "end"

    @pytest.mark.parametrize(
        "action",
        [
            None,
            "add",
            {},
            {"do": "fly"},
            {"do": ["add"]},
            {"do": "add", "day": "Fri", "hour": 15},
            {"do": "add", "day": "Fri", "hour": 24, "title": "x"},
            {"do": "add", "day": "Fri", "hour": True, "title": "x"},
            {"do": "add", "day": "Foo", "hour": 1, "title": "x"},
            {"do": "add", "day": "Fri", "hour": 1, "title": " "},
            {"do": "delete", "id": 99},
            {"do": "delete", "id": "3"},
            {"do": "noop", "more": 1},
        ],
    )
    def test_an_action_that_cannot_be_carried_out_changes_nothing(self, action):
        at, world = placed(Calendar)
        begun(at, world)
        before = state(at, world)
        *_, info = world.step(action)

        assert info["action_error"]
        assert diff(before, state(at, world)) == ()

    def test_an_observation_that_the_agent_changes_changes_nothing(self):
        at, world = placed(Calendar)
        observation = begun(at, world)
        before = state(at, world)
        observation[0]["title"] = "mine now"
        observation.clear()

        assert diff(before, state(at, world)) == ()

    def test_a_setup_step_may_add_an_appointment(self):
        at, world = placed(Calendar)
        begun(at, world)

        assert world.events[world.add_event("Tue", 8, "Run")]["title"] == "Run"
        with pytest.raises(ValueError, match="no day"):
            world.add_event("Someday", 8, "Run")

    def test_an_unknown_kind_of_reset_is_refused(self):
        with pytest.raises(WorldError, match="CD-231"):
            Calendar(At(), reset="sometimes")

    @pytest.mark.parametrize(
        ("reset", "checker", "passes"),
        [
            ("clean", "calendar", 8),
            ("clean", "calendar_looks", 10),
            ("keep", "calendar_looks", 19),
            ("keep", "calendar", 1),
        ],
    )
    def test_one_agent_gets_four_scores(self, reset, checker, passes):
        suite = load_suite(suite_path(checker))
        at, world = placed(Calendar, reset=reset)
        scores = []
        for trial in range(1, suite.trials + 1):
            _, evidence = played(at, world, suite, task="dentist", trial=trial)
            scores.append(score(suite, "dentist", evidence, world))

        assert Counter(scores) == Counter({1.0: passes, 0.0: 20 - passes})


class TestSessions:
    @pytest.mark.parametrize(
        ("reset", "identical", "successes"), [("partial", 0, 5), ("complete", 10, 10)]
    )
    def test_a_partial_reset_keeps_the_cache_and_nothing_else(self, reset, identical, successes):
        suite = load_suite(suite_path("sessions"))
        at, world = At(), Sessions(reset=reset)
        same, scores, left = 0, [], set()
        for seed in suite.seeds:
            first, evidence = played(at, world, suite, task="choose", seed=seed)

            assert score(suite, "choose", evidence, world) == 1.0

            again, evidence = played(at, world, suite, task="choose", trial=2, seed=seed)
            same += fingerprint(first) == fingerprint(again)
            left |= {change.pointer for change in diff(first, again)}
            scores.append(score(suite, "choose", evidence, world))

        assert (same, sum(scores)) == (identical, successes)
        assert left == ({"/cache"} if reset == "partial" else set())

    def test_the_leftovers_are_a_cookie_seven_visits_and_on_odd_seeds_a_wrong_choice(self):
        at, world = At(), Sessions()
        world.reset(seed=3)
        first = state(at, world)
        world.step({"do": "contaminate"})
        left = {change.pointer: change.after for change in diff(first, state(at, world))}

        assert left == {"/cookies/seen_before": True, "/visits": 7, "/cache": "left"}

    def test_without_leftovers_a_partial_reset_still_keeps_the_choice(self):
        at, world = At(), Sessions(reset="partial", leftovers=False)
        world.reset(seed=3)
        first = state(at, world)
        world.step({"do": "choose", "side": "right"})
        world.reset(seed=3)

        assert [change.pointer for change in diff(first, state(at, world))] == ["/cache"]

    @pytest.mark.parametrize(
        "action",
        [None, {"do": "choose"}, {"do": "choose", "side": "up"}, {"do": "choose", "side": 1}],
    )
    def test_an_action_that_cannot_be_carried_out_changes_nothing(self, action):
        at, world = At(), Sessions()
        world.reset(seed=1)
        before = state(at, world)
        *_, info = world.step(action)

        assert info["action_error"]
        assert diff(before, state(at, world)) == ()

    def test_an_unknown_kind_of_reset_is_refused(self):
        with pytest.raises(WorldError, match="CD-231"):
            Sessions(reset="most")


class TestInventory:
    @pytest.mark.parametrize(
        ("cache", "answer"), [("episode", 4), ("snapshot", 4), ("stale", 2), ("warm", 2)]
    )
    def test_only_a_cache_that_knows_its_stock_answers_right_after_a_reset(self, cache, answer):
        at, world = placed(Inventory, cache=cache)
        begun(at, world, options={"stock": STOCK_A})
        world.step(query("HZ"))
        begun(at, world, options={"stock": STOCK_B})

        assert world.step(query("HZ"))[0]["stock"] == answer

    def test_a_stale_cache_is_named_at_the_next_start(self):
        at, world = placed(Inventory, cache="stale")
        begun(at, world, options={"stock": STOCK_B})
        first = world.contract.start_view(state(at, world))
        world.step(query("HZ"))
        begun(at, world, options={"stock": STOCK_B})
        again = world.contract.start_view(state(at, world))

        assert [change.pointer for change in diff(first, again)] == ["/cache/bolt HZ"]

    @pytest.mark.parametrize("cache", ["snapshot", "warm"])
    def test_a_cache_that_is_meant_to_survive_is_declared_and_labelled(self, cache):
        at, world = placed(Inventory, cache=cache)
        begun(at, world, options={"stock": STOCK_B})
        first = state(at, world)
        world.step(query("HZ"))
        begun(at, world, options={"stock": STOCK_B})
        again = state(at, world)
        terms = world.contract
        terms.require_fields(again)

        assert diff(terms.start_view(first), terms.start_view(again)) == ()
        assert terms.name == f"inventory-{cache}"
        assert any(pattern.matches("desk", ("cache", "bolt HZ")) for pattern in terms.incidental)

    @pytest.mark.parametrize(
        "order", list(itertools.permutations(["count-a", "count-b", "reserve"]))
    )
    def test_the_order_of_the_tasks_changes_no_result(self, order):
        suite = load_suite(suite_path("inventory"))
        at, world = placed(Inventory)
        scores = {}
        for task in order:
            _, evidence = played(at, world, suite, task=task)
            scores[task] = score(suite, task, evidence, world)

        assert scores == dict.fromkeys(order, 1.0)

    def test_with_a_stale_cache_the_order_of_the_tasks_decides(self):
        suite = load_suite(suite_path("inventory"))
        at, world = placed(Inventory, cache="stale")
        played(at, world, suite, task="count-a")
        _, evidence = played(at, world, suite, task="count-b")

        assert evidence.answer == 2
        assert score(suite, "count-b", evidence, world) == 0.0

    def test_the_warm_variant_is_solved_from_its_cache(self):
        suite = load_suite(suite_path("inventory"))
        at, world = placed(Inventory, cache="warm")
        start, evidence = played(at, world, suite, task="count-b-warm-cache")

        assert start.tree()["desk"]["cache"]["bolt HZ"] == 4
        assert score(suite, "count-b-warm-cache", evidence, world) == 1.0

    @pytest.mark.parametrize("between", [[], ["SZ"], ["SZ", "SZ", "SZ"]])
    def test_the_first_query_times_out_whatever_is_asked_in_between(self, between):
        """Law 9: a disturbance depends on its own key and count alone."""
        at, world = placed(Inventory)
        begun(at, world, options={"stock": STOCK_A}, rules=[TIMEOUT])
        seen = [world.step(query(warehouse))[0] for warehouse in ["HZ", *between, "HZ"]]

        assert seen[0]["error"] == "timeout"
        assert "stock" not in seen[0]
        assert [observation["stock"] for observation in seen[1:]] == [7] * len(between) + [2]

    def test_reset_clears_counters_faults_budget_and_reservations(self):
        at, world = placed(Inventory)
        begun(at, world, options={"stock": STOCK_A}, rules=[TIMEOUT])
        first = state(at, world)
        world.step(query("HZ"))
        world.step({"do": "reserve", "item": "bolt", "warehouse": "SZ", "quantity": 3})
        begun(at, world, options={"stock": STOCK_A}, rules=[TIMEOUT])

        assert diff(first, state(at, world)) == ()
        assert world.step(query("HZ"))[0]["error"] == "timeout"

    def test_the_fault_schedule_is_in_no_observation(self):
        at, world = placed(Inventory)
        disturbed = begun(at, world, options={"stock": STOCK_A}, rules=[TIMEOUT])
        calm = begun(at, world, options={"stock": STOCK_A})

        assert disturbed == calm

    def test_a_spent_budget_ends_the_episode(self):
        at, world = placed(Inventory, budget=2)
        begun(at, world, options={"stock": STOCK_A})
        ends = [world.step(query("HZ"))[2] for _ in range(3)]

        assert ends == [False, False, True]
        assert world.budget_left == 0

    def test_within_an_episode_a_query_sees_what_was_reserved(self):
        for cache in ("episode", "snapshot", "warm", "stale"):
            at, world = placed(Inventory, cache=cache)
            begun(at, world, options={"stock": STOCK_A})
            world.step(query("SZ"))
            world.step({"do": "reserve", "item": "bolt", "warehouse": "SZ", "quantity": 3})

            assert world.step(query("SZ"))[0]["stock"] == 4

    def test_more_than_there_is_cannot_be_reserved(self):
        at, world = placed(Inventory)
        begun(at, world, options={"stock": STOCK_A})
        observation, *_ = world.step(
            {"do": "reserve", "item": "bolt", "warehouse": "HZ", "quantity": 3}
        )

        assert "error" in observation
        assert world.stock == STOCK_A

    @pytest.mark.parametrize(
        "action",
        [
            None,
            {"do": "drop"},
            {"do": "query", "item": "bolt"},
            {"do": "query", "item": "bolt", "warehouse": "HZ", "fast": True},
            {"do": "query", "item": "bolt", "warehouse": "XX"},
            {"do": "query", "item": ["bolt"], "warehouse": "HZ"},
            {"do": "reserve", "item": "bolt", "warehouse": "HZ", "quantity": 0},
            {"do": "reserve", "item": "bolt", "warehouse": "HZ", "quantity": 1.0},
        ],
    )
    def test_a_call_that_breaks_the_tool_contract_costs_and_changes_nothing(self, action):
        at, world = placed(Inventory)
        begun(at, world, options={"stock": STOCK_A})
        before = state(at, world)
        *_, info = world.step(action)

        assert info["action_error"]
        assert diff(before, state(at, world)) == ()

    def test_the_stock_that_options_give_is_copied(self):
        at, world = placed(Inventory)
        given = copy.deepcopy(STOCK_A)
        begun(at, world, options={"stock": given})
        world.step({"do": "reserve", "item": "bolt", "warehouse": "HZ", "quantity": 1})

        assert given == STOCK_A

    def test_an_observation_that_the_agent_changes_changes_nothing(self):
        at, world = placed(Inventory)
        observation = begun(at, world, options={"stock": STOCK_A})
        before = state(at, world)
        observation["warehouses"].append("XX")
        observation["budget_left"] = 999

        assert diff(before, state(at, world)) == ()

    def test_the_stock_is_drawn_anew_for_each_seed_and_the_same_for_one(self):
        at, world = placed(Inventory)
        drawn = []
        for seed in (1, 2, 1):
            begun(at, world, seed=seed)
            drawn.append(copy.deepcopy(world.stock))

        assert drawn[0] == drawn[2] != drawn[1]

    def test_a_setup_step_may_set_the_stock(self):
        at, world = placed(Inventory)
        begun(at, world, options={"stock": STOCK_A})
        world.set_stock("bolt", "HZ", 9)

        assert world.step(query("HZ"))[0]["stock"] == 9
        with pytest.raises(ValueError, match="can't hold"):
            world.set_stock("bolt", "HZ", -1)

    @pytest.mark.parametrize(
        "options",
        [{"stocks": {}}, {"stock": {}}, {"stock": {"HZ": 3}}, {"stock": {"HZ": {"bolt": -1}}}],
    )
    def test_options_that_are_no_stock_are_refused(self, options):
        at, world = placed(Inventory)
        with pytest.raises(WorldError, match="CD-232"):
            begun(at, world, options=options)

    @pytest.mark.parametrize("settings", [{"cache": "hot"}, {"budget": 0}, {"budget": "8"}])
    def test_settings_that_cannot_be_are_refused(self, settings):
        with pytest.raises(WorldError, match="CD-231"):
            Inventory(At(), **settings)
