"""Checkers with one planted defect each are refused at load; the clean twin is not."""

from __future__ import annotations

import functools
import itertools

import pytest

from cleandesk.checkers import load_checker
from cleandesk.checkers.load import checked
from cleandesk.errors import CheckerError

_COUNT = itertools.count()

CLEAN = "def check(task, answer, word='x'):\n    return word in answer\n"
DEFECTS = {
    "assert": ("def check(answer):\n    assert answer\n    return 1\n", "CD-504", "assert answer"),
    "assert inside": (
        "def check(answer):\n    def inner():\n        assert answer == 1, 'no'\n    return inner\n",
        "CD-504",
        "assert answer == 1",
    ),
    "asynchronous": ("async def check(answer):\n    return 1\n", "CD-510", "asynchronous"),
    "generator": ("def check(answer):\n    yield 1\n", "CD-510", "generator"),
    "class": ("class check:\n    pass\n", "CD-510", "not a function"),
    "constant": ("check = 5\n", "CD-510", "not a function"),
    "starred": ("def check(*args):\n    return 1\n", "CD-510", "\\*args"),
    "keywords": ("def check(**kw):\n    return 1\n", "CD-510", "\\*\\*kw"),
    "by position": ("def check(answer, /):\n    return 1\n", "CD-510", "answer"),
    "another name": ("def chekc(answer):\n    return 1\n", "CD-501", "has no 'check'"),
    "raises on import": ("1 / 0\n", "CD-501", "ZeroDivisionError"),
    "no Python": ("def check(:\n", "CD-501", "SyntaxError"),
}


def load(tmp_path, text):
    name = f"planted_{next(_COUNT)}.py"
    (tmp_path / name).write_text(text)
    return load_checker(f"{name}:check", folders=[tmp_path])


def test_clean_twin_is_loaded_with_what_it_asks_for(tmp_path):
    checker = load(tmp_path, CLEAN)

    assert (checker.required, checker.optional) == (("task", "answer"), ("word",))
    assert checker.asks({}) == ("task", "answer")
    assert checker.asks({"word": "y"}) == ("task", "answer")


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defect_is_refused_and_named(tmp_path, defect):
    text, code, said = DEFECTS[defect]

    with pytest.raises(CheckerError, match=said) as caught:
        load(tmp_path, text)

    assert caught.value.code == code
    assert caught.value.do


def test_assert_is_refused_with_its_line_and_the_form_to_use(tmp_path):
    with pytest.raises(CheckerError) as caught:
        load(tmp_path, "import os\n\ndef check(answer):\n    x = 1\n    assert x == answer\n")

    assert caught.value.where.endswith(".py, line 5")
    assert 'write `if not (x == answer): return cleandesk.fail("why")`' in caught.value.do


@pytest.mark.parametrize(
    ("text", "given", "said", "do"),
    [
        ("def check(answr): return 1\n", {}, "asks for 'answr'", "trajectory, rewards, actions"),
        ("def check(answer): return 1\n", {"word": 1}, "no argument 'word'", "nothing"),
        ("def check(word): return 1\n", {"wrod": 1}, "no argument 'wrod'", "word"),
        ("def check(answer): return 1\n", {"answer": 1}, "no argument 'answer'", "nothing"),
    ],
)
def test_arguments_that_do_not_fit_are_named_with_those_that_do(tmp_path, text, given, said, do):
    checker = load(tmp_path, text)

    with pytest.raises(CheckerError, match=said) as caught:
        checker.asks(given)

    assert caught.value.code == "CD-505"
    assert do in caught.value.do


@pytest.mark.parametrize("ref", ["no_such_checker", "no_such_module:f", "none.py:f"])
def test_a_checker_that_is_not_there_is_named(ref):
    with pytest.raises(CheckerError, match="no") as caught:
        load_checker(ref)

    assert caught.value.code == "CD-501"


def test_a_callable_without_source_is_a_checker():
    part = functools.partial(lambda answer, n: answer == n, n=3)

    assert checked(part, "part").optional == ("n",)


def test_two_folders_may_each_have_a_file_of_one_name(tmp_path):
    for name, value in (("one", 1), ("two", 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.py").write_text(f"def check(): return {value}\n")

    one = load_checker("same.py:check", folders=[tmp_path / "one"])
    two = load_checker("same.py:check", folders=[tmp_path / "two"])

    assert (one.function(), two.function()) == (1, 0)
