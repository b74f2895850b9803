"""Checkers of the built-in suites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleandesk.checkers.score import Score, fail, passed

_DENTIST = {"day": "Fri", "hour": 15, "title": "Dentist"}


def finds_the_event(end: Mapping[str, Any]) -> Score:
    """Look for the appointment, and nowhere else.

    This is how a checker lies: it can't tell who made the appointment, nor when, nor
    what else was done. It is here to be compared with one that reads the whole change.
    """
    found = _DENTIST in end["desk"]["events"].values()
    return passed("the appointment is there") if found else fail("there is no such appointment")


def chose_the_target(end: Mapping[str, Any]) -> Score:
    """Ask for the right side on the first visit, whatever the start was."""
    profile = end["profile"]
    if profile["visits"] != 1:
        return fail(f"{profile['visits']} visits, not 1")
    if profile["cache"] != profile["target"]:
        return fail(f"chose {profile['cache']}, not {profile['target']}")
    return passed(f"chose {profile['target']} on the first visit")


def targets_are_gone(end: Mapping[str, Any], params: Mapping[str, Any]) -> Score:
    """Look whether the named expenses are gone, and at no other row.

    The checker that most people would write first. Whatever else was deleted, changed or
    added, it passes.
    """
    left = [row["name"] for row in params["expenses"] if row["id"] in end["db"]["expense"]]
    return fail(f"still there: {', '.join(left)}") if left else passed("the named rows are gone")
