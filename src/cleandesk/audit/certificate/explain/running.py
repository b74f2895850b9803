"""Runs a script where nothing that it writes lasts: ``python -m`` this module SCRIPT."""

from __future__ import annotations

import os
import sys

from cleandesk.audit.certificate.surroundings.folders import hide
from cleandesk.processes import die_with_parent


def main() -> None:
    """Run the script as a child, and end with its status."""
    die_with_parent()
    # A fork has one thread, whatever was imported here; only such a process may mount.
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        hide()
        # What the script can import is what its reader can, who has no such variable.
        os.environ.pop("PYTHONPATH", None)
        os.execv(sys.executable, [sys.executable, "-P", *sys.argv[1:]])  # noqa: S606 - the script that is handed out
    _, state = os.waitpid(pid, 0)
    status = os.waitstatus_to_exitcode(state)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
