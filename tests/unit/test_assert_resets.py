"""What ``assert_resets`` is given, and what it says; the judging is in tests/plugin."""

from __future__ import annotations

import functools
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cleandesk.audit.certificate.certificate import Certificate, Class, Leak, Profile
from cleandesk.audit.certificate.known import Known, settle
from cleandesk.errors import UsageError
from cleandesk.report.assertion import assert_resets, reference_of, require_clean

CLEAN = Certificate(
    "gym:X-v0: X",
    "seeded",
    Class.BIT_IDENTICAL,
    "no field differs",
    Profile(5, 750, (1,), (2,), "mixed"),
    stamp={"reference": "gym:X-v0"},
)
LEAKY = replace(
    CLEAN,
    cls=Class.FAIL,
    reason="the reset does not restore env.level",
    leaks=(Leak("env.level", "leak", "0", "3", (1,), is_confirmed=True),),
)
OPEN = [Class.REFUSED, Class.STATE_ONLY]


def make():
    """A factory at the top of a module."""


class Nest:
    class Egg:
        pass

    def lay(self):
        pass


def settled(certificate, **known):
    return settle(certificate, Known.parse(known))


def failure(certificate, **known):
    with pytest.raises(AssertionError) as caught:
        require_clean(settled(certificate, **known))
    return str(caught.value)


def test_reference_is_taken_as_it_is():
    assert reference_of("gym:X-v0") == ("gym:X-v0", (str(Path.cwd()),))


def test_function_of_a_module_is_named_where_another_process_finds_it(tmp_path, monkeypatch):
    (tmp_path / "nests").mkdir()
    (tmp_path / "nests" / "eggs.py").write_text("def lay(): pass\n")
    (tmp_path / "nests" / "__init__.py").write_text("def hatch(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    eggs = importlib.import_module("nests.eggs")
    nests = sys.modules["nests"]

    assert reference_of(eggs.lay) == ("nests.eggs:lay", (str(tmp_path),))
    assert reference_of(nests.hatch) == ("nests:hatch", (str(tmp_path),))


def test_function_of_this_very_module_can_be_found():
    reference, (folder,) = reference_of(make)
    where = reference.removesuffix(":make")

    assert Path(folder, *where.split(".")).with_suffix(".py") == Path(__file__)


def test_class_in_a_class_can_be_found():
    assert reference_of(Nest.Egg)[0].endswith(":Nest.Egg")


def test_module_under_a_name_that_its_place_does_not_give_it_is_named_by_its_file(monkeypatch):
    odd = SimpleNamespace(__name__="odd", __file__=__file__)
    monkeypatch.setitem(sys.modules, "odd", odd)
    monkeypatch.setattr(Nest, "__module__", "odd")

    assert reference_of(Nest) == (f"{__file__}:Nest", (str(Path(__file__).parent),))


@pytest.mark.parametrize(
    ("world", "message", "do"),
    [
        (lambda: None, "a lambda can't be made", "'package.module:make'"),
        (functools.partial(make), "a functools.partial", "arguments={...}"),
        (Nest().lay, "a method", "'package.module:make'"),
        (SimpleNamespace(), "a SimpleNamespace, which is no function", "that makes it"),
        (
            SimpleNamespace(spec=SimpleNamespace(id="Reach-v2")),
            "a SimpleNamespace that is built already",
            "pass 'gym:Reach-v2'",
        ),
        (
            SimpleNamespace(
                spec=SimpleNamespace(id="Reach-v2", entry_point="myrobots.reach:Reach")
            ),
            "that is built already",
            "pass 'gym:myrobots:Reach-v2'",
        ),
        (3, "a int, which is no function", "that makes it"),
        (len, "", "'package.module:make'"),
    ],
)
def test_what_no_other_process_can_make_is_refused_with_what_to_pass(world, message, do):
    """C-2."""
    with pytest.raises(UsageError) as caught:
        assert_resets(world)

    assert caught.value.code == "CD-875"
    assert message in caught.value.message
    assert do in caught.value.do


def test_function_inside_a_function_is_refused():
    def inner():
        pass

    with pytest.raises(UsageError, match="which no module holds at its top"):
        assert_resets(inner)


def test_pass_passes():
    require_clean(settled(CLEAN))


def test_failure_is_the_first_screen_and_the_command_for_the_rest():
    """C-95."""
    text = failure(LEAKY)

    assert text.startswith("FAIL  FAIL  gym:X-v0: X\nthe reset does not restore env.level\n")
    assert text.endswith("\nfor the rest: cleandesk certify gym:X-v0")
    assert "known" not in text


def test_failure_that_is_wholly_known_passes():
    """C-54."""
    require_clean(settled(LEAKY, level="ROB-311"))


def test_known_leak_that_is_fixed_fails():
    assert "NOT AS LISTED: known and no longer found: level" in failure(CLEAN, level="ROB-311")


def test_leak_beside_a_known_one_fails():
    both = replace(LEAKY, leaks=(*LEAKY.leaks, Leak("env.wear", "leak", "0", "1")))
    text = failure(both, level="ROB-311")

    assert "NOT AS LISTED: not known: env.wear" in text
    assert "known as ROB-311" in text


@pytest.mark.parametrize("cls", [*OPEN, Class.ERROR])
def test_what_is_not_decided_fails(cls):
    assert failure(replace(CLEAN, cls=cls)).startswith(f"UNKNOWN  {cls}  ")


@pytest.mark.parametrize("cls", OPEN)
def test_what_is_not_decided_passes_on_request(cls):
    require_clean(settled(replace(CLEAN, cls=cls)), allow_unknown=True)


@pytest.mark.parametrize("certificate", [LEAKY, replace(CLEAN, cls=Class.ERROR)])
def test_neither_a_failure_nor_an_error_passes_on_that_request(certificate):
    with pytest.raises(AssertionError):
        require_clean(settled(certificate), allow_unknown=True)
