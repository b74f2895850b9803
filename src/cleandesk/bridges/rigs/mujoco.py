"""The built-in rig over MuJoCo: an arm with motors, commands and a memory of its actions.

``mujoco:arm`` needs no file from outside. What its harness keeps in Python beside the
engine's own data is what a reset of the engine alone leaves behind. Five resets:

===========  ==================================================================
``full``     restores everything (``seeded`` is the same)
``naive``    ``mj_resetData`` alone: leaves ``env.history``, ``env.motors.torque``,
             ``env.clock``, ``env.steps``, ``env.command`` and ``env.rng``
``eponly``   leaves ``env.history``, the actions that the delay still holds
``nonestate``  leaves ``env.motors.torque``, the state of the motors
``noclock``  leaves ``env.clock``, which says when the next command is drawn
===========  ==================================================================

Two writes can be planted that no reset restores: ``plant="write"`` lets every step wear
``env.wear``; ``plant="fuse"`` counts resets in ``env.fuse`` and writes ``env.wear`` only
from the fourth reset of its life on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cleandesk.audit.certificate.rig import Declared, Outcome, Recipe, Rig, Script
from cleandesk.bridges.rigs.driven import SEEDED, DrivenRig
from cleandesk.bridges.rigs.driver import Written
from cleandesk.bridges.rigs.excitation import POLICY, Excitation
from cleandesk.bridges.rigs.parts import Grid
from cleandesk.bridges.rigs.provenance import made_of, model_of
from cleandesk.errors import WorldError, shown

RESETS = ("full", SEEDED, "naive", "eponly", "nonestate", "noclock")
PLANTS = ("", "write", "fuse")

_LEFT_OUT = {
    "eponly": {"history"},
    "naive": {"history", "motors", "episode", "clock"},
    "noclock": {"clock"},
    "nonestate": {"motors"},
}
_COMMAND_STEPS = 40
_EPISODE_STEPS = 400
_SUBSTEPS = 5
_DELAY = (0.2, 0.3, 0.5)
_ARM = """
<mujoco model="arm">
  <option timestep="0.002" integrator="implicitfast"/>
  <default><geom solref="0.004 1" friction="0.8"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1"/>
    <body name="target" mocap="true" pos="0.4 0 0.3">
      <geom type="sphere" size="0.02" contype="0" conaffinity="0"/>
    </body>
    <body name="ball" pos="0.35 0 0.06">
      <freejoint/>
      <geom type="sphere" size="0.05" mass="0.1"/>
    </body>
    <body name="upper" pos="0 0 0.25">
      <joint name="shoulder" type="hinge" axis="0 1 0" damping="0.2" range="-2 2" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.03"/>
      <body name="lower" pos="0.25 0 0">
        <joint name="elbow" type="hinge" axis="0 1 0" damping="0.1" range="-2.4 2.4"
          limited="true"/>
        <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.025"/>
        <site name="tip" pos="0.2 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" gear="6" ctrlrange="-1 1" ctrllimited="true"/>
    <motor joint="elbow" gear="3" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


class Motors:
    """The lag of two motors.

    Attributes:
        torque: What they give now.
    """

    def __init__(self) -> None:
        self.torque = np.zeros(2)

    def follow(self, wanted: Any) -> Any:
        """Come nearer to what is wanted, and return what is given."""
        self.torque += 0.4 * (wanted - self.torque)
        return self.torque


class Arm:
    """The arm and its harness.

    Attributes:
        history: The actions that the delay still holds, the oldest first.
        command: Where the tip should go.
        clock: Steps since that was drawn.
        steps: Steps of this episode.
        wear: What a planted write leaves behind; it weakens the motors.
        fuse: How many resets there were, where the fuse is planted.
    """

    def __init__(self, reset: str, plant: str) -> None:
        """Compile the model; nothing is drawn."""
        import mujoco

        self.model = mujoco.MjModel.from_xml_string(_ARM)
        self.data = mujoco.MjData(self.model)
        self.motors = Motors()
        self.history = np.zeros((len(_DELAY), 2))
        self.rng = np.random.default_rng(0)
        self.command = np.zeros(2)
        self.clock = 0
        self.steps = 0
        self.wear = 0.0
        self.fuse = 0
        self._reset = reset
        self._plant = plant

    def reset(self, seed: int) -> Any:
        """Reset the engine, and of the rest what the mode does not leave out."""
        import mujoco

        left_out = _LEFT_OUT.get(self._reset, set())
        mujoco.mj_resetData(self.model, self.data)
        if "episode" not in left_out:
            self.rng = np.random.default_rng(seed)
            self.steps = 0
            self._draw_command()
        if "clock" not in left_out:
            self.clock = 0
        if "motors" not in left_out:
            self.motors.torque[:] = 0.0
        if "history" not in left_out:
            self.history[:] = 0.0
        if self._plant == "fuse":
            self.fuse += 1
        mujoco.mj_forward(self.model, self.data)
        return self._seen()

    def step(self, action: Any) -> tuple[Any, float, bool, bool]:
        """Delay, drive and simulate one step of control."""
        import mujoco

        self.history[:-1] = self.history[1:]
        self.history[-1] = action
        torque = self.motors.follow(np.dot(_DELAY, self.history))
        self.data.ctrl[:] = torque / (1.0 + self.wear)
        self.data.mocap_pos[0, ::2] = self._goal()
        mujoco.mj_step(self.model, self.data, _SUBSTEPS)
        self.clock += 1
        self.steps += 1
        if self.clock >= _COMMAND_STEPS:
            self.clock = 0
            self._draw_command()
        if self._plant == "write" or (self._plant == "fuse" and self.fuse > 3):
            self.wear += 1e-3
        away = float(np.linalg.norm(self.data.site_xpos[0, ::2] - self._goal()))
        return self._seen(), -away, False, self.steps >= _EPISODE_STEPS

    def _draw_command(self) -> None:
        self.command[:] = self.rng.uniform(-1.0, 1.0, 2)

    def _goal(self) -> Any:
        return np.array([0.3, 0.3]) + 0.15 * self.command

    def _seen(self) -> Any:
        parts = (self.data.qpos, self.data.qvel, self.data.mocap_pos[0], self.command)
        return np.concatenate([np.ravel(part) for part in parts])


class ArmDriver:
    """Drives the arm."""

    def __init__(self, arm: Arm, reset: str, *, declares_commands: bool) -> None:
        self._arm = arm
        self._excitation = Excitation(Grid(-np.ones(2), np.ones(2), np.float64))
        self._declares_commands = declares_commands
        left_out = ", ".join(sorted(_LEFT_OUT.get(reset, ()))) or "nothing"
        self.harness = f"mj_resetData and the harness's own state, {left_out} left out"
        self.policy = POLICY
        self.own_stream = ""

    def reset(self, seed: int | None) -> Outcome:
        """Reset with ``seed``; None lets the streams go on."""
        return Outcome(self._arm.reset(seed or 0), info={})

    def step(self, action: Any) -> Outcome:
        """Carry out ``action``."""
        observation, reward, terminated, truncated = self._arm.step(action)
        return Outcome(observation, reward, terminated, truncated, {}, terminated or truncated)

    def action(self, rng: Any, k: int) -> Any:
        """Return the k-th action."""
        return self._excitation.action(rng, k)

    def roots(self) -> dict[str, object]:
        """Return the owners of state."""
        return {"env": self._arm}

    def seconds(self, steps: int) -> float:
        """Return the simulated time."""
        del steps
        return float(self._arm.data.time)

    def declared(self) -> Sequence[Declared]:
        """Return what is meant to vary."""
        if not self._declares_commands:
            return []
        return [
            Declared("env.command", "uniform -1 1", "each episode is given a command of its own")
        ]

    def made_of(self) -> Mapping[str, Any]:
        """Return versions and digests."""
        return {**made_of([self._arm]), "model": model_of(self._arm)}

    def settle(self) -> None:
        """Derive what follows from positions and velocities, without a step."""
        import mujoco

        mujoco.mj_forward(self._arm.model, self._arm.data)

    def script(self, written: Written) -> Script | None:
        """Return how a person drives it."""
        del written
        return None

    def close(self) -> None:
        """Release nothing; the engine's memory goes with the object."""


class MujocoMaker:
    """Makes the built-in rig over MuJoCo."""

    def prepare(self, rest: str, recipe: Recipe) -> None:
        """Import MuJoCo.

        Raises:
            WorldError: CD-291, there is no such rig or no MuJoCo.
        """
        del recipe
        _require(rest)
        try:
            import mujoco  # noqa: F401 - so that a fork need not
        except ImportError as error:
            raise WorldError(
                "CD-291",
                f"the rig needs MuJoCo: {shown(error)}",
                where=f"rig 'mujoco:{shown(rest, 80)}'",
                do="pip install 'cleandesk[gym]'",
            ) from error

    def make(self, rest: str, recipe: Recipe) -> Rig:
        """Return the rig; arguments: ``plant`` and ``declare_commands``.

        Raises:
            WorldError: CD-291 or CD-213, there is no such rig or argument; CD-294, no such reset.
        """
        _require(rest)
        given = dict(recipe.arguments)
        plant = given.pop("plant", "")
        declares = bool(given.pop("declare_commands", False))
        if given or plant not in PLANTS:
            raise WorldError(
                "CD-213",
                f"the rig takes no argument {next(iter(given), f'plant={plant!r}')}",
                where="rig 'mujoco:arm'",
                do="it takes: plant (write or fuse), declare_commands",
            )
        return DrivenRig(
            recipe,
            lambda: Arm(recipe.reset, plant),
            lambda arm: ArmDriver(arm, recipe.reset, declares_commands=declares),
            modes=RESETS,
        )

    def catalogue(self) -> list[str]:
        """Return the one rig."""
        return ["mujoco:arm"]


def _require(rest: str) -> None:
    if rest != "arm":
        raise WorldError(
            "CD-291",
            f"there is no built-in rig {shown(repr(rest), 40)}",
            where="rigs of the scheme mujoco",
            do="write mujoco:arm; a model of your own is a factory: module:factory",
        )
