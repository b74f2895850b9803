"""The walk of the reset certificate: CartPole, Humanoid, a million leaves, beside others."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from benchmarks.figure import Figure, Missing, Row
from benchmarks.meter import cpu_of
from cleandesk.audit.certificate.walk import walk

_LEAVES = 1_000_000
_LOOPS = 20


class _Held:
    """A rig that is one table."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.table = table


def rows() -> list[Row]:
    """Measure walk and fingerprint together."""
    return [
        *_published("CartPole-v1", 0.3),
        *_published("Humanoid-v5", 3.0),
        *_million(),
        *_small_tables(),
    ]


def _published(name: str, target: float) -> list[Row]:
    subject = f"walk {name}"
    try:
        import gymnasium

        env = gymnasium.make(name)
    except Exception as error:
        return [Missing(subject, f"{type(error).__name__}: the gym extra is not here")]
    env.reset(seed=7)
    roots = {"env": env.unwrapped}
    layer = env
    while layer is not env.unwrapped:
        roots[type(layer).__name__] = layer
        layer = layer.env
    ours = cpu_of(lambda: [walk(roots).fingerprint() for _ in range(_LOOPS)]) / _LOOPS
    naive = cpu_of(lambda: [_naive(roots) for _ in range(_LOOPS)], runs=2) / _LOOPS
    env.close()
    return [Figure(subject, ours * 1e3, "ms", naive * 1e3, "instances only", target=target)]


def _million() -> list[Row]:
    table = _table(_LEAVES)
    roots = {"env": _Held(table)}

    def floor() -> str:
        text = json.dumps(table, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def cold() -> str:
        # A walk of something else first: nothing is left to compare with.
        walk({"env": _Held({})})
        return walk(roots).fingerprint()

    first = cpu_of(cold, runs=3)
    walk(roots)
    again = cpu_of(lambda: walk(roots).fingerprint(), runs=3)
    naive = cpu_of(lambda: _naive(roots), runs=1)
    return [
        Figure("walk 1M leaves", first, "s", naive, "instances only", target=0.6),
        Figure(
            "walk 1M leaves again", again, "s", cpu_of(floor, runs=2), "json+sha256", target=0.6
        ),
    ]


def _small_tables() -> list[Row]:
    """Compare two tables of 10,000 leaves, where the others still end."""
    one, other = _table(10_000), _table(10_000)
    other["k7"]["age"] = -1

    def ours() -> int:
        walks = [walk({"env": _Held(table)}) for table in (one, other)]
        return sum(walks[0].tokens[path] != walks[1].tokens.get(path) for path in walks[0].tokens)

    try:
        from deepdiff import DeepDiff, DeepHash
    except ImportError:
        return [Missing("walk and compare 10k", "deepdiff is not installed")]
    compared, hashed = cpu_of(ours), cpu_of(lambda: walk({"env": _Held(one)}).fingerprint())
    peer = cpu_of(lambda: DeepDiff(one, other), runs=2)
    digest = cpu_of(lambda: DeepHash(one)[one], runs=2)
    bound: dict[str, Any] = {"target": 8, "bound": "ratio"}
    return [
        Figure("walk and compare 10k", compared * 1e3, "ms", peer * 1e3, "deepdiff", **bound),
        Figure("walk and hash 10k", hashed * 1e3, "ms", digest * 1e3, "deephash", **bound),
    ]


def _table(leaves: int) -> dict[str, dict[str, Any]]:
    """Return records of 10 leaves: texts, numbers, flags and a short list."""
    return {
        f"k{number}": {
            "active": number % 3 == 0,
            "age": number % 90,
            "city": f"city {number % 500}",
            "email": f"person{number}@example.org",
            "id": number,
            "name": f"Person {number}",
            "note": None,
            "share": number * 0.37,
            "tags": ["new", number % 7],
        }
        for number in range(leaves // 10)
    }


def _naive(roots: dict[str, Any]) -> str:
    """Walk as one would at first: every attribute by ``dir`` and ``getattr``, as text."""
    digest = hashlib.sha256()
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [*roots.items()]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
            digest.update(f"{path}={value!r}".encode())
        elif id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, dict):
                waiting += [(f"{path}[{key!r}]", item) for key, item in value.items()]
            elif isinstance(value, (list, tuple, set, frozenset)):
                waiting += [(f"{path}[{at}]", item) for at, item in enumerate(value)]
            elif hasattr(value, "tobytes"):
                digest.update(f"{path}={value.tobytes()!r}".encode())
            elif not callable(value) and type(value).__module__ != "builtins":
                waiting += _attributes(path, value)
    return digest.hexdigest()


def _attributes(path: str, value: Any) -> list[tuple[str, Any]]:
    found = []
    is_engine = type(value).__module__.startswith("mujoco")
    names = dir(value) if is_engine else getattr(value, "__dict__", ())
    for name in names:
        if not name.startswith("__"):
            item = getattr(value, name, None)
            if not callable(item):
                found.append((f"{path}.{name}", item))
    return found
