"""A rig over one environment: the twelve members, and how unseeded resets are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Script
from cleandesk.audit.certificate.streams import (
    all_streams,
    global_states,
    put_global_states,
    put_states,
    states_of,
)
from cleandesk.bridges.rigs.driver import Driver, Written, stack_of
from cleandesk.bridges.rigs.provenance import digest_of
from cleandesk.bridges.rigs.quiet import headless, quiet
from cleandesk.errors import WorldError, shown
from cleandesk.state import Pattern, decode, encode
from cleandesk.state.canon import ALL_BYTES

SEEDED, UNSEEDED = "seeded", "unseeded"
MODES = (SEEDED, UNSEEDED)
_OPTIONAL = ("opaque", "outside", "settle")


class DrivenRig:
    """An environment that is made on demand, with the driver of its kind.

    Two members beyond the Protocol serve unseeded resets. Such a reset goes on from where
    the streams stand, so that a fresh build is its reference only if its own streams stand
    there too: ``state = judged.before_reset()``, then ``fresh.prepare_reset(state)``, then
    both are reset. For seeded resets the first returns None and the second is not called.

    Attributes:
        name: The reference, and the stack of wrappers once it is built.
        harness: How it is reset.
        policy: Which actions are tried.
        is_forkable: Whether a fork of its process has a rig of its own; it has not where
            files, databases or programs are shared.
    """

    def __init__(
        self,
        recipe: Recipe,
        make: Callable[[], Any],
        drive: Callable[[Any], Driver],
        *,
        written: Written | None = None,
        modes: Sequence[str] = MODES,
    ) -> None:
        """Build nothing yet.

        Args:
            recipe: What it is made from.
            make: Makes the environment.
            drive: Returns its driver.
            written: How a person makes it, where a person can.
            modes: The ways of resetting that it has.

        Raises:
            WorldError: CD-294, there is no such mode.
        """
        require_mode(recipe, modes)
        self._recipe = recipe
        self._make = make
        self._drive = drive
        self._written = written
        self._driver: Driver | None = None
        self._steps = 0
        self._first_seed: int | None = None
        self.name = recipe.reference
        self.harness = recipe.reset
        self.policy = ""
        self.is_forkable = True

    def model_hash(self) -> str:
        """Return a digest of packages, arguments, sources and models."""
        parts = {
            "arguments": dict(self._recipe.arguments),
            "made_of": dict(self._built.made_of()),
            "reference": self._recipe.reference,
        }
        return digest_of(parts)

    def build(self) -> None:
        """Make the environment; without a window, and with no warning about that.

        Raises:
            WorldError: CD-296, it can't be reset without a seed and compared.
        """
        headless()
        with quiet():
            driver = self._drive(self._make())
        if self._recipe.reset == UNSEEDED and driver.own_stream:
            driver.close()
            raise WorldError(
                "CD-296",
                f"{driver.own_stream} has a random stream of its own that can't be read or put",
                where=f"rig {shown(self._recipe.reference, 80)!r}, reset unseeded",
                do="judge it with --reset seeded",
            )
        self._driver = driver
        take_optional(self, driver)
        self.name = f"{self._recipe.reference}: {stack_of(driver.roots())}"
        self.harness = f"{self._recipe.reset}: {_said(driver.harness, self._recipe.reset)}"
        self.policy = driver.policy
        self.is_forkable = bool(getattr(driver, "is_forkable", True))

    def reset(self, seed: int) -> Outcome:
        """Reset with ``seed``; without one after the first reset, where the mode says so."""
        goes_on = self._recipe.reset == UNSEEDED and self._first_seed is not None
        if self._first_seed is None:
            self._first_seed = seed
        self._steps = 0
        return self._built.reset(None if goes_on else seed)

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        self._steps += 1
        return self._built.step(action)

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._built.action(rng, k)

    def roots(self) -> Mapping[str, object]:
        """Return the innermost environment as ``env`` and each wrapper by its class."""
        return self._built.roots()

    def clock(self) -> tuple[int, float]:
        """Return the steps since the last reset and the simulated time."""
        if self._driver is None:
            return 0, 0.0
        return self._steps, self._driver.seconds(self._steps)

    def declared(self) -> Sequence[Declared]:
        """Return the generators of the spaces; they are the agent's."""
        return self._built.declared()

    def write(self, path: str, value: Any) -> None:
        """Put ``value``, a leaf of the walk, into the field at ``path``.

        Raises:
            LookupError: It can't be written.
        """
        from cleandesk.audit.certificate.walk import write

        first = Pattern.parse(path).parts[0]
        if first in getattr(self._built, "read_only", ()):
            raise LookupError(f"{first} is what was read of it; it is written by its world alone")
        write(self.roots(), path, value)

    def close(self) -> None:
        """Close the environment."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def script(self) -> Script | None:
        """Return how a person writes it, or None where that is not known."""
        if self._written is None or self._recipe.reset != SEEDED:
            return None
        return self._built.script(self._written)

    def before_reset(self) -> bytes | None:
        """Return what the next reset goes on from, or None where it starts anew.

        Returns:
            The seed of this life's first reset and the state of every stream.
        """
        if self._recipe.reset != UNSEEDED or self._first_seed is None:
            return None
        states = {
            "first": self._first_seed,
            "global": global_states(),
            "streams": states_of(all_streams(self.roots())),
        }
        return encode(states, inline_bytes=ALL_BYTES)

    def prepare_reset(self, state: bytes) -> None:
        """Have the next reset go on from ``state``, as if this life had come that far.

        Raises:
            LookupError: The judged rig has a stream that this one does not have.
        """
        past = decode(state)
        self.reset(past["first"])
        put_states(all_streams(self.roots()), past["streams"])
        if "global" in past:
            # A guard puts them itself: its loop's are those of a whole program.
            put_global_states(past["global"])

    @property
    def _built(self) -> Driver:
        if self._driver is None:
            raise WorldError(
                "CD-297",
                "the rig is used before it is built",
                where=f"rig {shown(self._recipe.reference, 80)!r}",
                do="call build() first",
            )
        return self._driver


def require_mode(recipe: Recipe, modes: Sequence[str]) -> None:
    """Check that a rig has the recipe's way of resetting.

    Raises:
        WorldError: CD-294, it has not.
    """
    if recipe.reset not in modes:
        raise WorldError(
            "CD-294",
            f"this rig has no reset {shown(repr(recipe.reset), 40)}",
            where=f"rig {shown(recipe.reference, 80)!r}",
            do=f"it has: {', '.join(modes)}",
        )


def take_optional(rig: object, owner: object) -> None:
    """Give ``rig`` the optional members that ``owner`` has, and no others: they are asked for."""
    for name in _OPTIONAL:
        member = getattr(owner, name, None)
        if callable(member):
            setattr(rig, name, member)


def _said(harness: str, mode: str) -> str:
    if mode != UNSEEDED:
        return harness
    return f"{harness} at the first reset of its life, and without a seed at the others"
