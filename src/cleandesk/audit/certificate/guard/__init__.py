"""guard(env): real resets, checked in the user's own loop while it trains.

Every so often the state after a reset is read and compared with that of a fresh build in
another process, which was given the same seed or, where there was none, the generators as
they stood. Fields that differ are tried: a copy of this process takes some steps from there,
the fresh build takes the same, and only where they say something else is it a leak.
"""

from __future__ import annotations

from cleandesk.audit.certificate.guard.findings import (
    Found,
    GuardReport,
    LeakError,
    LeakWarning,
)
from cleandesk.audit.certificate.guard.watch import Guard
from cleandesk.audit.certificate.guard.wrapping import guard

__all__ = ["Found", "Guard", "GuardReport", "LeakError", "LeakWarning", "guard"]
