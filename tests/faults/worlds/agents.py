"""Agents that fail, each task of theirs by one defect, and agents that do not."""

from __future__ import annotations

import cleandesk as cd


class AddsTwice:
    """Adds two notes and is done."""

    def __init__(self):
        self.steps = 0

    def act(self, observation):
        self.steps += 1
        return f"added {self.steps}" if self.steps < 3 else cd.done()
