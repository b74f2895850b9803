"""Running a suite: the plan, the one episode loop, blame, and the record.

The package has the name of the function that people call, and importing a package
sets its name on its parent. So the package can be called as well: ``cleandesk.run(...)``
is the same whatever was imported before (docs/decisions/0005).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        from cleandesk.run.conduct import run

        return run(*arguments, **settings)


sys.modules[__name__].__class__ = _CallableModule
