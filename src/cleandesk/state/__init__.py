"""The core: values, their spelling, fingerprints, differences, contracts. Pure."""

from cleandesk.state.apply import apply
from cleandesk.state.canon import Named, decode, encode
from cleandesk.state.diff import ABSENT, Change, diff
from cleandesk.state.fingerprint import fingerprint
from cleandesk.state.pattern import Pattern
from cleandesk.state.snapshot import Snapshot
from cleandesk.state.table import Table

__all__ = [
    "ABSENT",
    "Change",
    "Named",
    "Pattern",
    "Snapshot",
    "Table",
    "apply",
    "decode",
    "diff",
    "encode",
    "fingerprint",
]
