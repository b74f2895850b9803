"""The conformance suite itself: a surface with one defect breaks the rule that is about it."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest import SkipTest

import pytest

from cleandesk.errors import UsageError
from cleandesk.finding import find
from cleandesk.testing import RuleBrokenError, SurfaceCase, surface_rules

pytestmark = pytest.mark.service


HERE = Path(__file__).parent
CONTRACT = HERE.parent / "contract"
RULES = {str(rule): rule for rule in surface_rules()}
OPTIONS = find("surface", f"{CONTRACT / 'note_writes.py'}:options")
NOTES = find("surface", f"{CONTRACT / 'own_surface.py'}:notes")

FAST_AND_FULL = "the fast path says what the full one says, or that it can't tell"
CANONICAL = "records are canonical, and an edit changes something"
LAW_1 = "law 1: states are equal exactly when their fingerprints are"
LAW_2 = "law 2: looking changes nothing"
LAW_3 = "law 3: what is put back is at base"
WHOLE = "a copy is its base and its delta, and nothing else"
APART = "copies share nothing with each other or with the base"
WRITER = "a writer at work is never taken for nothing"
HOLDER = "who holds a copy open never reaches the next state"
FULL_DISK = "what can't be put back for want of space says CD-241"

# The rule that is about the defect, and those that can't help but see it too.
BROKEN = {
    "OpensWritten": (
        "a fresh copy is at base",
        [
            "what is ignored is in no base and in no delta",
            "a copy that is closed leaves nothing behind",
            LAW_3,
            APART,
            FULL_DISK,
        ],
    ),
    "DrawsItsBase": ("the same source gives the same base", [WHOLE]),
    "MakesWhatIsNotThere": ("a source that is not there is CD-243", []),
    "AnswersAnything": ("a question that can't be asked is CD-419", []),
    "SpellsWithSpaces": (CANONICAL, []),
    "ListsWhatIsTheSame": (CANONICAL, [WHOLE]),
    "ReadsNothing": ("every write is named", [WHOLE]),
    "CountsItsBytes": ("a write that is undone by hand leaves nothing", []),
    "KeepsWhatIsIgnored": ("what is ignored is in no base and in no delta", []),
    "OverlooksNewTables": (WHOLE, ["every write is named"]),
    "DropsSilently": (WHOLE, []),
    "Guesses": (FAST_AND_FULL, [LAW_3, APART]),
    "MissesAField": (FAST_AND_FULL, [LAW_2, LAW_3, APART]),
    "TellsItBackwards": (FAST_AND_FULL, [CANONICAL, LAW_1, LAW_2, LAW_3, APART]),
    "NamesTablesInAnyOrder": (LAW_1, [CANONICAL, FAST_AND_FULL, LAW_2, LAW_3, APART]),
    "SpoilsByLooking": (LAW_2, []),
    "CountsItsLooks": (LAW_2, []),
    "ForgetsATable": (LAW_3, []),
    "Wanders": (LAW_3, [HOLDER]),
    "WritesItsBase": (
        LAW_3,
        [
            APART,
            HOLDER,
            FULL_DISK,
        ],
    ),
    "TakesHalfForNothing": ("what can't be read is never taken for the base", []),
    "Shares": (APART, [LAW_2, HOLDER, FULL_DISK]),
    "StaysInUse": ("a copy that is closed leaves nothing behind", []),
    "RestoresInPlace": (HOLDER, []),
    "IsContentWithHalf": (FULL_DISK, []),
    "TakesARaceForNothing": (WRITER, []),
    "SharesItsTable": ("copies share nothing while both are at work", []),
    "LendsItsBase": ("a crash while it is put back spares the base", [FULL_DISK]),
    "LeavesItsBaseOpen": ("a crash while it is read spares the base", []),
}
SHORT = {str(rule) for rule in surface_rules(long=False)}


def case_of(kind, folder, **more):
    surface = find("surface", f"{HERE / 'broken_surfaces.py'}:{kind}")()
    given = OPTIONS(folder) | more
    terms = NOTES("seed.json", ignore={"notes[*].seen": "a counter"})
    return SurfaceCase(surface=surface, terms=terms, **given)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_defect_breaks_the_rule_that_is_about_it(kind, tmp_path):
    wanted, _ = BROKEN[kind]

    with pytest.raises(RuleBrokenError) as found:
        RULES[wanted](case_of(kind, tmp_path), tmp_path / "places")

    assert f"{kind} breaks a rule: {wanted}\n" in str(found.value)


@pytest.mark.service
@pytest.mark.parametrize("kind", BROKEN)
def test_a_defect_breaks_no_rule_that_is_about_something_else(kind, tmp_path):
    wanted, also = BROKEN[kind]
    case, broken = case_of(kind, tmp_path), set()
    for number, name in enumerate(SHORT):
        try:
            RULES[name](case, tmp_path / str(number))
        except (RuleBrokenError, UsageError):
            broken.add(name)

    assert broken - {wanted} <= {*also}
    assert (wanted in broken) == (wanted in SHORT)


@pytest.mark.service
@pytest.mark.parametrize("rule", RULES.values(), ids=str)
@pytest.mark.parametrize("kind", ["Clean", "TellsAll"])
def test_a_clean_surface_keeps_every_rule(kind, rule, tmp_path):
    rule(case_of(kind, tmp_path), tmp_path / "places")


def test_what_is_found_names_the_write_and_the_field_with_both_values(tmp_path):
    with pytest.raises(RuleBrokenError) as found:
        RULES[FAST_AND_FULL](case_of("MissesAField", tmp_path), tmp_path / "places")

    assert "after change delta() and read() disagree" in str(found.value)
    assert "state.notes[1].text: 'milk' -> 'wine'" in str(found.value)


def test_a_base_that_was_written_is_named_with_its_file(tmp_path):
    with pytest.raises(RuleBrokenError, match=r"base\.json: .* 1\d\d bytes, .* -> .* 1\d\d bytes"):
        RULES[LAW_3](case_of("WritesItsBase", tmp_path), tmp_path / "places")


def test_an_error_of_the_surface_breaks_the_rule_and_is_shown_with_its_lines(tmp_path):
    with pytest.raises(RuleBrokenError) as found:
        RULES[LAW_2](case_of("Fails", tmp_path), tmp_path / "places")

    assert "delta raised" in str(found.value)
    assert "return 1 / 0" in str(found.value)


def test_a_surface_that_ends_its_process_breaks_the_rule(tmp_path):
    with pytest.raises(RuleBrokenError, match="the process ended during delta"):
        RULES[LAW_2](case_of("Ends", tmp_path), tmp_path / "places")


def test_an_answer_that_is_no_delta_breaks_the_rule(tmp_path):
    with pytest.raises(RuleBrokenError, match="it answered with dict, not with a Delta"):
        RULES[LAW_2](case_of("AnswersWithADict", tmp_path), tmp_path / "places")


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("a write that is undone by hand leaves nothing", {"undo": ()}),
        (HOLDER, {"holds": ()}),
        ("what can't be read is never taken for the base", {"spoils": ()}),
        (WHOLE, {"is_source": False}),
    ],
)
def test_a_rule_that_the_case_gives_nothing_for_is_skipped_and_not_passed(name, without, tmp_path):
    with pytest.raises(SkipTest, match=r"the case has no|no source of a base"):
        RULES[name](case_of("Clean", tmp_path, **without), tmp_path / "places")


def test_a_write_that_fails_is_the_fault_of_the_case(tmp_path):
    fails = partial(OPTIONS.__globals__["save"], held={1, 2})

    with pytest.raises(UsageError, match=r"the write save\(held=\{1, 2\}\) fails"):
        RULES[LAW_3](case_of("Clean", tmp_path, writes=[fails]), tmp_path / "places")


def test_a_write_that_another_process_can_not_find_is_refused_at_once(tmp_path):
    with pytest.raises(UsageError, match="can't be found by another process"):
        case_of("Clean", tmp_path, writes=[lambda _: None])


def test_a_case_without_writes_is_refused(tmp_path):
    with pytest.raises(UsageError, match="shows nothing"):
        case_of("Clean", tmp_path, writes=[])


def test_rules_that_share_a_base_keep_it_apart_from_their_folders(tmp_path):
    case = case_of("Clean", tmp_path, slow=True)
    for name in (LAW_2, APART):
        RULES[name](case, tmp_path / str(len(name)))

    assert list(tmp_path.rglob("base.json")) == []


def test_each_rule_is_a_sentence_of_its_own():
    assert len(RULES) == len(surface_rules())
    assert {*RULES} > SHORT


def test_no_process_outlives_the_one_that_ran_a_rule(tmp_path, marked):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from test_testing import RULES, LAW_2, case_of\n"
        "RULES[LAW_2](case_of('Clean', Path(sys.argv[2])), Path(sys.argv[2], 'places'))\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(HERE), str(tmp_path)],
        env=marked.environment,
        check=True,
    )

    assert marked.all_gone()


def test_the_suite_needs_no_test_runner():
    script = "import sys, cleandesk.testing; print('pytest' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
