"""Hand-written policies for classic control, Box2D and MuJoCo: feedback laws.

Each maps an observation to an action. The gains were tuned by trial; none of these is
meant to be the best policy, only one that does the task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Observation = Sequence[float]


def cart_pole(observation: Observation) -> int:
    """Push (0 left, 1 right) to where the pole falls, and softly back to the middle.

    Args:
        observation: Position (m), velocity (m/s), angle (rad), angular velocity (rad/s).
    """
    position, velocity, angle, spin = observation
    return int(angle + 0.3 * spin + 0.02 * position + 0.06 * velocity > 0)


def mountain_car(observation: Observation) -> int:
    """Push (0 left, 2 right) the way the car already rolls.

    Args:
        observation: Position and velocity.
    """
    _, velocity = observation
    return 2 if velocity >= 0 else 0


def acrobot(observation: Observation) -> int:
    """Swing the lower link (torque -1, 0, 1 as 0, 1, 2) so that energy grows.

    Args:
        observation: cos and sin of the first angle, cos and sin of the second, and the
            two angular velocities (rad/s).
    """
    _, _, _, _, first, second = observation
    return 2 if first - 0.1 * second < 0 else 0


def pendulum(observation: Observation) -> list[float]:
    """Pump energy until the pole is nearly up, then hold it there.

    Args:
        observation: cos and sin of the angle (0 is up), angular velocity (rad/s).
    """
    cosine, sine, spin = observation
    angle = math.atan2(sine, cosine)
    # Of a rod of 1 kg and 1 m at g = 10: 0 where it stands still upright.
    energy = spin * spin / 6 + 5 * (cosine - 1)
    if cosine > 0.85 and abs(spin) < 4:
        torque = -12 * angle - 3 * spin
    else:
        torque = -2.0 * math.copysign(1.0, spin * energy)
    return [max(-2.0, min(2.0, torque))]


def inverted_pendulum(observation: Observation) -> list[float]:
    """Push the cart (N, in [-3, 3]) so that the pole stays up near the middle.

    Args:
        observation: Position (m), angle (rad), and the velocities of both.
    """
    position, angle, velocity, spin = observation
    force = 0.3 * position + 20 * angle + 0.6 * velocity + 2.0 * spin
    return [max(-3.0, min(3.0, force))]


def lunar_lander(observation: Observation) -> int:
    """Lean towards the pad and fall no faster than the height allows.

    Args:
        observation: x and y from the pad, their velocities, angle (rad), angular
            velocity, and whether each leg touches the ground.

    Returns:
        0 nothing, 1 left engine, 2 main engine, 3 right engine.
    """
    across, height, drift, fall, angle, spin, left, right = observation
    if left or right:
        return 2 if fall < -0.1 else 0
    wanted_angle = max(-0.35, min(0.35, 0.45 * across + 0.9 * drift))
    turn = 0.6 * (wanted_angle - angle) - spin
    wanted_fall = -0.08 - 0.45 * max(height - 0.4 * abs(across), 0.0)
    if wanted_fall - fall > 0.1 + abs(turn):
        return 2
    if abs(turn) > 0.06:
        return 1 if turn > 0 else 3
    return 0
