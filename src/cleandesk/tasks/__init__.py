"""Tasks and suites: goals with drawn parameters, checks as plain data, limits."""

from cleandesk.tasks.limits import Limits
from cleandesk.tasks.seeds import parse_seeds
from cleandesk.tasks.suite import Suite, load_suite
from cleandesk.tasks.task import Instance, Task, fill

__all__ = ["Instance", "Limits", "Suite", "Task", "fill", "load_suite", "parse_seeds"]
