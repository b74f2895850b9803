"""The plugin up to where an environment is judged; what starts processes is in test_judging.py."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

import cleandesk.report.assertion  # noqa: F401 - numpy can't be imported once for each inner run

pytest_plugins = ["pytester"]

IS_INSTALLED = bool(metadata.entry_points(group="pytest11", name="cleandesk"))
MARKED = """
    import pytest

    @pytest.mark.reset_certificate("gym:A-v0", "gym:B-v0", episodes=3)
    def test_marked():
        pass

    def test_other():
        pass
"""


@pytest.fixture
def inner(pytester):
    """Runs pytest on a file with this text; returns what it said."""
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\nfilterwarnings = ['error']\n")
    loaded = () if IS_INSTALLED else ("-p", "cleandesk_pytest")

    def run(text, *arguments):
        pytester.makepyfile(text)
        given = ("--strict-markers", "-p", "no:cacheprovider", *loaded, *arguments)
        return pytester.runpytest(*given)

    return run


def test_marker_makes_a_case_of_each_world(inner):
    said = inner(MARKED, "--collect-only", "-q")

    assert [line.partition("::")[2] for line in said.outlines[:3]] == [
        "test_marked[gym:A-v0]",
        "test_marked[gym:B-v0]",
        "test_other",
    ]


def test_what_is_marked_is_selected_as_a_reset(inner):
    said = inner(MARKED, "--collect-only", "-q", "-m", "reset")

    said.stdout.fnmatch_lines(["2/3 tests collected (1 deselected)*"])


def test_what_calls_assert_resets_is_selected_as_a_reset(inner):
    text = """
        import pytest
        import cleandesk as cd
        from cleandesk.report.assertion import assert_resets

        @pytest.mark.parametrize("env", ["A", "B"])
        def test_called(env):
            assert_resets(f"gym:{env}")

        def test_called_by_attribute():
            cd.assert_resets("gym:A")

        def test_with_the_fixture(assert_resets):
            assert_resets("gym:A")

        def test_other():
            pass
    """
    said = inner(text, "--collect-only", "-q", "-m", "reset")

    said.stdout.fnmatch_lines(["4/5 tests collected (1 deselected)*"])
    said.stdout.no_fnmatch_line("*test_other*")


def test_marker_can_be_applied_to_a_function_or_class_that_makes_a_world(inner):
    text = """
        import pytest

        class Desk: pass

        @pytest.mark.reset_certificate.with_args(Desk)
        def test_marked(reset_certificate): pass
    """

    assert "::test_marked[Desk]\n" in inner(text, "--collect-only", "-q").stdout.str()


def test_marker_without_a_world_is_bad_usage(inner):
    text = """
        import pytest

        @pytest.mark.reset_certificate(episodes=3)
        def test_marked(): pass
    """
    said = inner(text)

    said.stdout.fnmatch_lines(["*test_marked: name what is judged: *gym:CartPole-v1*"])


def test_marker_of_a_class_holds_for_its_methods(inner):
    text = """
        import pytest

        @pytest.mark.reset_certificate("gym:A-v0")
        class TestAll:
            def test_one(self): pass
            def test_two(self, reset_certificate): pass
    """
    said = inner(text, "--setup-plan", "-q")

    assert said.stdout.str().count("SETUP    F reset_certificate['gym:A-v0']") == 2


def test_fixture_without_its_marker_says_what_is_missing(inner):
    said = inner("def test_it(reset_certificate): pass")

    said.assert_outcomes(errors=1)
    said.stdout.fnmatch_lines(["*test_it: mark it with @pytest.mark.reset_certificate(*"])


def test_lambda_is_refused_with_what_to_pass_instead(inner):
    text = """
        def test_it(assert_resets):
            assert_resets(lambda: None)
    """
    said = inner(text)

    said.assert_outcomes(failed=1)
    said.stdout.fnmatch_lines(
        ["*CD-875 a lambda can't be made in another process*", "*top of a module*"]
    )
    # Nothing of ours stands between the test's own line and the error.
    assert "def reference_of" not in said.stdout.str()


def test_options_and_markers_are_in_the_help(inner):
    assert "--reset-budget=SECONDS" in inner("", "--help").stdout.str()
    assert "@pytest.mark.reset_certificate(" in inner("", "--markers").stdout.str()


def test_wrong_option_in_pyproject_is_named(inner, pytester):
    pytester.makepyprojecttoml("[tool.cleandesk.certify]\nepisode = 3\n")
    said = inner(MARKED, "-m", "reset")

    said.assert_outcomes(errors=2, deselected=1)
    said.stdout.fnmatch_lines(["*CD-872 there is no option 'episode'*", "*'episodes'?*"])


def test_plugin_imports_nothing_of_cleandesk():
    code = "import sys, cleandesk_pytest; print([x for x in sys.modules if x[:9] == 'cleandesk'])"
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert found == "['cleandesk_pytest']\n"
