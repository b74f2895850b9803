from __future__ import annotations

import pytest

from cleandesk.cli.settings import Chosen, settings_for
from cleandesk.errors import UsageError

FULL = """
[tool.cleandesk.certify]
episodes = 3
steps = 100
seeds = [1, 2, 3]
ep-seeds = [4, 5, 6]
reset = "unseeded"
declare = { "env.level" = "integers 0 9" }
pin = ["global-rng"]
kwargs = { control = "osc", size = 3 }
budget = 20
known = "tickets/known.toml"
no-trace = true
no-explain = true
order = true

[tool.cleandesk.certify."gym:robots/*"]
episodes = 2
kwargs = { size = 4 }

[tool.cleandesk.certify."gym:robots/Peg-v1"]
budget = 5.5
"""


@pytest.fixture
def project(tmp_path):
    def write(text):
        (tmp_path / "pyproject.toml").write_text(text)
        return tmp_path

    return write


def test_every_option_can_stand_in_the_table(project):
    folder = project(FULL)
    call = settings_for("gym:Other-v0", folder).to_call()

    assert call == {
        "arguments": {"control": "osc", "size": 3},
        "episodes": 3,
        "steps": 100,
        "seeds": (1, 2, 3),
        "episode_seeds": (4, 5, 6),
        "reset": "unseeded",
        "declare": ("env.level=integers 0 9",),
        "pin": ("global-rng",),
        "budget_s": 20,
        "trace": False,
        "explain": False,
        "order": True,
    }


def test_the_longest_name_that_fits_is_the_last_word_and_tables_are_merged(project):
    found = settings_for("gym:robots/Peg-v1", project(FULL))

    assert (found.episodes, found.budget) == (2, 5.5)
    assert found.kwargs == {"control": "osc", "size": 4}
    assert found.steps == 100


def test_file_is_named_relative_to_the_one_that_names_it(project):
    folder = project(FULL)

    assert settings_for("x", folder).known == str(folder / "tickets" / "known.toml")


def test_nearest_file_upwards_is_read(project):
    folder = project(FULL)
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    assert settings_for("x", below).episodes == 3

    (folder / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")

    assert settings_for("x", below) == Chosen()


def test_command_line_is_the_last_word():
    chosen = Chosen(episodes=1, kwargs={"a": 1}, no_trace=True)
    lower = Chosen(episodes=9, steps=7, kwargs={"a": 2, "b": 3})

    assert chosen.over(lower) == Chosen(episodes=1, steps=7, kwargs={"a": 1, "b": 3}, no_trace=True)


def test_what_is_left_open_is_left_to_the_instrument():
    assert Chosen().to_call() == {}


@pytest.mark.parametrize(
    ("text", "message", "do"),
    [
        ("[tool.cleandesk.certify]\nepisode = 3", "no option 'episode'", "'episodes'?"),
        ("[tool.cleandesk.certify]\nxyzzy = 3", "no option 'xyzzy'", "the options are: budget,"),
        ("[tool.cleandesk.certify]\nepisodes = 'x'", "$.episodes", "of that type"),
        ("[tool.cleandesk.certify]\npin = ['moon']", "moon", "of that type"),
        ('[tool.cleandesk.certify."gym:Z-v0"]\nseed = 3', "no option 'seed'", "'seeds'?"),
        ("[tool.cleandesk.certify", "can't be read", "mend the file"),
        ("tool = 3", "can't be read", "mend the file"),
    ],
)
def test_wrong_table_is_refused_with_what_where_and_what_to_do(project, text, message, do):
    with pytest.raises(UsageError) as caught:
        settings_for("gym:Any-v0", project(text))

    assert caught.value.code == "CD-872"
    assert message in caught.value.message
    assert "pyproject.toml" in caught.value.where
    assert do in caught.value.do


def test_wrong_table_of_another_rig_is_found_too(project):
    text = '[tool.cleandesk.certify."gym:Z-v0"]\nseed = 3'
    with pytest.raises(UsageError) as caught:
        settings_for("gym:A-v0", project(text))

    assert '[tool.cleandesk.certify."gym:Z-v0"]' in caught.value.where
