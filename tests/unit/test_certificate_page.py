from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from cleandesk.audit.certificate.certificate import (
    Boundary,
    Certificate,
    Check,
    Class,
    DeclaredField,
    Deviation,
    Divergence,
    Inert,
    Leak,
    Opaque,
    Profile,
    ReturnShift,
    Write,
)
from cleandesk.report.certificate_page import certificate_page
from cleandesk.verdict import Status

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e\"'><img src=x onerror=alert(1)>"
VOID = {"meta", "br", "circle", "rect", "path", "line"}


def boundary(number, cls=Class.BIT_IDENTICAL, **changes):
    return Boundary(number, number, 100 + number, 30, cls, 72, rows="ab", **changes)


CLEAN = Certificate(
    "gym:Clean-v1",
    "reset(seed)",
    Class.BIT_IDENTICAL,
    "no field differs",
    Profile(5, 750, (1, 2, 3, 4, 5), (101, 102, 103, 104, 105), "mixed", {"cut": 5}, 99),
    boundaries=tuple(boundary(number) for number in range(1, 6)),
    not_checked=("sockets of other processes",),
    stamp={"machine": {"cpu": "x"}, "reference": "gym:Clean-v1"},
)


def failed(text="env.level", first=7):
    found = Divergence(1, first, text, text, text)
    return replace(
        CLEAN,
        rig=text,
        harness=text,
        reason=text,
        condition=text,
        cls=Class.FAIL,
        varies=(text,),
        leaks=(
            Leak(text, "leak", text, text, (1,), True, Write(2, 3, text, 4, text), text, text),
            Leak(text, "echo", text, text),
        ),
        inert=(Inert(text, text, text, (1,), text, text),),
        declared=(DeclaredField(text, text, text, (text,), text),),
        opaque=(Opaque(text, text, is_new=True),),
        checks=(Check(text, Status.FAIL, text),),
        first_divergence=found,
        deviation=Deviation(1.0, True, text, (text,), (text,), (text,), (text,)),
        return_shift=ReturnShift(((1.0, 2.0), (3.0, 3.0)), 0.5, 1.0),
        boundaries=(boundary(1, Class.FAIL, divergence=found), boundary(2)),
        not_checked=(text,),
        repro=f"import x\n# {text}\n",
        stamp={text: text},
    )


class Page(HTMLParser):
    """Reads a page: its tags with attributes, its texts, and what is not closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in {"style", "script"}:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@pytest.mark.parametrize("certificate", [CLEAN, failed(), failed(HOSTILE)])
def test_every_tag_is_closed(certificate):
    assert Page(certificate_page(certificate)).open == []


# certificate: C-93
def test_texts_of_a_rig_add_no_tag_and_no_handler():
    """C-93."""
    plain, hostile = (Page(certificate_page(failed(text))) for text in ("env.level", HOSTILE))

    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert all(not name.startswith("on") for _, attrs in hostile.tags for name in attrs)


def test_texts_of_a_rig_are_shown_without_control_characters():
    text = certificate_page(failed(HOSTILE))

    assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert "alert(1)" in Page(text).text


# certificate: C-94
def test_page_fetches_nothing_and_allows_only_its_own_script():
    """C-94."""
    text = certificate_page(failed())
    page = Page(text)
    (policy,) = [
        attrs["content"] for tag, attrs in page.tags if tag == "meta" and "http-equiv" in attrs
    ]
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}'" in policy
    assert not re.search(r"https?://|@import|url\(", text)
    assert not {"src", "href"} & {name for _, attrs in page.tags for name in attrs}


@pytest.mark.parametrize("cls", Class)
def test_verdict_is_told_by_words_and_by_a_shape(cls):
    text = certificate_page(replace(CLEAN, cls=cls))
    shapes = {"PASS": "<circle", "FAIL": "<rect", "UNKNOWN": "<path"}
    banner = text.partition('class="banner')[2].partition("</svg>")[0]

    assert str(cls.status) in Page(text).text
    assert str(cls) in Page(text).text
    assert shapes[cls.status] in banner


def test_each_boundary_is_a_cell_with_class_and_place_of_divergence():
    text = Page(certificate_page(failed())).text

    assert "FAIL diverges at step 7, env.level seed 1, after 30 steps with seed 101" in text
    assert "BIT-IDENTICAL rows equal seed 2, after 30 steps with seed 102" in text


def test_chart_has_a_column_of_two_marks_for_each_boundary():
    text = certificate_page(failed())

    assert text.count('<circle class="fresh"') == text.count('<circle class="judged"') == 2
    assert "boundary 1: fresh 1, judged 2" in text


@pytest.mark.parametrize(
    "pairs", [((float("nan"), 1.0),), ((float("inf"), float("-inf")),), (), ((2.0, 2.0),)]
)
def test_returns_that_are_no_numbers_are_not_drawn(pairs):
    shift = ReturnShift(pairs, float("nan"), float("inf"))
    text = certificate_page(replace(failed(), return_shift=shift))

    assert "inf at most" in text
    assert '"nan"' not in text


def test_leak_stands_before_its_echo_with_who_wrote_it():
    text = Page(certificate_page(failed())).text

    assert "leak; confirmed by restoring it; env.level; known as env.level" in text
    assert "episode 2, step 3, by env.level in env.level:4" in text
    assert text.index("leak; confirmed") < text.index("echo")


def test_script_is_whole_and_has_a_button_that_copies_it():
    text = certificate_page(replace(failed(), repro="import x\n\n\tx.go('<a>')\n"))

    assert '<button data-of="script">' in text
    assert '<pre id="script">import x\n\n    x.go(&#x27;&lt;a&gt;&#x27;)</pre>' in text


def test_long_table_is_cut_and_says_so():
    inert = tuple(Inert(f"env.a{k}", "0", "1", (1,), "") for k in range(1_200))
    text = certificate_page(replace(CLEAN, inert=inert))

    assert "+700 more in --json" in text
    assert "Inert: differs, and moved no row (1,200)" in text


def test_limits_horizon_and_stamp_stand_on_the_page_of_a_pass():
    text = Page(certificate_page(CLEAN)).text

    assert "sockets of other processes" in text
    assert "5 boundaries, traces of 750 steps, mixed" in text
    assert '{"cpu": "x"}' in text


def test_what_there_is_not_has_no_heading():
    headings = re.findall(r"<h2>(.*?)</h2>", certificate_page(CLEAN))

    assert headings == ["Boundaries", "Horizon", "Not checked"]


def test_both_light_and_dark_are_thought_of():
    text = certificate_page(CLEAN)

    assert "color-scheme: light dark" in text
    assert "prefers-color-scheme: dark" in text
