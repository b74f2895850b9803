"""Further tests of a rig, beside the judge of its resets.

``inside`` has what runs in a device, ``said`` turns the answers into checks, and
``run_checks`` does both. ``aliasing`` and ``readers`` are what two of them look with.
"""

from __future__ import annotations

from cleandesk.audit.certificate.checks.running import Basis, run_checks

__all__ = ["Basis", "run_checks"]
