from __future__ import annotations

import pytest

from cleandesk.agents.answers import Done, Infeasible, done, infeasible
from cleandesk.agents.known import AlwaysFail, Nop, Random, sample
from cleandesk.checkers.evidence import Evidence
from cleandesk.checkers.judging import judge
from cleandesk.checkers.returns import returns
from cleandesk.checkers.score import Score
from cleandesk.errors import AgentError, SuiteError
from cleandesk.seeding import stream
from cleandesk.state import diff
from cleandesk.suites import suite_path
from cleandesk.suites.scripted import Scripted
from cleandesk.tasks.suite import load_suite
from cleandesk.tasks.task import fill
from cleandesk.worlds.at import At
from cleandesk.worlds.calendar import Calendar
from cleandesk.worlds.capture import Inside, capture
from cleandesk.worlds.inventory import Inventory
from cleandesk.worlds.sessions import Sessions
from cleandesk.worlds.spaces import describe_space

OURS = [
    (name, task.id)
    for name in ("calendar", "calendar_looks", "sessions", "inventory")
    for task in load_suite(suite_path(name)).tasks
]
GYM = load_suite(suite_path("gymnasium"))
MAKE = {"calendar": Calendar, "sessions": lambda at: Sessions(), "inventory": Inventory}


def nothing_done(name, task_id):
    """Return a task's check and what an agent leaves that ends the episode at once."""
    task = load_suite(suite_path(name)).task(task_id)
    instance = fill(task, task.seeds[0])
    at = At()
    world = MAKE[instance.world](at)
    at.begin(instance.seed, instance="", rules=())
    world.reset(seed=instance.seed, options=instance.options)
    held = capture(world, Inside(at), world.contract).snapshot
    return instance.spec, Evidence(start=held, end=held, changes=diff(held, held), reason="done")


@pytest.mark.parametrize(("suite", "task"), OURS)
def test_an_agent_that_does_nothing_fails_every_task(suite, task):
    """Law 11: a checker is trusted after a do-nothing agent failed it."""
    spec, evidence = nothing_done(suite, task)
    answer = Nop().act(None)

    assert answer == done()
    assert judge(spec, evidence).score == 0.0


@pytest.mark.parametrize(("suite", "task"), OURS)
def test_an_agent_that_says_of_every_task_that_it_cannot_be_done_fails_every_task(suite, task):
    """Law 11: a checker is trusted after an always-FAIL agent failed it."""
    spec, evidence = nothing_done(suite, task)
    answer = AlwaysFail().act(None)
    judged = judge(spec, Evidence(**{**_fields(evidence), "infeasible_answer": True}))

    assert isinstance(answer, Infeasible)
    assert judged.score == 0.0


def _fields(evidence):
    return {name: getattr(evidence, name) for name in evidence.__slots__}


@pytest.mark.parametrize("task", [task.id for task in GYM.tasks if task.id != "LunarLander-v3"])
@pytest.mark.parametrize(("rewards", "reason"), [((), "done"), ((0.0, 0.0), "steps")])
def test_stopping_at_once_or_refused_actions_earn_nothing(task, rewards, reason):
    """Law 11: where each step costs, doing nothing must not be the best return."""
    judged = judge(GYM.task(task).spec({}), Evidence(rewards=rewards, reason=reason))

    assert judged.score == 0.0


def test_an_environment_without_a_range_gives_a_metric_and_no_score():
    judged = judge(GYM.task("LunarLander-v3").spec({}), Evidence(rewards=(-3.5, 1.0)))

    assert judged.score is None
    assert judged.metric == -2.5


def test_a_return_counts_once_the_world_has_ended_the_episode():
    assert returns((-1.0, -1.0), "terminated", -4, 0, ended=True).value == 0.5
    assert returns((-1.0, -1.0), "truncated", -4, 0, ended=True).value == 0.5
    assert returns((-1.0, -1.0), "agent_seconds", -4, 0, ended=True) == Score(
        0.0, "the world did not end the episode (agent_seconds)"
    )


def test_done_and_infeasible_carry_what_the_agent_says():
    assert done(3) == Done(3)
    assert done() == Done(None)
    assert infeasible("no such row") == Infeasible("no such row")


def test_the_random_agent_is_done_where_there_is_nothing_to_draw_from():
    agent = Random()
    agent.start(action_space=None, rng=stream(1, "agent"))

    assert agent.act("anything") == done()


def test_the_random_agent_repeats_itself_on_one_stream_and_on_no_other():
    """Law 9: randomness comes from a named stream."""
    space = {"kind": "discrete", "n": 1000, "start": 0}
    drawn = []
    for seed in (1, 1, 2):
        agent = Random()
        agent.start(action_space=space, rng=stream(seed, "agent"))
        drawn.append([agent.act(None) for _ in range(5)])

    assert drawn[0] == drawn[1] != drawn[2]


def test_each_action_is_drawn_about_as_often():
    source = stream(1, "agent")
    space = {"kind": "discrete", "n": 4, "start": 7}
    drawn = [sample(space, source) for _ in range(4000)]

    assert set(drawn) == {7, 8, 9, 10}
    assert min(drawn.count(action) for action in set(drawn)) > 850


def test_a_kind_of_space_that_cannot_be_drawn_from_is_refused():
    with pytest.raises(AgentError, match="CD-351"):
        sample({"kind": "other", "text": "Graph(...)"}, stream(1))


def spaces_to_draw_from():
    np = pytest.importorskip("numpy")
    spaces = pytest.importorskip("gymnasium").spaces
    return [
        spaces.Discrete(3, start=-5),
        spaces.Box(-2.0, 3.0, (2, 3), np.float32),
        spaces.Box(
            np.array([0, -np.inf, -np.inf]), np.array([np.inf, 0, np.inf]), dtype=np.float64
        ),
        spaces.Box(0, 255, (2, 2), np.uint8),
        spaces.Box(-1.0, 1.0, (), np.float64),
        spaces.MultiDiscrete([[2, 3], [4, 5]], start=[[1, 1], [0, 0]]),
        spaces.MultiBinary((2, 2)),
        spaces.MultiBinary(3),
        spaces.Text(min_length=2, max_length=4, charset="xyz"),
        spaces.Dict(b=spaces.Discrete(2), a=spaces.Tuple([spaces.Box(0, 1, (1,))])),
    ]


@pytest.mark.parametrize("place", range(10))
def test_what_is_drawn_lies_in_the_space(place):
    space = spaces_to_draw_from()[place]
    from cleandesk.bridges.fitting import fitted

    source = stream(place, "agent")
    for _ in range(50):
        assert space.contains(fitted(space, sample(describe_space(space), source)))


def test_the_scripted_agent_refuses_a_task_that_it_has_no_script_for():
    with pytest.raises(AgentError, match="CD-352"):
        Scripted().start(task="make-coffee", goal="Make coffee.", trial=1)
    with pytest.raises(AgentError, match="CD-352"):
        Scripted().start(task="count-all", goal="Count everything.", trial=1)


def test_every_task_of_the_built_in_suites_has_a_script():
    for suite in ("calendar", "calendar_looks", "sessions", "inventory", "gymnasium"):
        for task in load_suite(suite_path(suite)).tasks:
            Scripted().start(task=task.id, goal=task.goal, trial=1)


@pytest.mark.parametrize("task", GYM.tasks, ids=lambda task: task.id)
def test_the_scripted_agent_earns_more_than_the_random_one(task):
    pytest.importorskip("minigrid")
    from cleandesk.bridges.gymnasium import GymWorld

    world = GymWorld(task.world.removeprefix("gym:"), **task.with_)
    totals = {
        agent: sum(_return_of(world, task, agent, seed) for seed in range(1, 7))
        for agent in (Scripted, Random)
    }
    world.close()

    assert totals[Scripted] > totals[Random]


def _return_of(world, task, make, seed):
    agent = make()
    if make is Scripted:
        agent.start(task=task.id, goal=task.goal, trial=1)
    else:
        agent.start(action_space=world.spaces(), rng=stream(seed, "agent"))
    observation, _ = world.reset(seed=seed)
    total = 0.0
    for _ in range(task.limits.steps):
        observation, reward, terminated, truncated, info = world.step(agent.act(observation))

        assert not {"action_error", "observation_error"} & set(info)
        total += reward
        if terminated or truncated:
            break
    return total


def test_a_suite_that_does_not_come_with_cleandesk_is_refused():
    assert suite_path("calendar").name == "calendar.toml"
    with pytest.raises(SuiteError, match="calendar_looks"):
        suite_path("../calendar")
