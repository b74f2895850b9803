"""What an episode leaves in a shared world's process is named with the step that left it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.service


WORLD = """
import os, random, socket, subprocess, tempfile, threading
import cleandesk as cd
from cleandesk.surfaces.process import process

class Workshop:
    contract = cd.contract(
        "workshop", "1", desk=cd.objects("turns"),
        own=process(incidental=["children", "environment", "random"]),
    )
    pays = "end"

    def __init__(self, at):
        os.environ["WORKSHOP"] = "open"
        gate = threading.Event()
        threading.Thread(target=gate.wait, daemon=True).start()
        self.held = [socket.create_server(("127.0.0.1", 0)), tempfile.TemporaryFile(),
                     tempfile.NamedTemporaryFile()]

    def reset(self, *, seed=None, options=None):
        random.seed(seed)
        self.turns = 0
        return {}, {}

    def step(self, action):
        self.turns += 1
        random.random()
        if action == "leave":
            os.environ["LEFT"] = "1"
            self.held.append(subprocess.Popen(["sleep", "60"]))
        return {}, 0.0, False, False, {}

    def close(self):
        pass

class Player:
    def start(self, goal):
        self.moves = [goal]

    def act(self, observation):
        return self.moves.pop() if self.moves else cd.done()
"""


@pytest.fixture(scope="module")
def played(suites):
    path = suites.folder / "workshop.py"
    path.write_text(WORLD)

    def play(goal, isolation):
        task = {"id": "turn", "goal": goal, "expect": {"changed": {"desk.turns": {"to": 1}}}}
        top = {"world": f"{path}:Workshop"}
        chosen = {"isolation": isolation, "trials": 2, "on_wrong_start": "record"}
        return suites.run([task], f"{path}:Player", top, **chosen)

    return play


def test_what_is_left_in_the_process_is_named_with_its_step(played):
    ran = played("leave", "shared")
    start = ran.kinds("turn/1-2", "start")[0]

    assert ran.result.starts["wrong"] == 1
    wanted = {"episode": "turn/1-1", "step": 1}
    assert start["writers"] == {
        "own.children[sleep 60]": wanted,
        "own.environment.LEFT": wanted,
    }


@pytest.mark.parametrize("isolation", ["fork", "shared"])
def test_a_clean_twin_starts_right_though_it_holds_threads_sockets_and_files(played, isolation):
    ran = played("work", isolation)

    assert (ran.result.starts["wrong"], ran.result.proven) == (0, True)
