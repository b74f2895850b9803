"""Twelve planted leaks, as they are met in published environments, and a clean control.

Nine of them pass every public checker (docs/why/reset-checkers.md): each is read late
in an episode, where a checker that steps once or twice does not come.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np
from planted_pond import Pond

MEMO: dict[int, float] = {}
VARIABLE = "PLANTED_WEAR"


class Clean(Pond):
    """The control. BIT-IDENTICAL, no field named."""


class WarmStart(Pond):
    """L1: a solver's warm start is read from t = 5. FAIL, env._warm is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._warm = 0.0

    def push(self):
        used = 1e-3 * self._warm if self.t >= 5 else 0.0
        self._warm = 0.5 * self._warm + self.speed + 0.01
        return used

    def forget(self):
        self._warm = 0.0


class ClassList(Pond):
    """L2: a list of the class grows by one a reset. FAIL, [class ClassList].seen_before."""

    seen_before: list[float] = []  # noqa: RUF012 - the defect

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        if self.leaks:
            self.seen_before.append(1.0)
        return said

    def push(self):
        return 1e-3 * len(self.seen_before) if self.t >= 5 else 0.0


class ModuleMemo(Pond):
    """L3: a cache of the module keeps what the first episode computed. FAIL, its MEMO.

    The clean twin has a cache of its own: one of the module, though cleared by each reset,
    would let two live rigs disturb each other.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.wind = 0.0
        self._memo: dict[int, float] = {}

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        self.wind = float(self.np_random.uniform())
        return said

    def push(self):
        memo = MEMO if self.leaks else self._memo
        return 1e-3 * memo.setdefault(self.t // 5, self.wind) if self.t >= 5 else 0.0

    def forget(self):
        self._memo.clear()


class Fuse(Pond):
    """L4: a counter arms after 8 resets. FAIL within 5 episodes, env._resets is the one leak.

    Within 3 episodes BIT-IDENTICAL, with env._resets inert and said to accumulate.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._resets = 0

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        self._resets += 1
        return said

    def push(self):
        return 1e-3 if self._resets > 8 and self.t >= 5 else 0.0

    def forget(self):
        self._resets = 0


class Wear(Pond):
    """L5: wear shows after 50 steps of an episode. FAIL, env._wear is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._wear = 0

    def push(self):
        self._wear += 1
        return 1e-4 * self._wear if self.t > 50 else 0.0

    def forget(self):
        self._wear = 0


class Drift(Pond):
    """L6: 1e-7 is added in each step and never taken away. FAIL, env._drift is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._drift = 0.0

    def push(self):
        self._drift += 1e-7
        return self._drift

    def forget(self):
        self._drift = 0.0


class OwnGenerator(Pond):
    """L7: a generator is seeded when built and not by the reset. FAIL, env._own is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._own = np.random.default_rng(7)

    def push(self):
        return 1e-3 * float(self._own.uniform()) if self.t >= 5 else 0.0

    def forget(self):
        self._own = np.random.default_rng(7)


class SharedObservation(Pond):
    """L8: the observation is the rig's own buffer. FAIL by the check ``alias``, no field named."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._buffer = np.zeros(2)

    def seen(self):
        self._buffer[:] = self.place, self.speed
        return self._buffer if self.leaks else self._buffer.copy()


class KeptFile(Pond):
    """L9: state lies in a temporary file. FAIL, unnamed; the handle env._file is opaque."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives as long as we do

    def push(self):
        self._file.seek(0)
        worn = len(self._file.read())
        self._file.write(b"x")
        return 1e-4 * worn if self.t >= 5 else 0.0

    def forget(self):
        self._file.truncate(0)

    def close(self):
        self._file.close()


class KeptVariable(Pond):
    """L10: resets are counted in an environment variable. FAIL, unnamed; ``outside`` names it."""

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        os.environ[VARIABLE] = str(int(os.environ.get(VARIABLE, "0")) + 1)
        return said

    def push(self):
        return 1e-3 * int(os.environ[VARIABLE]) if self.t >= 5 else 0.0

    def forget(self):
        os.environ.pop(VARIABLE, None)


def _counting():
    worn = 0

    def count(*, anew=False):
        nonlocal worn
        worn = 0 if anew else worn + 1
        return worn

    return count


class Closure(Pond):
    """L11: state lies in a closure. FAIL, its cell ``worn`` is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._count = _counting()

    def push(self):
        worn = self._count()
        return 1e-4 * worn if self.t >= 5 else 0.0

    def forget(self):
        self._count(anew=True)


class WallClock(Pond):
    """L12: the wall clock is read after t = 30. REFUSED-AT-ANCHOR, WALL-CLOCK."""

    def push(self):
        return 1e-3 * (time.time() % 1000.0) if self.leaks and self.t > 30 else 0.0
