"""What differs between the kinds of environments, and the lines a person would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cleandesk.audit.certificate.rig import Declared, Outcome, Script
from cleandesk.audit.certificate.walk.plans import own_of

PLAIN = '''def plain(value):
    """Arrays and numbers of numpy as lists and numbers, all the way down."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    is_plain = value is None or isinstance(value, (bool, int, float, str, bytes))
    return value if is_plain else type(value).__name__'''
"""Defines, in a script, the form in which two runs are compared."""


@dataclass(frozen=True, slots=True)
class Written:
    """How a person builds an environment.

    Attributes:
        imports: Lines.
        make: An expression.
    """

    imports: tuple[str, ...]
    make: str


class Driver(Protocol):
    """One built environment of some kind, driven.

    Attributes:
        harness: How it is reset, without the mode.
        policy: Which actions are tried.
        own_stream: An engine's random stream that can't be read or put, or empty.
    """

    harness: str
    policy: str
    own_stream: str

    def reset(self, seed: int | None) -> Outcome:
        """Reset it with ``seed``, or let its streams go on."""

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""

    def roots(self) -> dict[str, object]:
        """Return the owners of state by name."""

    def seconds(self, steps: int) -> float:
        """Return the simulated time after ``steps`` steps."""

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests, as plain values."""

    def script(self, written: Written) -> Script | None:
        """Return the lines that drive it, or None where they need more than the package."""

    def close(self) -> None:
        """Release it."""


def held(owner: object, name: str) -> Any:
    """Return what ``owner`` itself has under ``name``, without running a line of its code."""
    return own_of(owner).get(name)


def wrapped(env: object, *links: str, innermost: object = None) -> dict[str, object]:
    """Return an environment and its wrappers as roots: ``env`` is the innermost one.

    Args:
        env: The outermost.
        links: The attributes by which a wrapper holds what it wraps.
        innermost: Where to stop, if that is known: an engine may lie under such a name too.
    """
    layers, seen = [env], {id(env)}
    while layers[-1] is not innermost:
        inner = next((found for link in links if is_env(found := held(layers[-1], link))), None)
        if inner is None or id(inner) in seen:
            break
        layers.append(inner)
        seen.add(id(inner))
    roots: dict[str, object] = {"env": layers.pop()}
    for layer in layers:
        name, number = type(layer).__name__, 2
        while name in roots:
            name, number = f"{type(layer).__name__}{number}", number + 1
        roots[name] = layer
    return roots


def is_env(value: object) -> bool:
    """Tell whether ``value`` may be an environment: its class has ``reset`` and ``step``."""
    return hasattr(type(value), "reset") and hasattr(type(value), "step")


def stack_of(roots: Mapping[str, object]) -> str:
    """Return wrappers and environment, outermost first, as they were called."""
    names = [name for name in roots if type(roots[name]).__name__ == name.rstrip("0123456789")]
    names += [type(roots[name]).__name__ for name in ("vector", "env") if name in roots]
    slots = sum(name.startswith("slot") and "_" not in name for name in roots)
    return "(".join(names) + ")" * (len(names) - 1) + (f" of {slots} slots" if slots else "")


def written_call(name: str, arguments: Mapping[str, Any], *leading: str) -> str:
    """Return a call as a person writes it."""
    named = [f"{key}={value!r}" for key, value in arguments.items()]
    return f"{name}({', '.join([*leading, *named])})"
