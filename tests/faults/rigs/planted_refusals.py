"""Planted rigs of which no reset is judged, or whose verdict rests on more than fields."""

from __future__ import annotations

import os
import random
import threading
import time

import numpy as np
from planted_pond import Pond


class Jittered(Pond):
    """Noise of the machine's own entropy in each step; the state decays, so it stays small.

    ``size`` 0: BIT-IDENTICAL. 1e-12: STATE-CLEAN, the deviation printed. 1e-2: never PASS.
    """

    def __init__(self, *, size: float = 1e-12, **given) -> None:
        super().__init__(**given)
        self.size = size

    def push(self):
        noise = int.from_bytes(os.urandom(2), "little") / 2**16 - 0.5 if self.size else 0.0
        return self.size * noise


class JitteredLeak(Jittered):
    """Jitter, and a field that the reset omits. FAIL, env._load is named."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._load = 0.0

    def push(self):
        self._load += 1e-3
        return super().push() + 1e-2 * self._load

    def forget(self):
        self._load = 0.0


class BuiltWithGlobalDraw(Pond):
    """Built with a draw of the global generator. REFUSED-AT-ANCHOR, GLOBAL-RNG, env.bias."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.bias = random.random() if self.leaks else 0.5

    def push(self):
        return 1e-3 * self.bias


class BuiltWithNumpyDraw(Pond):
    """The same with numpy's global generator. REFUSED-AT-ANCHOR, GLOBAL-RNG, env.bias."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.bias = float(np.random.random()) if self.leaks else 0.5

    def push(self):
        return 1e-3 * self.bias


class BuiltWithEntropy(Pond):
    """Built with a generator that nobody seeds. REFUSED-AT-ANCHOR, ENTROPY, env.bias."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.bias = float(np.random.default_rng(None if self.leaks else 3).random())

    def push(self):
        return 1e-3 * self.bias


class OwnUnseeded(Pond):
    """A generator of its own that nobody seeds. REFUSED-AT-ANCHOR, ENTROPY, env._own."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._own = np.random.default_rng(None if self.leaks else 3)

    def push(self):
        return 1e-3 * float(self._own.random())

    def forget(self):
        self._own = np.random.default_rng(3)


class GlobalStream(Pond):
    """Each step draws from the global generator. REFUSED-AT-ANCHOR, GLOBAL-RNG.

    Its clean twin seeds that generator in its reset: BIT-IDENTICAL, and ``global-streams``
    says that it draws from it.
    """

    def reset(self, *, seed=None, options=None):
        if not self.leaks:
            random.seed(seed)
        return super().reset(seed=seed)

    def push(self):
        return 1e-3 * random.random()


class HashOrder(Pond):
    """A list in the order of a set of texts. REFUSED-AT-ANCHOR, HASH-ORDER, env.order."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        names = {f"limb {number}" for number in range(12)}
        self.order = list(names) if self.leaks else sorted(names)

    def push(self):
        return 1e-3 * int(self.order[0].split()[1])


class StartedAt(Pond):
    """The time of the reset is kept. REFUSED-AT-ANCHOR, WALL-CLOCK, env.started."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.started = 0.0

    def reset(self, *, seed=None, options=None):
        self.started = time.time() if self.leaks else 0.0
        return super().reset(seed=seed)


class _Watched:
    """Counts whoever looks at it, in itself."""

    def __init__(self) -> None:
        object.__setattr__(self, "looks", 0)

    def __getattribute__(self, name):
        held = object.__getattribute__(self, "__dict__")
        if name not in {"__class__", "weigh"}:
            held["looks"] += 1
        return object.__getattribute__(self, name)

    def weigh(self):
        return 1e-3 * object.__getattribute__(self, "__dict__")["looks"]


class LookedAt(Pond):
    """A part counts who reads its attributes. REFUSED-AT-ANCHOR, WALK, or BIT-IDENTICAL
    where the walk does not wake it; never a leak.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.part = _Watched()

    def push(self):
        return self.part.weigh()


class BuildRaises(Pond):
    """ERROR at the build."""

    def __init__(self, *, leaks: bool = True) -> None:
        super().__init__(leaks=leaks)
        if leaks:
            raise RuntimeError("no licence found")


class StepRaises(Pond):
    """ERROR at step 7 of a fresh build."""

    def push(self):
        if self.leaks and self.t == 7:
            raise RuntimeError("joint 3 is out of its limits")
        return 0.0


class UsedUpRaises(Pond):
    """A fresh build is sound; a used one raises in its third reset. ERROR."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._resets = 0

    def reset(self, *, seed=None, options=None):
        self._resets = self._resets + 1 if self.leaks else 1
        if self._resets >= 3:
            raise RuntimeError("no room for another body")
        return super().reset(seed=seed)


class ResetHangs(Pond):
    """The second reset waits for ever. UNKNOWN within the budget."""

    def reset(self, *, seed=None, options=None):
        if self.leaks and self.t:
            threading.Event().wait()
        return super().reset(seed=seed)


class Exits(Pond):
    """The process ends in step 5. ERROR, and the instrument goes on."""

    def push(self):
        if self.leaks and self.t == 5:
            os._exit(3)
        return 0.0


class Threaded(Pond):
    """A thread that waits lives as long as the rig.

    Clean: one, made when built: BIT-IDENTICAL. Leaking: one more in each reset:
    ``outside`` or env.threads says so.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._end = threading.Event()
        self.threads = 0
        self._start()

    def _start(self) -> None:
        threading.Thread(target=self._end.wait, daemon=True).start()
        self.threads += 1

    def reset(self, *, seed=None, options=None):
        if self.leaks:
            self._start()
        return super().reset(seed=seed)

    def close(self):
        self._end.set()
