"""Planted rigs beyond the twelve: one for each promise that a certificate makes of fields."""

from __future__ import annotations

import copy
import ctypes
import functools
import hashlib
import math
import zlib

import gymnasium
import numpy as np
from planted_pond import Pond


class ThirdWrite(Pond):
    """A step writes three fields and the reset restores two. FAIL, env._load is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._load = 0.0

    def push(self):
        self._load += 0.01 * abs(self.speed) + 1e-3
        return -1e-2 * self._load

    def forget(self):
        self._load = 0.0


class HorizonFuse(Pond):
    """A counter that no reset restores arms a write at the third reset.

    FAIL. env._count is inert at boundary 1; it and env._bias (an echo of it, or a leak
    beside it) are named at boundary 2.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._count = 0
        self._bias = 0.0

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        self._count += 1
        self._bias = 1e-3 if self._count >= 3 else 0.0
        return said

    def push(self):
        return self._bias

    def forget(self):
        self._count = 0


class Fused(Pond):
    """Wear that is read from the fourth reset on. FAIL; env._wear is inert first, then fused."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._wear = 0

    def reset(self, *, seed=None, options=None):
        self._wear += 1
        return super().reset(seed=seed)

    def push(self):
        return 1e-3 if self._wear > 3 else 0.0

    def forget(self):
        self._wear = 0


class OneSided(Pond):
    """A reset after an episode leaves a field that no fresh build has.

    FAIL, env._extra is the one leak; it is one-sided, so the deviation is unbounded.
    """

    def reset(self, *, seed=None, options=None):
        if self.t and self.leaks:
            self._extra = 1.5
        return super().reset(seed=seed)

    def push(self):
        return getattr(self, "_extra", 0.0) * 1e-3


VALUES = {
    "nan": (0.0, math.nan),
    "nan-array": (np.zeros(3), np.array([0.0, math.nan, 2.0])),
    "inf": (1.0, math.inf),
    "both-inf": (-math.inf, math.inf),
    "int64-wrap": (np.array([-(2**63), 0]), np.array([2**63 - 1, 0])),
    "uint8-wrap": (np.array([255, 7], np.uint8), np.array([0, 7], np.uint8)),
    "mixed-kind": (2.0**53, 2**53 + 1),
    "bool-to-int": (True, 1),
    "phase": (1 + 0j, 1j),
    "signed-zero": (0.0, -0.0),
    "beyond-floats": (0, 10**400),
    "huge": (-1e308, 1e308),
    "tiny": (0.0, 5e-324),
    "text": ("calm", "wild"),
    "bytes": (b"calm", b"wild"),
    "shape": (np.zeros(3), np.zeros((3, 1))),
    "dtype": (np.zeros(3), np.zeros(3, np.float32)),
    "none": (None, 0.0),
}
"""By name: what a fresh build holds, and what a reset after an episode leaves."""


class LeftValue(Pond):
    """A value of a kind is left behind and only info says so.

    FAIL on the channel info; env.value is the one leak. How far it is apart depends on
    the kind alone, since nothing else differs at the end.
    """

    def __init__(self, *, kind: str = "nan", **given) -> None:
        super().__init__(**given)
        self.kind = kind
        # Copies: an array that two paths hold would be a second difference.
        self.value = copy.deepcopy(VALUES[kind][0])

    def reset(self, *, seed=None, options=None):
        if self.t and self.leaks:
            self.value = copy.deepcopy(VALUES[self.kind][1])
        return super().reset(seed=seed)

    def told(self):
        return {"fresh": repr(self.value) == repr(VALUES[self.kind][0])}


class LeftValues(Pond):
    """All of them at once. FAIL on the channel info; each env.values[...] is a leak.

    The deviation is unbounded and names each by what can't be said of it.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.values = {kind: copy.deepcopy(pair[0]) for kind, pair in VALUES.items()}

    def reset(self, *, seed=None, options=None):
        if self.t and self.leaks:
            self.values = {kind: copy.deepcopy(pair[1]) for kind, pair in VALUES.items()}
        return super().reset(seed=seed)

    def told(self):
        fresh = {kind: repr(pair[0]) for kind, pair in VALUES.items()}
        return {kind: repr(value) == fresh[kind] for kind, value in self.values.items()}


class Ring(Pond):
    """Objects that contain one another. Clean: BIT-IDENTICAL, and the walk ends.

    Leaking: two names for one list after an episode, where a fresh build has two lists.
    FAIL, env.queue is the one leak.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.itself = self
        self.around = [self, {"in": self}]
        self.around.append(self.around)
        self.agents: list[int] = []
        self.queue: list[int] = []

    def reset(self, *, seed=None, options=None):
        self.agents = [1, 2, 3]
        self.queue = self.agents if self.t and self.leaks else list(self.agents)
        return super().reset(seed=seed)

    def push(self):
        if self.t == 5:
            self.queue.pop()
        return 1e-3 * len(self.agents)


class Motor:
    """A part with slots and no dict."""

    __slots__ = ("_heat", "torque")

    def __init__(self) -> None:
        self._heat = 0.0
        self.torque = 0.0

    def turn(self, force: float) -> float:
        self.torque = force
        self._heat += abs(force) + 0.01
        return 1e-3 * self._heat

    def cool(self) -> None:
        self._heat = 0.0
        self.torque = 0.0


class Slotted(Pond):
    """State of an object with slots only. FAIL; env.motor._heat is a leak, torque inert beside it
    or a leak, since it is overwritten before it is read.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.motor = Motor()

    def reset(self, *, seed=None, options=None):
        self.motor.torque = 0.0
        return super().reset(seed=seed)

    def push(self):
        return self.motor.turn(self.speed)

    def forget(self):
        self.motor.cool()


class _Struct(ctypes.Structure):
    _fields_ = (("wear", ctypes.c_double),)


class CStruct(Pond):
    """State of a C struct. FAIL; env.struct is named or listed as opaque."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.struct = _Struct(0.0)

    def push(self):
        self.struct.wear += 1e-3
        return 1e-2 * self.struct.wear

    def forget(self):
        self.struct.wear = 0.0


class Compiled(Pond):
    """State inside an object of a compiled type. FAIL, unnamed; env.hidden is opaque."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.hidden = hashlib.sha256()

    def push(self):
        self.hidden.update(b"x")
        return 1e-5 * self.hidden.digest()[0]

    def forget(self):
        self.hidden = hashlib.sha256()


class LateHandle(Pond):
    """A handle is made in mid-episode. It is named under opaque in either case.

    Leaking: it stays, and is read: FAIL. Clean: BIT-IDENTICAL, and still disclosed.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._handle = None

    def push(self):
        if self.t == 3 and self._handle is None:
            self._handle = zlib.compressobj()
        return 1e-3 if self._handle is not None else 0.0

    def forget(self):
        self._handle = None


class Property(Pond):
    """A property that writes when it is read. BIT-IDENTICAL: a walk reads no properties."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._peeks = 0

    @property
    def peek(self):
        self._peeks += 1
        return self._peeks

    def push(self):
        return 1e-3 * self._peeks


class Statistics(Pond):
    """Totals over all episodes, kept on purpose and not read by a step.

    BIT-IDENTICAL, env.total and env.episodes are inert; declared as any they are declared.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.total = 0.0
        self.episodes = 0

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        return super().reset(seed=seed)

    def push(self):
        self.total += abs(self.speed)
        return 0.0

    def forget(self):
        self.total = 0.0
        self.episodes = 0


class Echo(Pond):
    """The reset derives three fields from one that it omits.

    FAIL; env._load is the one leak, env.mass, env.inertia and env.reach are echoes.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._load = 0.0
        self.mass = self.inertia = self.reach = 0.0

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        self.mass = 1.0 + self._load
        self.inertia = self.mass**2
        self.reach = 1.0 / self.mass
        return said

    def push(self):
        self._load += 1e-3
        return 1e-3 * (self.inertia + self.reach)

    def forget(self):
        self._load = 0.0


class Accumulating(Pond):
    """A list that grows and is never read. BIT-IDENTICAL; env.log is inert and accumulates."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.log: list[int] = []

    def push(self):
        self.log.append(self.t)
        return 0.0

    def forget(self):
        self.log.clear()


class OneResetLate(Pond):
    """A reset shows what the reset before it drew. FAIL at step 0; a second reset hides it."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._prepared = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self._prepared = self._prepared, float(self.np_random.uniform())
        return self.seen(), self.told()

    def forget(self):
        self._prepared = 0.0


class SecondReset(Pond):
    """The second reset differs from the first, without any step. FAIL, env._resets is the leak.

    The smallest history has two resets and no step.
    """

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._resets = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._resets = min(self._resets + 1, 2)
        self.place += 0.125 * (self._resets - 1)
        return self.seen(), self.told()

    def forget(self):
        self._resets = 0


class UnseededStream(Pond):
    """The reset's seed is dropped after the first. FAIL, env._stream is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._stream = None

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        if self._stream is None:
            self._stream = np.random.default_rng(seed)
        return said

    def push(self):
        return 1e-3 * float(self._stream.uniform())

    def forget(self):
        self._stream = None


class DictOrder(Pond):
    """A dict is equal and its order is not. FAIL, the order of env.limbs is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.limbs = {"arm": 1.0, "leg": 1.0, "tail": 1.0}

    def push(self):
        if self.t == 3:
            self.limbs["arm"] = self.limbs.pop("arm")
        return {"arm": 1e-3, "leg": 2e-3, "tail": 3e-3}[next(iter(self.limbs))]

    def forget(self):
        self.limbs = {"arm": 1.0, "leg": 1.0, "tail": 1.0}


def _remembering(place: float, kept: list[float] = []) -> float:  # noqa: B006 - the defect
    kept.append(place)
    return 1e-4 * len(kept)


class DefaultArgument(Pond):
    """State in the default of a function. FAIL, the default ``kept`` is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._weigh = _remembering
        self._kept: list[float] = []

    def push(self):
        given = () if self.leaks else (self._kept,)
        return self._weigh(self.place, *given)

    def forget(self):
        self._kept.clear()


class CachedFunction(Pond):
    """A function's cache answers with an earlier episode's draw. FAIL; the cache is named."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.wind = 0.0
        self._gust = functools.lru_cache(maxsize=None)(self._draw)

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        self.wind = float(self.np_random.uniform())
        return said

    def _draw(self, part: int) -> float:
        return self.wind * part

    def push(self):
        return 1e-3 * self._gust(self.t // 5)

    def forget(self):
        self._gust.cache_clear()


class _Smoothed(gymnasium.Wrapper):
    def __init__(self, env, *, leaks: bool) -> None:
        super().__init__(env)
        self.leaks = leaks
        self._mean = 0.0

    def reset(self, *, seed=None, options=None):
        if not self.leaks:
            self._mean = 0.0
        return self.env.reset(seed=seed, options=options)

    def step(self, action):
        seen, reward, terminated, truncated, info = self.env.step(action)
        self._mean = 0.9 * self._mean + 0.1 * reward
        return seen, reward - self._mean, terminated, truncated, info


def wrapped(*, leaks: bool = True):
    """A wrapper keeps a mean. FAIL on the channel reward, _Smoothed._mean is the one leak."""
    return _Smoothed(Pond(), leaks=leaks)


class Neighbour(Pond):
    """Two live rigs share a field of the class that each reset sets.

    Alone BIT-IDENTICAL; FAIL by the check ``neighbour``.
    """

    current = 0.0

    def reset(self, *, seed=None, options=None):
        said = super().reset(seed=seed)
        self._owner.current = self.place
        return said

    @property
    def _owner(self):
        return type(self) if self.leaks else self

    def push(self):
        self._owner.current = 0.5 * self._owner.current + self.speed
        return 1e-3 * self._owner.current


class Hostile(Pond):
    """A field's name and value hold control characters and markup.

    FAIL; neither reaches a terminal or a page raw.
    """

    NAME = "a\x1b[2Jb\u202e<script>"

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self._clear()

    def _clear(self) -> None:
        vars(self)[self.NAME] = "\x1b]0;calm\x07</pre><script>"

    def push(self):
        worn = vars(self)[self.NAME].count("!")
        vars(self)[self.NAME] += "!"
        return 1e-4 * worn

    def told(self):
        return {"\x1b[31mworn": vars(self)[self.NAME][-3:]}

    def forget(self):
        self._clear()


class Huge(Pond):
    """100,000 leaves and 8 MB of arrays. FAIL, one leaf of them is the one leak."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.table = {f"row {number}": {"x": 1.0, "y": number} for number in range(50_000)}
        self.image = np.zeros((1000, 1000))

    def push(self):
        self.table["row 31337"]["x"] += 1e-3
        return 1e-3 * self.table["row 31337"]["x"]

    def forget(self):
        self.table["row 31337"]["x"] = 1.0
