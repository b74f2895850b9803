"""PyBullet: what a client says of its bodies, joints and constraints.

The contact cache, the solver's warm start and the broad phase are not to be had without
saving a state into the server, which would change it: a client keeps a part unread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleandesk.audit.certificate.leaf import Kind, Leaf
from cleandesk.audit.certificate.walk.readers.protocol import REST

_REST = Leaf(Kind.OPAQUE, None, "PyBullet client (contact cache, solver, broad phase)")


class Bullet:
    """Reads ``pybullet_utils``' client, by which environments hold a server."""

    def takes(self, kind: type) -> bool:
        """Tell whether ``kind`` is a client."""
        module = str(kind.__module__).partition(".")[0]
        return kind.__name__ == "BulletClient" and module.startswith("pybullet")

    def read(self, handle: Any) -> Mapping[str, object] | None:
        """Return the server's settings and the motion of all that is in it, in its order."""
        if not handle.isConnected():
            return None
        settings = handle.getPhysicsEngineParameters()
        found: dict[str, object] = {f"setting {name}": settings[name] for name in settings}
        for place in range(handle.getNumBodies()):
            found[f"body {place}"] = _body(handle, handle.getBodyUniqueId(place))
        found["constraints"] = handle.getNumConstraints()
        found[REST] = _REST
        return found

    def write(self, handle: Any, name: str, leaf: Leaf) -> None:
        """Put the motion of a body back."""
        if not name.startswith("body "):
            raise LookupError(f"{name} of a PyBullet client can't be put back by itself")
        body = handle.getBodyUniqueId(int(name.removeprefix("body ")))
        position, turned = leaf.value["base"]
        handle.resetBasePositionAndOrientation(body, position, turned)
        handle.resetBaseVelocity(body, *leaf.value["velocity"])
        for joint, state in enumerate(leaf.value["joints"]):
            handle.resetJointState(body, joint, state[0], state[1])


def _body(client: Any, body: int) -> dict[str, object]:
    joints = range(client.getNumJoints(body))
    states = client.getJointStates(body, [*joints]) if joints else ()
    return {
        "base": client.getBasePositionAndOrientation(body),
        "dynamics": [client.getDynamicsInfo(body, link) for link in (-1, *joints)],
        "joints": [tuple(state) for state in states or ()],
        "name": tuple(text.decode(errors="replace") for text in client.getBodyInfo(body)),
        "velocity": client.getBaseVelocity(body),
    }
