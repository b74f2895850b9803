"""Leaks that have a ticket: strict both ways."""

from __future__ import annotations

import pytest

from cleandesk.audit.certificate.certificate import (
    Boundary,
    Certificate,
    Check,
    Class,
    DeclaredField,
    Divergence,
    Leak,
    Profile,
)
from cleandesk.audit.certificate.known import Known, read_known, settle
from cleandesk.errors import UsageError
from cleandesk.verdict import Status

PROFILE = Profile(5, 750, (1,), (101,), "mixed")
APART = Divergence(1, 7, "observation", "0", "1")
ALIAS = Check("alias", Status.FAIL, "it changed", blocks=True)


def certificate(cls=Class.FAIL, **more):
    return Certificate("gym:Foo-v1", "seeded", cls, "because", PROFILE, **more)


def leak(path, *, kind="leak", is_confirmed=True):
    return Leak(path, kind, "0", "1", (1,), is_confirmed)


def known(**tickets):
    return Known.parse({path.replace("__", "."): ticket for path, ticket in tickets.items()})


NOTHING = Known()
LEVEL = known(env__level="ROB-311")


def test_a_pass_is_as_known_where_nothing_is_known():
    assert settle(certificate(Class.BIT_IDENTICAL), NOTHING).is_as_known
    assert settle(certificate(Class.STATE_CLEAN), NOTHING).is_as_known


# certificate: C-54
def test_a_known_leak_that_explains_the_divergence_is_as_known_and_has_its_ticket():
    """C-54."""
    found = settle(certificate(leaks=(leak("env.level"),), first_divergence=APART), LEVEL)

    assert found.is_as_known
    assert (found.new, found.fixed, found.why) == ((), (), "")
    assert found.certificate.leaks[0].ticket == "ROB-311"
    assert found.certificate.cls is Class.FAIL


def test_a_pattern_names_a_field_and_all_below_it_also_without_its_root():
    leaks = (leak("env.level.x"), leak("env.level.y"))

    assert settle(certificate(leaks=leaks), LEVEL).is_as_known
    assert settle(certificate(leaks=leaks), known(level="ROB-311")).is_as_known


def test_a_leak_that_is_not_known_is_new():
    leaks = (leak("env.level"), leak("env.cache"))
    found = settle(certificate(leaks=leaks, first_divergence=APART), LEVEL)

    assert not found.is_as_known
    assert found.new == ("env.cache",)
    assert found.why == "not known: env.cache"
    assert [each.ticket for each in found.certificate.leaks] == ["ROB-311", ""]


def test_a_fail_of_which_nothing_is_known_is_new():
    found = settle(certificate(leaks=(leak("env.level"),)), NOTHING)

    assert (found.is_as_known, found.new) == (False, ("env.level",))


# certificate: C-54
def test_a_known_leak_that_is_gone_is_fixed_and_no_longer_passes():
    """C-54."""
    found = settle(certificate(Class.BIT_IDENTICAL), LEVEL)

    assert not found.is_as_known
    assert (found.new, found.fixed) == ((), ("env.level",))
    assert found.why == "known and no longer found: env.level"


def test_one_known_leak_that_is_gone_beside_one_that_stands_does_not_pass():
    both = known(env__level="ROB-311", env__cache="ROB-312")
    found = settle(certificate(leaks=(leak("env.level"),)), both)

    assert (found.is_as_known, found.fixed) == (False, ("env.cache",))


def test_a_divergence_that_the_known_leaks_were_not_shown_to_explain_does_not_pass():
    leaks = (leak("env.level", is_confirmed=False),)
    found = settle(certificate(leaks=leaks, first_divergence=APART), LEVEL)

    assert not found.is_as_known
    assert found.new == ("unnamed",)
    assert found.why == "no known leak was shown to explain the divergence"


def test_one_leak_that_is_not_confirmed_leaves_the_divergence_unexplained():
    leaks = (leak("env.level"), leak("env.level.x", is_confirmed=False))

    assert settle(certificate(leaks=leaks, first_divergence=APART), LEVEL).new == ("unnamed",)


def test_without_a_trace_there_is_no_divergence_to_be_explained():
    assert settle(certificate(leaks=(leak("env.level", is_confirmed=False),)), LEVEL).is_as_known


def test_an_echo_need_not_be_known_and_keeps_an_entry_that_names_it():
    leaks = (leak("env.level"), leak("env.score", kind="echo", is_confirmed=False))
    found = certificate(leaks=leaks, first_divergence=APART)

    assert settle(found, LEVEL).is_as_known
    assert settle(found, known(env__level="ROB-311", env__score="ROB-1")).is_as_known


@pytest.mark.parametrize("entry", ["unnamed", "*"])
def test_a_fail_that_names_no_field_can_be_known(entry):
    found = certificate(first_divergence=APART)

    assert settle(found, NOTHING).new == ("unnamed",)
    assert settle(found, known(**{entry: "ROB-9"})).is_as_known
    assert settle(certificate(Class.BIT_IDENTICAL), known(**{entry: "ROB-9"})).fixed == (entry,)


def test_an_unnamed_entry_is_fixed_once_the_leaks_explain_the_divergence():
    entries = known(env__level="ROB-311", unnamed="ROB-9")
    found = certificate(leaks=(leak("env.level"),), first_divergence=APART)

    assert settle(found, entries).fixed == ("unnamed",)


def test_a_check_that_fails_can_be_known_by_its_name():
    found = certificate(checks=(ALIAS,))

    assert settle(found, NOTHING).new == ("check.alias",)
    assert settle(found, known(check__alias="ROB-8")).is_as_known
    assert settle(found, LEVEL).new == ("check.alias",)


def test_the_divergence_of_a_boundary_that_is_clean_but_for_jitter_is_no_finding():
    def boundary(number, cls, divergence):
        return Boundary(number, 1, 101, 9, cls, 10, divergence=divergence)

    clean = boundary(1, Class.STATE_CLEAN, APART)
    found = certificate(checks=(ALIAS,), first_divergence=APART, boundaries=(clean,))
    assert settle(found, known(check__alias="ROB-8")).is_as_known

    failed = boundary(1, Class.FAIL, APART)
    found = certificate(checks=(ALIAS,), first_divergence=APART, boundaries=(failed,))
    assert settle(found, known(check__alias="ROB-8")).new == ("unnamed",)


def test_a_wrong_declaration_is_new():
    wrong = DeclaredField("env.gaol", "any", "", problem="it names no field")

    assert settle(certificate(declared=(wrong,)), LEVEL).new == ("env.gaol",)


@pytest.mark.parametrize("cls", [Class.STATE_ONLY, Class.REFUSED, Class.ERROR])
def test_what_is_unknown_is_neither_known_nor_fixed(cls):
    for each in (NOTHING, LEVEL, known(**{"*": "ROB-9"})):
        found = settle(certificate(cls), each)

        assert not found.is_as_known
        assert (found.new, found.fixed) == ((), ())
        assert str(cls) in found.why


@pytest.mark.parametrize("ticket", ["", "  ", 311, None, ["ROB-311"]])
def test_a_ticket_is_a_text(ticket):
    with pytest.raises(UsageError) as raised:
        Known.parse({"env.level": ticket})

    assert raised.value.code == "CD-823"
    assert "env.level" in raised.value.message


def test_an_entry_that_is_no_pattern_is_refused():
    with pytest.raises(UsageError) as raised:
        Known.parse({"env.[": "ROB-311"})

    assert raised.value.code == "CD-824"


# --- Files. ---

FILE = """
[known]
"env.level" = "ROB-311"

["gym:Foo-v1".known]
"env.cache" = "ROB-312"
"unnamed" = "ROB-9"

["gym:Bar-v1".known]
"env.other" = "ROB-313"
"""


def patterns(found):
    return {pattern.text: ticket for pattern, ticket in found.entries}


def test_a_file_holds_what_is_known_of_every_rig_and_of_each(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(FILE, "utf-8")

    assert patterns(read_known(path, "gym:Foo-v1")) == {
        "env.level": "ROB-311",
        "env.cache": "ROB-312",
        "unnamed": "ROB-9",
    }
    assert patterns(read_known(path, "gym:Baz-v1")) == {"env.level": "ROB-311"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[knwon]\n'env.level' = 'ROB-311'", "CD-822"),
        ("['gym:Foo-v1'.knwon]\n'env.level' = 'ROB-311'", "CD-822"),
        ("['gym:Foo-v1'.known]\nx = 'ROB'\n['gym:Foo-v1'.more]\ny = 1", "CD-822"),
        ("known = 'ROB-311'", "CD-822"),
        ("['gym:Foo-v1']\nknown = 3", "CD-822"),
        ("'env.level' = 'ROB-311'", "CD-822"),
        ("[known", "CD-822"),
        ("[known]\n'env.level' = 311", "CD-823"),
        ("['gym:Other-v1'.known]\n'env.level' = ''", "CD-823"),
        ("[known]\n'env.[' = 'ROB-311'", "CD-824"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path, text, code):
    path = tmp_path / "known.toml"
    path.write_text(text, "utf-8")

    with pytest.raises(UsageError) as raised:
        read_known(path, "gym:Foo-v1")

    assert raised.value.code == code
    assert "known.toml" in raised.value.where


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError) as raised:
        read_known(tmp_path / "none.toml", "gym:Foo-v1")

    assert raised.value.code == "CD-822"
