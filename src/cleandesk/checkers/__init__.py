"""Checkers: what an episode's whole change, answer and rewards are worth."""

from cleandesk.checkers.answers import judge_answer
from cleandesk.checkers.evidence import Changes, Evidence
from cleandesk.checkers.judging import Judged, judge, needs
from cleandesk.checkers.load import Checker, load_checker
from cleandesk.checkers.premise import premises
from cleandesk.checkers.score import Metric, Score, Unscored, fail, passed
from cleandesk.checkers.view import View
from cleandesk.checkers.whole import Account, account_for, judge_change

__all__ = [
    "Account",
    "Changes",
    "Checker",
    "Evidence",
    "Judged",
    "Metric",
    "Score",
    "Unscored",
    "View",
    "account_for",
    "fail",
    "judge",
    "judge_answer",
    "judge_change",
    "load_checker",
    "needs",
    "passed",
    "premises",
]
