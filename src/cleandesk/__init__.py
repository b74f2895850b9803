"""cleandesk: proof behind the scores of AI agents.

    import cleandesk as cd

    result = cd.run("suite.toml", agent="agent.py:Agent", workers=2)
    print(result.score, result.proven, result.root)

Names are imported when they are first used, so that ``import cleandesk`` costs
nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cleandesk.agents.answers import Done, Infeasible, done, infeasible
    from cleandesk.agents.session import Session, Step
    from cleandesk.agents.usage import report_usage
    from cleandesk.audit.certificate.again import certify_again
    from cleandesk.audit.certificate.against import certify_against
    from cleandesk.audit.certificate.certificate import Certificate
    from cleandesk.audit.certificate.certify import certify
    from cleandesk.audit.certificate.fleet import certify_fleet
    from cleandesk.audit.certificate.guard import LeakWarning, guard
    from cleandesk.audit.certificate.reference import write_reference
    from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Rig, Script
    from cleandesk.audit.certificate.sweep import sweep
    from cleandesk.audit.proposal import Proposal, propose_contract
    from cleandesk.audit.record import classify, verify
    from cleandesk.audit.states import compare_states
    from cleandesk.audit.watch import Watched, watch
    from cleandesk.checkers import Metric, Score, Unscored, fail, passed
    from cleandesk.errors import CleandeskError, ProviderError
    from cleandesk.report.assertion import assert_resets
    from cleandesk.run.blame import Blame
    from cleandesk.run.conduct import run
    from cleandesk.run.result import RunResult
    from cleandesk.seeding import Stream, derive, stream
    from cleandesk.state import (
        ABSENT,
        Change,
        Named,
        Pattern,
        Snapshot,
        decode,
        diff,
        encode,
        fingerprint,
    )
    from cleandesk.state.contract import Contract, contract
    from cleandesk.stats import Estimate, estimate
    from cleandesk.suites.catalogue import catalogue
    from cleandesk.suites.demo import demo
    from cleandesk.suites.starter import begin
    from cleandesk.surfaces import files, http, objects, postgres, process, sqlite
    from cleandesk.tasks import Suite, Task, load_suite
    from cleandesk.verdict import Status, Verdict
    from cleandesk.worlds.at import At, Clock
    from cleandesk.worlds.protocol import World

_HOMES = {
    "ABSENT": "state",
    "At": "worlds.at",
    "Blame": "run.blame",
    "Certificate": "audit.certificate.certificate",
    "Change": "state",
    "CleandeskError": "errors",
    "Clock": "worlds.at",
    "Contract": "state.contract",
    "Declared": "audit.certificate.rig",
    "Done": "agents.answers",
    "Estimate": "stats",
    "Infeasible": "agents.answers",
    "LeakWarning": "audit.certificate.guard",
    "Metric": "checkers",
    "Named": "state",
    "Outcome": "audit.certificate.rig",
    "Pattern": "state",
    "Proposal": "audit.proposal",
    "ProviderError": "errors",
    "Recipe": "audit.certificate.rig",
    "Rig": "audit.certificate.rig",
    "RunResult": "run.result",
    "Score": "checkers",
    "Script": "audit.certificate.rig",
    "Session": "agents.session",
    "Snapshot": "state",
    "Status": "verdict",
    "Step": "agents.session",
    "Stream": "seeding",
    "Suite": "tasks",
    "Task": "tasks",
    "Unscored": "checkers",
    "Verdict": "verdict",
    "Watched": "audit.watch",
    "World": "worlds.protocol",
    "assert_resets": "report.assertion",
    "begin": "suites.starter",
    "catalogue": "suites.catalogue",
    "certify": "audit.certificate.certify",
    "certify_again": "audit.certificate.again",
    "certify_against": "audit.certificate.against",
    "certify_fleet": "audit.certificate.fleet",
    "classify": "audit.record",
    "compare_states": "audit.states",
    "contract": "state.contract",
    "decode": "state",
    "demo": "suites.demo",
    "derive": "seeding",
    "diff": "state",
    "done": "agents.answers",
    "encode": "state",
    "estimate": "stats",
    "fail": "checkers",
    "files": "surfaces",
    "fingerprint": "state",
    "guard": "audit.certificate.guard",
    "http": "surfaces",
    "infeasible": "agents.answers",
    "load_suite": "tasks",
    "objects": "surfaces",
    "passed": "checkers",
    "postgres": "surfaces",
    "process": "surfaces",
    "propose_contract": "audit.proposal",
    "report_usage": "agents.usage",
    "run": "run.conduct",
    "sqlite": "surfaces",
    "stream": "seeding",
    "sweep": "audit.certificate.sweep",
    "verify": "audit.record",
    "watch": "audit.watch",
    "write_reference": "audit.certificate.reference",
}

__all__ = [
    "ABSENT",
    "At",
    "Blame",
    "Certificate",
    "Change",
    "CleandeskError",
    "Clock",
    "Contract",
    "Declared",
    "Done",
    "Estimate",
    "Infeasible",
    "LeakWarning",
    "Metric",
    "Named",
    "Outcome",
    "Pattern",
    "Proposal",
    "ProviderError",
    "Recipe",
    "Rig",
    "RunResult",
    "Score",
    "Script",
    "Session",
    "Snapshot",
    "Status",
    "Step",
    "Stream",
    "Suite",
    "Task",
    "Unscored",
    "Verdict",
    "Watched",
    "World",
    "assert_resets",
    "begin",
    "catalogue",
    "certify",
    "certify_again",
    "certify_against",
    "certify_fleet",
    "classify",
    "compare_states",
    "contract",
    "decode",
    "demo",
    "derive",
    "diff",
    "done",
    "encode",
    "estimate",
    "fail",
    "files",
    "fingerprint",
    "guard",
    "http",
    "infeasible",
    "load_suite",
    "objects",
    "passed",
    "postgres",
    "process",
    "propose_contract",
    "report_usage",
    "run",
    "sqlite",
    "stream",
    "sweep",
    "verify",
    "watch",
    "write_reference",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cleandesk' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"cleandesk.{home}"), name)
    globals()[name] = found
    return found
