"""Small environments whose failures are to be explained, each in another way."""

from __future__ import annotations

import threading

import numpy as np


class Counter:
    """Clean; what the others are made from. The observation says what leaks from step 2 on."""

    actions = (0, 1, 2)

    def __init__(self) -> None:
        self.t = 0

    def reset(self, seed=None):
        self.t = 0
        return self.seen(), {}

    def step(self, action):
        self.t += 1
        self.act(action)
        return self.seen(), 0.0, False, self.t >= 12, {}

    def act(self, action) -> None:
        """What a step does beside counting."""

    def leaked(self) -> float:
        """What is said from step 2 on."""
        return 0.0

    def seen(self):
        return np.array([float(self.t), self.leaked() if self.t > 1 else 0.0])


class Stacked(Counter):
    """The first observation shows the last of the episode before; afterwards all is equal."""

    def __init__(self) -> None:
        super().__init__()
        self._last = 0.0
        self._before = 0.0

    def reset(self, seed=None):
        said = np.array([0.0, self._last])
        self._last = 0.0
        super().reset(seed)
        return said, {}

    def act(self, action):
        self._last = 1.0 + action


class StackedLater(Stacked):
    """The same, of an attribute that the first step makes: a class says what it is before."""

    _last = 0.0

    def __init__(self) -> None:
        super().__init__()
        del self._last


class TwoWrites(Counter):
    """Either of two fields alone is enough to differ; a third follows from both; one is unread."""

    def __init__(self) -> None:
        super().__init__()
        self.first = 0
        self.second = 0
        self.total = 0
        self.unread = 0

    def reset(self, seed=None):
        self.total = self.first + self.second
        return super().reset(seed)

    def act(self, action):
        self.first += 1
        self.second += 2
        self.unread += 3

    def leaked(self):
        return float(self.first * 1000 + self.second + self.total - self.t * 1002)


class Table(Counter):
    """One entry of a table is what leaks; the others differ and are not read."""

    def __init__(self) -> None:
        super().__init__()
        self.table = {"heat": 0.0, "log": 0, "seen": {"last": 0}}

    def act(self, action):
        self.table["heat"] += 0.5
        self.table["log"] += 1
        self.table["seen"]["last"] = self.t

    def leaked(self):
        return self.table["heat"] - 0.5 * self.t


class Waiting(Counter):
    """A thread waits as long as it lives, so that it can't be forked."""

    def __init__(self) -> None:
        super().__init__()
        self._end = threading.Event()
        threading.Thread(target=self._end.wait, daemon=True).start()
        self.worn = 0

    def act(self, action):
        self.worn += 1

    def leaked(self):
        return float(self.worn - self.t)


class Compiled(Counter):
    """Compiled code writes into an array, on the second step that is not 0 only."""

    def __init__(self) -> None:
        super().__init__()
        self.heat = np.zeros(3)
        self.pushes = 0

    def reset(self, seed=None):
        self.pushes = 0
        return super().reset(seed)

    def act(self, action):
        self.pushes += action != 0
        if self.pushes == 2:
            np.add(self.heat, 1.0, out=self.heat)
            self.pushes = 3

    def leaked(self):
        return float(self.heat.sum()) if self.t == 2 else 0.0
