"""Checkers that fail, each by one defect, and their clean twin."""

from __future__ import annotations


def passes(change):
    """Clean: passes whatever was done."""
    return 1.0
