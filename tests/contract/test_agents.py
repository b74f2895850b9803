"""Every shape of agent that is promised, each driven through its own process."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import pytest

from cleandesk.channel import Channel, ChannelTimeoutError
from cleandesk.errors import AgentError
from cleandesk.run.agent_link import AgentLink, AgentTimeoutError
from cleandesk.run.blame import Blame, Fault
from cleandesk.run.naming import agent_reference
from cleandesk.seeding import key
from cleandesk.state import decode, encode

pytestmark = pytest.mark.service


SHAPES = Path(__file__).parent / "shapes.py"
PROGRAM = Path(__file__).parents[1] / "faults" / "worlds" / "program.py"
GOAL = {"goal": "Do it.", "task": "t", "max_steps": 9, "action_space": None, "tools": None}


def program(fails):
    return f"cmd:{sys.executable} {PROGRAM} {fails}"


class Player:
    """Plays episodes with one agent process, as the episode loop does, without a world."""

    def __init__(self, reference, output):
        hello = {"core": None, "debug": False, "network": [], "path": [], "reference": reference}
        self.link = AgentLink(hello, output)
        self.link.ready()

    def begin(self, trial=1):
        settings = {**GOAL, "stream": key(1, "agent", "t", trial).hex(), "trial": trial}
        self.link.begin(settings, encode(["first"]), encode({}))

    def play(self, trial=1, most=10):
        """Return the actions, and the last turn."""
        self.begin(trial)
        seen, actions = ["first"], []
        while (turn := self.link.turn(20)).kind == b"A" and len(actions) < most:
            actions.append(decode(turn.payload))
            seen.append(f"step {len(actions)}")
            self.link.tell(b"O", [encode(seen), encode(0.0), b"00", encode({})])
        self.link.dismiss()
        return actions, turn


@pytest.fixture
def player(tmp_path):
    players = []

    def opened(reference):
        name = reference if ":" in reference else f"{SHAPES}:{reference}"
        players.append(Player(name, tmp_path / "roles.log"))
        return players[-1]

    yield opened
    for each in players:
        each.link.stop()


@pytest.mark.parametrize(
    "shape",
    [
        "Acts",
        "ActsAsynchronously",
        "function",
        "asynchronous",
        "Plays",
        "PlaysAndReturns",
        "PlaysAsynchronously",
        "Mutates",
        program("clean"),
    ],
)
def test_every_shape_acts_on_what_it_sees_and_answers_and_is_new_for_each_episode(player, shape):
    agent = player(shape)

    for _ in range(2):
        actions, last = agent.play()
        assert actions == [{"seen": ["first"]}, {"seen": ["first", "step 1"]}]
        assert (last.kind, decode(last.payload)) == (b"D", {"goal": "kept", "steps": 2})


@pytest.mark.parametrize("shape", ["SaysInfeasible", program("infeasible")])
def test_an_agent_may_say_that_the_task_cannot_be_done(player, shape):
    _, last = player(shape).play()

    assert (last.kind, decode(last.payload)) == (b"F", "can't be done")


def test_start_is_given_what_it_asks_for_by_name(player):
    agent = player("AsksByName")
    told = [decode(agent.play(trial)[1].payload) for trial in (1, 1, 2)]

    assert told[0][:6] == ["Do it.", 1, 9, "t", None, None]
    assert told[0][7] == "Do it."
    # The stream is the trial's: the same again, and another one for another trial.
    assert told[0] == told[1]
    assert told[0][6] != told[2][6]


def test_start_with_any_names_is_given_all_there_are(player):
    _, last = player("AsksForEverything").play()

    assert decode(last.payload) == sorted([*GOAL, "rng", "trial"])


def test_the_global_generator_begins_where_the_trial_does(player):
    agent = player("DrawsGlobally")
    drawn = [decode(agent.play(trial)[1].payload) for trial in (1, 2, 1)]

    assert drawn[0] == drawn[2] != drawn[1]


def test_what_an_asynchronous_agent_left_running_ends_with_its_episode(player):
    agent = player("Ticks")
    first, second, third = (decode(agent.play()[1].payload) for _ in range(3))

    assert second[0] - first[0] == third[0] - second[0] > 0
    assert [ended for _, ended in (first, second, third)] == [0, 1, 2]


@pytest.mark.parametrize("shape", ["Swallows", "Forwards", "Acts"])
def test_an_episode_that_the_harness_ends_ends_and_the_process_serves_the_next(player, shape):
    agent = player(shape)
    pid = agent.link._role.pid

    agent.begin()
    assert agent.link.turn(20).kind == b"A"
    agent.link.dismiss([encode(["first"]), encode(0.0), b"10", encode({})])
    agent.begin()
    assert agent.link.turn(20).kind == b"A"
    agent.link.dismiss()
    assert agent.link._role.pid == pid


def test_usage_is_what_was_reported_since_the_last_turn(player):
    agent = player(program("clean"))
    for _ in range(2):
        agent.begin()
        turn = agent.link.turn(20)
        assert turn.usage == {"tokens": 5, "usd": 0.0}
        agent.link.dismiss()


def test_usage_that_is_reported_after_the_last_word_counts(player):
    agent = player("ReportsLate")
    agent.begin()

    assert agent.link.turn(20).usage == {}
    assert agent.link.dismiss() == {"tokens": 7, "usd": 0.5}


def test_what_a_program_left_running_ends_with_its_episode(player, tmp_path, ends):
    player(program("leaves")).play()

    left = re.search(r"left (\d+) behind", (tmp_path / "roles.log").read_text())
    assert ends([int(left[1])]) == []


@pytest.mark.parametrize(
    ("fails", "blame", "code", "text"),
    [
        ("exits", Blame.AGENT, "CD-303", "ended with status 3 before it was done"),
        ("junk", Blame.AGENT, "CD-305", "'I think that I should click', which is no JSON object"),
        ("list", Blame.AGENT, "CD-305", "which is no JSON object"),
        ("much", Blame.AGENT, "CD-304", "more than 16 MB in one line"),
        ("closes", Blame.AGENT, "CD-303", "closed its output before it was done"),
        ("keyless", Blame.AGENT, "CD-305", "its keys are ['thought']"),
        ("usage", Blame.AGENT, "CD-305", "a usage of [1, 2], which is no object"),
        ("error", Blame.AGENT, "CD-306", "reports an error: no idea"),
        ("provider", Blame.PROVIDER, "CD-311", "reports its provider: 429"),
    ],
)
def test_a_program_that_fails_is_told_how(player, fails, blame, code, text):
    with pytest.raises(Fault) as caught:
        player(program(fails)).play()

    assert (caught.value.blame, caught.value.code) == (blame, code)
    assert text in caught.value.message


def test_after_a_program_that_failed_the_next_episode_has_a_new_one(player):
    agent = player(program("exits"))

    for _ in range(2):
        with pytest.raises(Fault, match="ended with status 3"):
            agent.play()


def test_a_program_that_is_silent_is_ended_and_the_next_episode_has_a_new_one(player):
    agent = player(program("silent"))

    for _ in range(2):
        agent.begin()
        with pytest.raises(AgentTimeoutError):
            agent.link.turn(0.2)
        assert agent.link._role is None


def test_what_a_program_prints_to_standard_error_is_kept(player, tmp_path):
    player(program("clean")).play()

    assert "heard start\nheard step\nheard step\n" in (tmp_path / "roles.log").read_text()


@pytest.mark.parametrize(
    ("reference", "code", "text"),
    [
        ("no-such-agent", "CD-301", "there is no agent named 'no-such-agent'"),
        ("no_such_module:Agent", "CD-301", "there is no module 'no_such_module'"),
        ("no_such_file.py:Agent", "CD-301", "there is no file 'no_such_file.py'"),
        (f"{SHAPES}:Actss", "CD-301", "has no 'Actss'"),
        (f"{SHAPES}:Neither", "CD-302", "neither act(observation) nor play(session)"),
        (f"{SHAPES}:a_value", "CD-302", "is a int, no agent"),
        (f"{SHAPES}:Demanding", "CD-302", "without arguments: missing a required argument"),
        ("cmd:no-such-program --now", "CD-301", "there is no program 'no-such-program'"),
        ("cmd:'unbalanced", "CD-301", "this is no command line"),
    ],
)
def test_an_agent_that_cannot_be_used_is_refused_when_it_is_loaded(reference, code, text):
    hello = {"core": None, "debug": False, "network": [], "path": [], "reference": reference}
    link = AgentLink(hello, None)
    with pytest.raises(AgentError) as caught:
        link.ready()
    link.stop()

    assert caught.value.code == code
    assert text in caught.value.message


def test_an_agent_whose_module_ends_the_process_is_refused_when_it_is_loaded(tmp_path):
    (tmp_path / "ends.py").write_text("import os\nos._exit(4)\n")
    hello = {"core": None, "debug": False, "network": [], "path": [str(tmp_path)]}
    link = AgentLink({**hello, "reference": "ends:Agent"}, None)
    with pytest.raises(AgentError) as caught:
        link.ready()

    assert caught.value.code == "CD-307"


class HereAgent:
    def act(self, observation):
        return observation


def test_a_class_or_function_is_named_so_that_another_process_finds_it():
    assert agent_reference(HereAgent) == f"{__name__}:HereAgent"
    assert agent_reference("file.py:Agent") == "file.py:Agent"


@pytest.mark.parametrize(
    "agent",
    [HereAgent(), HereAgent().act, lambda observation: observation, functools.partial(print), 7],
    ids=["instance", "bound method", "lambda", "partial", "number"],
)
def test_an_object_that_another_process_would_not_find_is_refused(agent):
    with pytest.raises(AgentError) as caught:
        agent_reference(agent)

    assert caught.value.code == "CD-308"


def test_an_agent_that_reads_nothing_holds_nothing_up():
    one, other = Channel.pair()
    one.limit_sends()
    with one, other, pytest.raises(ChannelTimeoutError):
        one.send(b"O", b"x" * 10_000_000, timeout_s=0.05)
