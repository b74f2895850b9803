from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from cleandesk.audit.certificate.certificate import Certificate, Class, Inert, Leak, Profile
from cleandesk.audit.certificate.known import Known, settle
from cleandesk.audit.certificate.spelling import from_json
from cleandesk.report.sweep_table import render_table, status_of, table_json, table_page

HOSTILE = "<script>x</script>\x1b[2J\u202e"
CLEAN = Certificate(
    "gym:Clean-v1",
    "seeded",
    Class.BIT_IDENTICAL,
    "no field differs",
    Profile(5, 750, (1,), (2,), "mixed"),
    inert=(Inert("env.x", "0", "1", (1,), "751 rows equal"),),
    took_s=2.26,
)
FAILED = replace(CLEAN, rig="gym:Leaks-v0", cls=Class.FAIL, reason="the reset leaks env.level")
BROKEN = replace(CLEAN, rig="gym:Broken-v0", cls=Class.ERROR, reason="the rig can't be built: ...")
REFUSED = replace(CLEAN, rig="gym:Noisy-v0", cls=Class.REFUSED, reason="two fresh builds disagree")


def settled(*certificates, **known):
    return [settle(one, Known.parse(known)) for one in certificates]


ALL = settled(CLEAN, REFUSED, BROKEN, FAILED)


def test_table_has_findings_first_each_with_its_reason():
    lines = render_table(ALL, 12.04).splitlines()

    assert [line.split()[:2] for line in lines[1:8:2]] == [
        ["FAIL", "gym:Leaks-v0"],
        ["ERROR", "gym:Broken-v0"],
        ["REFUSED-AT-ANCHOR", "gym:Noisy-v0"],
        ["BIT-IDENTICAL", "gym:Clean-v1"],
    ]
    assert lines[2] == "    the reset leaks env.level"
    assert lines[7].split()[2:] == ["1", "2.3"]


def test_table_closes_with_counts_wall_time_and_how_wide_the_claim_is():
    """C-79."""
    text = " ".join(render_table(ALL, 12.04).split())

    assert "4 rigs: 1 FAIL, 1 ERROR, 1 REFUSED-AT-ANCHOR, 1 BIT-IDENTICAL; 12.0 s" in text
    assert "nothing is said of one from another" in text


def test_table_fits_80_columns_and_moves_no_cursor():
    long = replace(FAILED, rig=HOSTILE * 20, reason=HOSTILE * 40)
    text = render_table(settled(long), 1.0)

    assert max(map(len, text.splitlines())) <= 80
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


# certificate: C-92
@pytest.mark.parametrize(
    ("certificates", "status"),
    [
        ([CLEAN], 0),
        ([CLEAN, REFUSED, BROKEN, FAILED], 1),
        ([CLEAN, REFUSED], 3),
        ([CLEAN, BROKEN], 3),
        ([BROKEN, BROKEN], 4),
        ([], 3),
    ],
)
def test_exit_status_is_that_of_the_worst(certificates, status):
    """C-92."""
    assert status_of(settled(*certificates)) == status


def test_json_holds_every_certificate_whole():
    held = json.loads(json.dumps(table_json(ALL, 12.0), allow_nan=False))

    assert [from_json(one) for one in held["certificates"]] == [one.certificate for one in ALL]
    assert held["classes"] == {
        "FAIL": 1,
        "ERROR": 1,
        "REFUSED-AT-ANCHOR": 1,
        "BIT-IDENTICAL": 1,
    }


def test_page_has_a_row_for_each_and_findings_in_full():
    text = table_page("gym:*", ALL, 12.0)

    assert text.count("<tr>") == 1 + len(ALL)
    assert re.findall(r"<summary>(\w+) ", text) == ["FAIL", "UNKNOWN", "UNKNOWN"]


def test_page_escapes_what_rigs_say():
    text = table_page(HOSTILE, settled(replace(FAILED, rig=HOSTILE, reason=HOSTILE)), 1.0)

    assert text.count("<script>") == 1
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


def test_leak_that_is_known_is_no_finding_and_its_ticket_is_shown():
    leak = Leak("env.level", "leak", "0", "1", is_confirmed=True)
    known = settled(replace(FAILED, leaks=(leak,)), level="ROB-311")
    text = render_table(known, 1.0)

    assert status_of(known) == 0
    assert "    known as ROB-311: the reset leaks env.level\n" in text
    assert "1 FAIL (1 as listed)" in text


def test_known_leak_that_is_fixed_is_a_finding():
    fixed = settled(CLEAN, level="ROB-311")

    assert status_of(fixed) == 1
    assert "known and no longer found: level" in render_table(fixed, 1.0)
